//! The run loop: workload → host → scheduler → array, open loop, closed loop or without a clock.

use pumice_types::{FlashTiming, Geometry, HostRequest, RequestKind, Time};
use pumice_workload::{RandomStream, Workload};
use serde_json::Value;

use crate::build::{self, Built};
use crate::device;
use crate::error::SimError;
use crate::host::{Clock, Host};
use crate::lookahead::Lookahead;
use crate::metrics::Progress;
use crate::output::{Beginning, Observer, TimeSeries, Watchers, WearMap, interval_log};
use crate::result;
use crate::scheduler::{Policy, Scheduler};
use crate::spec::{Spec, SpecError};
use crate::workload;

/// Pages submitted and events handled between two progress reports.
const PROGRESS_EVERY: u64 = 1 << 17;

/// Arrivals from here on (146 years) would let the clock overflow.
const ARRIVAL_MAX: Time = Time(1 << 62);

/// An open-loop run whose device needs more than this share of the run to drain is saturated.
const SATURATED_DRAIN_SHARE: f64 = 0.05;

/// A finished run.
pub struct Outcome {
    /// The result document, all but its `run` section's times.
    pub document: Value,
    /// Requests of the whole run, warm-up included.
    pub requests: u64,
    /// Flash commands of the whole run, warm-up and ageing included.
    pub flash_commands: u64,
    /// What an integrity run found wrong.
    pub integrity_error: Option<String>,
    /// Latency histograms as an HDR interval log, if the spec asks for them.
    pub histograms: Option<Vec<u8>>,
    /// Erases of every leaf, if the spec asks for them.
    pub wear_map: Option<WearMap>,
}

/// Everything a finished run leaves for the result document.
pub struct Finished<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// Its scale.
    pub scale: f64,
    /// The device's shape at that scale.
    pub geometry: Geometry,
    /// Its timing.
    pub timing: FlashTiming,
    /// FTL, device and metrics.
    pub host: &'a Host,
    /// The workload, consumed.
    pub workload: &'a Workload,
    /// Busy time of dies and of channels since the warm-up; empty without a clock.
    pub busy: (Vec<Time>, Vec<Time>),
    /// Commands that used several planes at once.
    pub multi_plane_commands: u64,
    /// Suspensions of erases in the whole run.
    pub suspensions: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The loop's own state.
struct Run<'a, O: Observer> {
    spec: &'a Spec,
    host: Host,
    scheduler: Scheduler,
    workload: Workload,
    lookahead: Lookahead,
    submitted: u64,
    /// Work since the last progress report, in pages and events.
    work: u64,
    now: Time,
    busy_before: (Vec<Time>, Vec<Time>),
    /// Busy times when the last request was done; collection and flushing go on after that.
    busy_after: Option<(Vec<Time>, Vec<Time>)>,
    /// No request is left to come.
    exhausted: bool,
    observer: &'a mut O,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
}

/// Runs a spec at a scale. `progress` is called now and then; returning `false` stops the run.
///
/// # Errors
/// [`SimError`]: spec, workload or simulation; [`SimError::Interrupted`] if `progress` says stop.
pub fn run(spec: &Spec, scale: f64, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, SimError> {
    run_observed(spec, scale, &mut (), progress)
}

/// As [`run`], with somebody who watches.
///
/// # Errors
/// As [`run`].
pub fn run_observed<O: Observer>(
    spec: &Spec,
    scale: f64,
    observer: &mut O,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, SimError> {
    let Built { geometry, timing, ftl, device } = build::build(spec, scale)?;
    let capacity = u64::from(ftl.user_pages()) * u64::from(geometry.page_bytes);
    let workload = workload::open(spec, scale, capacity)?;
    let policy = Policy {
        read_priority: spec.host.read_priority,
        holds_die: spec.ftl.gc_mode == "blocking",
        erase: build::erase::suspension(spec),
        multi_plane: spec.timing.multi_plane,
    };
    let mut watchers = Watchers { series: spec.output.time_series_s.map(TimeSeries::new), other: observer };
    let user_pages = ftl.user_pages();
    watchers.begin(&Beginning { spec, scale, geometry: &geometry, array: &device.array, user_pages });
    let scheduler = Scheduler::new(geometry, timing.clone(), policy);
    let host = Host::new(spec, ftl, device);
    let busy_before = scheduler.busy_times(Time::ZERO);
    let mut run = Run {
        spec,
        host,
        scheduler,
        workload,
        lookahead: Lookahead::new(spec.run.max_requests),
        submitted: 0,
        work: 0,
        now: Time::ZERO,
        busy_before,
        busy_after: None,
        exhausted: false,
        observer: &mut watchers,
        progress,
    };
    run.age()?;
    match (spec.run.timed, spec.host.mode.as_str()) {
        (false, _) => run.untimed()?,
        (true, "closed-loop") => run.closed_loop()?,
        (true, _) => run.open_loop()?,
    }
    let warmup = spec.run.warmup_requests;
    if warmup > 0 && run.submitted <= warmup {
        let submitted = run.submitted;
        let text =
            format!("run.warmup_requests = {warmup} leaves nothing to measure: the run has {submitted} requests");
        return Err(SpecError(text).into());
    }
    if spec.run.check == "integrity" {
        run.host.device.read_back(&run.host.ftl);
    }
    let mut outcome = run.conclude(scale, geometry, timing)?;
    outcome.document["time_series"] = watchers.series.map_or(Value::Null, |series| series.document());
    Ok(outcome)
}

impl<O: Observer> Run<'_, O> {
    /// Brings the device into a used state: random one-page writes, without a clock, not counted.
    fn age(&mut self) -> Result<(), SimError> {
        let initial = &self.spec.initial;
        if initial.age_writes == 0.0 {
            return Ok(());
        }
        let user_pages = f64::from(self.host.ftl.user_pages());
        let page_bytes = self.spec.geometry.page_bytes;
        let footprint = ((user_pages * self.spec.workload.footprint) as u64).max(1);
        let mut random = RandomStream::new(self.spec.seed, "ageing");
        for _ in 0..(user_pages * initial.age_writes) as u64 {
            let offset_bytes = random.below(footprint) * u64::from(page_bytes);
            let write = HostRequest { arrival: Time::ZERO, offset_bytes, bytes: page_bytes, kind: RequestKind::Write };
            self.host.run_untimed(&write, false, self.observer)?;
            self.tick(1)?;
        }
        self.host.flush_untimed(true, self.observer)?;
        self.host.restart_measuring(Time::ZERO);
        Ok(())
    }

    /// The next request, `None` at the end of the workload or of `run.max_requests`.
    fn next_request(&mut self) -> Result<Option<HostRequest>, SimError> {
        let next = self.lookahead.next(&mut self.workload, &self.host)?;
        self.exhausted = next.is_none();
        Ok(next)
    }

    /// Bookkeeping before a request is submitted at `now`. Returns whether it is measured.
    fn before(&mut self, request: &HostRequest, now: Time) -> Result<bool, SimError> {
        let warmup = self.spec.run.warmup_requests;
        if self.submitted == warmup && warmup > 0 {
            self.host.restart_measuring(now);
            self.busy_before = self.scheduler.busy_times(now);
        }
        self.submitted += 1;
        self.now = now;
        self.tick(1 + u64::from(request.bytes / self.spec.geometry.page_bytes))?;
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
        let report = Progress { requests: self.submitted, share: self.share(), simulated: self.now };
        if (self.progress)(&report) && !self.observer.has_failed() { Ok(()) } else { Err(SimError::Interrupted) }
    }

    fn share(&self) -> Option<f64> {
        let by_limit = self.spec.run.max_requests.map(|max| self.submitted as f64 / max as f64);
        match (by_limit, self.workload.progress()) {
            (Some(limit), Some(workload)) => Some(limit.max(workload)),
            (limit, workload) => limit.or(workload),
        }
    }

    fn untimed(&mut self) -> Result<(), SimError> {
        while let Some(request) = self.next_request()? {
            let measured = self.before(&request, Time::ZERO)?;
            self.host.run_untimed(&request, measured, self.observer)?;
        }
        self.host.flush_untimed(true, self.observer)
    }

    fn open_loop(&mut self) -> Result<(), SimError> {
        let speedup = self.spec.host.speedup;
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
            while self.next_event().is_some_and(|at| at <= arrival) {
                self.step()?;
            }
            let measured = self.before(&request, arrival)?;
            let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: arrival };
            self.host.arrive(&request, measured, &mut clock)?;
        }
        self.drain()
    }

    fn closed_loop(&mut self) -> Result<(), SimError> {
        let mut room = u64::from(self.spec.host.queue_depth) * u64::from(self.spec.host.queues);
        loop {
            while room > 0
                && let Some(request) = self.next_request()?
            {
                let measured = self.before(&request, self.now)?;
                let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: self.now };
                self.host.arrive(&request, measured, &mut clock)?;
                room = room + self.host.take_completed() - 1;
            }
            if self.next_event().is_none() {
                return self.drain();
            }
            self.step()?;
            room += self.host.take_completed();
        }
    }

    /// When something happens next.
    #[inline]
    fn next_event(&self) -> Option<Time> {
        match (self.scheduler.next_event(), self.host.next_event()) {
            (Some(flash), Some(host)) => Some(flash.min(host)),
            (flash, host) => flash.or(host),
        }
    }

    /// One event; the host's go first among those of one instant.
    fn step(&mut self) -> Result<(), SimError> {
        // The end of the last request, which a buffer may have taken at once, ends what is measured.
        if self.exhausted && self.busy_after.is_none() && self.host.metrics.is_quiet() {
            self.busy_after = Some(self.scheduler.busy_times(self.now));
        }
        let flash = self.scheduler.next_event();
        let host = self.host.next_event();
        if let Some(at) = host.filter(|&at| flash.is_none_or(|flash| at <= flash)) {
            self.now = at;
            let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: at };
            self.host.step(&mut clock)?;
        } else if let Some(at) = flash {
            self.now = at;
            self.scheduler.step(&mut self.host.device, self.observer)?;
            while let Some(done) = self.scheduler.take_done() {
                let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: at };
                self.host.note_done(&done, &mut clock)?;
            }
            if let Some(die) = self.scheduler.take_idle() {
                let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: at };
                self.host.work_when_idle(die, &mut clock)?;
            }
        }
        self.tick(1)
    }

    /// Lets everything under way end, and programs what is still buffered.
    fn drain(&mut self) -> Result<(), SimError> {
        for _ in 0..2 {
            while self.next_event().is_some() {
                self.step()?;
            }
            let mut clock = Clock { scheduler: &mut self.scheduler, observer: self.observer, now: self.now };
            self.host.flush(true, &mut clock)?;
        }
        Ok(())
    }

    fn warnings(&self, scale: f64) -> Vec<String> {
        let mut warnings = self.workload.notes().warnings();
        if scale < device::FAITHFUL_SCALE_MIN {
            warnings.push(format!("scale {scale} is below 1/16: results are known to drift"));
        }
        let metrics = &self.host.metrics;
        let drain = metrics.last_done.saturating_sub(metrics.last_arrival).as_s();
        let open = self.spec.run.timed && self.spec.host.mode == "open-loop";
        if open && drain > SATURATED_DRAIN_SHARE * metrics.simulated().as_s() && metrics.requests() > 1 {
            warnings.push(format!(
                "saturated: the device needed {drain:.3} s after the last arrival; latencies grow with the length of the run"
            ));
        }
        warnings
    }

    fn conclude(self, scale: f64, geometry: Geometry, timing: FlashTiming) -> Result<Outcome, SimError> {
        let warnings = self.warnings(scale);
        let busy = match self.spec.run.timed {
            true => {
                let until = self.busy_after.clone().unwrap_or_else(|| self.scheduler.busy_times(self.now));
                since(until, &self.busy_before)
            }
            false => (Vec::new(), Vec::new()),
        };
        let (spec, host) = (self.spec, &self.host);
        let finished = Finished {
            spec,
            scale,
            geometry,
            timing,
            host,
            workload: &self.workload,
            busy,
            multi_plane_commands: self.scheduler.multi_plane_commands(),
            suspensions: self.scheduler.suspensions(),
            warnings,
        };
        let ledger = &host.device.ledger;
        let broken = spec.run.check == "integrity" && ledger.corrupt_pages + ledger.lost_pages > 0;
        let output = &spec.output;
        Ok(Outcome {
            document: result::document(&finished),
            requests: self.submitted,
            flash_commands: host.flash_commands_total(),
            integrity_error: broken
                .then(|| format!("integrity: {} corrupt and {} lost pages", ledger.corrupt_pages, ledger.lost_pages)),
            histograms: output.histograms.then(|| interval_log(&host.metrics)).transpose()?,
            wear_map: output.wear_map.then(|| WearMap::of(&host.device.array, &geometry)),
        })
    }
}

fn since(now: (Vec<Time>, Vec<Time>), before: &(Vec<Time>, Vec<Time>)) -> (Vec<Time>, Vec<Time>) {
    let minus = |now: Vec<Time>, before: &[Time]| now.iter().zip(before).map(|(&a, &b)| a - b).collect();
    (minus(now.0, &before.0), minus(now.1, &before.1))
}
