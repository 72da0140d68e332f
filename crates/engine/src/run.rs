//! The run loop: workload → device, open loop, closed loop or without a clock.

use pumice_config::{Check, Config, HostMode, SpecError};
use pumice_ftl::TranslationLayer;
use pumice_ftl::recovery::Recovery;
use pumice_types::{DieId, FlashCommand, FlashTiming, Geometry, HostRequest, Time};
use pumice_workload::{RandomStream, Workload};

use crate::build::build;
use crate::chip::erase::Eraser;
use crate::error::SimError;
use crate::lookahead::Lookahead;
use crate::metrics::TimeSeries;
use crate::observe::{Beginning, Observer, RequestRecord};
use crate::power::PowerCuts;
use crate::results::{BusyTimes, Finished, Outcome};
use crate::ssd::Ssd;
use crate::workload;

/// Pages submitted and events handled between two progress reports.
const PROGRESS_EVERY: u64 = 1 << 17;

/// Arrivals from here on (146 years) would let the clock overflow.
const ARRIVAL_MAX: Time = Time(1 << 62);

/// An open-loop run whose device needs more than this share of the run to drain is saturated.
const SATURATED_DRAIN_SHARE: f64 = 0.05;

/// Scale below which twins are known to drift.
const FAITHFUL_SCALE_MIN: f64 = 1.0 / 16.0;

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Requests submitted.
    pub requests: u64,
    /// Share of the workload consumed, if it can be told.
    pub share: Option<f64>,
    /// Simulated time so far.
    pub simulated: Time,
}

/// Passes each event to two observers: the time series of the document, if there is one, and the caller's.
struct Watchers<'a, O: Observer> {
    series: Option<TimeSeries>,
    other: &'a mut O,
}

impl<O: Observer> Observer for Watchers<'_, O> {
    fn begin(&mut self, beginning: &Beginning) {
        self.other.begin(beginning);
    }

    #[inline]
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.other.command(start, end, command);
    }

    #[inline]
    fn request(&mut self, record: &RequestRecord) {
        if let Some(series) = &mut self.series {
            series.note(record);
        }
        self.other.request(record);
    }

    #[inline]
    fn watches_transfers(&self) -> bool {
        self.other.watches_transfers()
    }

    #[inline]
    fn transfer(&mut self, die: DieId, start: Time, end: Time) {
        self.other.transfer(die, start, end);
    }

    #[inline]
    fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.other.suspended(start, end, command);
    }

    fn has_failed(&self) -> bool {
        self.other.has_failed()
    }
}

/// The loop's own state.
struct Run<'a, O: Observer> {
    config: &'a Config,
    ssd: Ssd<'a, O>,
    workload: Workload,
    lookahead: Lookahead,
    submitted: u64,
    /// Work since the last progress report, in pages and events.
    work: u64,
    busy_before: BusyTimes,
    /// Busy times when the last request was done; collection and flushing go on after that.
    busy_after: Option<BusyTimes>,
    /// No request is left to come.
    exhausted: bool,
    /// Cuts of the power to come; `None` if the device cannot start anew.
    cuts: Option<PowerCuts<'a>>,
    /// By how much the host is behind its workload's clock, because it waited for the device to start anew.
    behind: Time,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
}

/// Runs a configuration at a scale. `progress` is called now and then; returning `false` stops the run.
///
/// # Errors
/// [`SimError`]: spec, workload or simulation; [`SimError::Interrupted`] if `progress` says stop.
pub fn run(config: &Config, scale: f64, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, SimError> {
    run_observed(config, scale, &mut (), progress)
}

/// Like [`run`], with an observer.
///
/// # Errors
/// As [`run`].
pub fn run_observed<O: Observer>(
    config: &Config,
    scale: f64,
    observer: &mut O,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, SimError> {
    let built = build(config, scale)?;
    let (geometry, timing, user_pages) = (built.geometry, built.timing.clone(), built.ftl.user_pages());
    let capacity = u64::from(user_pages) * u64::from(geometry.page_bytes);
    let mut workload = workload::open(config, scale, capacity)?;
    if !reads_arrivals(config) {
        workload.skip_arrivals();
    }
    let mut watchers = Watchers { series: config.output.time_series_s.map(TimeSeries::new), other: observer };
    watchers.begin(&Beginning { config, scale, array: &built.chips.checked.array, user_pages });
    let ssd = Ssd::new(config, built, &mut watchers);
    let mut run = Run {
        config,
        workload,
        lookahead: Lookahead::new(config.run.max_requests),
        submitted: 0,
        work: 0,
        busy_before: ssd.controller.scheduler.busy_times(Time::ZERO),
        ssd,
        busy_after: None,
        exhausted: false,
        cuts: (config.ftl.shared.recovery != Recovery::Off).then(|| PowerCuts::new(config, scale)).transpose()?,
        behind: Time::ZERO,
        progress,
    };
    if let Some(cuts) = &mut run.cuts {
        cuts.arm(None, &mut run.ssd.controller.scheduler);
    }
    run.execute()?;
    let mut outcome = run.outcome(scale, geometry, timing)?;
    outcome.document["time_series"] = watchers.series.map_or(serde_json::Value::Null, |series| series.document());
    Ok(outcome)
}

/// Whether it matters to a run when its requests arrive.
fn reads_arrivals(config: &Config) -> bool {
    config.run.timed
        && match config.host.mode {
            HostMode::OpenLoop => true,
            HostMode::ClosedLoop => false,
        }
}

impl<O: Observer> Run<'_, O> {
    /// Takes the run from its first request to its last check.
    fn execute(&mut self) -> Result<(), SimError> {
        self.age()?;
        match (self.config.run.timed, self.config.host.mode) {
            (false, HostMode::ClosedLoop | HostMode::OpenLoop) => self.untimed()?,
            (true, HostMode::ClosedLoop) => self.closed_loop()?,
            (true, HostMode::OpenLoop) => self.open_loop()?,
        }
        self.check_warmup()?;
        if self.config.run.check == Check::Integrity {
            self.ssd.read_back();
        }
        self.ssd.controller.raise_fault()
    }

    /// What the finished run has to report.
    fn outcome(self, scale: f64, geometry: Geometry, timing: FlashTiming) -> Result<Outcome, SimError> {
        let (warnings, busy) = (self.warnings(scale), self.busy());
        let Run { config, ssd, workload, submitted, .. } = &self;
        let (host, controller, power) = (&ssd.host, &ssd.controller, &ssd.power);
        let chips = &controller.scheduler.chips;
        let life = |eraser: &Eraser| (eraser.lifetime().with_stress(chips.restart_factor()), eraser.mean_pec());
        let life = chips.eraser.as_ref().map(life);
        let finished =
            Finished { config, scale, geometry, timing, host, controller, power, workload, busy, life, warnings };
        Outcome::of(&finished, *submitted)
    }

    /// Brings the device into a used state: random one-page writes, without a clock, not counted.
    fn age(&mut self) -> Result<(), SimError> {
        let age_writes = self.config.initial.age_writes;
        if age_writes == 0.0 {
            return Ok(());
        }
        let user_pages = f64::from(self.ssd.ftl().user_pages());
        let page_bytes = self.config.chip.geometry.page_bytes;
        let footprint = ((user_pages * self.config.workload.shared.footprint) as u64).max(1);
        let mut random = RandomStream::new(self.config.seed, "ageing");
        for _ in 0..(user_pages * age_writes) as u64 {
            self.ssd.write_untimed(random.below(footprint) * u64::from(page_bytes), page_bytes)?;
            self.tick(1)?;
        }
        self.ssd.flush_untimed()?;
        self.ssd.restart_measuring(Time::ZERO);
        Ok(())
    }

    /// The next request, `None` at the end of the workload or of `run.max_requests`.
    fn next_request(&mut self) -> Result<Option<HostRequest>, SimError> {
        let next = self.lookahead.next(&mut self.workload, &self.ssd)?;
        self.exhausted = next.is_none();
        Ok(next)
    }

    /// Bookkeeping before a request is submitted at `now`. Returns whether it is measured.
    fn before(&mut self, request: &HostRequest, now: Time) -> Result<bool, SimError> {
        let warmup = self.config.run.warmup_requests;
        if self.submitted == warmup && warmup > 0 {
            self.ssd.restart_measuring(now);
            self.busy_before = self.ssd.controller.scheduler.busy_times(now);
        }
        self.submitted += 1;
        self.ssd.now = now;
        if self.cuts.as_ref().is_some_and(PowerCuts::wait_for_share) {
            let share = self.share();
            let scheduler = &mut self.ssd.controller.scheduler;
            self.cuts.iter_mut().for_each(|cuts| cuts.arm(share, scheduler));
        }
        self.tick(1 + u64::from(request.bytes / self.config.chip.geometry.page_bytes))?;
        Ok(self.submitted > warmup)
    }

    /// Counts work done and reports progress now and then, whatever the run spends its time on.
    #[inline]
    fn tick(&mut self, work: u64) -> Result<(), SimError> {
        self.work += work;
        if self.work < PROGRESS_EVERY {
            return Ok(());
        }
        self.work = 0;
        let report = Progress { requests: self.submitted, share: self.share(), simulated: self.ssd.now };
        let goes_on = (self.progress)(&report) && !self.ssd.observer_has_failed();
        if goes_on { Ok(()) } else { Err(SimError::Interrupted) }
    }

    fn share(&self) -> Option<f64> {
        let by_limit = self.config.run.max_requests.map(|max| self.submitted as f64 / max as f64);
        match (by_limit, self.workload.progress()) {
            (Some(limit), Some(workload)) => Some(limit.max(workload)),
            (limit, workload) => limit.or(workload),
        }
    }

    fn untimed(&mut self) -> Result<(), SimError> {
        while let Some(request) = self.next_request()? {
            let measured = self.before(&request, Time::ZERO)?;
            self.ssd.run_untimed(&request, measured)?;
        }
        self.ssd.host.metrics.end_untimed();
        self.ssd.flush_untimed()
    }

    fn open_loop(&mut self) -> Result<(), SimError> {
        let speedup = self.config.host.speedup;
        while let Some(request) = self.next_request()? {
            let arrival = match speedup {
                1.0 => request.arrival,
                speedup => Time((request.arrival.0 as f64 / speedup).round() as u64),
            };
            if arrival > ARRIVAL_MAX {
                let text =
                    "requests arrive later than 146 years; lower workload.mean_interarrival_us or raise host.speedup";
                return Err(SpecError(text.into()).into());
            }
            loop {
                let due = arrival + self.behind;
                if self.ssd.next_event().is_some_and(|at| at <= due) {
                    self.step()?;
                } else if self.is_cut_by(due) {
                    self.lose_power()?;
                } else {
                    break;
                }
            }
            let arrival = arrival + self.behind;
            let measured = self.before(&request, arrival)?;
            self.ssd.arrive(&request, measured, arrival)?;
        }
        self.drain()
    }

    fn closed_loop(&mut self) -> Result<(), SimError> {
        let mut room = u64::from(self.config.host.queue_depth) * u64::from(self.config.host.queues);
        loop {
            while room > 0
                && let Some(request) = self.next_request()?
            {
                let now = self.ssd.now;
                let measured = self.before(&request, now)?;
                self.ssd.arrive(&request, measured, now)?;
                room = room + self.ssd.host.take_completed() - 1;
            }
            if self.ssd.next_event().is_none() {
                return self.drain();
            }
            self.step()?;
            room += self.ssd.host.take_completed();
        }
    }

    /// Whether the power is cut at this time or before.
    #[inline]
    fn is_cut_by(&self, at: Time) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| self.ssd.next_cut(cuts).is_some_and(|cut| cut <= at))
    }

    /// The next power cut; the host waits until the device has started anew.
    fn lose_power(&mut self) -> Result<(), SimError> {
        let Some(cuts) = &mut self.cuts else { return Ok(()) };
        let at = self.ssd.next_cut(cuts).unwrap_or(self.ssd.now);
        self.ssd.lose_power(cuts)?;
        self.behind += self.ssd.now - at;
        self.tick(PROGRESS_EVERY)
    }

    /// One event, or the power cut before it.
    #[inline]
    fn step(&mut self) -> Result<(), SimError> {
        if self.cuts.is_some() && self.ssd.next_event().is_some_and(|at| self.is_cut_by(at)) {
            return self.lose_power();
        }
        // The end of the last request, which a buffer may have taken at once, ends what is measured.
        if self.exhausted && self.busy_after.is_none() && self.ssd.host.metrics.is_quiet() {
            self.busy_after = Some(self.ssd.controller.scheduler.busy_times(self.ssd.now));
        }
        self.ssd.step()?;
        self.tick(1)
    }

    /// Lets everything under way end, and programs what is still buffered.
    fn drain(&mut self) -> Result<(), SimError> {
        for _ in 0..2 {
            while self.ssd.next_event().is_some() {
                self.step()?;
            }
            self.ssd.flush(true)?;
        }
        Ok(())
    }

    /// Refuses a run of which nothing was measured.
    fn check_warmup(&self) -> Result<(), SimError> {
        let (warmup, submitted) = (self.config.run.warmup_requests, self.submitted);
        if warmup == 0 || submitted > warmup {
            return Ok(());
        }
        let text =
            format!("run.warmup_requests = {warmup} leaves nothing to measure: requests in the run: {submitted}");
        Err(SpecError(text).into())
    }

    fn warnings(&self, scale: f64) -> Vec<String> {
        let mut warnings = self.workload.notes().warnings();
        if let Some(left) = self.cuts.as_ref().map(PowerCuts::left).filter(|&left| self.config.run.timed && left > 0) {
            let key = self.config.power.schedule().0;
            warnings.push(format!("{key}: the run ended before {left} of its cuts"));
        }
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
        let until = self.busy_after.clone().unwrap_or_else(|| scheduler.busy_times(self.ssd.now));
        let minus = |now: Vec<Time>, before: &[Time]| now.iter().zip(before).map(|(&a, &b)| a - b).collect();
        (minus(until.0, &self.busy_before.0), minus(until.1, &self.busy_before.1))
    }
}
