//! A simulated SSD inside another program: a discrete-event simulation gives it requests and time, and takes what is
//! done. It has no threads, no clock of its own and no files, and the same calls give the same answers on every machine.
//!
//! ```
//! use pumice_device::{Device, DeviceRequest, SpecSource};
//!
//! let spec = SpecSource { preset: Some("tiny".into()), ..SpecSource::default() };
//! let mut drive = Device::open(&spec)?;
//! let first = drive.submit(0, &DeviceRequest::write(0, 4096))?;
//! let second = drive.submit(1_000, &DeviceRequest::read(8192, 4096))?;
//! let mut done = Vec::new();
//! while let Some(at) = drive.next_event() {
//!     drive.advance(at)?; // a simulation of something larger does its own events before that instant
//!     done.extend(drive.take_completions());
//! }
//! assert_eq!(done.len(), 2);
//! assert!(done.iter().any(|completion| completion.id == first && completion.at_ns > 0));
//! assert!(done.iter().any(|completion| completion.id == second));
//! println!("{}", drive.finish()?["write_amplification"]);
//! # Ok::<(), pumice_device::DeviceError>(())
//! ```
//!
//! All times are nanoseconds of one clock, which begins at 0 when the device is opened. A request that is submitted at
//! an instant meets the device behind everything that happened up to then. The device runs the commands that
//! `pumice run` runs on the same requests, and its result is the same.
#![forbid(unsafe_code)]

mod checks;
mod completions;
mod data;
mod error;
mod request;
mod snapshot;

use std::ops::Range;
use std::sync::Arc;

use pumice_config::{Check, Config};
pub use pumice_config::{SpecError, SpecSource};
pub use pumice_engine::ZoneError;
use pumice_engine::data::check_pages;
pub use pumice_engine::snapshot::SealKey;
use pumice_engine::{Lookahead, Origin, Outcome, Session, SimError, Ssd};
use pumice_types::{HostRequest, Time};
pub use pumice_types::{RequestKind, ZoneCommand};
use serde_json::Value;

use checks::{check_instant, refuse_failures, refuse_what_needs_a_run};
use completions::Completions;
pub use completions::{DeviceCompletion, Status};
use data::KeptData;
pub use error::DeviceError;
pub use request::{DeviceRequest, KINDS};

/// The life of a device: on, off and on again as often as its caller says, until its result is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    /// Since this instant.
    Off(Time),
    /// The result has been taken, or the simulation has ended in an error.
    Ended,
}

/// One simulated drive.
///
/// The states of a device: on (all calls but `restart`), off after `cut` (only `restart`, `result` and `finish`), and
/// ended after `finish` or after an error of the simulation (nothing). It may go from thread to thread.
pub struct Device {
    session: Session<Completions>,
    config: Arc<Config>,
    capacity: u64,
    power: Power,
    /// Time has passed until here, whether something happened or not.
    present: Time,
}

impl Device {
    /// An instant that does not come; for [`Device::advance_for`]: until nothing happens any more.
    pub const NEVER: u64 = u64::MAX;

    /// A drive of a spec in its initial state, aged as the spec says. It keeps no bytes.
    ///
    /// # Errors
    /// A spec that is refused, or that asks for what only a run has: no clock, an end of its own, cuts of the power drawn
    /// over the length of a workload; or for failures of drives that strike bytes.
    pub fn open(spec: &SpecSource) -> Result<Device, DeviceError> {
        Device::aged(spec, false)
    }

    /// A drive as [`Device::open`] makes it that keeps the bytes of its pages, zeroes at first: a write comes with what it
    /// writes ([`Device::submit_data`]), and [`Device::take_data`] tells what a read has returned. Bytes lie where the
    /// translation layer puts its pages, and are read from where its map points, also after power cuts. Requests are
    /// multiples of 512 bytes; writes are multiples of a page if `host.partial_page` is `whole-page`.
    ///
    /// # Errors
    /// As [`Device::open`], but failures of drives are allowed; pages that are no multiples of 512 bytes.
    pub fn open_with_data(spec: &SpecSource) -> Result<Device, DeviceError> {
        Device::aged(spec, true)
    }

    fn aged(spec: &SpecSource, keeps_data: bool) -> Result<Device, DeviceError> {
        let mut device = Device::fresh(spec, keeps_data)?;
        if let Some(mut ageing) = device.session.ageing()? {
            while device.session.age(&mut ageing)? {}
        }
        device.keep_data(spec, keeps_data);
        Ok(device)
    }

    /// Begins to keep bytes: those from before are zeroes.
    fn keep_data(&mut self, spec: &SpecSource, keeps_data: bool) {
        let (config, scale) = (&self.config, spec.scale.unwrap_or(1.0));
        let ssd = &mut self.session.ssd;
        ssd.observer.data = keeps_data.then(|| Box::new(KeptData::of(config, scale, ssd)));
    }

    /// A drive of a spec, not aged.
    fn fresh(spec: &SpecSource, keeps_data: bool) -> Result<Device, DeviceError> {
        let config = Arc::new(Config::resolve(spec)?);
        refuse_what_needs_a_run(&config)?;
        match keeps_data {
            true => check_pages(&config, "a device with data")?,
            false => refuse_failures(&config)?,
        }
        let session = Session::new(&config, spec.scale.unwrap_or(1.0), Completions::default())?;
        let capacity = session.capacity();
        Ok(Device { session, config, capacity, power: Power::On, present: Time::ZERO })
    }

    /// Bytes that a host can address.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The device's present, in nanoseconds. It lies ahead of the time that was passed to a call only while the device
    /// starts after a power cut: then it is the time at which it serves its host again.
    pub fn now(&self) -> u64 {
        self.session.ssd.now.max(self.present).0
    }

    /// Requests that were submitted and have not completed yet.
    pub fn outstanding(&self) -> usize {
        self.session.ssd.observer.outstanding()
    }

    /// Completions that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.session.ssd.observer.waiting()
    }

    /// Whether the device is on, and its use has not ended.
    pub fn has_power(&self) -> bool {
        self.power == Power::On
    }

    /// By how much the device's own power cuts (keys of `[power]`) have kept the host waiting so far, in nanoseconds: a
    /// recorded workload goes on by so much later.
    pub fn behind(&self) -> u64 {
        self.session.behind().0
    }

    /// Submits a request at `now`. Returns its id: 0, 1, 2 and so on.
    ///
    /// # Errors
    /// An instant before the device's present, a range beyond its capacity or a length that no request of this kind has,
    /// a device without power or whose result was taken: nothing has changed then. A simulation that ends in an error.
    pub fn submit(&mut self, now: u64, request: &DeviceRequest) -> Result<u64, DeviceError> {
        self.take_in(&request.at(now), &[])
    }

    /// Submits a request at `now` to a device with data, with the bytes that it writes: as many as its length for a write
    /// and an append to a zone, none for any other request. Returns its id.
    ///
    /// # Errors
    /// As [`Device::submit`]; another number of bytes, parts of sectors, or bytes for a device that keeps none: nothing
    /// has changed then.
    pub fn submit_data(&mut self, now: u64, request: &DeviceRequest, data: &[u8]) -> Result<u64, DeviceError> {
        self.take_in(&request.at(now), data)
    }

    /// What a read has returned that is done, until it is taken.
    pub fn data(&self, id: u64) -> Option<&[u8]> {
        self.session.ssd.observer.data.as_ref()?.read.get(&id).map(Vec::as_slice)
    }

    /// Takes what a read has returned. `None`: no such read is done, its pages could not be read, or it was taken.
    pub fn take_data(&mut self, id: u64) -> Option<Vec<u8>> {
        self.session.ssd.observer.data.as_mut()?.read.remove(&id)
    }

    /// Submits requests in their order, each at its own instant, which none may have before the one ahead of it: what
    /// single calls would do, faster, because what the next ones touch is fetched from memory meanwhile. Returns the ids
    /// of those that were taken, and what refused the one behind them, if one was refused. `requests` may end in an error
    /// of its own.
    pub fn submit_many<E: From<DeviceError>>(
        &mut self,
        requests: impl IntoIterator<Item = Result<(u64, DeviceRequest), E>>,
    ) -> (Range<u64>, Result<(), E>) {
        let first = self.session.ssd.observer.given();
        let (mut requests, mut lookahead) = (requests.into_iter(), Lookahead::new(None));
        let mut take = |place: &mut HostRequest| match requests.next() {
            Some(next) => next.map(|(at, request)| *place = request.at(at)).map(|()| true),
            None => Ok(false),
        };
        let ended = loop {
            match lookahead.next(&mut take, &self.session.ssd) {
                Ok(Some(request)) => {
                    if let Err(refused) = self.take_in(request, &[]) {
                        break Err(refused.into());
                    }
                }
                Ok(None) => break Ok(()),
                Err(own) => break Err(own),
            }
        };
        (first..self.session.ssd.observer.given(), ended)
    }

    /// Takes a request in at its arrival, with the bytes that it writes.
    #[inline]
    fn take_in(&mut self, request: &HostRequest, data: &[u8]) -> Result<u64, DeviceError> {
        self.check_is_on()?;
        self.check_range(request)?;
        self.check_flow(request.flow)?;
        data::check(self.session.ssd.observer.data.as_deref(), request, data)?;
        let now = request.arrival;
        self.check_not_past(now.0)?;
        self.pass(now, usize::MAX)?;
        self.check_not_past(now.0)?;
        if request.kind == RequestKind::Trim {
            self.leave_copies_unguarded();
        }
        let id = self.session.ssd.observer.expect();
        if let Some(kept) = &mut self.session.ssd.observer.data {
            kept.prepare(request, data);
        }
        let submitted = self.session.submit(request, now);
        self.ended_well(submitted)?;
        Ok(id)
    }

    /// When something happens next that may complete a request, in nanoseconds, or the device's present if a completion
    /// waits to be taken; `None` if nothing will happen before the next request.
    pub fn next_event(&self) -> Option<u64> {
        let waiting = self.session.ssd.observer.first().map(|completion| completion.at_ns.max(self.present.0));
        let event = || self.session.ssd.next_event().filter(|_| self.power == Power::On).map(|at| at.0);
        waiting.or_else(event)
    }

    /// Lets time pass until `to`, and no further. What is done by then waits for [`Device::take_completions`].
    ///
    /// # Errors
    /// An instant before the device's present, a device without power or whose result was taken; nothing has changed
    /// then. A simulation that ends in an error.
    pub fn advance(&mut self, to: u64) -> Result<(), DeviceError> {
        self.check_is_on()?;
        check_instant(to, self.present.0)?;
        self.pass(Time(to), usize::MAX)
    }

    /// Lets time pass until so many completions wait to be taken, and no further than `to`, which may be
    /// [`Device::NEVER`]: then time passes no further than something happens.
    ///
    /// # Errors
    /// As [`Device::advance`].
    pub fn advance_for(&mut self, to: u64, completions: usize) -> Result<(), DeviceError> {
        self.check_is_on()?;
        if to != Device::NEVER {
            check_instant(to, self.present.0)?;
        }
        self.pass(Time(to), completions)
    }

    /// Takes the completion that came first.
    pub fn take_completion(&mut self) -> Option<DeviceCompletion> {
        self.session.ssd.observer.take()
    }

    /// Takes what is done, in the order of time.
    pub fn take_completions(&mut self) -> impl Iterator<Item = DeviceCompletion> + '_ {
        std::iter::from_fn(|| self.take_completion())
    }

    /// Cuts the power at `now`. What was submitted and is not done yet completes with [`Status::PowerLost`].
    ///
    /// # Errors
    /// As [`Device::advance`], and a device that cannot start again (`ftl.recovery = "off"`).
    pub fn cut(&mut self, now: u64) -> Result<(), DeviceError> {
        self.check_is_on()?;
        self.check_not_past(now)?;
        if !self.session.can_recover() {
            return Err(
                SpecError("the device cannot start again after a power cut; ftl.recovery is \"off\"".into()).into()
            );
        }
        // What happens at the very instant of the cut does not happen any more.
        if now > 0 {
            self.pass(Time(now - 1), usize::MAX)?;
            self.check_not_past(now)?;
        }
        let cut = self.session.take_power(Time(now));
        self.ended_well(cut)?;
        self.power = Power::Off(self.session.ssd.now.max(Time(now)));
        self.present = Time(now);
        Ok(())
    }

    /// Gives the power back at `now`. The device then starts as its spec says; until [`Device::now`] it takes no request.
    ///
    /// # Errors
    /// A device that has power, an instant before the cut or before the device's own energy was used up; nothing has
    /// changed then. A simulation that ends in an error, such as a drive that finds no room to work in.
    pub fn restart(&mut self, now: u64) -> Result<(), DeviceError> {
        let since = match self.power {
            Power::Off(since) => since,
            Power::On => return Err(DeviceError::HasPower),
            Power::Ended => return Err(DeviceError::Ended),
        };
        check_instant(now, since.0)?;
        let started = self.session.give_power(Time(now)).and_then(|()| self.settle());
        self.ended_well(started)?;
        (self.power, self.present) = (Power::On, Time(now));
        Ok(())
    }

    /// An independent device in the same state, completions that wait included.
    ///
    /// # Errors
    /// A device with code of its user's own, whose state is its own affair; one whose result was taken.
    pub fn fork(&self) -> Result<Device, DeviceError> {
        if self.power == Power::Ended {
            return Err(DeviceError::Ended);
        }
        let session = self.session.forked(self.session.ssd.observer.clone()).map_err(DeviceError::Fork)?;
        let Device { config, capacity, power, present, .. } = self;
        Ok(Device { session, config: Arc::clone(config), capacity: *capacity, power: *power, present: *present })
    }

    /// The result document so far (`pumice.result/1`). The device goes on.
    ///
    /// # Errors
    /// A device whose result was taken; a histogram that its own format cannot hold.
    pub fn result(&self) -> Result<Value, DeviceError> {
        match self.power {
            Power::Ended => Err(DeviceError::Ended),
            Power::On | Power::Off(_) => Ok(self.outcome()?.document),
        }
    }

    /// Ends the use of the device as a run ends: what is under way ends, what is buffered is programmed, and with
    /// `run.check = "integrity"` everything stored is read back. Returns the result document.
    ///
    /// # Errors
    /// A device whose result was taken; a simulation that ends in an error.
    pub fn finish(&mut self) -> Result<Value, DeviceError> {
        if self.power == Power::Ended {
            return Err(DeviceError::Ended);
        }
        if self.power == Power::On {
            self.session.end_requests();
            while self.step(Time::NEVER)? {}
        }
        if self.config.run.check == Check::Integrity {
            self.session.ssd.read_back();
        }
        let fault = self.session.ssd.controller.raise_fault();
        self.ended_well(fault)?;
        self.power = Power::Ended;
        Ok(self.outcome()?.document)
    }

    fn outcome(&self) -> Result<Outcome, SimError> {
        self.session.outcome(Origin::default())
    }

    /// What happens next by an instant happens; `false` if nothing does.
    #[inline]
    fn step(&mut self, until: Time) -> Result<bool, DeviceError> {
        let handled = self.session.run_until(until).and_then(|goes_on| {
            self.settle()?;
            Ok(goes_on)
        });
        self.ended_well(handled)
    }

    /// Lets RAM go of bytes that are programmed, if the device keeps any.
    #[inline]
    fn settle(&mut self) -> Result<(), SimError> {
        let Ssd { observer, controller, .. } = &mut self.session.ssd;
        observer.data.as_mut().map_or(Ok(()), |data| data.settle(controller))
    }

    /// Everything up to an instant happens, or until so many completions wait.
    fn pass(&mut self, to: Time, wanted: usize) -> Result<(), DeviceError> {
        let until = to.min(Time::NEVER);
        // A device that is starting has its next events behind its present.
        while self.session.ssd.now <= until {
            if self.waiting() >= wanted {
                return Ok(());
            }
            if !self.step(until)? {
                break;
            }
        }
        if to <= until {
            self.present = self.present.max(to);
        }
        Ok(())
    }

    /// The host trims, whether the spec's own workload does or not: a page's last copy may go.
    fn leave_copies_unguarded(&mut self) {
        self.session.ssd.controller.scheduler.chips.checked.leave_copies_unguarded();
    }

    /// An error of the simulation ends the device.
    fn ended_well<T>(&mut self, done: Result<T, SimError>) -> Result<T, DeviceError> {
        done.map_err(|error| {
            self.power = Power::Ended;
            error.into()
        })
    }
}
