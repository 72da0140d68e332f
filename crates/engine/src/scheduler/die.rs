//! One die: what waits for it, what it does, and how it spent its time.

use std::collections::VecDeque;

use pumice_nand::DieClock;
use pumice_types::suspension::{PieceRestarts, Stop, SuspensionRule, SuspensionState};
use pumice_types::{Cause, EraseStep, FlashCommand, FlashOp, PageAddress, Time};

use super::NOBODY;
use super::plane_queues::PlaneQueues;
use super::riders::Riders;
use super::segment::{PhaseTimes, Resources, Segment, Usage};
use super::snapshots::Snapshots;
use crate::chip::Chips;
use crate::error::SimError;
use crate::observe::Observer;

/// The lane of host reads that go before everything that has not started.
pub const READS: usize = 0;

/// The lane of everything else, in the order of submission.
pub const WORK: usize = 1;

/// Number of a lane's first command. Commands that move forward to run with the first one take numbers before
/// it, so there must be some.
const FIRST_NUMBER: u64 = 1 << 32;

/// A queue of segments and of their commands.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Segments, first the one that runs or is next.
    pub segments: VecDeque<Segment>,
    /// Their commands.
    pub commands: VecDeque<FlashCommand>,
    /// The number of the first of them. Every command has the number in whose turn it was queued.
    pub first_number: u64,
}

impl Lane {
    /// Forgets everything queued.
    fn clear(&mut self) {
        self.segments.clear();
        self.commands.clear();
    }

    /// Begins anew at the start of the queues' memory, if nothing waits: what comes next is likelier in the cache.
    #[inline]
    pub fn rewind(&mut self) {
        if self.segments.is_empty() {
            self.clear();
        }
    }

    /// Empty queues with room for so many accesses, and for so many further commands.
    pub fn with_capacity(accesses: usize, commands: usize) -> Lane {
        Lane {
            segments: VecDeque::with_capacity(accesses),
            commands: VecDeque::with_capacity(accesses + commands),
            first_number: FIRST_NUMBER,
        }
    }

    /// Moves the segment at `from`, of one command, to `to` nearer the front. A place without work stays
    /// behind, so that all others keep their numbers.
    pub fn move_forward(&mut self, from: usize, to: usize) {
        let (segment, command) = (self.segments[from], self.commands[from]);
        self.segments[from] = Segment { commands: 0, ..Segment::of(Resources::Die) };
        self.commands[from] = FlashCommand::pause(command.target.block, Time::ZERO);
        self.segments.insert(to, segment);
        self.commands.insert(to, command);
        self.first_number -= 1;
    }

    /// Moves the segment at `from`, of one command, to `to` nearer the front; those between move back.
    pub fn bring_forward(&mut self, from: usize, to: usize) {
        if let (Some(segment), Some(command)) = (self.segments.remove(from), self.commands.remove(from)) {
            self.segments.insert(to, segment);
            self.commands.insert(to, command);
        }
    }

    /// Adds a command that needs the die alone to the last segment, if that does too and nobody waits for its end.
    #[inline]
    pub fn join_last(&mut self, joined: &Segment) -> bool {
        let joins = |last: &&mut Segment| last.shape == Resources::Die && last.token == NOBODY;
        let Some(last) = self.segments.back_mut().filter(joins) else { return false };
        last.commands += 1;
        last.own_time += joined.own_time;
        (last.token, last.snapshot, last.chained) = (joined.token, joined.snapshot, joined.chained);
        true
    }

    /// Takes a place without work from the front.
    pub fn drop_empty(&mut self) {
        self.segments.pop_front();
        self.commands.pop_front();
        self.first_number += 1;
    }
}

/// What a die keeps of its queued commands besides the lanes, and its place.
#[derive(Clone, Debug)]
pub struct DieParts {
    /// See [`Die::channel`].
    pub channel: usize,
    /// See [`Die::pending`].
    pub pending: PendingPages,
    /// See [`Die::snapshots`].
    pub snapshots: Snapshots,
    /// See [`Die::queues`].
    pub queues: Option<PlaneQueues>,
}

/// One die.
#[derive(Clone, Debug)]
pub struct Die {
    /// [`READS`] and [`WORK`].
    pub lanes: [Lane; 2],
    /// Its channel.
    pub channel: usize,
    /// What guards that it takes one command at a time.
    pub clock: DieClock,
    /// Lane whose first segments run; `None` if the die is idle.
    pub active: Option<usize>,
    /// Segments that run together as one multi-plane command.
    pub group: usize,
    /// Host reads that ride on them.
    pub riders: Riders,
    /// The active segment has used its first die time and asked for the channel.
    pub on_channel: bool,
    /// What the active segment uses.
    pub usage: Usage,
    /// Retries of it that have begun.
    pub round: u8,
    /// When the active segment started.
    pub started: Time,
    /// Start of the first command of a die-only segment that is not executed yet.
    pub cursor: Time,
    /// What was done, by phase.
    pub spent: PhaseTimes,
    /// Time busy.
    pub busy: Time,
    /// Since when it does nothing because its next command waits for another die.
    pub stalled_since: Option<Time>,
    /// The erase that runs, or is suspended.
    pub erase: EraseRun,
    /// Programs and copies queued and not executed.
    pub pending: PendingPages,
    /// What it had spent its time on when accesses that wait were queued.
    pub snapshots: Snapshots,
    /// The work lane by plane, if commands may overtake others to run with the first one.
    pub queues: Option<PlaneQueues>,
}

/// An erase that runs in steps, of one block or of one block in each of several planes.
///
/// Each plane runs its own steps and is then inhibited; the die is busy until the last one is done. When the erase is
/// suspended, each plane continues to its own next stop and waits there for the others.
#[derive(Clone, Debug, Default)]
pub struct EraseRun {
    /// Its planes, those of this erase first; the others are kept for their memory.
    pub planes: Vec<PlaneErase>,
    /// Planes of this erase.
    pub together: usize,
    /// Time at which the erase last started or resumed.
    pub since: Time,
    /// A read waits: the erase is suspended as soon as every plane has reached its stop.
    pub stops: bool,
    /// The erase is suspended.
    pub is_suspended: bool,
    /// Number of suspensions so far, and whether the erased block is needed urgently.
    pub state: SuspensionState,
}

/// One plane's share of an erase.
#[derive(Clone, Debug, Default)]
pub struct PlaneErase {
    /// Its steps.
    pub steps: Vec<EraseStep>,
    /// Their time.
    pub total: Time,
    /// How much of that was over when the erase last started or resumed.
    pub done: Time,
    /// Where in its steps it stops, if the erase does, and what that keeps; or its end.
    pub stop: Stop,
    /// How often the piece has begun again that was interrupted last.
    pub restarts: PieceRestarts,
}

impl EraseRun {
    /// The planes of this erase.
    pub fn running(&mut self) -> &mut [PlaneErase] {
        &mut self.planes[..self.together]
    }

    /// Time from where the erase last started or resumed until its slowest plane is done.
    pub fn left(&mut self) -> Time {
        self.running().iter().map(|plane| plane.total - plane.done).max().unwrap_or_default()
    }

    /// Sets where the planes stop for a read that waits at `now`. Returns the time, from where the erase
    /// last went on, until the last of them has; `None` if the erase is over by then, or has no stop left.
    pub fn stop_planes(&mut self, rule: &SuspensionRule, now: Time) -> Option<Time> {
        let (since, state, left) = (self.since, self.state, self.left());
        let mut last = Time::ZERO;
        for plane in self.running() {
            // What was reached before the last suspension is no new stop.
            let elapsed = (plane.done + now.saturating_sub(since)).max(plane.done + Time(1));
            let stop = rule.next_stop(&plane.steps, elapsed, state, plane.restarts);
            plane.stop = stop.unwrap_or(Stop::after(plane.total));
            last = last.max(plane.stop.at - plane.done);
        }
        self.stops = last < left;
        self.stops.then_some(last)
    }
}

/// Counts the pages that queued commands will program, by a hash of the page. A count of 0 tells a read at once that
/// no queued command writes its page.
#[derive(Clone, Debug)]
pub struct PendingPages {
    /// A power of two.
    buckets: Vec<u32>,
    /// Their sum.
    total: u32,
    copies: bool,
}

impl PendingPages {
    /// An empty counter, sized for about `accesses` queued page accesses. `copies`: also count copies, which only
    /// reads with priority search for.
    pub fn new(accesses: usize, copies: bool) -> PendingPages {
        PendingPages { buckets: vec![0; accesses.next_power_of_two()], total: 0, copies }
    }

    #[inline]
    fn bucket(&self, page: PageAddress) -> usize {
        let key = page.block.0.wrapping_mul(0x9E37_79B1).wrapping_add(u32::from(page.page).wrapping_mul(0x85EB_CA77));
        ((u64::from(key) * self.buckets.len() as u64) >> 32) as usize
    }

    /// Whether a command fills a page that a read may have to look for.
    #[inline]
    fn is_counted(&self, command: &FlashCommand) -> bool {
        command.op == FlashOp::Program || (self.copies && command.op == FlashOp::Copy)
    }

    /// Nothing is queued any more.
    fn clear(&mut self) {
        self.buckets.fill(0);
        self.total = 0;
    }

    /// A command was queued.
    #[inline]
    pub fn add(&mut self, command: &FlashCommand) {
        if self.is_counted(command) {
            let bucket = self.bucket(command.target);
            self.buckets[bucket] += 1;
            self.total += 1;
        }
    }

    /// A command took effect.
    #[inline]
    fn remove(&mut self, command: &FlashCommand) {
        if self.is_counted(command) {
            let bucket = self.bucket(command.target);
            self.buckets[bucket] -= 1;
            self.total -= 1;
        }
    }

    /// Whether a queued command may fill this page; `false` is certain.
    #[inline]
    fn may_hold(&self, page: PageAddress) -> bool {
        self.total > 0 && self.buckets[self.bucket(page)] > 0
    }
}

/// The queued command that will write the page that a read needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingWrite {
    /// From the controller's buffer.
    Program,
    /// From this page, by the queued command with this number.
    Copy(PageAddress, usize),
}

/// When a command ran.
#[derive(Clone, Copy, Debug)]
pub struct BusySpan {
    /// From here.
    pub start: Time,
    /// To here.
    pub end: Time,
    /// Whether the span occupies the die; further pages of a multi-plane command do not.
    pub occupies: bool,
}

impl Die {
    /// An idle die with these lanes.
    pub fn new(lanes: [Lane; 2], parts: DieParts) -> Die {
        let DieParts { pending, snapshots, queues, channel } = parts;
        Die {
            lanes,
            channel,
            pending,
            snapshots,
            queues,
            clock: DieClock::default(),
            active: None,
            group: 0,
            riders: Riders::default(),
            on_channel: false,
            usage: Usage::default(),
            round: 0,
            started: Time::ZERO,
            cursor: Time::ZERO,
            spent: PhaseTimes::default(),
            busy: Time::ZERO,
            stalled_since: None,
            erase: EraseRun::default(),
        }
    }

    /// Power is gone: nothing runs or waits any more.
    pub fn power_off(&mut self, now: Time) {
        if self.active.take().is_some() {
            self.busy += now - self.started;
        }
        self.lanes.iter_mut().for_each(Lane::clear);
        self.pending.clear();
        self.snapshots.clear();
        self.queues.iter_mut().for_each(PlaneQueues::clear);
        self.clock = DieClock::default();
        self.stalled_since = None;
        self.riders = Riders::default();
        self.erase = EraseRun::default();
    }

    /// Whether anything waits.
    #[inline]
    pub fn is_waited_for(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.segments.is_empty())
    }

    /// The number of the first queued program or copy that is wanted, the one that runs included.
    pub fn first_program(&self, is_wanted: impl Fn(&FlashCommand) -> bool) -> Option<u64> {
        let is_program = |command: &FlashCommand| matches!(command.op, FlashOp::Program | FlashOp::Copy);
        let mut commands = self.lanes[WORK].commands.iter();
        commands.find(|command| is_program(command) && is_wanted(command)).map(FlashCommand::number)
    }

    /// Resources of what runs; `None` if the die is idle.
    #[inline]
    pub fn active_shape(&self) -> Option<Resources> {
        self.active.map(|_| self.usage.shape)
    }

    /// Channel time of all segments that run together; those that need no further retry use none.
    #[inline]
    pub fn transfers(&self) -> Time {
        match self.usage.retries {
            0 => self.usage.transfers,
            _ => self.transfers_of_round(),
        }
    }

    /// Ends the first command of a lane: it leaves the queue and takes effect.
    ///
    /// # Errors
    /// What executing it finds.
    #[inline]
    pub fn end_command(
        &mut self,
        lane: usize,
        span: BusySpan,
        chips: &mut Chips,
        observer: &mut impl Observer,
    ) -> Result<(), SimError> {
        let Die { lanes, clock, pending, .. } = self;
        let lane = &mut lanes[lane];
        // Taken from the queue when all is done: until then it is read where it stands.
        let Some(command) = lane.commands.front() else { return Ok(()) };
        if span.occupies {
            clock.occupy(span.start, span.end, command)?;
        }
        chips.execute(command)?;
        observer.command(span.start, span.end, command);
        pending.remove(command);
        lane.commands.pop_front();
        lane.first_number += 1;
        Ok(())
    }

    /// Whether a suspended erase at the head of the work lane, which `passed` segments went before, may be
    /// passed by the segment behind it: a page of a host write, of another plan and another block than the
    /// erase, so that neither notices.
    pub fn may_pass_erase(&self, passed: usize) -> bool {
        let Lane { segments, commands, .. } = &self.lanes[WORK];
        let next = passed + self.erase.together;
        let (Some(segment), Some(command)) = (segments.get(next), commands.get(next)) else { return false };
        let is_host = matches!(command.cause, Cause::Host | Cause::Rmw) && segment.token != NOBODY;
        let is_page = matches!(command.op, FlashOp::Program | FlashOp::Read) && !segment.chained;
        let is_passed = |nth: usize| {
            let Segment { token, urgent, chained, .. } = segments[nth];
            token == NOBODY && !urgent && !chained && commands[nth].target.block != command.target.block
        };
        is_host && is_page && (passed..next).all(is_passed)
    }

    /// The number that the next command of the work lane will have.
    pub fn next_number(&self) -> u64 {
        let work = &self.lanes[WORK];
        work.first_number + work.commands.len() as u64
    }

    /// Redirects `read` from a page that queued copies will write to the page where the data is now. Returns whether
    /// the data is still in the controller's buffer, because its program is queued. The read was decided before the
    /// work lane's command number `behind`.
    ///
    /// A page may be moved more than once, even away and back. Each search covers only the commands queued before the
    /// copy that was found last. The content of the page is not compared, because versions repeat. `behind` is moved
    /// along, so that a later call continues from there.
    pub fn follow_copies(&self, read: &mut FlashCommand, behind: &mut u64) -> bool {
        let first = self.lanes[WORK].first_number;
        loop {
            match self.pending_write(read.target, behind.saturating_sub(first) as usize) {
                Some(PendingWrite::Program) => return true,
                Some(PendingWrite::Copy(source, at)) => (read.target, *behind) = (source, first + at as u64),
                None => return false,
            }
        }
    }

    /// The last of the first `before` queued commands that will write `page`, if one will.
    #[inline]
    pub fn pending_write(&self, page: PageAddress, before: usize) -> Option<PendingWrite> {
        if self.pending.may_hold(page) { self.find_pending_write(page, before) } else { None }
    }

    fn find_pending_write(&self, page: PageAddress, before: usize) -> Option<PendingWrite> {
        let commands = &self.lanes[WORK].commands;
        let writes =
            |command: &FlashCommand| command.target == page && matches!(command.op, FlashOp::Program | FlashOp::Copy);
        let at = (0..before.min(commands.len())).rev().find(|&at| writes(&commands[at]))?;
        let is_copy = commands[at].op == FlashOp::Copy;
        Some(if is_copy { PendingWrite::Copy(commands[at].source, at) } else { PendingWrite::Program })
    }
}
