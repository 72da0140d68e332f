//! Segments: what a die does without anybody else having to look, and what its time is charged to.

use std::cmp::Ordering;

use pumice_types::{Cause, FlashCommand, FlashOp, FlashTiming, Time};

/// What a die spends its time on, as a waiting host access sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Phase {
    /// Work for host requests.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Die only; any number of commands.
    Die,
    /// Die, then channel: page reads and spare searches.
    DieThenChannel,
    /// Channel, then die: programs.
    ChannelThenDie,
    /// Die, channel out and in, die: a copy through the controller.
    DieChannelDie,
    /// Die only, in steps between which reads may come.
    Erase,
}

/// A run of queued commands with one event at its end.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Resources.
    pub shape: Shape,
    /// What its time is charged to.
    pub phase: Phase,
    /// A snapshot of the die's time was taken when it was queued.
    pub snapshot: bool,
    /// The next segment of this lane follows without anything between them.
    pub chained: bool,
    /// Somebody waits for what comes after it in its plan.
    pub urgent: bool,
    /// How often its page is read again; known once it starts.
    pub retries: u8,
    /// Commands left.
    pub commands: u32,
    /// Who waits for its end.
    pub token: u32,
    /// Die time before the channel (or all of it).
    pub die_first: Time,
    /// Channel time.
    pub channel: Time,
    /// Die time after the channel.
    pub die_last: Time,
    /// When it was queued.
    pub enqueued: Time,
    /// For a read with priority: the number that the next command of the work lane had then.
    pub behind: u64,
}

impl Segment {
    /// The segment of one command; `in_steps`: erases are run step by step.
    #[inline]
    pub fn of(command: &FlashCommand, t: &FlashTiming, in_steps: bool, now: Time) -> Segment {
        let (shape, die_first, channel, die_last) = match command.op {
            FlashOp::Read => (Shape::DieThenChannel, t.t_r, t.page_transfer + t.command_overhead, Time::ZERO),
            FlashOp::SpareSearch => {
                let pages = u64::from(command.searched_pages());
                let channel = t.spare_transfer * pages + t.command_overhead;
                (Shape::DieThenChannel, t.t_r * pages, channel, Time::ZERO)
            }
            FlashOp::Program => (Shape::ChannelThenDie, Time::ZERO, t.page_transfer + t.command_overhead, t.t_prog),
            FlashOp::Copy if !t.copyback => (Shape::DieChannelDie, t.t_r, t.copy_transfer(), t.t_prog),
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase if in_steps => {
                (Shape::Erase, Time::ZERO, Time::ZERO, Time::ZERO)
            }
            FlashOp::Copy | FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause => {
                (Shape::Die, die_only_time(t, command), Time::ZERO, Time::ZERO)
            }
        };
        Segment {
            shape,
            phase: phase(command),
            snapshot: false,
            chained: false,
            urgent: false,
            retries: 0,
            commands: 1,
            token: super::NOBODY,
            die_first,
            channel,
            die_last,
            enqueued: now,
            behind: 0,
        }
    }

    /// Channel time of one page on its way out.
    #[inline]
    fn page_out(&self) -> Time {
        if self.shape == Shape::DieChannelDie { Time(self.channel.0 / 2) } else { self.channel }
    }

    /// Channel time of the `round`th of its reads, 0 the first: retries move the page out again; what
    /// else there is to move comes with the last. None in rounds that it no longer needs.
    #[inline]
    pub fn channel_in(&self, round: u8) -> Time {
        match round.cmp(&self.retries) {
            Ordering::Less => self.page_out(),
            Ordering::Equal => self.channel,
            Ordering::Greater => Time::ZERO,
        }
    }

    /// Die time, retries included.
    #[inline]
    pub fn own_die(&self) -> Time {
        self.die_first * (u64::from(self.retries) + 1) + self.die_last
    }

    /// Channel time, retries included.
    #[inline]
    pub fn own_channel(&self) -> Time {
        self.channel + self.page_out() * u64::from(self.retries)
    }

    /// Adds the first `elapsed` of a segment that uses the channel to the phases it consists of. A
    /// copy through the controller reads until its page is out, and writes from then on.
    pub fn charge(&self, spent: &mut PhaseTimes, elapsed: Time) {
        let rounds = u64::from(self.retries) + 1;
        let read = match self.shape {
            Shape::DieChannelDie => elapsed.min((self.die_first + self.page_out()) * rounds),
            _ => Time::ZERO,
        };
        spent[Phase::GcRead as usize] += read;
        spent[self.phase as usize] += elapsed - read;
    }
}

fn phase(command: &FlashCommand) -> Phase {
    match (command.cause, command.op) {
        (Cause::Host | Cause::Rmw, _) => Phase::Host,
        (Cause::Map, _) => Phase::Map,
        (Cause::Gc, FlashOp::SpareSearch) => Phase::GcSpareRead,
        (Cause::Gc, FlashOp::Read) => Phase::GcRead,
        (Cause::Gc, FlashOp::Program | FlashOp::Copy) => Phase::GcWrite,
        (Cause::Gc, FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause) => Phase::GcErase,
    }
}

/// Duration of a command that needs only the die.
#[inline]
pub fn die_only_time(timing: &FlashTiming, command: &FlashCommand) -> Time {
    match command.op {
        FlashOp::Copy => timing.t_r + timing.t_prog,
        FlashOp::Pause => command.duration(),
        _ => timing.erase_time(command),
    }
}

/// Adds the first `elapsed` of a die-only command to the phases it consists of.
#[inline]
pub fn charge(spent: &mut PhaseTimes, timing: &FlashTiming, command: &FlashCommand, elapsed: Time) {
    match (command.cause, command.op) {
        (Cause::Map, _) => spent[Phase::Map as usize] += elapsed,
        (_, FlashOp::Copy) => {
            let read = elapsed.min(timing.t_r);
            spent[Phase::GcRead as usize] += read;
            spent[Phase::GcWrite as usize] += elapsed - read;
        }
        _ => spent[Phase::GcErase as usize] += elapsed,
    }
}
