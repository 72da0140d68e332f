//! What the device's thread does: it takes operations and questions, lets time pass, and sends replies.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Instant;

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
use crate::threads::options::ServeOptions;
use crate::threads::told::ThreadTold;

/// What can be asked about the device.
#[derive(Clone, Debug)]
pub enum DeviceQuestion {
    /// How far it is.
    Progress,
    /// The result so far.
    Result,
    /// What a power cut did, which is made for that.
    Cut,
    /// To let the next erase of a block fail.
    Fault(u32),
    /// To age the device.
    Age(AgeOrder),
    /// To keep the device as it is, under a name.
    Snapshot(String),
    /// To go back to a snapshot.
    Restore(String),
    /// To let go of a snapshot.
    Forget(String),
    /// To note something in the recording.
    Mark(String),
}

impl DeviceQuestion {
    /// Whether clients lose their connections by it: what they know of the device is no longer true.
    pub fn parts_clients(&self) -> bool {
        match self {
            DeviceQuestion::Cut | DeviceQuestion::Restore(_) => true,
            DeviceQuestion::Progress
            | DeviceQuestion::Result
            | DeviceQuestion::Fault(_)
            | DeviceQuestion::Age(_)
            | DeviceQuestion::Snapshot(_)
            | DeviceQuestion::Forget(_)
            | DeviceQuestion::Mark(_) => false,
        }
    }
}

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

/// What the device is told.
pub enum Message {
    /// To do what a client asks for.
    Perform(AskedOperation),
    /// To answer a question.
    Ask(DeviceQuestion, Sender<Result<Value, SimError>>),
    /// To end.
    Finish,
}

/// What the device's thread needs.
pub struct DeviceWork {
    config: Config,
    scale: f64,
    kept: Kept,
    clock: ServeClock,
    circumstances: Circumstances,
    told: Arc<ThreadTold>,
}

impl DeviceWork {
    /// The work for a device that was not built yet. Files are opened.
    ///
    /// # Errors
    /// A store, record or recording that cannot be used, or that a device of this spec and clock cannot have.
    pub fn new(options: &ServeOptions, config: Config, told: Arc<ThreadTold>) -> Result<DeviceWork, SimError> {
        let ServeOptions { source, store, record, recording, clock, .. } = options;
        let scale = source.scale.unwrap_or(1.0);
        check(options, &config)?;
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
        let circumstances = Circumstances {
            started: Instant::now(),
            preset: source.preset_name(),
            without_effect: without_effect_on_a_served_device(source, &config)?,
        };
        let kept = Kept { record, store, recording, ..Kept::default() };
        Ok(DeviceWork { config, scale, kept, clock: *clock, circumstances, told })
    }

    /// Serves messages until one says that this is the end.
    ///
    /// # Errors
    /// A device that cannot be built, a simulation that ended in an error, or a file that cannot be written.
    pub fn run(self, messages: &Receiver<Message>, ready: &Sender<ExportFacts>) -> Result<Value, SimError> {
        let DeviceWork { config, scale, kept, clock, circumstances, told } = self;
        let page_bytes = config.mapped_page_bytes();
        let pages = kept.store.as_ref().map(Store::pages).transpose();
        let pages = pages.map_err(|error| SimError::Output(error.to_string()))?;
        let mut path = DataPath::new(page_bytes, pages.map_or_else(ServedPages::default, ServedPages::from));
        let goes_on = || !told.gives_up.load(Ordering::Relaxed);
        let mut device = Device::new(&config, scale, &mut path, kept, &goes_on)?;
        let _ = ready.send(ExportFacts { capacity: device.capacity(), page_bytes });
        let wall = match clock {
            ServeClock::Virtual => None,
            ServeClock::Real => Some(WallClock::beginning(Instant::now(), device.now())),
        };
        let mut service =
            Service { device: &mut device, circumstances: &circumstances, told: &told, wall, partings: 0 };
        match clock {
            ServeClock::Virtual => service.serve_at_once(messages),
            ServeClock::Real => service.serve_in_time(messages),
        }
        device.finish()?.told(&circumstances)
    }
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

/// A device that is being served.
struct Service<'s, 'a> {
    device: &'s mut Device<'a, ReplyTo>,
    circumstances: &'s Circumstances,
    told: &'s ThreadTold,
    /// The wall's clock, if the device goes by it.
    wall: Option<WallClock>,
    /// How often all clients have lost their connections.
    partings: u64,
}

impl Service<'_, '_> {
    /// One operation after the other, each as if its host had waited for it.
    fn serve_at_once(&mut self, messages: &Receiver<Message>) {
        for message in messages {
            if !self.take(message) {
                return;
            }
        }
    }

    /// Operations as they come, and replies when they are due.
    fn serve_in_time(&mut self, messages: &Receiver<Message>) {
        // Without it the system may wake this thread 50 us late, which is as long as a page read takes.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut is_ending = false;
        loop {
            let message = match messages.try_recv() {
                Ok(message) => Some(message),
                Err(TryRecvError::Empty) => self.wait(messages, is_ending),
                Err(TryRecvError::Disconnected) => Some(Message::Finish),
            };
            if let Some(message) = message {
                is_ending |= !self.take(message);
            }
            // What is under way when the device ends is still answered in its time.
            if is_ending && self.device.next_event().is_none() {
                return;
            }
        }
    }

    /// Lets time pass until something may be due, or a message comes. `None`: nothing has come.
    fn wait(&mut self, messages: &Receiver<Message>, is_ending: bool) -> Option<Message> {
        self.device.advance(self.wall.as_ref()?.now());
        self.send_replies();
        let wall = self.wall.as_ref()?;
        match self.device.next_event().map(|at| wall.until(at)) {
            Some(wait) if is_ending => {
                std::thread::sleep(wait);
                None
            }
            None if is_ending => None,
            None => Some(messages.recv().unwrap_or(Message::Finish)),
            Some(wait) => match messages.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Message::Finish),
            },
        }
    }

    /// Does what a message says. `false`: it says that this is the end.
    fn take(&mut self, message: Message) -> bool {
        match message {
            Message::Finish => return false,
            // What a client had asked for when it lost its connection is lost too.
            Message::Perform(asked) if asked.partings != self.partings => {
                asked.to.send(Reply::Failed(ErrorCode::Shutdown));
            }
            Message::Perform(AskedOperation { operation, to, came, .. }) => {
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
            Message::Ask(question, reply) => {
                if let Some(wall) = &self.wall {
                    self.device.advance(wall.now());
                }
                let parts_clients = question.parts_clients();
                let answer = self.answer(question);
                self.partings += u64::from(parts_clients && answer.is_ok());
                // Whoever asked may have gone.
                drop(reply.send(answer));
                self.send_replies();
            }
        }
        true
    }

    fn answer(&mut self, question: DeviceQuestion) -> Result<Value, SimError> {
        match question {
            DeviceQuestion::Cut => self.device.cut(),
            DeviceQuestion::Fault(block) => self.device.fault(block),
            DeviceQuestion::Age(ageing) => self.device.age(ageing),
            DeviceQuestion::Snapshot(_) | DeviceQuestion::Restore(_) if self.wall.is_some() => {
                let text = "snapshot, restore: time goes on with the wall's clock; serve with --clock virtual";
                Err(SimError::Simulation(text.into()))
            }
            DeviceQuestion::Snapshot(name) => self.device.snapshot(&name),
            DeviceQuestion::Restore(name) => self.device.restore(&name),
            DeviceQuestion::Forget(name) => self.device.forget(&name),
            DeviceQuestion::Mark(text) => self.device.mark(&text),
            DeviceQuestion::Progress => Ok(self.device.progress()),
            DeviceQuestion::Result => self.device.result().and_then(|outcome| outcome.told(self.circumstances)),
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
