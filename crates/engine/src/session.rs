//! A device in use: requests come to it one by one, from a workload's run loop or from real programs.

mod kept;

use pumice_config::aged::{AgedIdentity, SharedAgedDevices};
use pumice_config::{Config, HostMode, SpecError};
use pumice_ftl::TranslationLayer;
use pumice_ftl::recovery::Recovery;
use pumice_types::erase::MAX_LOOPS;
use pumice_types::{BlockId, FlashTiming, Geometry, HostRequest, Lpn, PartialEraseUnit, Time};
use pumice_workload::{Fact, RandomStream};

use crate::build::build;
use crate::chip::erase::Eraser;
use crate::controller::Controller;
use crate::error::SimError;
use crate::observe::{Beginning, Observer};
use crate::power::{CutFlash, PowerCuts};
use crate::results::{BusyTimes, Finished, Outcome};
use crate::ssd::Ssd;
use crate::stopping::{StoppingReport, StoppingRule};

pub use kept::KeptSession;

/// Pages submitted and events handled between two reports of progress.
pub(crate) const PROGRESS_EVERY: u64 = 1 << 17;

/// An open-loop run whose device needs more than this share of the run to drain is saturated.
const SATURATED_DRAIN_SHARE: f64 = 0.05;

/// Scale below which twins are known to drift.
const FAITHFUL_SCALE_MIN: f64 = 1.0 / 16.0;

/// How often the write buffer is emptied at the end of a session: what the first time programs may let pages in that
/// waited for room.
const FLUSHES_AT_THE_END: u8 = 2;

/// Untimed random writes that bring a device into a used state.
pub struct Ageing {
    random: RandomStream,
    /// Pages that they fall on, from the first.
    footprint: u64,
    left: u64,
    /// It is the spec's, before the first request.
    is_initial: bool,
}

impl Ageing {
    /// The page that is written next; `None` when none is left.
    pub fn next_page(&mut self) -> Option<Lpn> {
        self.left = self.left.checked_sub(1)?;
        Some(Lpn(self.random.below(self.footprint) as u32))
    }
}

/// What the requests of a session come from, as its result tells.
#[derive(Default)]
pub struct Origin {
    /// Facts of the workload.
    pub facts: Vec<(&'static str, Fact)>,
    /// What had to be changed or overlooked.
    pub warnings: Vec<String>,
}

/// How far a session has come: what it knows beside its device.
#[derive(Clone)]
pub(crate) struct SessionCourse<'a> {
    /// Requests submitted.
    submitted: u64,
    /// Pages submitted and events handled since a caller last set this to 0.
    pub(crate) work: u64,
    busy_before: BusyTimes,
    /// Busy times when the last request was done; collection and flushing go on after that.
    busy_after: Option<BusyTimes>,
    /// No request is left to come.
    is_over: bool,
    /// How often the write buffer was emptied since.
    flushes: u8,
    /// Cuts of the power to come; `None` if the device cannot start anew.
    cuts: Option<PowerCuts<'a>>,
    /// By how much the host is behind its workload's clock, because it waited for the device to start anew.
    behind: Time,
    /// How often the device was aged.
    aged: u32,
}

/// A device with its host, from the first request to the result document.
pub struct Session<'a, O: Observer> {
    /// The device with its host.
    pub ssd: Ssd<'a, O>,
    config: &'a Config,
    scale: f64,
    geometry: Geometry,
    timing: FlashTiming,
    /// How far it has come.
    pub(crate) course: SessionCourse<'a>,
}

impl<'a, O: Observer> Session<'a, O> {
    /// A device of a configuration at a scale, in its initial state.
    ///
    /// # Errors
    /// A scale that does not fit the geometry, or a policy of the user's that cannot be made.
    pub fn new(config: &'a Config, scale: f64, observer: &'a mut O) -> Result<Session<'a, O>, SimError> {
        let built = build(config, scale)?;
        let (geometry, timing, user_pages) = (built.geometry, built.timing.clone(), built.ftl.user_pages());
        observer.begin(&Beginning { config, scale, array: &built.chips.checked.array, user_pages });
        let ssd = Ssd::new(config, built, observer);
        let recovers = config.ftl.shared.recovery != Recovery::Off;
        let course = SessionCourse {
            submitted: 0,
            work: 0,
            busy_before: ssd.controller.scheduler.busy_times(Time::ZERO),
            busy_after: None,
            is_over: false,
            flushes: 0,
            cuts: recovers.then(|| PowerCuts::new(config, scale)).transpose()?,
            behind: Time::ZERO,
            aged: 0,
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

    /// The writes that the spec wants before the first request; `None` if it wants none, or if the device was made one
    /// that was aged before.
    pub fn ageing(&mut self) -> Option<Ageing> {
        let age_writes = self.config.initial.age_writes;
        if age_writes > 0.0 && self.take_aged() {
            return None;
        }
        (age_writes > 0.0).then(|| Ageing { is_initial: true, ..self.ageing_by(age_writes) })
    }

    /// So many user capacities of writes. A device is aged by the same writes, whether its spec says so or it is told to
    /// before its first request; each time it is aged again, they are others.
    pub fn ageing_by(&mut self, writes: f64) -> Ageing {
        let user_pages = f64::from(self.ssd.ftl().user_pages());
        let footprint = ((user_pages * self.config.workload.shared.footprint) as u64).max(1);
        let nth = self.course.aged;
        self.course.aged += 1;
        let stream = if nth == 0 { "ageing".to_string() } else { format!("ageing-{nth}") };
        let random = RandomStream::new(self.config.seed, &stream);
        Ageing { random, footprint, left: (user_pages * writes) as u64, is_initial: false }
    }

    /// Refuses wear that the device cannot take.
    ///
    /// # Errors
    /// In one line: blocks of this device do not wear, or would wear beyond what is counted.
    pub fn check_wear(&self, cycles: u32) -> Result<(), String> {
        let keys = &self.config.chip.erase;
        let max = u32::from(self.ssd.controller.check_wear(cycles)?) + self.ssd.controller.most_worn();
        let factor = |pec| keys.scheme.program_time_factor(pec);
        if factor(max).to_bits() != factor(u32::from(keys.initial_pec)).to_bits() {
            return Err(format!(
                "erase.scheme = \"{}\": wear changes its program time, which is settled when the device is built; serve it with erase.initial_pec",
                keys.scheme
            ));
        }
        Ok(())
    }

    /// Wears every block by so many P/E cycles, as if it had been erased so often; what it holds stays. No command is
    /// under way.
    ///
    /// # Errors
    /// As [`Session::check_wear`].
    pub fn wear(&mut self, cycles: u32) -> Result<(), String> {
        self.ssd.controller.wear(cycles)
    }

    /// Mean P/E cycles of the blocks; `None` if they do not wear.
    pub fn mean_pec(&self) -> Option<f64> {
        self.ssd.controller.scheduler.chips.eraser.as_ref().map(Eraser::mean_pec)
    }

    /// Where aged devices are kept, and the identity of this one; `None` if it has to be aged here.
    fn kept_as(&self) -> Option<(&'a SharedAgedDevices, AgedIdentity)> {
        let devices = self.config.aged_devices.as_ref().filter(|_| !self.ssd.observer.watches_ageing());
        devices.zip(AgedIdentity::of(self.config, self.scale))
    }

    /// Makes the device one that was aged before to the same state, if there is one. Returns whether it did.
    fn take_aged(&mut self) -> bool {
        let Some((devices, identity)) = self.kept_as() else { return false };
        let Some(device) = devices.0.find(&identity) else { return false };
        let restored = self.ssd.restore(self.config, &device);
        if let Err(why) = &restored {
            devices.0.refuse(why);
        }
        restored.is_ok()
    }

    /// Keeps the device, which was just aged, for others. A layer that cannot be written down is aged each time.
    fn keep_aged(&self) {
        if let Some((devices, identity)) = self.kept_as()
            && let Ok(device) = self.ssd.written_down()
        {
            devices.0.keep(&identity, device);
        }
    }

    /// Does one of these writes, without a clock and uncounted. `false` when none is left: measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age(&mut self, ageing: &mut Ageing) -> Result<bool, SimError> {
        match ageing.next_page() {
            Some(lpn) => self.age_page(lpn).map(|()| true),
            None => self.end_ageing(ageing).map(|()| false),
        }
    }

    /// Writes a page, without a clock and uncounted.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age_page(&mut self, lpn: Lpn) -> Result<(), SimError> {
        let page_bytes = self.config.chip.geometry.page_bytes;
        self.ssd.write_untimed(u64::from(lpn.0) * u64::from(page_bytes), page_bytes)?;
        self.course.work += 1;
        Ok(())
    }

    /// The writes are done: what is buffered is programmed, and measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn end_ageing(&mut self, ageing: &Ageing) -> Result<(), SimError> {
        self.ssd.flush_untimed()?;
        self.restart_measuring(self.ssd.now);
        if ageing.is_initial {
            self.keep_aged();
        }
        Ok(())
    }

    /// What was counted so far counts no more.
    fn restart_measuring(&mut self, now: Time) {
        self.ssd.restart_measuring(now);
        self.course.busy_before = self.ssd.controller.scheduler.busy_times(now);
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
        self.course.work += 1 + u64::from(request.bytes / self.config.chip.geometry.page_bytes);
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

    /// One event, or the power cut before it.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn step(&mut self) -> Result<(), SimError> {
        if self.course.cuts.is_some() && self.ssd.next_event().is_some_and(|at| self.is_cut_by(at)) {
            return self.lose_power();
        }
        self.note_end();
        self.course.work += 1;
        self.ssd.step()
    }

    /// Several steps towards an instant of the workload's clock, as many as nobody but the flash notices, and one more.
    /// `false` if nothing happens by then.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn steps_until(&mut self, instant: Time) -> Result<bool, SimError> {
        if self.course.cuts.is_some() {
            return self.step_until(instant);
        }
        self.note_end();
        let handled = self.ssd.step_until_noticed(instant + self.course.behind)?;
        self.course.work += handled;
        Ok(handled > 0)
    }

    /// The end of the last request, which a buffer may have taken at once, ends what is measured.
    #[inline]
    fn note_end(&mut self) {
        if self.course.is_over && self.course.busy_after.is_none() && self.ssd.host.metrics.is_quiet() {
            self.course.busy_after = Some(self.ssd.controller.scheduler.busy_times(self.ssd.now));
        }
    }

    /// One step towards an instant of the workload's clock: an event or a power cut that comes by then. `false` if
    /// none does.
    ///
    /// # Errors
    /// A broken rule or belief.
    #[inline]
    pub fn step_until(&mut self, instant: Time) -> Result<bool, SimError> {
        let due = instant + self.course.behind;
        if self.ssd.next_event().is_some_and(|at| at <= due) {
            self.step()?;
            return Ok(true);
        }
        let is_cut = self.is_cut_by(due);
        if is_cut {
            self.lose_power()?;
        }
        Ok(is_cut)
    }

    /// No request will come any more.
    pub fn end_requests(&mut self) {
        self.course.is_over = true;
    }

    /// One step of letting everything under way end, and programming what is still buffered. `false` when that is
    /// done.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn drain_step(&mut self) -> Result<bool, SimError> {
        if self.ssd.next_event().is_some() {
            self.step()?;
            return Ok(true);
        }
        self.ssd.flush(true)?;
        self.course.flushes += 1;
        Ok(self.course.flushes < FLUSHES_AT_THE_END)
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

    /// Whether the power is cut at this time or before.
    #[inline]
    fn is_cut_by(&self, at: Time) -> bool {
        self.course.cuts.as_ref().is_some_and(|cuts| self.ssd.next_cut(cuts).is_some_and(|cut| cut <= at))
    }

    /// The next power cut; the host waits until the device has started anew.
    fn lose_power(&mut self) -> Result<(), SimError> {
        let Some(cuts) = &mut self.course.cuts else { return Ok(()) };
        let at = self.ssd.next_cut(cuts).unwrap_or(self.ssd.now);
        self.ssd.lose_power(cuts)?;
        self.course.behind += self.ssd.now - at;
        // However long the device takes to start anew, a report is due.
        self.course.work += PROGRESS_EVERY;
        Ok(())
    }

    /// Cuts the power at an instant of the device's clock, which is not past, and starts the device anew.
    ///
    /// # Errors
    /// A device that cannot start anew, or whose spec has a schedule of cuts; a broken rule or belief.
    pub fn cut_power(&mut self, at: Time) -> Result<(), SimError> {
        if !self.course.cuts.as_mut().is_some_and(|cuts| cuts.order(at)) {
            return Err(cannot_start_anew());
        }
        let instant = at - self.course.behind;
        while self.step_until(instant)? {}
        Ok(())
    }

    /// Lets the next erase of a block fail; the translation layer then uses the block no more.
    ///
    /// # Errors
    /// In one line: a device of this spec uses such blocks again, there is no such block, or its erase cannot fail now.
    pub fn fail_next_erase(&mut self, block: u32) -> Result<(), String> {
        let (config, blocks) = (self.config, self.geometry.blocks());
        if config.ftl.shared.recovery != Recovery::Off {
            return Err("needs ftl.recovery = \"off\": a device that starts anew forgets which erases fail".into());
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

    /// What a power cut at an instant of the device's clock meets; nothing is cut. Events before it have been handled,
    /// and none behind it.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn flash_cut_at(&mut self, at: Time) -> Result<CutFlash, SimError> {
        self.ssd.flash_cut_at(at)
    }

    /// Makes this device, which was just built, one that has lost its power with such a flash, and starts it anew.
    /// Returns how long that takes. `draws` names the random stream that decides what torn operations leave.
    ///
    /// # Errors
    /// A device that cannot start anew, or that finds no room to work in; a broken rule or belief.
    pub fn start_from(&mut self, flash: CutFlash, draws: &str) -> Result<Time, SimError> {
        let cuts = self.course.cuts.as_mut().ok_or_else(cannot_start_anew)?;
        self.ssd.start_from(flash, draws, cuts)
    }

    /// What the session has to report so far.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold.
    pub fn outcome(&self, origin: Origin) -> Result<Outcome, SimError> {
        let Session { config, scale, geometry, timing, ssd, .. } = self;
        let mut warnings = self.warnings(origin.warnings);
        let stopping = ssd.host.stopping.as_ref().map(StoppingRule::report);
        warnings.extend(stopping.as_ref().and_then(StoppingReport::warning));
        let (host, controller, power) = (&ssd.host, &ssd.controller, &ssd.power);
        let chips = &controller.scheduler.chips;
        let life = |eraser: &Eraser| (eraser.lifetime().with_stress(chips.restart_factor()), eraser.mean_pec());
        let finished = Finished {
            config,
            scale: *scale,
            geometry: *geometry,
            timing: timing.clone(),
            host,
            controller,
            power,
            facts: origin.facts,
            stopping,
            busy: self.busy(),
            life: chips.eraser.as_ref().map(life),
            warnings,
        };
        Outcome::of(&finished, self.course.submitted)
    }

    fn warnings(&self, mut warnings: Vec<String>) -> Vec<String> {
        if let Some(left) =
            self.course.cuts.as_ref().map(PowerCuts::left).filter(|&left| self.config.run.timed && left > 0)
        {
            let key = self.config.power.schedule().0;
            warnings.push(format!("{key}: the run ended before {left} of its cuts"));
        }
        let scale = self.scale;
        if scale < FAITHFUL_SCALE_MIN {
            warnings.push(format!("scale {scale} is below 1/16: results are known to drift"));
        }
        let metrics = &self.ssd.host.metrics;
        let drain = metrics.last_done.saturating_sub(metrics.last_arrival).as_s();
        let open = self.config.run.timed && self.config.host.mode == HostMode::OpenLoop;
        if open && drain > SATURATED_DRAIN_SHARE * metrics.simulated().as_s() && metrics.requests() > 1 {
            warnings.push(format!(
                "saturated: the device needed {drain:.3} s after the last arrival; latencies grow with the length of the run"
            ));
        }
        warnings
    }

    /// Busy times of dies and of channels while measuring; empty without a clock.
    fn busy(&self) -> BusyTimes {
        if !self.config.run.timed {
            return BusyTimes::default();
        }
        let scheduler = &self.ssd.controller.scheduler;
        let until = self.course.busy_after.clone().unwrap_or_else(|| scheduler.busy_times(self.ssd.now));
        let minus = |now: Vec<Time>, before: &[Time]| now.iter().zip(before).map(|(&a, &b)| a - b).collect();
        (minus(until.0, &self.course.busy_before.0), minus(until.1, &self.course.busy_before.1))
    }
}

fn cannot_start_anew() -> SimError {
    SpecError("the device cannot start anew after a power cut; ftl.recovery = \"scan\" is needed".into()).into()
}
