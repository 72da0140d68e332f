//! The work lane of a die by plane, for `timing.multi_plane = "queue"`: which of its commands could run now.
//!
//! A command may overtake what was queued before it, to run together with the command that is due, if nothing
//! before it could notice:
//!
//! - It waits for every earlier command that touches a block which it touches. Pages of a block are then
//!   programmed in the order in which they were decided, after the block's erase and before what reads or copies
//!   them, and an erase comes after all that read its block.
//! - From the first read or search of its plan on, the plan's commands keep their order: reads and searches find
//!   out what is to be moved, or what a page is to hold.
//! - On a device that may lose power, what changes a plane keeps its order there: recovery takes the page with the
//!   largest number of a plane for the one that was programmed last. So do programs of mapping units, and the reads of
//!   pages that units are moved out of: their commands do not name all blocks that they touch.
//!
//! Each command counts the commands that it waits for and knows those that wait for it, so none is ever looked
//! for.

use std::collections::VecDeque;

use pumice_types::{FlashCommand, FlashOp};

/// A command touches at most two blocks, is part of one plan and changes one plane, so at most four commands are next
/// behind it.
const NEXT: usize = 4;

/// No command has this number.
const NONE: u64 = 0;

/// Planes of a die and where their blocks are.
#[derive(Clone, Copy, Debug)]
pub struct DieBlocks {
    /// The die's first block.
    pub first: u32,
    /// Blocks of each of its planes.
    pub per_plane: u32,
    /// Planes of the die.
    pub planes: u32,
}

/// One queued command.
#[derive(Clone, Copy, Debug)]
struct QueuedCommand {
    /// Numbers of the commands that wait for it.
    next: [u64; NEXT],
    /// Plan that the command is part of.
    plan: u32,
    plane: u16,
    /// Commands that it waits for.
    waits_for: u8,
    /// The command is of a kind that may run together with others.
    joins: bool,
    is_read: bool,
    /// Whether the command has run.
    is_over: bool,
}

/// The work lane by plane.
#[derive(Clone, Debug)]
pub struct PlaneQueues {
    blocks: DieBlocks,
    /// Every command of the lane, in its order.
    commands: VecDeque<QueuedCommand>,
    /// Number of the first command of the lane.
    first: u64,
    /// The last command queued that touches each block.
    last_of_block: Vec<u64>,
    /// The last command of the plan that is queued now, from its first read or search on.
    last_of_plan: u64,
    /// The last command queued that changes each plane; empty if these need not keep their order.
    last_change: Vec<u64>,
    /// Commands of each plane that wait for none, in ascending order.
    ready: Vec<Vec<u64>>,
    /// Commands that run now and have overtaken others.
    overtaking: Vec<u64>,
    /// Page reads that are queued or run.
    reads: usize,
    plan: u32,
}

impl PlaneQueues {
    /// Nothing queued, with room for so many commands. `in_order`: what changes a plane keeps its order there.
    pub fn new(blocks: DieBlocks, commands: usize, in_order: bool) -> PlaneQueues {
        let planes = blocks.planes as usize;
        PlaneQueues {
            blocks,
            commands: VecDeque::with_capacity(commands),
            first: NONE + 1,
            last_of_block: vec![NONE; (blocks.per_plane * blocks.planes) as usize],
            last_of_plan: NONE,
            last_change: vec![NONE; if in_order { planes } else { 0 }],
            ready: (0..planes).map(|_| Vec::with_capacity(commands)).collect(),
            overtaking: Vec::with_capacity(planes),
            reads: 0,
            plan: 0,
        }
    }

    /// The plane of a command, counted inside the die.
    #[inline]
    pub fn plane_of(&self, command: &FlashCommand) -> usize {
        ((command.target.block.0 - self.blocks.first) / self.blocks.per_plane) as usize
    }

    /// Power is gone: nothing is queued any more.
    pub fn clear(&mut self) {
        // Commands queued from now on have other numbers than those that are gone, so nothing waits for these.
        self.first += self.commands.len() as u64;
        self.commands.clear();
        self.ready.iter_mut().for_each(Vec::clear);
        self.overtaking.clear();
        self.reads = 0;
    }

    /// Whether a page read is queued or runs.
    #[inline]
    pub fn have_reads(&self) -> bool {
        self.reads > 0
    }

    /// Notes that a command was queued; `begins`: it is the first of its plan.
    pub fn queued(&mut self, command: &FlashCommand, begins: bool) {
        let number = self.first + self.commands.len() as u64;
        if begins {
            self.plan = self.plan.wrapping_add(1);
            self.last_of_plan = NONE;
        }
        let (plane, is_read) = (self.plane_of(command), command.op == FlashOp::Read);
        self.reads += usize::from(is_read);
        self.commands.push_back(QueuedCommand {
            next: [NONE; NEXT],
            plan: self.plan,
            plane: plane as u16,
            waits_for: 0,
            joins: matches!(command.op, FlashOp::Read | FlashOp::Program | FlashOp::Copy | FlashOp::Erase),
            is_read,
            is_over: false,
        });
        let source = (command.op == FlashOp::Copy).then_some(command.source.block);
        for block in [Some(command.target.block), source].into_iter().flatten() {
            let block = (block.0 - self.blocks.first) as usize;
            let before = std::mem::replace(&mut self.last_of_block[block], number);
            self.wait(number, before);
        }
        if self.last_of_plan != NONE || matches!(command.op, FlashOp::Read | FlashOp::SpareSearch) {
            let before = std::mem::replace(&mut self.last_of_plan, number);
            self.wait(number, before);
        }
        let is_ordered = command.changes_pages() || command.takes_any_version();
        if let Some(last) = self.last_change.get_mut(plane).filter(|_| is_ordered) {
            let before = std::mem::replace(last, number);
            self.wait(number, before);
        }
        if self.commands.back().is_some_and(|command| command.waits_for == 0 && command.joins) {
            self.ready[plane].push(number);
        }
    }

    /// Lets command `number` wait for command `before`, unless that is over.
    fn wait(&mut self, number: u64, before: u64) {
        let Some(command) = self.command(before).filter(|command| !command.is_over) else { return };
        if before == number || command.next.contains(&number) {
            return;
        }
        if let Some(place) = command.next.iter_mut().find(|next| **next == NONE) {
            *place = number;
            if let Some(command) = self.command(number) {
                command.waits_for += 1;
            }
        }
    }

    fn command(&mut self, number: u64) -> Option<&mut QueuedCommand> {
        let place = number.checked_sub(self.first)?;
        self.commands.get_mut(place as usize)
    }

    /// Takes a command that waits for none into its plane's list, if it may run together with others.
    fn note_ready(&mut self, number: u64) {
        let Some(&mut QueuedCommand { plane, waits_for: 0, joins: true, .. }) = self.command(number) else { return };
        let ready = &mut self.ready[usize::from(plane)];
        let place = ready.partition_point(|&other| other < number);
        ready.insert(place, number);
    }

    /// The command that is due begins, or another of this number overtakes all before it.
    fn begin(&mut self, number: u64) {
        let Some(&mut QueuedCommand { plane, .. }) = self.command(number) else { return };
        let ready = &mut self.ready[usize::from(plane)];
        if let Ok(place) = ready.binary_search(&number) {
            ready.remove(place);
        }
    }

    /// The first command of the lane begins.
    pub fn begin_first(&mut self) {
        self.begin(self.first);
    }

    /// The oldest command of `plane` that could run now and `fits`, by its place in the lane.
    pub fn find(&self, plane: usize, fits: impl Fn(usize) -> bool) -> Option<u64> {
        self.ready[plane].iter().copied().find(|&number| fits(self.place_of(number)))
    }

    /// A command that was found begins; returns its place in the lane. The caller moves it forward to those that run.
    pub fn overtake(&mut self, number: u64) -> usize {
        let place = self.place_of(number);
        self.begin(number);
        self.overtaking.push(number);
        place
    }

    /// Unless it has begun, the command that was queued right behind the one of those that run which comes `nth`, and
    /// that waits for nothing else: its number, and its place in the lane.
    pub fn behind(&self, nth: usize) -> Option<(u64, usize)> {
        let before = nth.checked_sub(1).map_or(Some(self.first), |nth| self.overtaking.get(nth).copied())?;
        let at = |number: u64| self.commands.get((number - self.first) as usize);
        let waits_for_it_alone = at(before)?.next.contains(&(before + 1)) && at(before + 1)?.waits_for == 1;
        waits_for_it_alone.then(|| (before + 1, self.place_of(before + 1)))
    }

    /// A command that [`PlaneQueues::behind`] names begins with what it waits for, and overtakes all others; returns its place
    /// in the lane.
    pub fn take_along(&mut self, number: u64) -> usize {
        if let Some(before) = self.command(number - 1) {
            before.next.iter_mut().filter(|next| **next == number).for_each(|next| *next = NONE);
        }
        self.command(number).into_iter().for_each(|command| command.waits_for = 0);
        self.overtake(number)
    }

    fn place_of(&self, number: u64) -> usize {
        (number - self.first) as usize + self.overtaking.len()
    }

    /// What was found last and overtook others is over, before what it runs with.
    pub fn end_last_overtaking(&mut self) {
        if let Some(number) = self.overtaking.pop() {
            self.release(number);
        }
    }

    /// What runs is over. Returns how many places at the front of the lane are without work now, and whether
    /// the command behind them is of the same plan as the first one that ran.
    pub fn end(&mut self) -> (usize, bool) {
        let plan = self.commands.front().map(|command| command.plan);
        self.release(self.first);
        while let Some(number) = self.overtaking.pop() {
            self.release(number);
        }
        let before = self.first;
        while self.commands.front().is_some_and(|command| command.is_over) {
            self.commands.pop_front();
            self.first += 1;
        }
        let goes_on = plan.is_some() && self.commands.front().map(|command| command.plan) == plan;
        ((self.first - before) as usize - 1, goes_on)
    }

    /// A command is over: those that waited for it wait for one less.
    fn release(&mut self, number: u64) {
        let Some(command) = self.command(number) else { return };
        command.is_over = true;
        let (next, is_read) = (std::mem::take(&mut command.next), command.is_read);
        self.reads -= usize::from(is_read);
        for next in next.into_iter().filter(|&next| next != NONE) {
            if let Some(command) = self.command(next) {
                command.waits_for -= 1;
            }
            self.note_ready(next);
        }
    }
}
