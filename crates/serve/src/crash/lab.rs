//! The lab: finds the instants, and lets workers try the cuts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use pumice_config::{Config, SpecError, SpecSource};
use pumice_engine::{SimError, open_workload};
use pumice_ftl::Recovery;
use pumice_types::{HostRequest, RequestKind, Time};
use pumice_workload::Trims;

use super::cut::{CrashCut, CutPlaces, TriedCut};
use super::fork::CutTrials;
use super::replay::{Instants, replay};
use super::subject::CrashSubject;
use super::submitted::SubmittedSession;
use crate::protocol::SECTOR;
use crate::recording::RecordedSession;
use crate::recording::spec::served_config;

/// A device and a recorded session.
pub struct CrashLab(CrashSubject);

/// Trials that may wait for whoever judges their images.
const TRIALS_WAITING: usize = 4;

impl CrashLab {
    /// The lab for the device of a spec, and a session.
    ///
    /// # Errors
    /// A spec that cannot be served or cannot recover, or a session that does not fit the device or cannot be had on
    /// it.
    pub fn new(source: &SpecSource, recorded: RecordedSession) -> Result<CrashLab, SimError> {
        let mut lab = CrashLab::idle(source)?;
        let capacity = lab.capacity()?;
        if let Some(nth) = recorded.operations.iter().position(|operation| operation.end() > capacity) {
            let (found, at) = (recorded.operations[nth].end(), nth + 1);
            let text = format!("request {at} of the session ends at byte {found}, the device has {capacity} bytes");
            return Err(SpecError(text).into());
        }
        lab.0.session = SubmittedSession::of(&lab.0.config, lab.0.scale, recorded)?;
        Ok(lab)
    }

    /// The lab for the device of a spec, without a request.
    fn idle(source: &SpecSource) -> Result<CrashLab, SpecError> {
        let config = served_config(source, None)?;
        if config.ftl.shared.recovery == Recovery::Off {
            let text = "ftl.recovery = \"off\": the crash lab needs a device that recovers after a power cut; \
                        allowed: \"scan\", and what `pumice explain ftl.recovery` names for this ftl.kind";
            return Err(SpecError(text.into()));
        }
        if config.power.protection.empties_queues() {
            let text = "power.protection = \"full\": a fork of the crash lab keeps the flash alone, not what waits in RAM to \
                        be saved; allowed: \"none\", \"operations\"";
            return Err(SpecError(text.into()));
        }
        let scale = source.scale.unwrap_or(1.0);
        Ok(CrashLab(CrashSubject { config, scale, session: SubmittedSession::default() }))
    }

    /// The lab for the device of a spec and the requests of its own workload, which bring no data. Requests are widened
    /// to whole sectors, trims are narrowed to them, and left out where the device knows none.
    ///
    /// # Errors
    /// As [`CrashLab::new`], or a workload that cannot be read.
    pub fn of_workload(source: &SpecSource) -> Result<CrashLab, SimError> {
        let mut lab = CrashLab::idle(source)?;
        let own = Config::resolve(source)?;
        let mut workload = open_workload(&own, lab.0.scale, lab.capacity()?)?;
        while let Some(request) = workload.next_request()? {
            if request.kind != RequestKind::Trim || lab.0.config.workload.trace.trims == Trims::Keep {
                lab.0.session.requests.extend(in_sectors(request));
            }
        }
        Ok(lab)
    }

    /// Bytes of the device.
    fn capacity(&self) -> Result<u64, SimError> {
        let pages = self.0.config.user_pages(self.0.scale)?;
        Ok(u64::from(pages) * u64::from(self.0.config.mapped_page_bytes()))
    }

    /// Requests of the session.
    pub fn requests(&self) -> usize {
        self.0.session.requests.len()
    }

    /// Whether images can be written: the data of the session is known.
    pub fn has_data(&self) -> bool {
        self.0.session.data.is_some()
    }

    /// At most so many instants of the session, in ascending order; all of them differ.
    ///
    /// # Errors
    /// The session cannot be replayed, or has no such instant.
    pub fn instants(&self, places: CutPlaces, cuts: usize) -> Result<Vec<Time>, SimError> {
        let mut instants = Instants::new(places);
        replay(&self.0, &mut instants)?;
        instants.draw(cuts, self.0.config.seed)
    }

    /// Tries cuts, which are in ascending order, with so many workers. `each` is told of them as they are done, in any
    /// order; `false` ends the work. Returns whether all were tried.
    ///
    /// # Errors
    /// The session cannot be replayed, or an image cannot be written. What a device does after a cut is never an error.
    pub fn try_cuts(
        &self,
        cuts: &[CrashCut],
        workers: usize,
        each: &mut dyn FnMut(TriedCut) -> bool,
    ) -> Result<bool, SimError> {
        let stops = AtomicBool::new(false);
        let (tell, told) = sync_channel(TRIALS_WAITING);
        let workers = workers.clamp(1, cuts.len().max(1));
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..workers)
                .map(|nth| {
                    let own: Vec<(usize, &CrashCut)> = cuts.iter().enumerate().skip(nth).step_by(workers).collect();
                    let (tell, stops) = (tell.clone(), &stops);
                    scope.spawn(move || self.try_some(own, tell, stops))
                })
                .collect();
            drop(tell);
            for tried in &told {
                if !stops.load(Ordering::Relaxed) && !each(tried) {
                    stops.store(true, Ordering::Relaxed);
                }
            }
            for worker in started {
                match worker.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return Err(error),
                    Err(_) => return Err(SimError::Simulation("a worker of the crash lab ended in a panic".into())),
                }
            }
            Ok(!stops.load(Ordering::Relaxed))
        })
    }

    /// What one worker does.
    fn try_some(
        &self,
        own: Vec<(usize, &CrashCut)>,
        tell: SyncSender<TriedCut>,
        stops: &AtomicBool,
    ) -> Result<(), SimError> {
        match replay(&self.0, &mut CutTrials::new(&self.0, own, tell, stops)) {
            // Its last cut is tried, or nobody wants more.
            Ok(()) | Err(SimError::Interrupted) => Ok(()),
            Err(error) => {
                stops.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// A request widened to whole sectors. A trim is narrowed, because it may give up nothing else; `None` if nothing is left
/// of it.
fn in_sectors(request: HostRequest) -> Option<HostRequest> {
    let sector = u64::from(SECTOR);
    let (first, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
    let (first, end) = match request.kind {
        RequestKind::Trim => (first.next_multiple_of(sector), end / sector * sector),
        RequestKind::Read | RequestKind::Write | RequestKind::Flush | RequestKind::Zone(_) => {
            (first / sector * sector, end.next_multiple_of(sector))
        }
    };
    let is_left = first < end || request.kind == RequestKind::Flush;
    is_left.then(|| HostRequest { offset_bytes: first, bytes: (end - first) as u32, ..request })
}
