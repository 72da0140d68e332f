//! What dies and channels do in a window of time, as JSON in the Trace Event Format, which trace viewers open
//! (ui.perfetto.dev, chrome://tracing).
//!
//! Four processes, as viewers call them: requests of the host (asynchronous events, because they overlap), a thread
//! a die with its flash commands, a thread a die with its garbage collection, and a thread a channel with its
//! transfers. Times are microseconds with three decimals.

use std::fmt::Write;

use pumice_config::Config;
use pumice_types::{Cause, ChannelId, DieId, FlashCommand, FlashOp, Geometry, RequestKind, Time};

use crate::observe::RequestRecord;

/// Bytes after which a piece is handed on.
const PIECE_BYTES: usize = 1 << 20;

/// Numbers of the processes.
const REQUESTS: u32 = 1;
const DIES: u32 = 2;
const COLLECTION: u32 = 3;
const CHANNELS: u32 = 4;

/// A command, or several of one multi-plane command, on a die.
#[derive(Clone, Copy)]
struct Slice {
    start: Time,
    end: Time,
    command: FlashCommand,
    planes: u32,
    suspended: bool,
}

/// Commands of garbage collection that followed each other on a die without a gap.
#[derive(Clone, Copy)]
struct Collection {
    start: Time,
    end: Time,
    commands: u32,
    copies: u32,
    erases: u32,
}

/// Slices of a die that may still grow.
#[derive(Clone, Copy, Default)]
struct Growing {
    slice: Option<Slice>,
    collection: Option<Collection>,
}

/// The events of a window, as text.
pub struct Timeline {
    from: Time,
    until: Time,
    geometry: Geometry,
    open: Vec<Growing>,
    requests: u64,
    text: String,
}

impl Timeline {
    /// An empty timeline of a run of `config` at `scale`, on a device of this shape.
    pub fn new(config: &Config, scale: f64, geometry: Geometry) -> Timeline {
        let output = &config.output;
        let from = Time::from_us(output.timeline_begin_s * 1e6);
        let until = from + Time::from_us(output.timeline_length_s * 1e6);
        let mut timeline = Timeline {
            from,
            until,
            geometry,
            open: vec![Growing::default(); geometry.dies() as usize],
            requests: 0,
            text: String::new(),
        };
        timeline.begin(config, scale);
        timeline
    }

    /// What is to be handed on next; the caller empties it.
    pub fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// A command held its die from `start` to `end`. Returns whether the text is to be handed on.
    pub fn command(&mut self, start: Time, end: Time, command: &FlashCommand) -> bool {
        self.slice(Slice { start, end, command: *command, planes: 1, suspended: false })
    }

    /// A part of an erase held its die from `start` to `end`; then the erase was suspended. Returns as `command`.
    pub fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) -> bool {
        self.slice(Slice { start, end, command: *command, planes: 1, suspended: true })
    }

    /// Data of a die was on its channel from `start` to `end`. Returns as `command`.
    pub fn transfer(&mut self, die: DieId, start: Time, end: Time) -> bool {
        if self.shows(start, end) {
            let ChannelId(channel) = self.geometry.channel_of(die);
            self.event(CHANNELS, channel, "transfer", (start, end));
            self.put(format_args!(",\"args\":{{\"die\":{}}}}}", die.0));
        }
        self.text.len() >= PIECE_BYTES
    }

    /// A request was done. Returns as `command`.
    pub fn request(&mut self, record: &RequestRecord) -> bool {
        let RequestRecord { arrival, done, request } = *record;
        if arrival < self.until && done >= self.from {
            let name = match request.kind {
                RequestKind::Read => "read",
                RequestKind::Write => "write",
                RequestKind::Trim => "trim",
                RequestKind::Flush => "flush",
            };
            let id = self.requests;
            self.requests += 1;
            for (phase, at) in [('b', arrival), ('e', done)] {
                self.put(format_args!(
                    ",\n{{\"ph\":\"{phase}\",\"cat\":\"request\",\"id\":{id},\"name\":\"{name}\",\"pid\":{REQUESTS},\"tid\":0,\"ts\":{}",
                    Micros(at)
                ));
                let (offset, bytes) = (request.offset_bytes, request.bytes);
                match phase {
                    'b' => self.put(format_args!(",\"args\":{{\"offset_bytes\":{offset},\"bytes\":{bytes}}}}}")),
                    _ => self.text.push('}'),
                }
            }
        }
        self.text.len() >= PIECE_BYTES
    }

    /// Ends the text.
    pub fn end(&mut self) {
        for die in 0..self.open.len() as u32 {
            let Growing { slice, collection } = std::mem::take(&mut self.open[die as usize]);
            self.close_slice(die, slice);
            self.close_collection(die, collection);
        }
        self.text.push_str("\n]}\n");
    }

    fn begin(&mut self, config: &Config, scale: f64) {
        let (from, until) = (Micros(self.from), Micros(self.until));
        let (version, digest, seed) = (env!("CARGO_PKG_VERSION"), config.digest(), config.seed);
        self.put(format_args!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"pumice\":\"{version}\",\"config_sha256\":\"{digest}\",\"seed\":{seed},\"scale\":{scale},\"from_us\":{from},\"until_us\":{until}}},\"traceEvents\":[\n"
        ));
        let named =
            [(REQUESTS, "requests"), (DIES, "dies"), (COLLECTION, "garbage collection"), (CHANNELS, "channels")];
        for (nth, (process, name)) in named.into_iter().enumerate() {
            let between = if nth == 0 { "" } else { ",\n" };
            self.put(format_args!(
                "{between}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{process},\"args\":{{\"name\":\"{name}\"}}}}"
            ));
        }
        let threads = [(DIES, "die", self.geometry.dies()), (COLLECTION, "die", self.geometry.dies())];
        for (process, name, count) in threads.into_iter().chain([(CHANNELS, "channel", self.geometry.channels)]) {
            for thread in 0..count {
                self.put(format_args!(
                    ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{process},\"tid\":{thread},\"args\":{{\"name\":\"{name} {thread}\"}}}}"
                ));
            }
        }
    }

    /// Whether a part of what lasted from `start` to `end` lies in the window. What took no time is not shown: a
    /// device that is aged has no clock.
    fn shows(&self, start: Time, end: Time) -> bool {
        start < end && start < self.until && end > self.from
    }

    fn slice(&mut self, new: Slice) -> bool {
        let die = self.geometry.die_of(self.geometry.plane_of(new.command.target.block)).0;
        let open = &mut self.open[die as usize];
        if let Some(last) = &mut open.slice
            && (last.start, last.end, last.command.op) == (new.start, new.end, new.command.op)
        {
            last.planes += 1;
            return false;
        }
        let last = open.slice.replace(new);
        self.close_slice(die, last);
        self.collect(die, &new);
        self.text.len() >= PIECE_BYTES
    }

    /// Lets a collection grow by what runs on its die, or ends it.
    fn collect(&mut self, die: u32, new: &Slice) {
        let is_collection = new.command.cause == Cause::Gc;
        let open = &mut self.open[die as usize].collection;
        let ended = open.take_if(|run| !is_collection || run.end != new.start);
        if is_collection {
            let run =
                open.get_or_insert(Collection { start: new.start, end: new.end, commands: 0, copies: 0, erases: 0 });
            run.end = new.end;
            run.commands += 1;
            match new.command.op {
                FlashOp::Copy => run.copies += 1,
                FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => {
                    run.erases += u32::from(!new.suspended);
                }
                FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program | FlashOp::Pause => {}
            }
        }
        self.close_collection(die, ended);
    }

    fn close_slice(&mut self, die: u32, slice: Option<Slice>) {
        let Some(slice) = slice.filter(|slice| self.shows(slice.start, slice.end)) else { return };
        self.event(DIES, die, op_name(slice.command.op), (slice.start, slice.end));
        let Slice { command, planes, suspended, .. } = slice;
        let (block, page, cause) = (command.target.block.0, command.target.page, cause_name(command.cause));
        self.put(format_args!(
            ",\"cat\":\"{cause}\",\"args\":{{\"cause\":\"{cause}\",\"block\":{block},\"page\":{page},\"planes\":{planes},\"suspended\":{suspended}}}}}"
        ));
    }

    fn close_collection(&mut self, die: u32, run: Option<Collection>) {
        let Some(run) = run.filter(|run| self.shows(run.start, run.end)) else { return };
        self.event(COLLECTION, die, "garbage collection", (run.start, run.end));
        let Collection { commands, copies, erases, .. } = run;
        self.put(format_args!(",\"args\":{{\"commands\":{commands},\"copies\":{copies},\"erases\":{erases}}}}}"));
    }

    /// A complete event up to its arguments.
    fn event(&mut self, process: u32, thread: u32, name: &str, (start, end): (Time, Time)) {
        let (at, lasts) = (Micros(start), Micros(end - start));
        self.put(format_args!(
            ",\n{{\"ph\":\"X\",\"name\":\"{name}\",\"pid\":{process},\"tid\":{thread},\"ts\":{at},\"dur\":{lasts}"
        ));
    }

    fn put(&mut self, text: std::fmt::Arguments) {
        // Writing to a string never fails.
        let _ = self.text.write_fmt(text);
    }
}

/// A time in microseconds, exact to the nanosecond.
struct Micros(Time);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0.0 / 1000, self.0.0 % 1000)
    }
}

fn op_name(op: FlashOp) -> &'static str {
    match op {
        FlashOp::Read => "read",
        FlashOp::SpareSearch => "spare search",
        FlashOp::Program => "program",
        FlashOp::Copy => "copy",
        FlashOp::Erase => "erase",
        FlashOp::PartialErase => "partial erase",
        FlashOp::SubBlockErase => "sub-block erase",
        FlashOp::Pause => "pause",
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "host",
        Cause::Gc => "garbage collection",
        Cause::Map => "map",
        Cause::Rmw => "read-modify-write",
        Cause::Padding => "padding",
    }
}
