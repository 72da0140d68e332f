//! The run loop: workload → device, open loop, closed loop or without a clock.

pub mod ageing;
mod flows;
pub mod logged;
pub mod threads;

use pumice_config::{Check, Config, HostMode, PowerFailure, SpecError};
use pumice_ftl::Recovery;
use pumice_types::{HostRequest, Time, refuse};
use pumice_workload::{TraceError, Workload, WorkloadReader};

use crate::error::SimError;
use crate::host::portion::DealtRequest;
use crate::observe::{Observer, ObserverRef};
use crate::results::{Outcome, integrity_error};
use crate::session::lookahead::Lookahead;
use crate::session::{Origin, PROGRESS_EVERY, Session};
use crate::ssd::Ssd;
use crate::workload;
use flows::Flows;
use threads::dealt::DealtRequests;

/// Arrivals from here on (146 years) would let the clock overflow.
const ARRIVAL_MAX: Time = Time(1 << 62);

/// What is said of such an arrival.
const TOO_LATE: &str =
    "requests arrive later than 146 years; lower workload.mean_interarrival_us or raise host.speedup";

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

/// Where the requests of a run come from.
enum RunRequests<'p> {
    /// One workload, read a few requests ahead.
    One { workload: WorkloadReader, lookahead: Box<Lookahead<TraceError>> },
    /// One workload, of which this thread is dealt its own.
    Dealt { requests: DealtRequests<'p>, lookahead: Box<Lookahead<TraceError, DealtRequest>> },
    /// Several side by side.
    Flows(Flows),
}

impl RunRequests<'_> {
    /// The workload or the flows of a spec, on a device of so many pages.
    fn open(config: &Config, scale: f64, user_pages: u32) -> Result<RunRequests<'static>, SimError> {
        if !config.flows.is_empty() {
            return Flows::open(config, scale, user_pages).map(RunRequests::Flows);
        }
        let workload = open_workload(config, scale, user_pages)?;
        let workload = match takes_all(config) {
            true => WorkloadReader::ahead(workload, config.run.max_requests)?,
            false => WorkloadReader::here(workload),
        };
        Ok(RunRequests::One { workload, lookahead: Box::new(Lookahead::new(config.run.max_requests)) })
    }

    /// Share of the work done, if it is known.
    fn progress(&self) -> Option<f64> {
        match self {
            RunRequests::One { workload, .. } => workload.progress(),
            RunRequests::Dealt { requests, .. } => requests.progress(),
            RunRequests::Flows(flows) => flows.progress(),
        }
    }

    /// What the result tells of them; nothing if other threads read them too.
    fn origin(self, config: &Config) -> Origin {
        match self {
            RunRequests::One { workload, .. } => origin(config, &workload.into_workload()),
            RunRequests::Dealt { .. } => Origin::default(),
            RunRequests::Flows(flows) => {
                Origin { facts: Vec::new(), warnings: flows.warnings(&config.flows), flows: flows.facts() }
            }
        }
    }
}

/// The workload of a spec, on a device of so many pages.
pub(crate) fn open_workload(config: &Config, scale: f64, user_pages: u32) -> Result<Workload, SimError> {
    let capacity = u64::from(user_pages) * u64::from(config.mapped_page_bytes());
    let mut workload = workload::open(config, scale, capacity)?;
    if !reads_arrivals(config) {
        workload.skip_arrivals();
    }
    Ok(workload)
}

/// What the result tells of a workload that was read.
fn origin(config: &Config, workload: &Workload) -> Origin {
    let mut warnings = workload.notes().warnings();
    warnings.extend(streams_without_handle(config, workload));
    Origin { facts: workload.facts(), flows: Vec::new(), warnings }
}

/// Where the threads that run one device wait for each other.
pub(crate) trait Meeting {
    /// The requests of this thread ended then. When all have ended; `None` if a thread has given up.
    fn all_ended(&self, own: Time) -> Option<Time>;
}

/// The loop's own state.
pub(crate) struct Run<'a, 'p> {
    config: &'a Config,
    /// The device with its host.
    pub session: Session<ObserverRef<'a>>,
    requests: RunRequests<'p>,
    progress: &'p mut dyn FnMut(&Progress) -> bool,
    /// The other threads, if there are any.
    meeting: Option<&'p dyn Meeting>,
}

/// Runs a configuration at a scale. `progress` is called now and then; returning `false` stops the run.
///
/// # Errors
/// [`SimError`]: spec, workload or simulation; [`SimError::Interrupted`] if `progress` says stop.
pub fn run(config: &Config, scale: f64, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, SimError> {
    Run::begin(config, scale, ObserverRef::nobody(), progress)?.run_out()?.outcome()
}

/// Like [`run`], with an observer.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    config: &Config,
    scale: f64,
    observer: &mut dyn Observer,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, SimError> {
    run_to_end(config, scale, observer, progress)?.outcome()
}

/// A run that has ended, before its document is made. Who needs a few counts of it takes them from its session.
pub struct EndedRun<'a> {
    /// The device with its host.
    pub session: Session<ObserverRef<'a>>,
    check: Check,
    origin: Origin,
}

impl EndedRun<'_> {
    /// What it has found wrong, as an integrity run.
    pub fn integrity_error(&self) -> Option<String> {
        let Ssd { host, controller, power, .. } = &self.session.ssd;
        integrity_error(self.check, (host, &controller.scheduler.chips.checked, power))
    }

    /// Tells of the workload that several threads have read.
    pub(crate) fn tell_origin(&mut self, config: &Config, workload: &Workload) {
        self.origin = origin(config, workload);
    }

    /// What the run leaves.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold.
    pub fn outcome(self) -> Result<Outcome, SimError> {
        self.session.outcome(self.origin)
    }
}

/// Like [`run_observed`], without a document.
///
/// # Errors
/// As [`run`].
pub fn run_to_end<'a>(
    config: &'a Config,
    scale: f64,
    observer: &'a mut dyn Observer,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<EndedRun<'a>, SimError> {
    Run::begin(config, scale, ObserverRef::of(observer), progress)?.run_out()
}

/// Refuses a drive whose failures strike bytes, which a run does not keep.
fn refuse_failures(config: &Config) -> Result<(), SpecError> {
    let failure = config.power.failure;
    match failure {
        PowerFailure::None => Ok(()),
        PowerFailure::BitCorruption
        | PowerFailure::ShornWrites
        | PowerFailure::FlyingWrites
        | PowerFailure::UnserializableWrites
        | PowerFailure::MetadataCorruption
        | PowerFailure::DeadDevice => Err(refuse!(
            "power.failure = \"{failure}\": a run keeps no bytes that could be struck; allowed: \"none\", or \
             `pumice crash` and `pumice serve`"
        )),
    }
}

/// What is said if the workload names streams beyond the handles that there are.
fn streams_without_handle(config: &Config, workload: &Workload) -> Option<String> {
    let (streams, handles) = (workload.streams(), config.ftl.page.handles?);
    // One handle is a device without placement.
    (handles > 1 && u32::from(streams) > handles).then(|| {
        format!("the workload names {streams} streams, ftl.handles = {handles}: data of the others goes to handle 0")
    })
}

/// Whether it matters to a run when its requests arrive.
fn reads_arrivals(config: &Config) -> bool {
    config.run.timed
        && match config.host.mode {
            HostMode::OpenLoop => true,
            HostMode::ClosedLoop => false,
        }
}

/// Whether a run takes all requests that it may, and nothing that happens in it depends on how far the workload is read.
fn takes_all(config: &Config) -> bool {
    config.run.until.is_none() && config.ftl.shared.recovery == Recovery::Off
}

impl<'a, 'p> Run<'a, 'p> {
    /// A run before its first request.
    ///
    /// # Errors
    /// As [`run`].
    pub fn begin(
        config: &'a Config,
        scale: f64,
        observer: ObserverRef<'a>,
        progress: &'p mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Run<'a, 'p>, SimError> {
        refuse_failures(config)?;
        let session = Session::new(config, scale, observer)?;
        let requests = RunRequests::open(config, scale, session.ssd.ftl().user_pages())?;
        Ok(Run { config, session, requests, progress, meeting: None })
    }

    /// The run of one thread of several, before its first request.
    ///
    /// # Errors
    /// As [`run`].
    pub fn begin_portion(
        (config, scale): (&'a Config, f64),
        requests: DealtRequests<'p>,
        meeting: &'p dyn Meeting,
        progress: &'p mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Run<'a, 'p>, SimError> {
        refuse_failures(config)?;
        let session = Session::new(config, scale, ObserverRef::nobody())?;
        let lookahead = Box::new(Lookahead::with(DealtRequest::NONE, None));
        let requests = RunRequests::Dealt { requests, lookahead };
        Ok(Run { config, session, requests, progress, meeting: Some(meeting) })
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run_out(mut self) -> Result<EndedRun<'a>, SimError> {
        self.execute()?;
        let Run { config, session, requests, .. } = self;
        Ok(EndedRun { session, check: config.run.check, origin: requests.origin(config) })
    }

    /// Takes the run from its first request to its last check.
    fn execute(&mut self) -> Result<(), SimError> {
        if let Some(mut ageing) = self.session.ageing()? {
            while self.session.age(&mut ageing)? {
                self.tick()?;
            }
        }
        match self.run_requests() {
            Err(SimError::WornOut(_)) if self.session.retires_worn_blocks() => self.end_read_only()?,
            ended => ended?,
        }
        self.check_warmup()?;
        if self.config.run.check == Check::Integrity {
            self.session.ssd.read_back();
        }
        self.session.ssd.controller.raise_fault()
    }

    /// Gives the device all requests, and lets it finish them.
    fn run_requests(&mut self) -> Result<(), SimError> {
        match (self.config.run.timed, self.config.host.mode) {
            (true, _) if !self.config.flows.is_empty() => self.flows(),
            (false, HostMode::ClosedLoop | HostMode::OpenLoop) => self.untimed(),
            (true, HostMode::ClosedLoop) => self.closed_loop(),
            (true, HostMode::OpenLoop) => self.open_loop(),
        }
    }

    /// Ends a run whose device is worn out: it has become read-only with the last request, and what is under way ends.
    fn end_read_only(&mut self) -> Result<(), SimError> {
        self.session.note_end_of_life();
        if !self.config.run.timed {
            self.session.ssd.host.metrics.end_untimed();
            return Ok(());
        }
        loop {
            let goes_on = match self.session.run_until(Time::NEVER) {
                // Another write that was under way, or one that is still buffered.
                Err(SimError::WornOut(_)) => self.session.ssd.next_event().is_some(),
                handled => handled?,
            };
            if !goes_on {
                return Ok(());
            }
            self.tick()?;
        }
    }

    /// The next request, `None` at the end of the workload or of `run.max_requests`, or if the run knows enough.
    fn next_request(&mut self) -> Result<Option<&HostRequest>, SimError> {
        let knows_enough = self.knows_enough();
        let next = match &mut self.requests {
            _ if knows_enough => None,
            RunRequests::One { workload, lookahead } => {
                lookahead.next(|place| workload.take_next(place), &self.session.ssd)?
            }
            RunRequests::Dealt { requests, lookahead } => {
                match lookahead.next(|place| requests.take_next(place), &self.session.ssd)? {
                    Some(dealt) => {
                        self.session.note_dealt(dealt);
                        Some(&dealt.request)
                    }
                    None => {
                        requests.requests_of_all().into_iter().for_each(|all| self.session.note_submitted_by_all(all));
                        None
                    }
                }
            }
            RunRequests::Flows(flows) => flows.take_in_turn()?,
        };
        if next.is_none() {
            self.session.end_requests();
        }
        Ok(next)
    }

    /// Whether the run knows what its spec wants to know (`run.until`).
    #[inline]
    fn knows_enough(&mut self) -> bool {
        let Ssd { host, controller, .. } = &mut self.session.ssd;
        host.stopping.as_mut().is_some_and(|rule| rule.is_met(&controller.tally.counts))
    }

    /// Bookkeeping before a request is submitted at `now`. Returns whether it is measured.
    fn before(&mut self, request: &HostRequest, now: Time) -> Result<bool, SimError> {
        let measured = self.session.note_submitted(request, now);
        if self.session.cuts_wait_for_share() {
            let share = self.share();
            self.session.arm_cuts(share);
        }
        self.tick()?;
        Ok(measured)
    }

    /// Reports progress now and then, whatever the run spends its time on.
    #[inline]
    fn tick(&mut self) -> Result<(), SimError> {
        if self.session.course.work < PROGRESS_EVERY {
            return Ok(());
        }
        self.session.course.work = 0;
        let (requests, simulated) = (self.session.submitted(), self.session.ssd.now);
        let report = Progress { requests, share: self.share(), simulated };
        let goes_on = (self.progress)(&report) && !self.session.ssd.observer.has_failed();
        if goes_on { Ok(()) } else { Err(SimError::Interrupted) }
    }

    fn share(&self) -> Option<f64> {
        let by_limit = self.config.run.max_requests.map(|max| self.session.submitted() as f64 / max as f64);
        match (by_limit, self.requests.progress()) {
            (Some(limit), Some(workload)) => Some(limit.max(workload)),
            (limit, workload) => limit.or(workload),
        }
    }

    fn untimed(&mut self) -> Result<(), SimError> {
        while let Some(&request) = self.next_request()? {
            let measured = self.before(&request, Time::ZERO)?;
            self.session.ssd.run_untimed(&request, measured)?;
        }
        self.session.ssd.host.metrics.end_untimed();
        self.session.ssd.flush_untimed()
    }

    fn open_loop(&mut self) -> Result<(), SimError> {
        let speedup = self.config.host.speedup;
        while let Some(&request) = self.next_request()? {
            let arrival = match speedup {
                1.0 => request.arrival,
                speedup => Time((request.arrival.0 as f64 / speedup).round() as u64),
            };
            if arrival > ARRIVAL_MAX {
                return Err(SpecError(TOO_LATE.into()).into());
            }
            while self.session.run_until(arrival + self.session.behind())? {
                self.tick()?;
            }
            let arrival = arrival + self.session.behind();
            let measured = self.before(&request, arrival)?;
            // Measuring begins on all threads with the same request, which may be another's.
            if self.session.takes_part() {
                self.session.ssd.arrive(&request, measured, arrival)?;
            }
        }
        if let Some(meeting) = self.meeting {
            self.meet(meeting)?;
        }
        self.drain()
    }

    /// Ends the requests of this thread, and goes on until those of all threads have ended.
    fn meet(&mut self, meeting: &dyn Meeting) -> Result<(), SimError> {
        while !self.session.ssd.host.metrics.is_quiet() {
            self.session.run_until(Time::NEVER)?;
            self.tick()?;
        }
        let end = meeting.all_ended(self.session.ssd.host.metrics.end()).ok_or(SimError::Interrupted)?;
        self.session.go_on_until(end)
    }

    fn closed_loop(&mut self) -> Result<(), SimError> {
        let mut room = u64::from(self.config.host.queue_depth) * u64::from(self.config.host.queues);
        loop {
            while room > 0
                && let Some(&request) = self.next_request()?
            {
                let now = self.session.ssd.now;
                let measured = self.before(&request, now)?;
                self.session.ssd.arrive(&request, measured, now)?;
                room = room + self.session.ssd.host.take_completed() - 1;
            }
            if self.session.ssd.next_event().is_none() {
                return self.drain();
            }
            self.session.run_until(Time::NEVER)?;
            self.tick()?;
            room += self.session.ssd.host.take_completed();
        }
    }

    /// The flows with a clock: requests are submitted in the order in which they may be, until there is none.
    fn flows(&mut self) -> Result<(), SimError> {
        while !self.knows_enough() {
            let present = self.session.ssd.now - self.session.behind();
            let RunRequests::Flows(flows) = &mut self.requests else { break };
            flows.note_completed(&mut self.session.ssd.host);
            let Some(offer) = flows.next(present) else {
                if flows.are_over() {
                    break;
                }
                self.session.run_until(Time::NEVER)?;
                self.tick()?;
                continue;
            };
            if offer.at > ARRIVAL_MAX {
                return Err(SpecError(TOO_LATE.into()).into());
            }
            if offer.by_clock && self.session.run_until(offer.at + self.session.behind())? {
                self.tick()?;
                continue;
            }
            let request = flows.take(offer)?;
            let now = offer.at + self.session.behind();
            let measured = self.before(&request, now)?;
            self.session.ssd.arrive(&request, measured, now)?;
        }
        self.session.end_requests();
        self.drain()
    }

    /// Lets everything under way end, and programs what is still buffered.
    fn drain(&mut self) -> Result<(), SimError> {
        while self.session.run_until(Time::NEVER)? {
            self.tick()?;
        }
        Ok(())
    }

    /// Refuses a run of which nothing was measured.
    fn check_warmup(&self) -> Result<(), SimError> {
        let (warmup, submitted) = (self.config.run.warmup_requests, self.session.submitted());
        if warmup == 0 || submitted > warmup {
            return Ok(());
        }
        let text =
            format!("run.warmup_requests = {warmup} leaves nothing to measure: requests in the run: {submitted}");
        Err(SpecError(text).into())
    }
}
