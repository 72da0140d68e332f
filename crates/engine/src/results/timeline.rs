//! What dies and channels do in a window of time, as JSON in the Trace Event Format, which trace viewers open
//! (ui.perfetto.dev, chrome://tracing).
//!
//! Four processes, as viewers call them: requests of the host (asynchronous events, because they overlap), a thread
//! a die with its flash commands, a thread a die with its garbage collection, and a thread a channel with its
//! transfers. Times are microseconds with three decimals.

use std::fmt::Write;

use pumice_config::Config;
use pumice_types::{Cause, ChannelId, DieId, FlashCommand, FlashOp, Geometry, Time};

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
    /// The first of them, which was due.
    command: FlashCommand,
    planes: u32,
    copies: u32,
    reads: u32,
    /// Some of them are for garbage collection.
    collects: bool,
    suspended: bool,
}

impl Slice {
    fn new(start: Time, end: Time, command: &FlashCommand) -> Slice {
        let [copies, reads] = [FlashOp::Copy, FlashOp::Read].map(|op| u32::from(command.op == op));
        let collects = command.cause == Cause::Gc;
        Slice { start, end, command: *command, planes: 1, copies, reads, collects, suspended: false }
    }

    /// Whether both are of one multi-plane command: a die does nothing else at the same time. Reads that ride on a copy
    /// end before it.
    fn is_beside(&self, other: &Slice) -> bool {
        self.start == other.start
    }

    /// Takes in a further plane of the same command.
    fn join(&mut self, other: &Slice) {
        if other.end > self.end {
            (self.end, self.command) = (other.end, other.command);
        }
        self.planes += 1;
        self.copies += other.copies;
        self.reads += other.reads;
        self.collects |= other.collects;
    }

    fn is_erase(&self) -> bool {
        match self.command.op {
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => true,
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program | FlashOp::Copy | FlashOp::Pause => false,
        }
    }

    /// What viewers call it.
    fn name(&self) -> &'static str {
        match self.copies {
            0 => op_name(self.command.op),
            copies if copies == self.planes => op_name(FlashOp::Copy),
            _ if self.reads > 0 => "copy and read",
            _ => "copy and program",
        }
    }
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
        self.slice(Slice::new(start, end, command))
    }

    /// A part of an erase held its die from `start` to `end`; then the erase was suspended. Returns as `command`.
    pub fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) -> bool {
        self.slice(Slice { suspended: true, ..Slice::new(start, end, command) })
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
            let name = request.kind.name();
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
            let last = self.open[die as usize].slice.take();
            self.close_slice(die, last);
            let collection = self.open[die as usize].collection.take();
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

    /// Whether a part of what lasted from `start` to `end` lies in the window.
    fn shows(&self, start: Time, end: Time) -> bool {
        start < self.until && end > self.from
    }

    fn slice(&mut self, new: Slice) -> bool {
        if new.start == new.end {
            return false; // a device that is aged has no clock
        }
        let die = self.geometry.die_of(self.geometry.plane_of(new.command.target.block)).0;
        let open = &mut self.open[die as usize].slice;
        if let Some(last) = open.as_mut().filter(|last| last.is_beside(&new)) {
            last.join(&new);
            return false;
        }
        let last = open.replace(new);
        self.close_slice(die, last);
        self.text.len() >= PIECE_BYTES
    }

    /// Lets a collection grow by what ran on its die, or ends it.
    fn collect(&mut self, die: u32, slice: &Slice) {
        let open = &mut self.open[die as usize].collection;
        let ended = open.take_if(|run| !slice.collects || run.end != slice.start);
        if slice.collects {
            let begun = Collection { start: slice.start, end: slice.end, commands: 0, copies: 0, erases: 0 };
            let run = open.get_or_insert(begun);
            run.end = slice.end;
            run.commands += 1;
            run.copies += slice.copies;
            run.erases += if slice.is_erase() && !slice.suspended { slice.planes } else { 0 };
        }
        self.close_collection(die, ended);
    }

    fn close_slice(&mut self, die: u32, slice: Option<Slice>) {
        let Some(slice) = slice else { return };
        self.collect(die, &slice);
        if !self.shows(slice.start, slice.end) {
            return;
        }
        self.event(DIES, die, slice.name(), (slice.start, slice.end));
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
