//! The served device: it takes operations and questions, lets time pass, and sends replies, in the thread of whoever asks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pumice_config::{Config, PowerFailure, SpecError};
use pumice_engine::{Circumstances, SimError};
use pumice_types::Time;
use serde_json::Value;

use crate::device::pages::{DataPath, ServedPages};
use crate::device::{Device, Kept};
use crate::protocol::transmission::{ErrorCode, Reply};
use crate::recording::journal::AgeOrder;
use crate::recording::operation::ClientOperation;
use crate::recording::record::Record;
use crate::recording::spec::{served_config, without_effect_on_a_served_device};
use crate::recording::{RecordedSpec, RecordingHeader, RecordingWriter};
use crate::store::Store;
use crate::threads::clock::{ServeClock, WallClock};
use crate::threads::connection::{ExportFacts, ReplyTo};
use crate::threads::control::ControlRequest;
use crate::threads::options::ServeOptions;
use crate::threads::told::ThreadTold;

/// What a client asks for.
pub struct AskedOperation {
    /// What is to be done.
    pub operation: ClientOperation,
    /// Where the reply goes.
    pub to: ReplyTo,
    /// How often all clients had lost their connections when its own was taken.
    pub partings: u64,
    /// When it came.
    pub came: Instant,
}

/// A device that is being served. Whoever has something for it to do holds its lock meanwhile.
pub struct Service {
    device: Device<ReplyTo>,
    page_bytes: u32,
    circumstances: Circumstances,
    told: Arc<ThreadTold>,
    /// The wall's clock, if the device goes by it.
    wall: Option<WallClock>,
    /// How often all clients have lost their connections.
    partings: u64,
}

/// The files of a device.
///
/// # Errors
/// One that cannot be used.
fn kept_in(options: &ServeOptions, config: &Config, scale: f64) -> Result<Kept, SimError> {
    let ServeOptions { source, store, record, recording, .. } = options;
    let open = |path: &PathBuf| {
        // A record has its name in the configuration; which device it is does not depend on it.
        let digest = served_config(source, None)?.digest();
        Store::open(path, &digest, scale, &config.device_geometry(scale)?)
    };
    let store = store.as_ref().map(open).transpose()?;
    let record = record.as_ref().map(|path| Record::create(path, scale)).transpose()?;
    let begin = |path: &PathBuf| {
        let bytes = config.user_bytes(scale)?;
        let header = RecordingHeader { capacity_bytes: bytes, spec: RecordedSpec::of(source) };
        RecordingWriter::create(path, &header)
    };
    let recording = recording.as_ref().map(begin).transpose()?;
    Ok(Kept { record, store, recording, ..Kept::default() })
}

/// Refuses what a device of this spec or clock cannot have.
fn check(options: &ServeOptions, config: &Config) -> Result<(), SpecError> {
    let failure = config.power.failure;
    if options.store.is_some() && failure != PowerFailure::None {
        let text =
            format!("power.failure = \"{failure}\": a drive that fails is not kept in a file; leave --store out");
        return Err(SpecError(text));
    }
    if options.recording.is_some() && options.clock == ServeClock::Real {
        let text = "--session: the crash lab replays a session by the device's own clock; allowed: --clock virtual";
        return Err(SpecError(text.into()));
    }
    Ok(())
}

impl Service {
    /// A device with its files. `goes_on` is asked now and then while it is aged, or brought into the state of its store;
    /// `false` ends the work.
    ///
    /// # Errors
    /// A store, record or recording that cannot be used, or that a device of this spec and clock cannot have; a device that
    /// cannot be built.
    pub fn new(
        options: &ServeOptions,
        config: &Config,
        told: Arc<ThreadTold>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Service, SimError> {
        let ServeOptions { source, clock, .. } = options;
        check(options, config)?;
        let scale = source.scale.unwrap_or(1.0);
        let circumstances = Circumstances {
            started: Instant::now(),
            preset: source.preset_name(),
            without_effect: without_effect_on_a_served_device(source, config)?,
        };
        let (kept, page_bytes) = (kept_in(options, config, scale)?, config.mapped_page_bytes());
        let pages = kept.store.as_ref().map(Store::pages).transpose();
        let pages = pages.map_err(|error| SimError::Output(error.to_string()))?;
        let path = DataPath::new(page_bytes, pages.map_or_else(ServedPages::default, ServedPages::from));
        let device = Device::new(config, scale, path, kept, goes_on)?;
        let wall = match clock {
            ServeClock::Virtual => None,
            ServeClock::Real => Some(WallClock::beginning(Instant::now(), device.now())),
        };
        Ok(Service { device, page_bytes, circumstances, told, wall, partings: 0 })
    }

    /// What a connection is told.
    pub fn facts(&self) -> ExportFacts {
        ExportFacts { capacity: self.device.capacity(), page_bytes: self.page_bytes }
    }

    /// How often all clients have lost their connections.
    pub fn partings(&self) -> u64 {
        self.partings
    }

    /// Does what a client asks for, as if its host had waited for it; by the wall's clock, begins to.
    pub fn perform(&mut self, asked: AskedOperation) {
        let AskedOperation { operation, to, partings, came } = asked;
        // What a client had asked for when it lost its connection is lost too.
        if partings != self.partings {
            return to.send(Reply::Failed(ErrorCode::Shutdown));
        }
        match &mut self.wall {
            None => {
                self.device.begin(operation, to);
                self.device.complete();
            }
            Some(wall) => {
                // A trace begins with its first request, so the time of a new device does too.
                if !self.device.is_used() {
                    *wall = WallClock::beginning(came, self.device.now());
                }
                self.device.advance(wall.time_of(came));
                self.device.begin(operation, to);
            }
        }
        self.send_replies();
    }

    /// Answers a question.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn ask(&mut self, question: &ControlRequest) -> Result<Value, SimError> {
        if let Some(wall) = &self.wall {
            self.device.advance(wall.now());
        }
        let parts_clients = question.parts_clients();
        let answer = self.answer(question);
        self.partings += u64::from(parts_clients && answer.is_ok());
        self.send_replies();
        answer
    }

    /// Lets time pass with the wall's clock. Returns how long it is until something happens; `None`: nothing will.
    pub fn keep_time(&mut self) -> Option<Duration> {
        self.device.advance(self.wall.as_ref()?.now());
        self.send_replies();
        let wall = self.wall.as_ref()?;
        self.device.next_event().map(|at| wall.until(at))
    }

    /// Ends the use of the device. Returns its result.
    ///
    /// # Errors
    /// A simulation that ended in an error, or a file that cannot be written.
    pub fn finish(&mut self) -> Result<Value, SimError> {
        self.device.finish()?.told(&self.circumstances)
    }

    fn answer(&mut self, question: &ControlRequest) -> Result<Value, SimError> {
        match question {
            ControlRequest::Cut {} => self.device.cut(),
            ControlRequest::Fault { block } => self.device.fault(*block),
            &ControlRequest::Age { pec, writes } => self.device.age(AgeOrder { pec, writes }),
            ControlRequest::Snapshot { .. } | ControlRequest::Restore { .. } if self.wall.is_some() => {
                let text = "snapshot, restore: time goes on with the wall's clock; serve with --clock virtual";
                Err(SimError::Simulation(text.into()))
            }
            ControlRequest::Snapshot { name } => self.device.snapshot(name),
            ControlRequest::Restore { name } => self.device.restore(name),
            ControlRequest::Forget { name } => self.device.forget(name),
            ControlRequest::Mark { text } => self.device.mark(text),
            // The server ends the device; the device alone says how far it is.
            ControlRequest::Status {} | ControlRequest::Stop {} => Ok(self.device.progress()),
            ControlRequest::Result {} => self.device.result().and_then(|outcome| outcome.told(&self.circumstances)),
        }
    }

    /// Sends the replies to what is done, once it is kept that must last.
    fn send_replies(&mut self) {
        self.device.keep_promises();
        let is_well = self.device.failure().is_none();
        loop {
            // A device that has just recovered is ahead of the wall by the time that this took.
            let now = self.wall.as_ref().map_or(Time(u64::MAX), WallClock::now);
            let Some(done) = self.device.take_done(now) else { break };
            if let Some(lateness) = &self.told.lateness {
                let late = now - done.at;
                let mut lateness = lateness.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                lateness.note(late, done.at - done.began);
            }
            done.to.send(if is_well || !done.lasts { done.reply } else { Reply::Failed(ErrorCode::Io) });
        }
        if self.device.failure().is_some() {
            self.told.has_failed.store(true, Ordering::Relaxed);
        }
    }
}
