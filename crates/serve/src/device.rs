//! The device: a session of the engine with the bytes of its pages, used one operation at a time.

use std::collections::VecDeque;

use pumice_config::{Check, Config};
use pumice_engine::{Origin, Outcome, Session, SimError};
use pumice_ftl::TranslationLayer;
use pumice_ftl::recovery::Recovery;
use pumice_types::{HostRequest, Lpn, PageAddress, RequestKind, Time};
use pumice_workload::Trims;
use serde_json::{Value, json};

use crate::data_path::{DataPath, Transfer};
use crate::exchange::{DeviceSession, exchange, settle};
use crate::journal::DeviceEvent;
use crate::operation::{ClientOperation, OperationStep, Place, request};
use crate::protocol::transmission::{DataExtent, ErrorCode, Reply};
use crate::record::Record;
use crate::recording::RecordingWriter;
use crate::store::Store;

/// Most extents of one status reply. The client asks again behind the last one.
const EXTENTS_MAX: usize = 1 << 12;

/// Most pages that are looked at for one status reply.
const STATUS_PAGES_MAX: u64 = 1 << 18;

/// Where a device's requests are kept.
#[derive(Default)]
pub struct Kept {
    /// A trace that replays to the same result.
    pub record: Option<Record>,
    /// The file that the device lives in.
    pub store: Option<Store>,
    /// Every request with its data, for the crash lab.
    pub recording: Option<RecordingWriter>,
}

/// The simulated device.
pub struct Device<'a> {
    config: &'a Config,
    session: DeviceSession<'a>,
    page_bytes: u64,
    capacity: u64,
    kept: Kept,
    /// When the power was cut, in seconds of the device's clock.
    cuts_s: Vec<f64>,
    /// What ended the simulation; the device does nothing any more.
    failure: Option<String>,
}

impl<'a> Device<'a> {
    /// A device in its initial state, or in the state in which its store was closed.
    ///
    /// # Errors
    /// A scale that does not fit the geometry, an initial state that breaks a rule, or a store that cannot be read.
    pub fn new(config: &'a Config, scale: f64, path: &'a mut DataPath, kept: Kept) -> Result<Device<'a>, SimError> {
        // No page has bytes before the first write, and those of a store are where they belong.
        path.set_replay(true);
        let mut session = Session::new(config, scale, path)?;
        if let Some(mut ageing) = session.ageing() {
            while session.age(&mut ageing)? {}
        }
        let (page_bytes, capacity) = (u64::from(config.chip.geometry.page_bytes), session.capacity());
        let mut device = Device { config, session, page_bytes, capacity, kept, cuts_s: Vec::new(), failure: None };
        device.replay()?;
        device.path().set_replay(false);
        Ok(device)
    }

    /// Brings the device into the state in which its store was closed.
    fn replay(&mut self) -> Result<(), SimError> {
        let Some(store) = self.kept.store.take() else { return Ok(()) };
        let mut failure = None;
        let replayed = store.replay(|event| {
            self.replay_event(event).map_err(|error| {
                let text = error.to_string();
                failure = Some(error);
                text
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        replayed.map_err(SimError::Output)?;
        while self.session.ssd.next_event().is_some() {
            self.session.step()?;
        }
        self.kept.store = Some(store);
        Ok(())
    }

    fn replay_event(&mut self, event: &DeviceEvent) -> Result<(), SimError> {
        let request = match event {
            DeviceEvent::Cut(at) => return self.lose_power(*at + self.session.behind()),
            DeviceEvent::Request(request) => request,
        };
        if let Some(record) = &mut self.kept.record {
            record.write(request)?;
        }
        while self.session.step_until(request.arrival)? {}
        self.session.submit(request, request.arrival + self.session.behind())
    }

    /// Cuts the power now and starts the device anew. What was written and not flushed may be lost.
    ///
    /// # Errors
    /// A device that cannot start anew, or a simulation that ended in an error.
    pub fn cut(&mut self) -> Result<Value, SimError> {
        if let Some(text) = &self.failure {
            return Err(SimError::Simulation(text.clone()));
        }
        if self.config.ftl.shared.recovery == Recovery::Off {
            let text = "the device cannot start anew after a power cut; serve it with ftl.recovery = \"scan\"";
            return Err(SimError::Simulation(text.into()));
        }
        if self.kept.recording.is_some() {
            let text = "the power of a device whose session is recorded is not cut; the crash lab cuts it";
            return Err(SimError::Simulation(text.into()));
        }
        // Behind everything that happens at this instant.
        let at = self.session.ssd.now + Time(1);
        if let Some(store) = &mut self.kept.store {
            store.add(&DeviceEvent::Cut(at - self.session.behind())).map_err(SimError::Output)?;
        }
        let cut = self.lose_power(at).and_then(|()| settle(&mut self.session));
        cut.inspect_err(|error| self.failure = Some(error.to_string()))?;
        let took = self.session.ssd.now - at;
        let is_dead = self.path().is_dead();
        Ok(json!({
            "cuts": self.cuts_s.len(), "at_s": at.as_s(), "recovery_us": took.as_us(), "is_dead": is_dead,
        }))
    }

    /// Notes in the recording how far the program is that uses the device.
    ///
    /// # Errors
    /// Nothing is recorded, or the recording cannot be written.
    pub fn mark(&mut self, text: &str) -> Result<Value, SimError> {
        let none = || SimError::Simulation("the session is not recorded, so it has no marks".into());
        let recording = self.kept.recording.as_mut().ok_or_else(none)?;
        recording.mark(text).map_err(SimError::Output)?;
        Ok(json!({ "requests": self.session.submitted() }))
    }

    fn lose_power(&mut self, at: Time) -> Result<(), SimError> {
        self.cuts_s.push(at.as_s());
        self.session.cut_power(at)?;
        self.path().lose_power();
        Ok(())
    }

    /// Bytes that a host can address.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How far it is: its time, the requests that came, and what ended the simulation, if something did.
    pub fn progress(&self) -> Value {
        let (simulated_s, requests) = (self.session.ssd.now.as_s(), self.session.submitted());
        json!({ "requests": requests, "simulated_s": simulated_s, "failure": self.failure })
    }

    /// What ended the simulation, if something did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Does an operation at once, as if the host had waited for it.
    pub fn perform(&mut self, operation: ClientOperation) -> Reply {
        if self.failure.is_some() || self.path().is_dead() {
            return Reply::Failed(ErrorCode::Io);
        }
        if let ClientOperation::Status { place, one } = operation {
            return Reply::Status(self.status(place, one));
        }
        let done = self.run_steps(operation.steps());
        done.unwrap_or_else(|error| {
            self.failure = Some(error.to_string());
            Reply::Failed(ErrorCode::Io)
        })
    }

    fn run_steps(&mut self, mut steps: VecDeque<OperationStep>) -> Result<Reply, SimError> {
        let mut reply = Reply::Done;
        while let Some(step) = steps.pop_front() {
            match step {
                // The protocol takes a trim as advice.
                OperationStep::Request(request, _) if request.kind == RequestKind::Trim && self.drops_trims() => {}
                OperationStep::Request(request, data) => reply = self.run_request(request, data)?,
                OperationStep::StoreZeroes(place) => {
                    let zeroes = vec![0; place.bytes as usize];
                    reply = self.run_request(request(RequestKind::Write, place, false), zeroes)?;
                }
                OperationStep::ZeroTheRest(place) => {
                    let parts = self.left_in(place).into_iter().flat_map(Place::parts);
                    parts.rev().for_each(|part| steps.push_front(OperationStep::StoreZeroes(part)));
                }
            }
        }
        Ok(reply)
    }

    /// Whether the device knows no trims.
    fn drops_trims(&self) -> bool {
        self.config.workload.trace.trims == Trims::Drop
    }

    /// Submits a request now and lets time pass until it is done.
    fn run_request(&mut self, request: HostRequest, data: Vec<u8>) -> Result<Reply, SimError> {
        let now = self.session.ssd.now;
        // A host that had to wait for the device to start anew is behind its clock by that time.
        let request = HostRequest { arrival: now - self.session.behind(), ..request };
        if let Some(record) = &mut self.kept.record {
            record.write(&request)?;
        }
        if let Some(store) = &mut self.kept.store {
            store.add(&DeviceEvent::Request(request)).map_err(SimError::Output)?;
        }
        if let Some(recording) = &mut self.kept.recording {
            recording.add(&request, &data).map_err(SimError::Output)?;
        }
        let transfer = exchange(&mut self.session, Transfer::new(request, data), &mut |_| Ok(()))?;
        settle(&mut self.session)?;
        Ok(self.reply_of(transfer))
    }

    /// What a client gets for a request that is done.
    fn reply_of(&self, transfer: Transfer) -> Reply {
        if transfer.data.is_empty() || transfer.request.kind != RequestKind::Read {
            return Reply::Done;
        }
        let array = &self.session.ssd.controller.scheduler.chips.checked.array;
        let is_corrupt = |page: &PageAddress| array.peek(*page).is_ok_and(|content| content.corrupt);
        if transfer.sources.iter().any(is_corrupt) {
            return Reply::Failed(ErrorCode::Io);
        }
        Reply::Data(transfer.request.offset_bytes, transfer.data)
    }

    fn path(&mut self) -> &mut DataPath {
        self.session.ssd.observer
    }

    /// Whether a logical page holds data.
    fn holds_data(&mut self, lpn: u32) -> bool {
        self.session.ssd.ftl().locate(Lpn(lpn)).is_some() || self.path().ram.holds(lpn)
    }

    /// Pages of a part of the device.
    fn pages_of(&self, place: Place) -> std::ops::Range<u64> {
        place.offset / self.page_bytes..(place.offset + u64::from(place.bytes)).div_ceil(self.page_bytes)
    }

    /// The common part of a place and a page.
    fn part(&self, place: Place, page: u64) -> Place {
        let (first, last) = (page * self.page_bytes, (page + 1) * self.page_bytes);
        let (start, end) = (place.offset.max(first), (place.offset + u64::from(place.bytes)).min(last));
        Place { offset: start, bytes: (end - start) as u32 }
    }

    /// Parts of a place that hold data.
    fn left_in(&mut self, place: Place) -> Vec<Place> {
        let mut left: Vec<Place> = Vec::new();
        for page in self.pages_of(place) {
            if !self.holds_data(page as u32) {
                continue;
            }
            let part = self.part(place, page);
            match left.last_mut() {
                Some(last) if last.offset + u64::from(last.bytes) == part.offset => last.bytes += part.bytes,
                _ => left.push(part),
            }
        }
        left
    }

    /// Which parts of a place hold data, from its first byte on; perhaps not to its end.
    fn status(&mut self, place: Place, one: bool) -> Vec<DataExtent> {
        let mut extents: Vec<DataExtent> = Vec::new();
        let pages = self.pages_of(place);
        let last = pages.end.min(pages.start + STATUS_PAGES_MAX);
        for page in pages.start..last {
            let (holds_data, part) = (self.holds_data(page as u32), self.part(place, page));
            let is_full = extents.len() == if one { 1 } else { EXTENTS_MAX };
            match extents.last_mut() {
                Some(extent) if extent.holds_data == holds_data => extent.bytes += part.bytes,
                _ if is_full => break,
                _ => extents.push(DataExtent { bytes: part.bytes, holds_data }),
            }
        }
        extents
    }

    /// The result so far, while the device goes on.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold, or a simulation that ended in an error.
    pub fn result(&mut self) -> Result<Outcome, SimError> {
        if let Some(text) = &self.failure {
            return Err(SimError::Simulation(text.clone()));
        }
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
        if let Some(text) = &self.failure {
            return Err(SimError::Simulation(text.clone()));
        }
        if let Some(recording) = self.kept.recording.take() {
            recording.finish().map_err(SimError::Output)?;
        }
        if self.session.ssd.controller.is_buffered() || !self.cuts_s.is_empty() {
            // A request of the host, so that a replay ends in the same state: behind the last cut, with nothing buffered.
            self.run_request(HostRequest::flush(Time::ZERO), Vec::new())?;
        }
        self.session.end_requests();
        while self.session.drain_step()? {}
        settle(&mut self.session)?;
        if self.config.run.check == Check::Integrity {
            self.session.ssd.read_back();
        }
        let Kept { record, store, .. } = std::mem::take(&mut self.kept);
        store.map_or(Ok(()), Store::close).map_err(SimError::Output)?;
        let origin = match record {
            Some(record) => record.finish(self.config, self.capacity)?,
            None => Record::unrecorded(),
        };
        self.document(origin)
    }
}
