//! One die: what waits for it, what it does, and how it spent its time.

use std::collections::VecDeque;

use pumice_nand::{DieClock, NandArray};
use pumice_types::{Cause, FlashCommand, FlashOp, Geometry, PageAddress, Time, UnitSource};

use super::NOBODY;
use super::plane_queues::PlaneQueues;
use super::riders::Riders;
use super::segment::{PhaseTimes, Resources, Segment, Usage};
use super::snapshots::Snapshots;
use super::steps::{Operation, PlaneRead};
use crate::chip::Chips;
use crate::error::SimError;
use crate::observe::ObserverRef;

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
    /// Commands of the lane's plans.
    pub commands: VecDeque<FlashCommand>,
    /// The number of the first command. Every command has the number in whose turn it was queued.
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
    /// Channel of the die.
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
    /// When the die began to stall: its next command waits for another die.
    pub stalled_since: Option<Time>,
    /// The operation in steps that runs, or is suspended.
    pub operation: Operation,
    /// Reads in a row that went before waiting work.
    pub reads_passed: u32,
    /// Reads that planes run by themselves.
    pub plane_reads: Vec<PlaneRead>,
    /// Start of the first of them, since one or more have been running.
    pub reads_since: Time,
    /// Programs and copies queued and not executed.
    pub pending: PendingPages,
    /// What it had spent its time on when accesses that wait were queued.
    pub snapshots: Snapshots,
    /// The work lane by plane, if commands may overtake others to run with the first one.
    pub queues: Option<PlaneQueues>,
}

/// Counts the pages that queued commands will program, by a hash of the page. A count of 0 tells a read at once that
/// no queued command writes its page.
#[derive(Clone, Debug)]
pub struct PendingPages {
    /// A power of two.
    buckets: Vec<u32>,
    /// Sum of the counts.
    total: u32,
    copies: bool,
    /// Names the page that holds a mapping unit.
    geometry: Geometry,
}

impl PendingPages {
    /// An empty counter, sized for about `accesses` queued page accesses. `copies`: also count copies, which only
    /// reads with priority search for.
    pub fn new(accesses: usize, copies: bool, geometry: Geometry) -> PendingPages {
        PendingPages { buckets: vec![0; accesses.next_power_of_two()], total: 0, copies, geometry }
    }

    /// Whether anything is counted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
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
        self.total > 0 && self.buckets[self.bucket(self.geometry.page_of_unit(page))] > 0
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
            operation: Operation::default(),
            reads_passed: 0,
            plane_reads: Vec::new(),
            reads_since: Time::ZERO,
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
        self.operation = Operation::default();
        self.plane_reads.clear();
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
    pub fn transfers(&self, geometry: &Geometry) -> Time {
        match self.usage.retries {
            0 => self.usage.transfers,
            _ => self.transfers_of_round(geometry),
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
        observer: &mut ObserverRef,
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
        let next = passed + self.operation.together;
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
    pub fn follow_copies(&self, read: &mut FlashCommand, behind: &mut u64, array: &NandArray) -> bool {
        let first = self.lanes[WORK].first_number;
        loop {
            match self.pending_write(read.target, behind.saturating_sub(first) as usize, array) {
                Some(PendingWrite::Program) => return true,
                Some(PendingWrite::Copy(source, at)) => (read.target, *behind) = (source, first + at as u64),
                None => return false,
            }
        }
    }

    /// The last of the first `before` queued commands that will write `page`, if one will.
    #[inline]
    pub fn pending_write(&self, page: PageAddress, before: usize, array: &NandArray) -> Option<PendingWrite> {
        if self.pending.may_hold(page) { self.find_pending_write(page, before, array) } else { None }
    }

    fn find_pending_write(&self, page: PageAddress, before: usize, array: &NandArray) -> Option<PendingWrite> {
        let commands = &self.lanes[WORK].commands;
        let whole = self.pending.geometry.page_of_unit(page);
        let writes =
            |command: &FlashCommand| command.target == whole && matches!(command.op, FlashOp::Program | FlashOp::Copy);
        let at = (0..before.min(commands.len())).rev().find(|&at| writes(&commands[at]))?;
        if commands[at].op == FlashOp::Copy {
            return Some(PendingWrite::Copy(commands[at].source, at));
        }
        // A unit that is moved is not in the buffer before its page was read.
        let unit = match self.pending.geometry.units_per_page {
            1 => None,
            _ => array.staged_unit(&commands[at], usize::from(page.page - whole.page)),
        };
        Some(match unit.map(|unit| unit.source) {
            Some(UnitSource::Copied(source)) => PendingWrite::Copy(source, at),
            Some(UnitSource::Host | UnitSource::Padding) | None => PendingWrite::Program,
        })
    }
}
