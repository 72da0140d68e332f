//! Time: dies, channels, and the commands that wait for them.
//!
//! Each die serves its commands first-in first-out, one at a time; a channel grants transfers in
//! the order in which dies ask. Queued commands form *segments*: a run of commands that need only
//! the die (copybacks, erases) is one segment with one event at its end, because nothing outside
//! the die can see its middle. The middle is still executed command by command, lazily: whoever
//! looks at the die at time t first calls [`Scheduler::advance`] for t. Events are therefore at most
//! one a die, keyed (time, sequence).
//!
//! Hazards: all commands of a merge and all accesses of its pages are on one die, in submission
//! order, so a read behind a queued program or relocation is served after it, from the page that
//! belief names, and an erase waits for earlier reads. Nothing is ever reordered.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use pumice_nand::DieClock;
use pumice_types::{Cause, ChannelId, DieId, FlashCommand, FlashOp, FlashTiming, Geometry, Time};

use crate::device::Device;
use crate::error::SimError;

/// What a die spends its time on, as a waiting host write sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Phase {
    /// Work for host requests.
    Host,
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
pub const PHASES: usize = 5;

/// Time by phase.
pub type PhaseTimes = [Time; PHASES];

/// Marks commands that no request waits for.
pub const NO_REQUEST: u32 = u32::MAX;

/// Page accesses for which a die's queue has room from the start; deeper bursts make it grow.
const QUEUED_ACCESSES: usize = 1024;

/// The same for all dies together, so that a device of very many dies starts small.
const QUEUED_ACCESSES_TOTAL: usize = 1 << 18;

/// A host page access that is done.
#[derive(Clone, Copy, Debug)]
pub struct PageDone {
    /// The request it belongs to.
    pub request: u32,
    /// When it was done.
    pub at: Time,
    /// Its own time on the channel.
    pub transfer: Time,
    /// Its own time on the die.
    pub die: Time,
    /// What it waited for, by phase; waiting for the channel counts as host work.
    pub waited: PhaseTimes,
}

/// Which resources a segment uses, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Die only; any number of commands.
    Die,
    /// Die, then channel: page reads and spare searches.
    DieThenChannel,
    /// Channel, then die: programs.
    ChannelThenDie,
    /// Die, channel out and in, die: a copy through the controller.
    DieChannelDie,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    shape: Shape,
    phase: Phase,
    commands: u32,
    request: u32,
    /// Die time before the channel (or all of it).
    die_first: Time,
    channel: Time,
    die_last: Time,
    enqueued: Time,
}

impl Segment {
    /// Adds the first `elapsed` of a segment that uses the channel to the phases it consists of. A
    /// copy through the controller reads until its page is out, and writes from then on.
    fn charge(&self, spent: &mut PhaseTimes, elapsed: Time) {
        let read = match self.shape {
            Shape::DieChannelDie => elapsed.min(self.die_first + Time(self.channel.0 / 2)),
            _ => Time::ZERO,
        };
        spent[Phase::GcRead as usize] += read;
        spent[self.phase as usize] += elapsed - read;
    }
}

/// One die: its queue and how it spent its time.
#[derive(Debug, Default)]
struct Die {
    segments: VecDeque<Segment>,
    commands: VecDeque<FlashCommand>,
    /// Snapshots of `spent` taken when a host write was queued, in queue order.
    snapshots: VecDeque<PhaseTimes>,
    clock: DieClock,
    active: bool,
    /// The active segment has used its first die time and asked for the channel.
    on_channel: bool,
    started: Time,
    /// Start of the first command of a die-only segment that is not executed yet.
    cursor: Time,
    spent: PhaseTimes,
    busy: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    free_at: Time,
    busy: Time,
}

/// The scheduler of one device.
pub struct Scheduler {
    timing: FlashTiming,
    geometry: Geometry,
    blocks_per_die: u32,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    events: BinaryHeap<Reverse<(Time, u64, u32)>>,
    sequence: u64,
    done: Vec<PageDone>,
}

impl Scheduler {
    /// An idle device.
    pub fn new(geometry: Geometry, timing: FlashTiming) -> Scheduler {
        let room = QUEUED_ACCESSES.min(QUEUED_ACCESSES_TOTAL / geometry.dies() as usize);
        let merge = if room == QUEUED_ACCESSES { 2 * usize::from(geometry.pages_per_block) } else { 0 };
        let die = || Die {
            segments: VecDeque::with_capacity(room),
            commands: VecDeque::with_capacity(room + merge),
            snapshots: VecDeque::with_capacity(room),
            ..Die::default()
        };
        Scheduler {
            timing,
            blocks_per_die: geometry.planes_per_die * geometry.blocks_per_plane,
            dies: (0..geometry.dies()).map(|_| die()).collect(),
            channels: vec![Channel::default(); geometry.channels as usize],
            events: BinaryHeap::with_capacity(geometry.dies() as usize),
            sequence: 0,
            done: Vec::with_capacity(64),
            geometry,
        }
    }

    /// When something happens next.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Host page accesses that the last event finished.
    #[inline]
    pub fn take_done(&mut self) -> impl Iterator<Item = PageDone> + '_ {
        self.done.drain(..)
    }

    /// Busy time of each die and of each channel so far.
    pub fn busy_times(&self) -> (Vec<Time>, Vec<Time>) {
        (self.dies.iter().map(|die| die.busy).collect(), self.channels.iter().map(|channel| channel.busy).collect())
    }

    /// Queues the commands of one host page access at `now`. They are all on one die, and the last
    /// of them completes `request`'s page.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    pub fn submit(
        &mut self,
        commands: &[FlashCommand],
        request: u32,
        now: Time,
        device: &mut Device,
    ) -> Result<(), SimError> {
        let Some(last) = commands.last() else { return Ok(()) };
        let index = (last.target.block.0 / self.blocks_per_die) as usize;
        self.advance(index, now, device)?;
        if last.op == FlashOp::Program {
            let snapshot = self.spent_at(index, now);
            self.dies[index].snapshots.push_back(snapshot);
        }
        for command in &commands[..commands.len() - 1] {
            self.queue(index, command, NO_REQUEST, now);
        }
        self.queue(index, last, request, now);
        if !self.dies[index].active {
            self.start(index, now);
        }
        Ok(())
    }

    /// Handles the next event.
    ///
    /// # Errors
    /// What executing its commands finds.
    pub fn step(&mut self, device: &mut Device) -> Result<(), SimError> {
        let Some(Reverse((now, _, die))) = self.events.pop() else { return Ok(()) };
        let index = die as usize;
        let die = &mut self.dies[index];
        let segment = die.segments[0];
        let asks_now = matches!(segment.shape, Shape::DieThenChannel | Shape::DieChannelDie) && !die.on_channel;
        if asks_now {
            die.on_channel = true;
            let end = self.grant(index, now, segment.channel) + segment.channel + segment.die_last;
            self.wake(index, end);
            return Ok(());
        }
        self.finish(index, now, device)
    }

    /// Executes the commands of a die-only segment that have ended by `now`.
    fn advance(&mut self, index: usize, now: Time, device: &mut Device) -> Result<(), SimError> {
        let timing = &self.timing;
        let die = &mut self.dies[index];
        if !die.active || die.segments[0].shape != Shape::Die {
            return Ok(());
        }
        while die.segments[0].commands > 0 {
            let command = die.commands[0];
            let duration = die_only_time(timing, &command);
            if die.cursor + duration > now {
                break;
            }
            die.clock.occupy(die.cursor, die.cursor + duration, &command)?;
            device.execute(&command)?;
            die.commands.pop_front();
            die.segments[0].commands -= 1;
            die.cursor += duration;
            charge(&mut die.spent, timing, &command, duration);
        }
        Ok(())
    }

    /// Phase times of a die up to `now`, the running command's share included. Call after `advance`.
    fn spent_at(&self, index: usize, now: Time) -> PhaseTimes {
        let die = &self.dies[index];
        let mut spent = die.spent;
        if die.active {
            let segment = &die.segments[0];
            match die.commands.front() {
                Some(command) if segment.shape == Shape::Die && segment.commands > 0 => {
                    charge(&mut spent, &self.timing, command, now - die.cursor);
                }
                // Executed to its end, whose event is due at this very instant: all is in `spent`.
                _ if segment.shape == Shape::Die => {}
                _ => segment.charge(&mut spent, now - die.started),
            }
        }
        spent
    }

    /// Appends a command to a die's queue, to the last segment if both need the die alone.
    #[inline]
    fn queue(&mut self, index: usize, command: &FlashCommand, request: u32, now: Time) {
        let segment = self.segment(command, request, now);
        let die = &mut self.dies[index];
        die.commands.push_back(*command);
        // The active segment's end is already in the event queue, so it cannot grow.
        let may_grow = die.segments.len() > usize::from(die.active);
        match die.segments.back_mut() {
            Some(last) if may_grow && last.shape == Shape::Die && segment.shape == Shape::Die => {
                last.commands += 1;
                last.die_first += segment.die_first;
            }
            _ => die.segments.push_back(segment),
        }
    }

    #[inline]
    fn segment(&self, command: &FlashCommand, request: u32, now: Time) -> Segment {
        let t = &self.timing;
        let phase = match (command.cause, command.op) {
            (Cause::Host | Cause::Map | Cause::Rmw, _) => Phase::Host,
            (Cause::Gc, FlashOp::SpareSearch) => Phase::GcSpareRead,
            (Cause::Gc, FlashOp::Read) => Phase::GcRead,
            (Cause::Gc, FlashOp::Program | FlashOp::Copy) => Phase::GcWrite,
            (Cause::Gc, FlashOp::Erase | FlashOp::PartialErase | FlashOp::Pause) => Phase::GcErase,
        };
        let (shape, die_first, channel, die_last) = match command.op {
            FlashOp::Read => (Shape::DieThenChannel, t.t_r, t.page_transfer + t.command_overhead, Time::ZERO),
            FlashOp::SpareSearch => {
                let pages = u64::from(command.searched_pages());
                let channel = t.spare_transfer * pages + t.command_overhead;
                (Shape::DieThenChannel, t.t_r * pages, channel, Time::ZERO)
            }
            FlashOp::Program => (Shape::ChannelThenDie, Time::ZERO, t.page_transfer + t.command_overhead, t.t_prog),
            FlashOp::Copy if !t.copyback => (Shape::DieChannelDie, t.t_r, t.copy_transfer(), t.t_prog),
            FlashOp::Copy | FlashOp::Erase | FlashOp::PartialErase | FlashOp::Pause => {
                (Shape::Die, die_only_time(t, command), Time::ZERO, Time::ZERO)
            }
        };
        Segment { shape, phase, commands: 1, request, die_first, channel, die_last, enqueued: now }
    }

    /// Starts the first segment of a die that is idle or has just finished one.
    fn start(&mut self, index: usize, now: Time) {
        let die = &mut self.dies[index];
        let segment = die.segments[0];
        die.active = true;
        die.on_channel = false;
        die.started = now;
        die.cursor = now;
        let wake = match segment.shape {
            Shape::Die | Shape::DieThenChannel | Shape::DieChannelDie => now + segment.die_first,
            Shape::ChannelThenDie => self.grant(index, now, segment.channel) + segment.channel + segment.die_last,
        };
        self.wake(index, wake);
    }

    /// Reserves the die's channel for `time`; returns when the transfer starts.
    fn grant(&mut self, index: usize, now: Time, time: Time) -> Time {
        let ChannelId(channel) = self.geometry.channel_of(DieId(index as u32));
        let channel = &mut self.channels[channel as usize];
        let start = now.max(channel.free_at);
        channel.free_at = start + time;
        channel.busy += time;
        start
    }

    fn wake(&mut self, index: usize, at: Time) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, index as u32)));
    }

    /// Ends the active segment: its commands take effect, its request hears of it, the next starts.
    fn finish(&mut self, index: usize, now: Time, device: &mut Device) -> Result<(), SimError> {
        self.advance(index, now, device)?;
        let die = &mut self.dies[index];
        let Some(segment) = die.segments.pop_front() else { return Ok(()) };
        let took = now - die.started;
        if segment.shape != Shape::Die
            && let Some(command) = die.commands.pop_front()
        {
            die.clock.occupy(die.started, now, &command)?;
            device.execute(&command)?;
            if segment.request != NO_REQUEST {
                let done = page_done(&segment, die, &command, now);
                self.done.push(done);
            }
            segment.charge(&mut die.spent, took);
        }
        die.busy += took;
        if die.segments.is_empty() {
            die.active = false;
        } else {
            self.start(index, now);
        }
        Ok(())
    }
}

/// Duration of a command that needs only the die.
#[inline]
fn die_only_time(timing: &FlashTiming, command: &FlashCommand) -> Time {
    match command.op {
        FlashOp::Copy => timing.t_r + timing.t_prog,
        FlashOp::PartialErase => timing.partial_erase[command.pb().level() as usize],
        FlashOp::Pause => command.duration(),
        _ => timing.t_bers,
    }
}

/// Adds the first `elapsed` of a die-only command to the phases it consists of.
#[inline]
fn charge(spent: &mut PhaseTimes, timing: &FlashTiming, command: &FlashCommand, elapsed: Time) {
    if command.op == FlashOp::Copy {
        let read = elapsed.min(timing.t_r);
        spent[Phase::GcRead as usize] += read;
        spent[Phase::GcWrite as usize] += elapsed - read;
    } else {
        spent[Phase::GcErase as usize] += elapsed;
    }
}

/// Accounts for a host page access that ends now; `die.spent` still ends at its start.
fn page_done(segment: &Segment, die: &mut Die, command: &FlashCommand, now: Time) -> PageDone {
    let mut waited = PhaseTimes::default();
    let own_die = segment.die_first + segment.die_last;
    if command.op == FlashOp::Program {
        let snapshot = die.snapshots.pop_front().unwrap_or_default();
        for (waited, (end, start)) in waited.iter_mut().zip(die.spent.iter().zip(snapshot)) {
            *waited = *end - start;
        }
        waited[Phase::Host as usize] += now - die.started - own_die - segment.channel;
        debug_assert_eq!(waited.iter().copied().sum::<Time>() + own_die + segment.channel, now - segment.enqueued);
    }
    PageDone { request: segment.request, at: now, transfer: segment.channel, die: own_die, waited }
}
