//! The device: a session of the engine with the bytes of its pages. Operations begin, time passes, and they are done.

pub(crate) mod exchange;
pub(crate) mod pages;
pub(crate) mod submitted;
pub(crate) mod under_way;

mod ageing;
#[cfg(test)]
mod durability;
mod extents;
mod kept_state;
mod orders;
mod snapshots;
#[cfg(test)]
mod tests;

use pumice_config::{Check, Config};
use pumice_engine::{Origin, Outcome, Session, SimError};
use pumice_types::{HostRequest, RequestKind, Time};
use pumice_workload::Trims;
use serde_json::{Value, json};

use self::snapshots::DeviceSnapshots;
use crate::device::exchange::{DeviceSession, exchange, next_event, settle, submit};
use crate::device::pages::DataPath;
use crate::device::submitted::SubmittedRequests;
use crate::device::under_way::{DoneOperation, Operations};
use crate::protocol::transmission::{ErrorCode, Reply};
use crate::recording::RecordingWriter;
use crate::recording::journal::DeviceEvent;
use crate::recording::operation::{ClientOperation, OperationStep, Place, request};
use crate::recording::record::Record;
use crate::store::Store;
use pumice_engine::data::{FinishedTransfer, Transfer};

/// Where a device's requests are kept.
#[derive(Default)]
pub struct Kept {
    /// A trace that replays to the same result.
    pub record: Option<Record>,
    /// The file that the device lives in.
    pub store: Option<Store>,
    /// What clients ask for, with the data of writes, for the crash lab.
    pub recording: Option<RecordingWriter>,
    /// Requests as they are submitted, with their data.
    pub submitted: Option<SubmittedRequests>,
}

/// The simulated device. `T` names who waits for an operation.
pub struct Device<T> {
    config: Config,
    session: DeviceSession,
    page_bytes: u64,
    capacity: u64,
    kept: Kept,
    /// When the power was cut, in seconds of the device's clock.
    cuts_s: Vec<f64>,
    /// What ended the simulation; the device does nothing any more.
    failure: Option<String>,
    operations: Operations<T>,
    /// Time has passed until here, whether something happened or not.
    present: Time,
    /// Instants to go back to.
    snapshots: DeviceSnapshots,
    /// What became of a session of its store that broke off, if one did.
    recovered: Option<String>,
}

impl<T> Device<T> {
    /// A device in its initial state, or in the state that its store has kept. `goes_on` is asked now and then;
    /// `false` ends the work.
    ///
    /// # Errors
    /// A scale that does not fit the geometry, an initial state that breaks a rule, a store that cannot be read, or
    /// `goes_on` says no.
    pub fn new(
        config: &Config,
        scale: f64,
        mut path: DataPath,
        kept: Kept,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Device<T>, SimError> {
        // No page has bytes before the first write, and those of a store are where they belong.
        path.set_replay(true);
        let mut session = Session::new(config, scale, path)?;
        if let Some(mut ageing) = session.ageing()? {
            while session.age(&mut ageing)? {
                check(goes_on)?;
            }
        }
        let (page_bytes, capacity) = (u64::from(config.mapped_page_bytes()), session.capacity());
        let (operations, present) = (Operations::new(), Time::ZERO);
        let (cuts_s, failure) = (Vec::new(), None);
        let snapshots = DeviceSnapshots::default();
        let mut device = Device {
            config: config.clone(),
            session,
            page_bytes,
            capacity,
            kept,
            cuts_s,
            failure,
            operations,
            present,
            snapshots,
            recovered: None,
        };
        device.replay(goes_on)?;
        device.path().set_replay(false);
        Ok(device)
    }

    /// Bytes that a host can address.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How far it is: its time, the requests that came, and what ended the simulation, if something did.
    pub fn progress(&self) -> Value {
        let (simulated_s, requests) = (self.now().as_s(), self.session.submitted());
        let (failure, snapshots, recovered) = (&self.failure, self.snapshots.told(), &self.recovered);
        json!({
            "requests": requests,
            "simulated_s": simulated_s,
            "failure": failure,
            "snapshots": snapshots,
            "recovered": recovered,
        })
    }

    /// # Errors
    /// The simulation has ended in an error.
    pub fn check_is_well(&self) -> Result<(), SimError> {
        self.failure.as_ref().map_or(Ok(()), |text| Err(SimError::Simulation(text.clone())))
    }

    /// What ended the simulation, if something did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Requests that were submitted so far, if they are kept; none otherwise.
    pub fn submitted_requests(&self) -> usize {
        self.kept.submitted.as_ref().map_or(0, |submitted| submitted.requests.len())
    }

    /// Takes the requests that were submitted, if they are kept.
    pub fn take_submitted(&mut self) -> SubmittedRequests {
        self.kept.submitted.take().unwrap_or_default()
    }

    /// Whether a request has ever come.
    pub fn is_used(&self) -> bool {
        self.session.submitted() > 0
    }

    /// The device's present.
    pub fn now(&self) -> Time {
        self.session.ssd.now.max(self.present)
    }

    /// When an operation is done, or something else happens that one may wait for. `None`: none is under way.
    pub fn next_event(&self) -> Option<Time> {
        let event = self.session.ssd.next_event().filter(|_| self.operations.under_way() > 0);
        self.operations.next_done().or(event)
    }

    /// The next operation that is done by an instant.
    pub fn take_done(&mut self, by: Time) -> Option<DoneOperation<T>> {
        self.operations.next_done().filter(|&at| at <= by).and_then(|_| self.operations.take_done())
    }

    /// Begins an operation at the device's present.
    pub fn begin(&mut self, operation: ClientOperation, to: T) {
        let now = self.now();
        if self.failure.is_some() || self.path().is_dead() {
            return self.operations.at_once(to, Reply::Failed(ErrorCode::Io), now);
        }
        if let ClientOperation::Status { place, one } = operation {
            let status = self.status(place, one);
            return self.operations.at_once(to, Reply::Status(status), now);
        }
        let recorded = self.kept.recording.as_mut().map_or(Ok(()), |recording| recording.add(&operation, now));
        let lasts = operation.lasts();
        self.operations.begin(operation.steps(), lasts, to, now);
        let begun = recorded.and_then(|()| self.go_on());
        self.note_failure(begun);
    }

    /// Lets time pass up to an instant of the device's clock. The present never goes back. Before the first request no
    /// time passes, because a trace begins with it.
    pub fn advance(&mut self, until: Time) {
        let passed = if self.failure.is_none() && self.is_used() { self.pass_time(until) } else { Ok(()) };
        self.note_failure(passed);
    }

    /// Lets time pass until everything under way is done, and no further.
    pub fn complete(&mut self) {
        while self.operations.under_way() > 0 && self.failure.is_none() {
            let next = next_event(&self.session);
            let done = next.and_then(|next| self.session.run_until(next)).and_then(|_| self.collect());
            self.note_failure(done);
        }
    }

    fn pass_time(&mut self, until: Time) -> Result<(), SimError> {
        let until = until.max(self.now());
        while self.session.run_until(until)? {
            self.collect()?;
        }
        self.present = until;
        Ok(())
    }

    /// An error of the simulation ends everything.
    fn note_failure(&mut self, done: Result<(), SimError>) {
        if let Err(error) = done {
            self.failure = Some(error.to_string());
            self.operations.end_all(&Reply::Failed(ErrorCode::Io), self.session.ssd.now);
        }
    }

    /// Takes what the last event has ended, and does the next steps of its operations.
    fn collect(&mut self) -> Result<(), SimError> {
        self.collect_done()?;
        self.go_on()
    }

    /// Takes what has ended.
    fn collect_done(&mut self) -> Result<(), SimError> {
        settle(&mut self.session)?;
        while let Some(FinishedTransfer { transfer, at }) = self.path().take_finished() {
            let owner = transfer.owner;
            self.operations.step_done(owner, reply_of(transfer), at);
        }
        Ok(())
    }

    /// Does the next steps of operations that can go on.
    fn go_on(&mut self) -> Result<(), SimError> {
        while let Some(number) = self.operations.next_ready() {
            while let Some(step) = self.operations.next_step(number, self.now()) {
                if self.do_step(number, step)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Does one step of an operation. Returns whether it has to be waited for.
    fn do_step(&mut self, number: u32, step: OperationStep) -> Result<bool, SimError> {
        let (request, data) = match step {
            // The protocol takes a trim as advice.
            OperationStep::Request(request, _) if request.kind == RequestKind::Trim && self.drops_trims() => {
                return Ok(false);
            }
            OperationStep::Request(request, data) => (request, data),
            OperationStep::StoreZeroes(place) => {
                (request(RequestKind::Write, place, false), vec![0; place.bytes as usize])
            }
            OperationStep::ZeroTheRest(place) => {
                let parts = self.left_in(place).into_iter().flat_map(Place::parts).map(OperationStep::StoreZeroes);
                let parts: Vec<OperationStep> = parts.collect();
                self.operations.insert_steps(number, parts.into_iter());
                return Ok(false);
            }
        };
        let transfer = self.keep(request, data)?.of(number);
        submit(&mut self.session, transfer, &mut |_| Ok(()))?;
        // A write buffer may have taken it at once, and others may have ended at this instant.
        self.collect_done()?;
        Ok(true)
    }

    /// Whether the device knows no trims.
    fn drops_trims(&self) -> bool {
        self.config.workload.trace.trims == Trims::Drop
    }

    /// A request that is about to be submitted now, noted wherever requests are kept.
    fn keep(&mut self, request: HostRequest, data: Vec<u8>) -> Result<Transfer, SimError> {
        // A host that had to wait for the device to recover is behind its clock by that time.
        let request = HostRequest { arrival: self.now() - self.session.behind(), ..request };
        if let Some(record) = &mut self.kept.record {
            record.write(&request)?;
        }
        if let Some(store) = &mut self.kept.store {
            store.add(&DeviceEvent::Request(request))?;
        }
        if let Some(submitted) = &mut self.kept.submitted {
            submitted.add(&request, &data);
        }
        Ok(Transfer::new(request, data))
    }

    fn path(&mut self) -> &mut DataPath {
        &mut self.session.ssd.observer
    }

    /// The result so far, while the device goes on.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold, or a simulation that ended in an error.
    pub fn result(&mut self) -> Result<Outcome, SimError> {
        self.check_is_well()?;
        self.document(Record::unrecorded())
    }

    fn document(&mut self, origin: Origin) -> Result<Outcome, SimError> {
        let mut outcome = self.session.outcome(origin)?;
        if !self.cuts_s.is_empty() {
            // As a spec says it that replays the record.
            let mut config = self.config.clone();
            config.power.cut_at_s.clone_from(&self.cuts_s);
            outcome.document["config"] = config.result_keys();
            outcome.document["config_sha256"] = json!(config.digest());
        }
        Ok(outcome)
    }

    /// Ends the use of the device: what is under way ends, what is buffered is programmed. Returns the result.
    ///
    /// # Errors
    /// A simulation that ended in an error, or a record that cannot be written.
    pub fn finish(&mut self) -> Result<Outcome, SimError> {
        self.check_is_well()?;
        if let Some(recording) = self.kept.recording.take() {
            recording.finish()?;
        }
        if self.session.ssd.controller.is_buffered() || !self.cuts_s.is_empty() {
            // A request of the host, so that a replay ends in the same state: behind the last cut, with nothing buffered.
            let flush = self.keep(HostRequest::flush(Time::ZERO), Vec::new())?;
            exchange(&mut self.session, flush, &mut |_| Ok(()))?;
        }
        self.session.end_requests();
        while self.session.run_until(Time::NEVER)? {}
        settle(&mut self.session)?;
        if self.config.run.check == Check::Integrity {
            self.session.ssd.read_back();
        }
        let Kept { record, store, .. } = std::mem::take(&mut self.kept);
        let at = self.now() - self.session.behind();
        if store.map_or(Ok(false), |store| store.close(at))? {
            self.path().medium.commit(true)?;
        }
        let origin = match record {
            Some(record) => record.finish(&self.config, self.capacity)?,
            None => Record::unrecorded(),
        };
        self.document(origin)
    }
}

/// What a client gets for a request that is done.
fn reply_of(transfer: Transfer) -> Reply {
    if transfer.request.kind != RequestKind::Read {
        return Reply::Done;
    }
    match transfer.is_corrupt {
        true => Reply::Failed(ErrorCode::Io),
        false => Reply::Data(transfer.request.offset_bytes, transfer.data),
    }
}

/// # Errors
/// `goes_on` says no.
fn check(goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
    if goes_on() { Ok(()) } else { Err(SimError::Interrupted) }
}
