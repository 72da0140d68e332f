//! Time: dies, channels, and the commands that wait for them.
//!
//! Each die does one thing at a time; a channel grants transfers in the order in which dies ask. Queued commands form
//! *segments*: a run of commands that need only the die (copybacks, erases) is one segment with one event at its end,
//! because the middle of a segment is not visible outside the die. Its commands are still executed one by one,
//! lazily: before the state of the die is read at time t, `advance` for t executes the commands that have ended by t.
//! A die therefore has at most one event ([`Events`]).
//!
//! A die serves what waits for it first-in first-out. With read priority, host reads of one command wait in a lane of
//! their own, which is served before anything else starts; a blocking merge holds the die from its first command to
//! its last. When such a read arrives, an erase in steps is suspended at the next boundary that its rule allows. It
//! resumes when no read waits, or when the reads have no token left: then work goes on to the next stop at which it loses
//! nothing. With multi-plane commands from the whole queue, commands of other planes overtake to
//! run together with the one that is due (`together`), if nothing that they overtake could notice (`plane_queues`), and
//! host reads ride on copies (`riding`).
//!
//! Hazards: a read of a page whose program is queued is answered from the controller's buffer. A
//! read that starts before the queued relocation of its page reads the page's source. An erase never
//! passes an earlier read. Commands of one plan keep their order, in each plane. A program of a page that was moved from
//! another die waits for the read there (`moves`).

mod die;
mod events;
mod late_loops;
mod moves;
mod operation;
mod plane_queues;
mod plane_reads;
mod power;
mod retry;
mod riders;
mod riding;
mod run;
mod segment;
mod snapshots;
mod steps;
mod together;
mod units;

use std::collections::VecDeque;

use pumice_ftl::OwnFault;
use pumice_ftl::policy::Decider;
use pumice_types::suspension::SuspensionRule;
use pumice_types::{
    BlockId, Cause, DieId, Draw, FlashCommand, FlashOp, FlashTiming, Geometry, MultiPlane, PlaneReads, Time,
};

use crate::chip::Chips;
use crate::error::SimError;
use crate::observe::ObserverRef;
use die::{Die, DieParts, Lane, PendingPages, PendingWrite, READS, WORK};
use events::Events;
use late_loops::LateLoops;
use moves::MoveReads;
use plane_queues::{DieBlocks, PlaneQueues};
pub use power::UnderWay;
use segment::{NO_SNAPSHOT, Resources, Segment, ShapeRule, Usages};
pub use segment::{PHASES, Phase, PhaseTimes};
use snapshots::{Snapshot, Snapshots};
pub use together::MultiPlaneCounts;

/// Marks commands that no page access waits for.
pub const NOBODY: u32 = u32::MAX;

/// Page accesses for which a die's queue has room from the start; deeper bursts make it grow.
const QUEUED_ACCESSES: usize = 1024;

/// Page accesses for which the queues of all dies have room together, so that a device of very many dies starts small.
const QUEUED_ACCESSES_TOTAL: usize = 1 << 18;

/// How the scheduler orders what waits.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Host reads go before everything that has not started.
    pub read_priority: bool,
    /// Read commands that go first in a row while other work waits; 0: any number.
    pub read_tokens: u32,
    /// The commands of a plan follow each other without anything between them.
    pub holds_die: bool,
    /// Rule for suspending erases, which then run step by step. `None`: an erase runs as one piece.
    pub erase: Option<SuspensionRule>,
    /// The last loop of a block erase waits until the block is first written. Needs erases in steps.
    pub late_loops: bool,
    /// Rule for suspending programs, and their pulses: first those that may be. `None`: a program runs as one piece.
    pub program: Option<(SuspensionRule, [u8; 2])>,
    /// Which host reads with priority a die senses at one time.
    pub plane_reads: PlaneReads,
    /// Which commands that address one page number of several planes, or erase a block in each of several
    /// planes, run as one command. Needs erases in steps.
    pub multi_plane: MultiPlane,
    /// An erase waits for every program that was decided before it, on whichever die: the device may lose power.
    pub erases_wait: bool,
    /// What changes a plane keeps its order there, even where commands overtake others: the device may lose power, or
    /// programs take mapping units out of blocks that their commands do not name.
    pub changes_in_order: bool,
    /// Pages are moved between dies: a program waits for the read of its data.
    pub moves_wait: bool,
    /// Pages of the map wait for the programs that they tell of: the device recovers from them.
    pub log_waits: bool,
}

impl Policy {
    /// What it makes of commands.
    fn shapes(&self, timing: &FlashTiming) -> ShapeRule {
        ShapeRule {
            copyback: timing.copyback,
            in_steps: self.erase.is_some(),
            copybacks_apart: self.multi_plane == MultiPlane::Queue || self.program.is_some(),
        }
    }
}

/// Commands of one page access on one die.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// In the order in which they run; not empty.
    pub commands: &'a [FlashCommand],
    /// Index of the command whose end `token` waits for.
    pub completes: usize,
    /// Page access that waits; [`NOBODY`] if none.
    pub token: u32,
    /// Whether the parts of the waiting time must be computed.
    pub parts: bool,
    /// A host read, which read priority moves forward.
    pub urgent: bool,
    /// Channel time of its reads for the host, if they move only part of their page; else zero.
    pub part: Time,
}

impl Submission<'_> {
    /// Channel time of one of its commands, if that reads part of a page for the host; else zero.
    #[inline]
    fn part_of(&self, command: &FlashCommand) -> Time {
        let is_hosts = command.op == FlashOp::Read && matches!(command.cause, Cause::Host | Cause::Rmw);
        if is_hosts { self.part } else { Time::ZERO }
    }
}

/// A page access that is done.
#[derive(Clone, Copy, Debug)]
pub struct PageDone {
    /// The page access that waited.
    pub token: u32,
    /// When it was done.
    pub at: Time,
    /// Time of its own commands on the channel.
    pub transfer: Time,
    /// Time of its own commands on the die.
    pub die: Time,
    /// What it waited for, by phase; waiting for the channel counts as host work. Zero if the parts are not computed.
    pub waited: PhaseTimes,
}

impl PageDone {
    /// The end of what took time and no flash command.
    pub fn without_flash(token: u32, at: Time, took: Time) -> PageDone {
        PageDone { token, at, transfer: Time::ZERO, die: took, waited: PhaseTimes::default() }
    }
}

/// Suspensions of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspensions {
    /// Suspensions of erases.
    pub erases: u64,
    /// Suspensions of page programs, those of copies included.
    pub programs: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    free_at: Time,
    busy: Time,
}

/// The scheduler of one device, and the chips that it gives time to.
#[derive(Clone)]
pub struct Scheduler {
    /// The chips. Without a clock they execute commands at once, and the rest of the scheduler rests.
    pub chips: Chips,
    timing: FlashTiming,
    usages: Usages,
    geometry: Geometry,
    policy: Policy,
    blocks_per_die: u32,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    events: Events,
    done: VecDeque<PageDone>,
    idle: Option<DieId>,
    shapes: ShapeRule,
    multi_plane: MultiPlaneCounts,
    suspensions: Suspensions,
    /// Reads of pages that are moved between dies.
    moves: MoveReads,
    /// Last loops of erases that are still to run.
    late_loops: LateLoops,
    /// Dies whose next command waits for others.
    stalled: Vec<usize>,
    /// The command in which the power is cut next.
    cut: power::CommandCut,
    /// The user's own policy, if it decides when erases are suspended.
    suspends_by: Option<Decider>,
    /// What it did wrong; told when the erase that it was asked about lets go of its die.
    policy_fault: Option<OwnFault>,
}

impl Scheduler {
    /// An idle device.
    pub fn new(geometry: Geometry, chips: Chips, policy: Policy) -> Scheduler {
        let timing = chips.timing.clone();
        let room = QUEUED_ACCESSES.min(QUEUED_ACCESSES_TOTAL / geometry.dies() as usize).max(1);
        let merge = if room == QUEUED_ACCESSES { 2 * usize::from(geometry.pages_per_block) } else { 0 };
        let reads = if policy.read_priority { room } else { 0 };
        let lanes = || [Lane::with_capacity(reads, 0), Lane::with_capacity(room, merge)];
        let blocks_per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        let queues = |die: u32| {
            let (per_plane, planes) = (geometry.blocks_per_plane, geometry.planes_per_die);
            let blocks = DieBlocks { first: die * blocks_per_die, per_plane, planes };
            (policy.multi_plane == MultiPlane::Queue)
                .then(|| PlaneQueues::new(blocks, room + merge, policy.changes_in_order))
        };
        let die = |die: u32| {
            let pending = PendingPages::new(room, policy.read_priority, geometry);
            let snapshots = Snapshots::with_capacity(room);
            let channel = geometry.channel_of(DieId(die)).index();
            Die::new(lanes(), DieParts { pending, snapshots, queues: queues(die), channel })
        };
        Scheduler {
            shapes: policy.shapes(&timing),
            chips,
            usages: Usages::new(&timing),
            timing,
            policy,
            blocks_per_die,
            dies: (0..geometry.dies()).map(die).collect(),
            channels: vec![Channel::default(); geometry.channels as usize],
            events: Events::new(geometry.dies() as usize),
            done: VecDeque::with_capacity(64),
            idle: None,
            multi_plane: MultiPlaneCounts::default(),
            suspensions: Suspensions::default(),
            moves: MoveReads::new(geometry.dies() as usize, blocks_per_die),
            late_loops: LateLoops::new(if policy.late_loops { geometry.dies() * blocks_per_die } else { 0 }),
            stalled: Vec::new(),
            cut: power::CommandCut::default(),
            suspends_by: None,
            policy_fault: None,
            geometry,
        }
    }

    /// Asks a user's own policy when erases are suspended, if it decides that.
    pub fn suspend_by(&mut self, decider: Option<Decider>) {
        self.suspends_by = decider.filter(|decider| decider.decides().suspend);
    }

    /// When something happens next.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.events.first().map(|(at, _)| at)
    }

    /// The page access that [`Scheduler::take_done`] takes next, where it stands.
    #[inline]
    pub fn first_done(&self) -> Option<&PageDone> {
        self.done.front()
    }

    /// The next page access that the last event finished; their order is the one in which they were
    /// queued.
    #[inline]
    pub fn take_done(&mut self) -> Option<PageDone> {
        self.done.pop_front()
    }

    /// The die that became idle with the last event, if it is still idle.
    #[inline]
    pub fn take_idle(&mut self) -> Option<DieId> {
        self.idle.take().filter(|die| self.dies[die.0 as usize].active.is_none())
    }

    /// Busy time of each die and of each channel up to `now`.
    pub fn busy_times(&self, now: Time) -> (Vec<Time>, Vec<Time>) {
        let die = |die: &Die| if die.active.is_some() { die.busy + (now - die.started) } else { die.busy };
        // A channel's time is booked when it is granted.
        let channel = |channel: &Channel| channel.busy.saturating_sub(channel.free_at.saturating_sub(now));
        (self.dies.iter().map(die).collect(), self.channels.iter().map(channel).collect())
    }

    /// Multi-plane commands so far: those that used more than one plane.
    pub fn multi_plane(&self) -> MultiPlaneCounts {
        self.multi_plane
    }

    /// Suspensions so far.
    pub fn suspensions(&self) -> Suspensions {
        self.suspensions
    }

    /// Adds what another thread counted on its channels.
    pub fn absorb(&mut self, multi_plane: MultiPlaneCounts, suspensions: Suspensions) {
        self.multi_plane.commands += multi_plane.commands;
        self.multi_plane.copies += multi_plane.copies;
        self.multi_plane.copies_with_programs += multi_plane.copies_with_programs;
        self.suspensions.erases += suspensions.erases;
        self.suspensions.programs += suspensions.programs;
    }

    /// The die of a command.
    #[inline]
    pub fn die_of(&self, command: &FlashCommand) -> DieId {
        DieId(command.target.block.0 / self.blocks_per_die)
    }

    /// Lets the times of page programs differ by at most this share, as the seed draws.
    pub fn spread_programs(&mut self, share: f64, seed: u64) {
        self.usages.spread_programs(share, Draw::new(seed, "program-time"));
    }

    /// Whether a die has anything to do but host reads with priority.
    pub fn has_work(&self, die: DieId) -> bool {
        !self.dies[die.index()].lanes[die::WORK].segments.is_empty()
    }

    /// Whether erases of several planes of a die run together.
    pub fn joins_erases(&self) -> bool {
        self.policy.multi_plane != MultiPlane::Off
    }

    /// Whether two commands are erases that run together if they come one after the other.
    pub fn run_joined(&self, one: &FlashCommand, other: &FlashCommand) -> bool {
        let are_erases = [one, other].iter().all(|command| command.op == FlashOp::Erase);
        self.joins_erases() && are_erases && self.die_of(one) == self.die_of(other)
    }

    /// Whether an erase of a block waits or runs.
    pub fn is_erasing(&self, block: BlockId) -> bool {
        let die = &self.dies[(block.0 / self.blocks_per_die) as usize];
        let erases = |command: &FlashCommand| command.op == FlashOp::Erase && command.target.block == block;
        die.lanes.iter().any(|lane| lane.commands.iter().any(erases))
    }

    /// Queues the commands of one page access at `now`; all of them are on one die. Returns whether
    /// the access was answered from the controller's buffer, without a command.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    #[inline(always)]
    pub fn submit(&mut self, access: &Submission, now: Time, observer: &mut ObserverRef) -> Result<bool, SimError> {
        let Some(first) = access.commands.first() else { return Ok(true) };
        let index = self.die_of(first).0 as usize;
        debug_assert!(access.commands.iter().all(|command| self.die_of(command).0 as usize == index));
        self.advance(index, now, observer)?;
        if access.commands.len() == 1 && first.op == FlashOp::Read {
            return self.submit_read(index, access, now);
        }
        // A search and the read behind it: neither is needed if the page is still in the buffer.
        if let Some((read, searches)) = access.commands.split_last().filter(|(last, _)| last.op == FlashOp::Read)
            && searches.iter().all(|command| command.op == FlashOp::SpareSearch)
            && self.is_in_buffer(index, read)
        {
            return Ok(true);
        }
        let snapshot = self.snapshot(index, access, now);
        if !observer.is_nobody() {
            access.commands.iter().for_each(|command| observer.queued(command, &self.chips.checked.array));
        }
        self.queue(index, access, snapshot);
        if self.dies[index].active.is_none() {
            self.start(index, now);
        } else if self.writes_wait(index) {
            self.ask_to_suspend(index, now);
        }
        Ok(false)
    }

    /// A read alone: from the buffer, or queued.
    #[inline]
    fn submit_read(&mut self, index: usize, access: &Submission, now: Time) -> Result<bool, SimError> {
        let read = &access.commands[0];
        let lane = if self.policy.read_priority && access.urgent { READS } else { WORK };
        let die = &self.dies[index];
        let is_buffered = match lane {
            // It goes before the copies that will move its page, to wherever that is by then.
            READS => die.follow_copies(&mut { *read }, &mut die.next_number(), &self.chips.checked.array),
            _ => self.is_in_buffer(index, read),
        };
        if is_buffered {
            return Ok(true);
        }
        self.chips.checked.array.expect(read.target);
        if self.policy.moves_wait {
            self.moves.queued(index, *read);
        }
        let (shape, behind) = (Resources::DieThenChannel, die.next_number());
        let snapshot = self.snapshot(index, access, now);
        let die = &mut self.dies[index];
        let own_time = access.part_of(read);
        let segment = Segment { token: access.token, snapshot, behind, own_time, ..Segment::of(shape) };
        die.lanes[lane].segments.push_back(segment);
        die.lanes[lane].commands.push_back(*read);
        if let Some(queues) = die.queues.as_mut().filter(|_| lane == WORK) {
            queues.queued(read, true);
        }
        if die.active.is_none() {
            self.start(index, now);
        } else {
            if self.geometry.units_per_page > 1 {
                self.join_sensing(index, lane, now);
            }
            if lane == READS && !self.dies[index].plane_reads.is_empty() {
                if self.policy.plane_reads == PlaneReads::Plane {
                    self.start_reads(index, now);
                }
            } else if lane == READS || self.writes_wait(index) {
                self.ask_to_suspend(index, now);
            }
        }
        Ok(false)
    }

    /// Whether the page that a read needs is still to be programmed.
    #[inline]
    fn is_in_buffer(&self, index: usize, read: &FlashCommand) -> bool {
        let array = &self.chips.checked.array;
        self.dies[index].pending_write(read.target, usize::MAX, array) == Some(PendingWrite::Program)
    }

    /// Lets a page access wait until all programs that are queued have ended. Returns on how many dies it waits.
    ///
    /// # Errors
    /// What executing overdue commands finds.
    pub fn wait_for_programs(&mut self, token: u32, now: Time, observer: &mut ObserverRef) -> Result<u32, SimError> {
        let mut dies = 0;
        for index in 0..self.dies.len() {
            self.advance(index, now, observer)?;
            if self.dies[index].pending.is_empty() {
                continue;
            }
            // A die does what waits for it in its order, so it comes to this when it has done all before.
            let last = FlashCommand::pause(BlockId(index as u32 * self.blocks_per_die), Time::ZERO);
            let commands = std::slice::from_ref(&last);
            let wait = Submission { commands, completes: 0, token, parts: false, urgent: false, part: Time::ZERO };
            dies += u32::from(!self.submit(&wait, now, observer)?);
        }
        Ok(dies)
    }

    /// Keeps what a die has spent its time on until now, if the parts of an access's waiting time must be computed.
    #[inline]
    fn snapshot(&mut self, index: usize, access: &Submission, now: Time) -> u32 {
        if !access.parts {
            return NO_SNAPSHOT;
        }
        let spent = self.spent_at(index, now);
        self.dies[index].snapshots.keep(Snapshot { at: now, spent })
    }

    /// Appends the commands of an access to its die's queue, each to the last segment if that is of the same access and
    /// both need the die alone. The command that completes the access gets its snapshot.
    #[inline]
    fn queue(&mut self, index: usize, access: &Submission, snapshot: u32) {
        let (shapes, holds_die) = (self.shapes, self.policy.holds_die);
        let may_join = holds_die && !self.policy.erases_wait && !self.cut.is_awaited();
        let die = &mut self.dies[index];
        let may_join = may_join && die.queues.is_none();
        for (nth, command) in access.commands.iter().enumerate() {
            let command = &match self.policy.moves_wait {
                true => self.moves.queued(index, *command),
                false => *command,
            };
            let chained = holds_die && nth + 1 < access.commands.len();
            if self.late_loops.queued(command) {
                let urgent = access.token != NOBODY && nth <= access.completes;
                let segment = Segment { chained: holds_die, urgent, ..Segment::of(Resources::Erase) };
                die.lanes[WORK].segments.push_back(segment);
                die.lanes[WORK].commands.push_back(FlashCommand::pause(command.target.block, Time::ZERO));
            }
            die.pending.add(command);
            if let Some(queues) = &mut die.queues {
                queues.queued(command, nth == 0);
            }
            let lane = &mut die.lanes[WORK];
            lane.commands.push_back(*command);
            let shape = Resources::of(command, shapes);
            let completes = nth == access.completes;
            let (token, snapshot) = if completes { (access.token, snapshot) } else { (NOBODY, NO_SNAPSHOT) };
            let own_time = access.part_of(command);
            let mut segment = Segment { snapshot, chained, token, own_time, ..Segment::of(shape) };
            if shape == Resources::Die {
                segment.own_time = self.usages.die_only_time(&self.timing, command);
                if may_join && nth > 0 && lane.join_last(&segment) {
                    continue;
                }
            }
            segment.urgent = access.token != NOBODY && nth < access.completes;
            lane.segments.push_back(segment);
        }
    }
}
