//! Segments: consecutive commands of one die that are scheduled as one event, and the kind of work that their time is
//! charged to.

use pumice_types::{Cause, Draw, FlashCommand, FlashOp, FlashTiming, PageAddress, PageTimes, SearchExpectation, Time};

/// The place of a snapshot that was not taken.
pub const NO_SNAPSHOT: u32 = u32::MAX;

/// What a die spends its time on, as a waiting host access sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(usize)]
pub enum Phase {
    /// Work for host requests.
    #[default]
    Host,
    /// Accesses of a map that is not all in RAM.
    Map,
    /// Spare searches of garbage collection.
    GcSpareRead,
    /// Reads of garbage collection.
    GcRead,
    /// Programs of garbage collection.
    GcWrite,
    /// Erases of garbage collection, and time reserved for them.
    GcErase,
}

/// Number of phases.
pub const PHASES: usize = 6;

/// Time by phase.
pub type PhaseTimes = [Time; PHASES];

/// Which resources a segment uses, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Resources {
    /// Die only; any number of commands.
    #[default]
    Die,
    /// Die, then channel: page reads and spare searches.
    DieThenChannel,
    /// Channel, then die: programs.
    ChannelThenDie,
    /// Die, channel out and in, die: a copy through the controller.
    DieChannelDie,
    /// Die only: a copyback that may run together with others, or be suspended.
    Copyback,
    /// Die only, in steps between which reads may come.
    Erase,
}

/// What the shape of a command depends on besides the command.
#[derive(Clone, Copy, Debug)]
pub struct ShapeRule {
    /// Copies stay on their die.
    pub copyback: bool,
    /// Erases are run step by step.
    pub in_steps: bool,
    /// Copybacks may run together, or be suspended, so each is a segment of its own.
    pub copybacks_apart: bool,
}

impl Resources {
    /// The shape of a command.
    #[inline]
    pub fn of(command: &FlashCommand, rule: ShapeRule) -> Resources {
        match command.op {
            FlashOp::Read | FlashOp::SpareSearch => Resources::DieThenChannel,
            FlashOp::Program => Resources::ChannelThenDie,
            FlashOp::Copy if !rule.copyback => Resources::DieChannelDie,
            FlashOp::Copy if rule.copybacks_apart => Resources::Copyback,
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase if rule.in_steps => Resources::Erase,
            FlashOp::Copy | FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause => {
                Resources::Die
            }
        }
    }
}

/// Number of shapes.
const SHAPES: usize = 6;

impl Resources {
    /// Every shape, each at the place of its number.
    const ALL: [Resources; SHAPES] = [
        Resources::Die,
        Resources::DieThenChannel,
        Resources::ChannelThenDie,
        Resources::DieChannelDie,
        Resources::Copyback,
        Resources::Erase,
    ];

    /// Whether it takes the channel.
    #[inline]
    pub fn uses_channel(self) -> bool {
        match self {
            Resources::DieThenChannel | Resources::ChannelThenDie | Resources::DieChannelDie => true,
            Resources::Die | Resources::Copyback | Resources::Erase => false,
        }
    }
}

/// Consecutive queued commands with one event at their end. It stores nothing that can be read from its commands,
/// because merges make queues long.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Resources.
    pub shape: Resources,
    /// The next segment of this lane follows without anything between them.
    pub chained: bool,
    /// A page access waits for a later command of the same plan.
    pub urgent: bool,
    /// How often its page is read again; known once it starts.
    pub retries: u8,
    /// Commands left.
    pub commands: u32,
    /// Page access that waits for the end of the segment; `NOBODY` if none.
    pub token: u32,
    /// The snapshot of the die's time when it was queued, or [`NO_SNAPSHOT`].
    pub snapshot: u32,
    /// Time of all its commands, if they need the die alone; of a read that moves part of its page, its time on the
    /// channel. Else zero.
    pub own_time: Time,
    /// For a read with priority: the number that the next command of the work lane had then.
    pub behind: u64,
}

impl Segment {
    /// A segment of one command whose end no page access waits for.
    #[inline]
    pub fn of(shape: Resources) -> Segment {
        Segment {
            shape,
            chained: false,
            urgent: false,
            retries: 0,
            commands: 1,
            token: super::NOBODY,
            snapshot: NO_SNAPSHOT,
            own_time: Time::ZERO,
            behind: 0,
        }
    }
}

/// How long the running segment, or several that run together, use die and channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// In which order.
    pub shape: Resources,
    /// Die time before the channel (or all of it).
    pub die_first: Time,
    /// Channel time of a segment.
    pub channel: Time,
    /// Channel time of all segments that run together, if none is read again.
    pub transfers: Time,
    /// Die time after the channel.
    pub die_last: Time,
    /// Number of times that die and channel time repeat before the last die time: the most read retries of all
    /// segments that run together.
    pub retries: u8,
    /// Reads of copies that come one after the other in `die_first`.
    pub reads: u8,
    /// Channel time of one page.
    pub page: Time,
    /// Channel time of a retry.
    pub again: Time,
    /// Time of the reads of copies: die, and channel out, retries included.
    pub copy_reads: Time,
}

/// What segments use, by their shape.
#[derive(Clone, Debug)]
pub struct Usages {
    /// Usage of each shape, for segments that nothing else decides.
    of_shape: [Usage; SHAPES],
    pages: PageTimes,
    /// By how much of its time a program differs at most, and what each draws.
    spread: Option<(f64, Draw)>,
    page_transfer: Time,
    spare_transfer: Time,
    command_overhead: Time,
}

impl Usages {
    /// Computes the usages of chips with such times.
    pub fn new(timing: &FlashTiming) -> Usages {
        Usages {
            of_shape: Resources::ALL.map(|shape| Usage::of_shape(shape, timing)),
            pages: timing.pages.clone(),
            spread: None,
            page_transfer: timing.page_transfer,
            spare_transfer: timing.spare_transfer,
            command_overhead: timing.command_overhead,
        }
    }

    /// Lets the times of programs differ by at most this share.
    pub fn spread_programs(&mut self, share: f64, drawn: Draw) {
        self.spread = (share > 0.0).then_some((share, drawn));
    }

    /// What a segment uses whose first command is `command`. An erase in steps says so itself.
    #[inline]
    pub fn of(&self, segment: &Segment, command: &FlashCommand) -> Usage {
        let mut usage = self.of_shape[segment.shape as usize];
        self.complete(&mut usage, segment, command);
        usage
    }

    /// Puts the usage of a command in the place of `usage`: moved as it stands, if its shape decides all of it.
    #[inline]
    pub fn replace(&self, usage: &mut Usage, segment: &Segment, command: &FlashCommand) {
        *usage = self.of_shape[segment.shape as usize];
        self.complete(usage, segment, command);
    }

    /// Sets the die times of a command of chips whose pages differ.
    #[cold]
    fn set_array_times(&self, usage: &mut Usage, command: &FlashCommand) {
        let read = if command.op == FlashOp::Copy { command.source } else { command.target };
        usage.set_array_times(self.pages.t_r(read.page), self.t_prog(command.target));
    }

    /// Time of the program of a page.
    fn t_prog(&self, PageAddress { block, page }: PageAddress) -> Time {
        let t_prog = self.pages.t_prog(page);
        let Some((share, drawn)) = self.spread else { return t_prog };
        let place = u64::from(block.0) << 16 | u64::from(page);
        Time((t_prog.0 as f64 * (1.0 + share * (2.0 * drawn.unit(place) - 1.0))) as u64)
    }

    /// Duration of a command that needs only the die.
    #[inline]
    pub fn die_only_time(&self, timing: &FlashTiming, command: &FlashCommand) -> Time {
        match command.op {
            FlashOp::Copy => timing.t_r(command.source.page) + self.t_prog(command.target),
            FlashOp::Pause => command.duration(),
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => timing.erase_time(command),
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program => unreachable!("{command:?} needs the channel"),
        }
    }

    /// Sets what the shape does not decide.
    #[inline]
    fn complete(&self, usage: &mut Usage, segment: &Segment, command: &FlashCommand) {
        if self.pages.differ() || self.spread.is_some() {
            self.set_array_times(usage, command);
        }
        if segment.shape == Resources::Die {
            usage.die_first = segment.own_time;
        } else if segment.own_time > Time::ZERO {
            let part = segment.own_time;
            (usage.channel, usage.transfers, usage.again) = (part, part, part);
        } else if command.op == FlashOp::SpareSearch {
            let pages = u64::from(command.searched_pages());
            let transfer = match command.expectation() {
                SearchExpectation::Pages => self.page_transfer,
                SearchExpectation::Found | SearchExpectation::Absent | SearchExpectation::Scan => self.spare_transfer,
            };
            usage.die_first = self.pages.t_r_down(command.target.page, command.searched_pages());
            usage.channel = transfer * pages + self.command_overhead;
            usage.transfers = usage.channel;
        }
    }
}

impl Usage {
    /// What a segment of one page command uses, of the first page of a block.
    fn of_shape(shape: Resources, t: &FlashTiming) -> Usage {
        let page = t.page_transfer + t.command_overhead;
        let channel = match shape {
            Resources::DieThenChannel | Resources::ChannelThenDie => page,
            Resources::DieChannelDie => t.copy_transfer(),
            Resources::Copyback | Resources::Die | Resources::Erase => Time::ZERO,
        };
        let mut usage = Usage { shape, channel, transfers: channel, reads: 1, page, again: page, ..Usage::default() };
        usage.set_array_times(t.t_r(0), t.t_prog(0));
        usage
    }

    /// Sets the die times of page commands that read and program for so long.
    fn set_array_times(&mut self, t_r: Time, t_prog: Time) {
        let (none, page) = (Time::ZERO, self.page);
        (self.die_first, self.die_last, self.copy_reads) = match self.shape {
            Resources::DieThenChannel => (t_r, none, none),
            Resources::ChannelThenDie => (none, t_prog, none),
            Resources::DieChannelDie => (t_r, t_prog, t_r + page),
            Resources::Copyback => (t_r, t_prog, t_r),
            Resources::Die | Resources::Erase => (none, none, none),
        };
    }

    /// What is left of it when its last die time, which was suspended, goes on.
    pub fn rest(self) -> Usage {
        Usage { shape: self.shape, reads: self.reads, page: self.page, again: self.again, ..Usage::default() }
    }

    /// Returns this usage with copies that read for `copy_reads`.
    pub fn with_copy_reads(self, copy_reads: Time) -> Usage {
        Usage { copy_reads, ..self }
    }

    /// Adds the first `elapsed` of what runs to the phases it consists of; `command` is the first of it. A
    /// copy through the controller reads until its page is out, and writes from then on.
    #[inline]
    pub fn charge(&self, spent: &mut PhaseTimes, command: &FlashCommand, elapsed: Time) {
        let read = if command.op == FlashOp::Copy { elapsed.min(self.copy_reads) } else { Time::ZERO };
        spent[Phase::GcRead as usize] += read;
        spent[phase(command) as usize] += elapsed - read;
    }
}

/// What the die time of a page command, but for the reads of copies, is charged to.
#[inline]
pub fn phase(command: &FlashCommand) -> Phase {
    match (command.cause, command.op) {
        (Cause::Host | Cause::Rmw, _) => Phase::Host,
        (Cause::Map, _) => Phase::Map,
        (Cause::Gc, FlashOp::SpareSearch) => Phase::GcSpareRead,
        (Cause::Gc, FlashOp::Read) => Phase::GcRead,
        (Cause::Gc, FlashOp::Program | FlashOp::Copy) | (Cause::Padding, _) => Phase::GcWrite,
        (Cause::Gc, FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause) => Phase::GcErase,
    }
}

/// Adds the first `elapsed` of a die-only command to the phases it consists of.
#[inline]
pub fn charge(spent: &mut PhaseTimes, timing: &FlashTiming, command: &FlashCommand, elapsed: Time) {
    match (command.cause, command.op) {
        (Cause::Map, _) => spent[Phase::Map as usize] += elapsed,
        (_, FlashOp::Copy) => {
            let read = elapsed.min(timing.t_r(command.source.page));
            spent[Phase::GcRead as usize] += read;
            spent[Phase::GcWrite as usize] += elapsed - read;
        }
        _ => spent[Phase::GcErase as usize] += elapsed,
    }
}
