//! A device in use: requests come to it one by one, from a workload's run loop or from real programs.

mod joined;
mod kept;
pub mod lookahead;
mod outcome;
mod steady_state;
mod used_state;

use std::sync::Arc;

use pumice_config::{Config, SpecError};
use pumice_ftl::Recovery;
use pumice_types::erase::MAX_LOOPS;
use pumice_types::{BlockId, FlashTiming, Geometry, HostRequest, PartialEraseUnit, Time, WornBlockRule};
use pumice_workload::Fact;

use crate::build::build;
use crate::controller::Controller;
use crate::error::SimError;
use crate::host::portion::DealtRequest;
use crate::observe::{Beginning, ObserverSlot};
use crate::power::{CutFlash, PowerCuts};
use crate::results::{BusyTimes, EndOfLife};
use crate::ssd::Ssd;

pub use kept::KeptSession;
pub use used_state::{Ageing, AgeingRequests};

/// Pages submitted and events handled between two reports of progress.
pub(crate) const PROGRESS_EVERY: u64 = 1 << 17;

/// What the requests of a session come from, as its result tells.
#[derive(Default)]
pub struct Origin {
    /// Facts of the workload.
    pub facts: Vec<(&'static str, Fact)>,
    /// Facts of the workload of each flow that sent requests, by its number.
    pub flows: Vec<(u8, Vec<(&'static str, Fact)>)>,
    /// What had to be changed or overlooked.
    pub warnings: Vec<String>,
}

/// How far a session has come: what it knows beside its device.
#[derive(Clone)]
pub(crate) struct SessionCourse {
    /// Requests submitted.
    submitted: u64,
    /// Pages submitted and events handled since a caller last set this to 0.
    pub(crate) work: u64,
    busy_before: BusyTimes,
    /// Busy times when the last request was done; what was decided by then, and flushing, go on after that.
    busy_after: Option<BusyTimes>,
    /// No request is left to come.
    is_over: bool,
    /// Cuts of the power to come; `None` if the device cannot recover.
    cuts: Option<PowerCuts>,
    /// By how much the host is behind its workload's clock, because it waited for the device to recover.
    behind: Time,
    /// How often the device was aged.
    aged: u32,
    /// When the device became read-only, if it has.
    end_of_life: Option<EndOfLife>,
}

/// A device with its host, from the first request to the result document.
pub struct Session<O: ObserverSlot> {
    /// The device with its host.
    pub ssd: Ssd<O>,
    config: Arc<Config>,
    scale: f64,
    geometry: Geometry,
    timing: FlashTiming,
    /// How far it has come.
    pub(crate) course: SessionCourse,
}

impl<O: ObserverSlot> Session<O> {
    /// A device of a configuration at a scale, in its initial state.
    ///
    /// # Errors
    /// A scale that does not fit the geometry, or a policy of the user's that cannot be made.
    pub fn new(config: &Config, scale: f64, mut observer: O) -> Result<Session<O>, SimError> {
        let config = Arc::new(config.clone());
        let built = build(&config, scale)?;
        let (geometry, timing, user_pages) = (built.geometry, built.timing.clone(), built.ftl.user_pages());
        observer.observer().begin(&Beginning { config: &config, scale, array: &built.chips.checked.array, user_pages });
        let ssd = Ssd::new(&config, built, observer);
        let recovers = config.ftl.shared.recovery != Recovery::Off;
        let course = SessionCourse {
            submitted: 0,
            work: 0,
            busy_before: ssd.busy_times(Time::ZERO),
            busy_after: None,
            is_over: false,
            cuts: recovers.then(|| PowerCuts::new(&config, scale)).transpose()?,
            behind: Time::ZERO,
            aged: 0,
            end_of_life: None,
        };
        let mut session = Session { config, scale, geometry, timing, ssd, course };
        session.arm_cuts(None);
        Ok(session)
    }

    /// Bytes that the host can address.
    pub fn capacity(&self) -> u64 {
        u64::from(self.ssd.ftl().user_pages()) * u64::from(self.geometry.page_bytes)
    }

    /// Requests submitted so far, warm-up included.
    pub fn submitted(&self) -> u64 {
        self.course.submitted
    }

    /// By how much the host is behind its workload's clock.
    pub fn behind(&self) -> Time {
        self.course.behind
    }

    /// What was counted so far counts no more.
    fn restart_measuring(&mut self, now: Time) {
        self.ssd.restart_measuring(now);
        self.course.busy_before = self.ssd.busy_times(now);
    }

    /// The next request is one that was dealt to this thread, of several.
    #[inline]
    pub(crate) fn note_dealt(&mut self, dealt: &DealtRequest) {
        self.course.submitted = dealt.number;
        self.ssd.host.portion.iter_mut().for_each(|portion| portion.note_dealt(dealt));
    }

    /// Whether the request that was submitted last has anything for this thread.
    #[inline]
    pub(crate) fn takes_part(&self) -> bool {
        self.ssd.host.portion.as_ref().is_none_or(|portion| portion.takes_part())
    }

    /// All threads together have submitted so many requests.
    pub(crate) fn note_submitted_by_all(&mut self, requests: u64) {
        self.course.submitted = requests;
    }

    /// Bookkeeping before a request is submitted at `now`. Returns whether it is measured.
    #[inline]
    pub fn note_submitted(&mut self, request: &HostRequest, now: Time) -> bool {
        let warmup = self.config.run.warmup_requests;
        if self.course.submitted == warmup && warmup > 0 {
            self.restart_measuring(now);
        }
        self.course.submitted += 1;
        self.ssd.now = now;
        self.course.work += 1 + u64::from(request.bytes / self.geometry.page_bytes);
        self.course.submitted > warmup
    }

    /// Submits a request at `now`, which is not before anything that happened.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn submit(&mut self, request: &HostRequest, now: Time) -> Result<(), SimError> {
        let measured = self.note_submitted(request, now);
        self.ssd.arrive(request, measured, now)
    }

    /// Handles what happens next by an instant of the device's clock: an event and those behind it that nobody but the
    /// flash notices, or a power cut. `false` if nothing happens by then. After the last request, with [`Time::NEVER`],
    /// what is still buffered is programmed as well.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn run_until(&mut self, due: Time) -> Result<bool, SimError> {
        let cut = self.next_cut().filter(|&cut| cut <= due);
        self.note_end();
        // What would happen at the very instant of a cut does not happen any more.
        let handled = match cut {
            None => self.ssd.run_until(due)?,
            Some(Time(0)) => 0,
            Some(cut) => self.ssd.run_until(cut - Time(1))?,
        };
        self.course.work += handled;
        if handled > 0 { Ok(true) } else { self.go_on_without_event(due, cut) }
    }

    /// No event comes by `due`, or before the cut that does.
    fn go_on_without_event(&mut self, due: Time, cut: Option<Time>) -> Result<bool, SimError> {
        let ends = self.course.is_over && due == Time::NEVER;
        match cut {
            _ if ends && self.ssd.next_event().is_none() => {
                self.ssd.flush(true)?;
                // What is programmed now may let pages in that waited for room.
                Ok(self.ssd.next_event().is_some())
            }
            Some(cut) => {
                self.course.cuts.iter_mut().for_each(PowerCuts::pop);
                self.lose_power(cut).map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// The end of the last request, which a buffer may have taken at once, ends what is measured: dies begin no step of
    /// their own any more, which would count for requests that never come.
    #[inline]
    fn note_end(&mut self) {
        if self.course.is_over && self.course.busy_after.is_none() && self.ssd.host.metrics.is_quiet() {
            self.course.busy_after = Some(self.ssd.busy_times(self.ssd.now));
            self.ssd.controller.stop_idle_work();
        }
    }

    /// No request will come any more.
    pub fn end_requests(&mut self) {
        self.course.is_over = true;
    }

    /// Whether cuts wait for the workload to get to their share of it.
    #[inline]
    pub fn cuts_wait_for_share(&self) -> bool {
        self.course.cuts.as_ref().is_some_and(PowerCuts::wait_for_share)
    }

    /// Settles which command the power is cut in next. So much of the workload has been submitted.
    pub fn arm_cuts(&mut self, share: Option<f64>) {
        let scheduler = &mut self.ssd.controller.scheduler;
        self.course.cuts.iter_mut().for_each(|cuts| cuts.arm(share, scheduler));
    }

    /// When the power is cut next, as far as it is known.
    #[inline]
    fn next_cut(&self) -> Option<Time> {
        self.course.cuts.as_ref().and_then(|cuts| self.ssd.next_cut(cuts))
    }

    /// The power is cut, and the host waits until the device has recovered.
    fn lose_power(&mut self, at: Time) -> Result<(), SimError> {
        self.take_power(at)?;
        self.give_power(at)?;
        self.course.behind += self.ssd.now - at;
        // What is measured ends no earlier than this.
        self.course.busy_after = None;
        // However long the device takes to recover, a report is due.
        self.course.work += PROGRESS_EVERY;
        Ok(())
    }

    /// Cuts the power at an instant of the device's clock, which is not past, and lets the device recover.
    ///
    /// # Errors
    /// A device that cannot recover; a broken rule or belief.
    pub fn cut_power(&mut self, at: Time) -> Result<(), SimError> {
        while self.run_until(at.saturating_sub(Time(1)))? {}
        self.lose_power(at)
    }

    /// Lets the next erase of a block fail; the translation layer then uses the block no more.
    ///
    /// # Errors
    /// In one line: a device of this spec uses such blocks again, there is no such block, or its erase cannot fail now.
    pub fn fail_next_erase(&mut self, block: u32) -> Result<(), String> {
        let (config, blocks) = (&self.config, self.geometry.blocks());
        if config.ftl.shared.recovery != Recovery::Off {
            return Err("needs ftl.recovery = \"off\": a device that recovers forgets which erases fail".into());
        }
        if config.chip.erase.max_loops < MAX_LOOPS {
            return Err(format!("needs erase.max_loops = {MAX_LOOPS}: erases of this device fail of their own"));
        }
        if config.chip.partial_erase.unit != PartialEraseUnit::None {
            let found = config.chip.partial_erase.unit;
            return Err(format!("needs partial_erase.unit = \"none\", found \"{found}\""));
        }
        let retires = config.ftl.check_retirement(&config.assumed_chip(), &config.initial);
        retires.map_err(|needed| format!("needs {needed}"))?;
        if block >= blocks {
            return Err(format!("there is no block {block}; allowed: 0 to {}", blocks - 1));
        }
        let Controller { scheduler, ftl, .. } = &mut self.ssd.controller;
        if scheduler.is_erasing(BlockId(block)) {
            return Err(format!("block {block} is being erased"));
        }
        if !scheduler.chips.fail_next_erase(BlockId(block)) {
            return Err(format!("block {block} is bad, or its next erase fails already"));
        }
        ftl.note_failing(BlockId(block));
        Ok(())
    }

    /// Whether the device retires worn blocks, so that it may end read-only.
    pub fn retires_worn_blocks(&self) -> bool {
        let keys = &self.config.chip.erase;
        keys.scheme.has_loops() && keys.worn_blocks != WornBlockRule::Used
    }

    /// Notes that the device became read-only with the last request. No other will come.
    pub(crate) fn note_end_of_life(&mut self) {
        self.course.end_of_life = Some(EndOfLife { request: self.course.submitted, at: self.ssd.now });
        self.end_requests();
        self.ssd.controller.stop_idle_work();
    }

    /// Whether the device can start again after a power cut.
    pub fn can_recover(&self) -> bool {
        self.course.cuts.is_some()
    }

    /// Takes the power away at an instant of the device's clock, which is not past; events before it have been handled.
    ///
    /// # Errors
    /// A device that cannot start again; a broken rule or belief.
    pub fn take_power(&mut self, at: Time) -> Result<(), SimError> {
        let cuts = self.course.cuts.as_mut().ok_or_else(cannot_recover)?;
        self.ssd.cut(at, cuts)
    }

    /// Gives the power back at an instant of the device's clock, behind [`Session::take_power`]. The device has then
    /// started, and its present is the time at which it serves the host again.
    ///
    /// # Errors
    /// A device that finds no room to work in; a broken rule or belief.
    pub fn give_power(&mut self, at: Time) -> Result<(), SimError> {
        let cuts = self.course.cuts.as_mut().ok_or_else(cannot_recover)?;
        self.ssd.now = self.ssd.now.max(at);
        self.ssd.recover(at, cuts)
    }

    /// What a power cut at an instant of the device's clock meets; nothing is cut. Events before it have been handled,
    /// and none behind it.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn flash_cut_at(&mut self, at: Time) -> Result<CutFlash, SimError> {
        self.ssd.flash_cut_at(at)
    }

    /// Makes this device, which was just built, one that has lost its power with such a flash, and lets it recover.
    /// Returns how long that takes. `draws` names the random stream that decides what torn operations leave.
    ///
    /// # Errors
    /// A device that cannot recover, or that finds no room to work in; a broken rule or belief.
    pub fn start_from(&mut self, flash: CutFlash, draws: &str) -> Result<Time, SimError> {
        let cuts = self.course.cuts.as_mut().ok_or_else(cannot_recover)?;
        self.ssd.start_from(flash, draws, cuts)
    }
}

fn cannot_recover() -> SimError {
    SpecError("the device cannot recover after a power cut; ftl.recovery = \"scan\" is needed".into()).into()
}
