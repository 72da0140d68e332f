//! The crash lab: the power of a device is cut at many instants of one recorded session, and what a host would find
//! then is compared with what the device had promised.
//!
//! The session is replayed once. At each instant the device is forked: the fork loses its power, starts anew and is
//! judged, and the session goes on without having noticed. The lab's devices keep a number for each sector in place of
//! its bytes ([`SectorStamp`](crate::sector::SectorStamp)): it names the write that the sector comes from, so
//! that the judge knows not only that a sector is wrong but where it comes from.

mod fork;
mod image;
mod replay;
mod truth;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use pumice_config::{Config, SpecError, SpecSource};
use pumice_engine::{SimError, open_workload};
use pumice_ftl::recovery::Recovery;
use pumice_types::{HostRequest, RequestKind, Time, choice};

use crate::protocol::SECTOR;
use crate::recording::RecordedSession;
use crate::spec::served_config;
use fork::CutTrials;
use replay::{Instants, replay};
pub use truth::{CrashVerdict, PageCounts, WrongSector};

choice! {
    /// Where the power of a session is cut.
    pub enum CutPlaces {
        /// At instants that the seed draws, each as likely as any other.
        Random = "random",
        /// One nanosecond after the device has promised something: a flush, a write with force unit access, or without a
        /// write buffer any write.
        Promises = "promises",
        /// One nanosecond after each event of the device.
        Dense = "dense",
    }
}

/// A power cut to be tried.
#[derive(Clone, Debug)]
pub struct CrashCut {
    /// When, on the device's clock.
    pub at: Time,
    /// Where the device is written that a host would then find; not at all if absent.
    pub image: Option<PathBuf>,
}

/// A power cut that was tried.
#[derive(Clone, Debug)]
pub struct TriedCut {
    /// Which of those that were to be tried.
    pub nth: usize,
    /// What a host would find.
    pub verdict: CrashVerdict,
    /// Where the image is, if one was wanted and the device started again.
    pub image: Option<PathBuf>,
}

/// A device and a recorded session.
pub struct CrashLab {
    config: Config,
    scale: f64,
    recorded: RecordedSession,
}

/// Trials that may wait for whoever judges their images.
const TRIALS_WAITING: usize = 4;

impl CrashLab {
    /// The lab for the device of a spec, and a session.
    ///
    /// # Errors
    /// A spec that cannot be served or cannot start anew, or a session that does not fit the device.
    pub fn new(source: &SpecSource, recorded: RecordedSession) -> Result<CrashLab, SimError> {
        let config = served_config(source, None)?;
        if config.ftl.shared.recovery == Recovery::Off {
            let text = "ftl.recovery = \"off\": the crash lab needs a device that starts anew after a power cut; \
                        allowed: \"scan\", and what `pumice explain ftl.recovery` names for this ftl.kind";
            return Err(SpecError(text.into()).into());
        }
        let lab = CrashLab { config, scale: source.scale.unwrap_or(1.0), recorded };
        let capacity = lab.capacity()?;
        let end = |request: &HostRequest| request.offset_bytes + u64::from(request.bytes);
        if let Some(nth) = lab.recorded.requests.iter().position(|request| end(request) > capacity) {
            let (found, at) = (end(&lab.recorded.requests[nth]), nth + 1);
            let text = format!("request {at} of the session ends at byte {found}, the device has {capacity} bytes");
            return Err(SpecError(text).into());
        }
        Ok(lab)
    }

    /// The lab for the device of a spec and the requests of its own workload, which bring no data. Requests are widened
    /// to whole sectors; trims are left out, because a device that starts anew knows none.
    ///
    /// # Errors
    /// As [`CrashLab::new`], or a workload that cannot be read.
    pub fn of_workload(source: &SpecSource) -> Result<CrashLab, SimError> {
        let mut lab = CrashLab::new(source, RecordedSession::default())?;
        let own = Config::resolve(source)?;
        let mut workload = open_workload(&own, lab.scale, lab.capacity()?)?;
        while let Some(request) = workload.next_request()? {
            if request.kind != RequestKind::Trim {
                lab.recorded.requests.push(in_sectors(request));
            }
        }
        Ok(lab)
    }

    /// Bytes of the device.
    fn capacity(&self) -> Result<u64, SimError> {
        let pages = pumice_engine::user_pages(&self.config, self.scale)?;
        Ok(u64::from(pages) * u64::from(self.config.chip.geometry.page_bytes))
    }

    /// Requests of the session.
    pub fn requests(&self) -> usize {
        self.recorded.requests.len()
    }

    /// Whether images can be written: the data of the session is known.
    pub fn has_data(&self) -> bool {
        self.recorded.data.is_some()
    }

    /// At most so many instants of the session, in ascending order; all of them differ.
    ///
    /// # Errors
    /// The session cannot be replayed, or has no such instant.
    pub fn instants(&self, places: CutPlaces, cuts: usize) -> Result<Vec<Time>, SimError> {
        let mut instants = Instants::new(places);
        replay(self, &mut instants)?;
        instants.draw(cuts, self.config.seed)
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
        match replay(self, &mut CutTrials::new(self, own, tell, stops)) {
            // Its last cut is tried, or nobody wants more.
            Ok(()) | Err(SimError::Interrupted) => Ok(()),
            Err(error) => {
                stops.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// A request widened to whole sectors.
fn in_sectors(request: HostRequest) -> HostRequest {
    let sector = u64::from(SECTOR);
    let first = request.offset_bytes / sector * sector;
    let end = (request.offset_bytes + u64::from(request.bytes)).next_multiple_of(sector);
    HostRequest { offset_bytes: first, bytes: (end - first) as u32, ..request }
}
