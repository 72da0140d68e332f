//! Forks of the device: each loses its power at one instant, recovers, and is judged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use pumice_engine::{CutFlash, Session, SimError, Ssd};
use pumice_types::{Lpn, Time};

use super::cut::{CrashCut, TriedCut};
use super::image;
use super::replay::Onlooker;
use super::subject::CrashSubject;
use super::truth::{FoundContent, HostTruth};
use super::verdict::{CrashVerdict, CutContext};
use crate::device::exchange::DeviceSession;
use crate::device::pages::{DataPath, ServedPages};

/// The cuts of one worker.
pub struct CutTrials<'a> {
    subject: &'a CrashSubject,
    /// Cuts to come, the next one last.
    to_come: Vec<(usize, &'a CrashCut)>,
    tell: SyncSender<TriedCut>,
    stops: &'a AtomicBool,
}

impl<'a> CutTrials<'a> {
    /// Trials of these cuts, in ascending order.
    pub fn new(
        subject: &'a CrashSubject,
        mut cuts: Vec<(usize, &'a CrashCut)>,
        tell: SyncSender<TriedCut>,
        stops: &'a AtomicBool,
    ) -> CutTrials<'a> {
        cuts.reverse();
        CutTrials { subject, to_come: cuts, tell, stops }
    }

    /// Tries the cuts up to an instant.
    fn try_until(&mut self, until: Time, session: &mut DeviceSession, truth: &HostTruth) -> Result<(), SimError> {
        while let Some(&(nth, cut)) = self.to_come.last().filter(|(_, cut)| cut.at <= until) {
            self.to_come.pop();
            let tried = self.try_one(nth, cut, session, truth)?;
            if self.stops.load(Ordering::Relaxed) || self.tell.send(tried).is_err() {
                return Err(SimError::Interrupted);
            }
        }
        // Nothing is left to look at.
        if self.to_come.is_empty() { Err(SimError::Interrupted) } else { Ok(()) }
    }

    fn try_one(
        &self,
        nth: usize,
        cut: &CrashCut,
        session: &mut DeviceSession,
        truth: &HostTruth,
    ) -> Result<TriedCut, SimError> {
        let flash = session.flash_cut_at(cut.at)?;
        let (under_way, requests) = (flash.under_way(), truth.done());
        let context = CutContext { at: cut.at, under_way, requests, mark: self.mark(requests) };
        let mut path = DataPath::of_stamps(self.subject.config.mapped_page_bytes(), ServedPages::default());
        path.set_replay(true);
        let mut fork = Session::new(&self.subject.config, self.subject.scale, path)?;
        let own = &mut fork.ssd.observer;
        own.set_replay(false);
        session.ssd.observer.keep().and_then(|bytes| own.go_back_to(&bytes))?;
        let took = match recover_fork(&mut fork, flash, cut.at) {
            Ok(took) => took,
            Err(why) => {
                let verdict = CrashVerdict { failure: Some(why.to_string()), ..CrashVerdict::of(context) };
                return Ok(TriedCut { nth, verdict, image: None });
            }
        };
        let pages = fork.ssd.ftl().user_pages();
        let mut find = |lpn| content(&mut fork, lpn);
        let verdict = truth.judge(context, took, pages, &mut find)?;
        if let (Some(path), Some(data)) = (&cut.image, &self.subject.session.data) {
            let page_bytes = self.subject.config.mapped_page_bytes();
            image::write(path, page_bytes, (truth, data), (0..pages).map(find))?;
        }
        Ok(TriedCut { nth, verdict, image: cut.image.clone() })
    }

    /// The last mark before so many requests were done.
    fn mark(&self, done: usize) -> Option<String> {
        let marks = &self.subject.session.marks;
        let before = marks.partition_point(|&(requests, _)| requests <= done);
        before.checked_sub(1).map(|last| marks[last].1.clone())
    }
}

/// Cuts a fork's power and lets it recover. Returns how long that takes.
fn recover_fork(fork: &mut DeviceSession, flash: CutFlash, at: Time) -> Result<Time, SimError> {
    // What a cut leaves is drawn anew for each instant, and is the same whenever that instant is tried.
    let took = fork.start_from(flash, &format!("crash-{}", at.0))?;
    let path = &mut fork.ssd.observer;
    if path.is_dead() {
        return Err(SimError::Simulation("the device answers nothing any more (power.failure)".into()));
    }
    path.take_failure().map_or(Ok(took), Err)
}

/// What a host finds in a logical page.
fn content(fork: &mut DeviceSession, lpn: u32) -> Result<FoundContent, SimError> {
    let Ssd { observer, controller, .. } = &mut fork.ssd;
    let Some(page) = controller.ftl.locate(Lpn(lpn)) else { return Ok(FoundContent::Stamps(None)) };
    if controller.scheduler.chips.checked.array.peek(page).map_or(true, |content| content.corrupt) {
        return Ok(FoundContent::Unreadable);
    }
    Ok(FoundContent::Stamps(observer.stored(page)?))
}

impl Onlooker for CutTrials<'_> {
    fn before(&mut self, session: &mut DeviceSession, truth: &HostTruth) -> Result<(), SimError> {
        session.ssd.next_event().map_or(Ok(()), |event| self.try_until(event, session, truth))
    }

    fn over(&mut self, session: &mut DeviceSession, truth: &HostTruth) -> Result<(), SimError> {
        self.try_until(Time(u64::MAX), session, truth)
    }
}
