//! One device on several threads, exactly: what they find together is what one thread finds, to the last bit.
//!
//! Each thread is dealt the requests with pages on its channels, and runs those page accesses
//! ([`crate::host::portion`]). Where a layer binds pages to planes, and nothing else joins the channels, the channels go
//! their own ways; only requests with pages on several, and what the document tells of the device as a whole, are put
//! together. Two threads may end pages of one write at the same nanosecond after different waits; only one thread knows
//! which of them came last, so such a run begins anew on one, and so does a run that fails, for its error.

pub(crate) mod dealt;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};

use pumice_config::{Config, HostMode, PartialPage, SpecError};
use pumice_ftl::{Homes, Recovery};
use pumice_types::{RequestKind, Time};
use pumice_workload::Workload;
use rustc_hash::FxHashMap;

use crate::build::build;
use crate::error::SimError;
use crate::host::pages::Pages;
use crate::host::portion::{Portion, RequestPiece, Shares, most_u_blocks};
use crate::metrics::Metrics;
use crate::results::Outcome;
use crate::run::{EndedRun, Meeting, Progress, Run, open_workload, run};
use dealt::{DealtRequests, DealtWorkload};

/// How many threads run a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// At most so many; one where several would not be exact.
    UpTo(u8),
    /// So many, or as many as there are channels.
    Number(u8),
}

/// Runs a configuration on several threads, without an observer. The document is that of [`run`].
///
/// # Errors
/// As [`run`]; [`SimError::Spec`] if a number of threads is wanted where several would not be exact.
pub fn run_on_threads(
    config: &Config,
    scale: f64,
    threads: Threads,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, SimError> {
    let (Threads::UpTo(wanted) | Threads::Number(wanted)) = threads;
    let channels = config.device_geometry(scale)?.channels;
    let number = u32::from(wanted).min(channels).min(u64::BITS) as u8;
    if number < 2 {
        return run(config, scale, progress);
    }
    let (homes, user_pages) = match (threads, homes(config, scale)?) {
        (_, Ok(found)) => found,
        (Threads::UpTo(_), Err(_)) => return run(config, scale, progress),
        (Threads::Number(_), Err(why)) => {
            let text = format!("threads = {wanted} is not allowed with {why}, which joins the channels; allowed: 1");
            return Err(SpecError(text).into());
        }
    };
    // Each thread has a part of the device only, so none of them can take an aged one or keep it for others.
    let own = Config { aged_devices: None, ..config.clone() };
    let workload = open_workload(config, scale, user_pages)?;
    let mut is_wanted = true;
    let together = together((&own, scale), (&homes, number), workload, &mut |report| {
        is_wanted = progress(report);
        is_wanted
    });
    match together {
        Some(ended) => ended.outcome(),
        None if !is_wanted => Err(SimError::Interrupted),
        None => run(config, scale, progress),
    }
}

/// Where the pages of a device are at home, and how many the host has; or what joins its channels.
fn homes(config: &Config, scale: f64) -> Result<Result<(Homes, u32), String>, SimError> {
    if let Some(why) = joined_channels(config) {
        return Ok(Err(why));
    }
    let built = build(config, scale)?;
    let (layer, user_pages) = (built.ftl.layer(), built.ftl.user_pages());
    let homes = layer.homes().filter(|_| !layer.conduct().works_when_idle);
    Ok(homes
        .map(|homes| (homes, user_pages))
        .ok_or_else(|| format!("what ftl.kind = \"{}\" does here", config.ftl.kind)))
}

/// What joins the channels of a device, so that threads could not go their own ways.
fn joined_channels(config: &Config) -> Option<String> {
    let Config { host, run, output, chip, ftl, .. } = config;
    let facts = ftl.kind.facts();
    let told = |key: &str| Some(key.to_string());
    match () {
        () if !config.flows.is_empty() => told("workload.flow"),
        () if run.timed && host.mode == HostMode::ClosedLoop => told("host.mode = \"closed-loop\""),
        () if host.link_mb_per_s.is_some() => told("host.link_mb_per_s"),
        () if host.overhead_us > 0.0 => told("host.overhead_us"),
        () if host.write_buffer_kib > 0 => told("host.write_buffer_kib"),
        () if config.controller.takes_time() => told("controller.t_request_us and controller.t_command_us"),
        () if run.until.is_some() => told("run.until"),
        // One random stream goes through the pages of all planes.
        () if config.initial.is_drawn() => told("initial.aged_by = \"drawn\""),
        () if ftl.shared.recovery != Recovery::Off => told("ftl.recovery"),
        () if ftl.own_policy.is_some() => told("a policy of the user's own"),
        // What a handle may still write is told by the layer for all planes together.
        () if ftl.page.handles.is_some() => told("ftl.handles"),
        () if chip.erase.scheme.has_loops() => Some(format!("erase.scheme = \"{}\"", chip.erase.scheme)),
        () if chip.erase.read_retry => told("erase.read_retry"),
        () if output.time_series_s.is_some() => told("output.time_series_s"),
        () if output.write_series.is_some() => told("output.write_series"),
        () if output.request_log => told("output.request_log"),
        () if output.command_log => told("output.command_log"),
        () if output.timeline => told("output.timeline"),
        () if facts.reports.u_blocks && run.timed && host.partial_page == PartialPage::Rmw => {
            Some(format!("ftl.kind = \"{}\" and host.partial_page = \"rmw\"", ftl.kind))
        }
        () if config.workload.kind().is_trace() && is_read_once(config) => told("a trace that can be read once only"),
        () => None,
    }
}

/// Whether a trace cannot be read again, by the one thread of a run that begins anew.
fn is_read_once(config: &Config) -> bool {
    let path = config.workload.trace.path.as_deref().map(Path::new);
    config.recorded.is_some() || path.is_some_and(|path| path.exists() && !path.is_file())
}

/// The run on so many threads; `None` if it did not end, or not as it would on one.
fn together<'a>(
    (config, scale): (&'a Config, f64),
    (homes, number): (&Homes, u8),
    workload: Workload,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Option<EndedRun<'a>> {
    let shares = Shares::new(homes, &config.device_geometry(scale).ok()?, number);
    let pages = Pages::new(config.mapped_page_bytes());
    let run = &config.run;
    let workload = DealtWorkload::new(workload, (shares.clone(), pages), run.max_requests, run.warmup_requests);
    let meeting = Threaded { shares, ended: Mutex::default(), all: Condvar::new(), gave_up: AtomicBool::new(false) };
    let meeting = &meeting;
    let (hand_over, pieces) = channel();
    let mut joined = JoinedRequests::new(pieces);
    let (first, others) = std::thread::scope(|scope| {
        let spawn = |own| {
            let (hand_over, requests) = (hand_over.clone(), workload.of_thread(own));
            let found = move || {
                let ended = meeting.run((config, scale), (own, hand_over), requests, &mut |_| true)?;
                Some(ended.session.into_found())
            };
            scope.spawn(found)
        };
        let others: Vec<_> = (1..number).map(spawn).collect();
        let first = meeting.run((config, scale), (0, hand_over), workload.of_thread(0), &mut |report| {
            joined.take_in();
            progress(report)
        });
        (first, others.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Option<Vec<_>>>())
    });
    let (mut first, others) = (first?, others?);
    first.tell_origin(config, &workload.into_workload());
    let hosts = std::iter::once(&first.session.ssd.host).chain(others.iter().map(|other| &other.host));
    let most = most_u_blocks(&hosts.filter_map(|host| host.portion.as_deref()).collect::<Vec<_>>());
    others.iter().for_each(|other| first.session.absorb(other));
    let metrics = &mut first.session.ssd.host.metrics;
    metrics.absorb(joined.metrics()?);
    metrics.serve(others.iter().map(|other| &other.host.metrics));
    if config.ftl.kind.facts().reports.u_blocks
        && let Some(figures) = first.session.ssd.controller.ftl.layer_mut().figures_mut()
    {
        figures.counters_mut().u_blocks_max = most;
    }
    Some(first)
}

/// Threads that run one device.
struct Threaded {
    shares: Shares,
    /// How many have ended their requests, and when the last of those ended.
    ended: Mutex<(u8, Time)>,
    all: Condvar,
    /// A thread has given up, so that all do.
    gave_up: AtomicBool,
}

impl Threaded {
    /// The run of one of them; `None` if it did not end.
    fn run<'a>(
        &self,
        (config, scale): (&'a Config, f64),
        (own, hand_over): (u8, Sender<Vec<RequestPiece>>),
        requests: DealtRequests<'_>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Option<EndedRun<'a>> {
        // However this ends, the others wait for it no longer.
        let leaving = Leaving(self);
        let mut goes_on = |report: &Progress| !self.gave_up.load(Ordering::Relaxed) && progress(report);
        let mut run = Run::begin_portion((config, scale), requests, self, &mut goes_on).ok()?;
        let ssd = &mut run.session.ssd;
        let counts_u_blocks = config.ftl.kind.facts().reports.u_blocks;
        let portion = Portion::new(self.shares.clone(), own, counts_u_blocks, hand_over);
        ssd.host.portion = Some(Box::new(portion));
        ssd.host.metrics.keep_spans();
        let mut ended = run.run_out().ok()?;
        ended.session.ssd.host.portion.iter_mut().for_each(|portion| portion.hand_over_pieces());
        std::mem::forget(leaving);
        Some(ended)
    }
}

impl Meeting for Threaded {
    fn all_ended(&self, own: Time) -> Option<Time> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended = (ended.0 + 1, ended.1.max(own));
        self.all.notify_all();
        while ended.0 < self.shares.threads() && !self.gave_up.load(Ordering::Relaxed) {
            ended = self.all.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
        (ended.0 >= self.shares.threads()).then_some(ended.1)
    }
}

/// A thread that gives up, unless this is forgotten.
struct Leaving<'a>(&'a Threaded);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // Under the lock, so that nobody begins to wait meanwhile.
        let _ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.gave_up.store(true, Ordering::Relaxed);
        self.0.all.notify_all();
    }
}

/// Requests with pages on several threads, put together.
struct JoinedRequests {
    pieces: Receiver<Vec<RequestPiece>>,
    /// What is known of each, and from how many threads, by its number.
    parts: FxHashMap<u64, (RequestPiece, u32)>,
    metrics: Metrics,
    /// No two pieces of a write ended together after different waits.
    is_exact: bool,
}

impl JoinedRequests {
    fn new(pieces: Receiver<Vec<RequestPiece>>) -> JoinedRequests {
        JoinedRequests { pieces, parts: FxHashMap::default(), metrics: Metrics::default(), is_exact: true }
    }

    /// Takes in what has been handed over by now.
    fn take_in(&mut self) {
        while let Ok(pieces) = self.pieces.try_recv() {
            pieces.into_iter().for_each(|piece| self.join(piece));
        }
    }

    fn join(&mut self, piece: RequestPiece) {
        let (last, known) = self.parts.entry(piece.number).or_insert((piece, 0));
        let differ = piece.parts != last.parts && piece.request.kind == RequestKind::Write;
        self.is_exact &= piece.done != last.done || !differ;
        if piece.done > last.done {
            *last = piece;
        }
        *known += 1;
        if *known == piece.threads {
            let RequestPiece { request, arrival, done, parts, .. } = *last;
            self.parts.remove(&piece.number);
            self.metrics.record(&request, done - arrival, || parts);
        }
    }

    /// What they come to, if that is exact.
    fn metrics(&mut self) -> Option<&Metrics> {
        self.take_in();
        debug_assert!(self.parts.is_empty(), "every thread has handed over what it has");
        self.is_exact.then_some(&self.metrics)
    }
}
