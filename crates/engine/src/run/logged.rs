//! A run with the logs that its spec asks for, handed to a sink piece by piece.

use pumice_commandlog::{CommandLog, LogHeader, LoggedRun};
use pumice_config::Config;
use pumice_types::{BlockId, DieId, FlashCommand, MultiPlane, PageUnit, Time};

use crate::error::SimError;
use crate::observe::{Beginning, Observer, RequestRecord};
use crate::results::{Outcome, RequestBatch, Timeline};
use crate::run::{Progress, run, run_observed};

/// Receives the logs of a run piece by piece, in order. An error ends the run; its text says why.
pub trait Sink {
    /// Takes a batch of finished requests.
    ///
    /// # Errors
    /// The batch cannot be kept.
    fn requests(&mut self, batch: &RequestBatch) -> Result<(), String>;

    /// Takes the next bytes of the command log.
    ///
    /// # Errors
    /// The bytes cannot be kept.
    fn commands(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Takes the next text of the timeline.
    ///
    /// # Errors
    /// The text cannot be kept.
    fn timeline(&mut self, text: &str) -> Result<(), String>;
}

/// The logs of one run.
struct Logs<'a> {
    requests: Option<RequestBatch>,
    logs_commands: bool,
    commands: Option<CommandLog>,
    draws_timeline: bool,
    timeline: Option<Timeline>,
    sink: &'a mut dyn Sink,
    failure: Option<String>,
}

impl Logs<'_> {
    #[cold]
    fn pass_requests(&mut self) {
        let Some(batch) = self.requests.as_mut().filter(|batch| !batch.is_empty()) else { return };
        if self.failure.is_none() {
            self.failure = self.sink.requests(batch).err();
        }
        batch.clear();
    }

    #[cold]
    fn pass_commands(&mut self) {
        let Some(log) = &mut self.commands else { return };
        if self.failure.is_none() {
            self.failure = self.sink.commands(log.bytes()).err();
        }
        log.bytes().clear();
    }

    #[cold]
    fn pass_timeline(&mut self) {
        let Some(timeline) = &mut self.timeline else { return };
        if self.failure.is_none() {
            self.failure = self.sink.timeline(timeline.text()).err();
        }
        timeline.text().clear();
    }

    /// Passes on what is left.
    fn end(&mut self) -> Result<(), SimError> {
        self.pass_requests();
        if let Some(log) = &mut self.commands {
            log.end();
        }
        self.pass_commands();
        if let Some(timeline) = &mut self.timeline {
            timeline.end();
        }
        self.pass_timeline();
        self.failure.take().map_or(Ok(()), |text| Err(SimError::Output(text)))
    }
}

impl Observer for Logs<'_> {
    fn begin(&mut self, beginning: &Beginning) {
        let Beginning { config, scale, array, user_pages } = *beginning;
        self.timeline = self.draws_timeline.then(|| Timeline::new(config, scale, array.config().geometry));
        if !self.logs_commands {
            return;
        }
        let run = LoggedRun {
            config_sha256: config.digest(),
            seed: config.seed,
            scale,
            timed: config.run.timed,
            multi_plane: config.chip.timing.multi_plane != MultiPlane::Off,
            user_pages,
        };
        self.commands = Some(CommandLog::new(&LogHeader::of(run, array)));
        for block in (0..array.config().geometry.blocks()).map(BlockId) {
            if self.commands.as_mut().is_some_and(|log| log.push_initial(array, block)) {
                self.pass_commands();
            }
        }
    }

    fn stages_units(&mut self, list: u32, units: &[PageUnit]) {
        if let Some(log) = &mut self.commands {
            log.keep_units(list, units);
        }
    }

    #[inline]
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        if self.commands.as_mut().is_some_and(|log| log.push_command(start, end, command)) {
            self.pass_commands();
        }
        if self.timeline.as_mut().is_some_and(|timeline| timeline.command(start, end, command)) {
            self.pass_timeline();
        }
    }

    fn watches_ageing(&self) -> bool {
        self.logs_commands || self.draws_timeline
    }

    fn watches_transfers(&self) -> bool {
        self.timeline.is_some()
    }

    fn transfer(&mut self, die: DieId, start: Time, end: Time) {
        if self.timeline.as_mut().is_some_and(|timeline| timeline.transfer(die, start, end)) {
            self.pass_timeline();
        }
    }

    fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) {
        if self.timeline.as_mut().is_some_and(|timeline| timeline.suspended(start, end, command)) {
            self.pass_timeline();
        }
    }

    #[inline]
    fn request(&mut self, record: &RequestRecord) {
        if self.requests.as_mut().is_some_and(|batch| batch.push(record)) {
            self.pass_requests();
        }
        if self.timeline.as_mut().is_some_and(|timeline| timeline.request(record)) {
            self.pass_timeline();
        }
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// As [`crate::run`], with the request log, the command log and the timeline that the spec asks for given to `sink`.
///
/// # Errors
/// As [`crate::run`]; [`SimError::Output`] with the sink's text if that could not go on.
pub fn run_logged(
    config: &Config,
    scale: f64,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, SimError> {
    let output = &config.output;
    if !output.request_log && !output.command_log && !output.timeline {
        return run(config, scale, progress);
    }
    let mut logs = Logs {
        requests: output.request_log.then(RequestBatch::new),
        logs_commands: output.command_log,
        commands: None,
        draws_timeline: output.timeline,
        timeline: None,
        sink,
        failure: None,
    };
    let result = run_observed(config, scale, &mut logs, progress);
    match (result, logs.failure.take()) {
        (_, Some(text)) => Err(SimError::Output(text)),
        (Err(error), None) => Err(error),
        (Ok(outcome), None) => logs.end().map(|()| outcome),
    }
}
