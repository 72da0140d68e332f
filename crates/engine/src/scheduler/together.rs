//! What runs together on a die as one multi-plane command, and what that uses.

use pumice_nand::{NandArray, fits_multi_plane};
use pumice_types::{BlockId, FlashCommand, FlashOp, FlashTiming, Geometry, MultiPlane, Time, UnitSource};

use super::Scheduler;
use super::die::{Die, Lane, READS, WORK};
use super::segment::{Resources, Segment, Usage, Usages};

/// Multi-plane commands: those that used more than one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultiPlaneCounts {
    /// All multi-plane commands.
    pub commands: u64,
    /// Multi-plane commands that only copied.
    pub copies: u64,
    /// Multi-plane commands that copied and programmed other pages.
    pub copies_with_programs: u64,
}

impl MultiPlaneCounts {
    /// Counts the first `group` commands of a lane, if they use more than one plane.
    fn note(&mut self, geometry: &Geometry, lane: &Lane, group: usize) {
        let plane = |nth: usize| geometry.plane_of(lane.commands[nth].target.block);
        // Only mapping units of one page run together in one plane.
        if group > 1 && (geometry.units_per_page == 1 || (1..group).any(|nth| plane(nth) != plane(0))) {
            let copies = (0..group).filter(|&nth| lane.commands[nth].op == FlashOp::Copy).count();
            self.commands += 1;
            self.copies += u64::from(copies == group);
            self.copies_with_programs += u64::from(copies > 0 && copies < group);
        }
    }
}

impl Scheduler {
    /// Brings what runs together to the head of a lane; returns how many segments that are.
    #[inline]
    pub(super) fn gather(&mut self, index: usize, lane: usize) -> usize {
        let group = match (self.policy.multi_plane, lane) {
            (MultiPlane::Erases, _) if self.dies[index].lanes[lane].commands[0].op == FlashOp::Erase => {
                self.neighbours(index, lane).min(self.due_before_reads(index).max(1))
            }
            (MultiPlane::Off | MultiPlane::Erases, _) if self.geometry.units_per_page == 1 => return 1,
            (MultiPlane::Off | MultiPlane::Erases, _) => return self.units_of_page(index, lane),
            (MultiPlane::Neighbours, _) => self.neighbours(index, lane),
            (MultiPlane::Queue, READS) => self.gather_reads(index),
            (MultiPlane::Queue, _) => self.gather_work(index),
        };
        self.multi_plane.note(&self.geometry, &self.dies[index].lanes[lane], group);
        group
    }

    /// Points the reads that may start now to where their pages still are, if copies that are queued
    /// will move them.
    pub(super) fn find_sources(&mut self, index: usize) {
        let together = match self.policy.multi_plane {
            MultiPlane::Off | MultiPlane::Erases | MultiPlane::Queue => 1,
            MultiPlane::Neighbours => self.most_together(),
        };
        let die = &mut self.dies[index];
        for nth in 0..together.min(die.lanes[READS].commands.len()) {
            die.find_source(nth, &self.chips.checked.array);
        }
    }

    /// The most commands that run together: one for each plane, or for each mapping unit of its page.
    fn most_together(&self) -> usize {
        self.geometry.planes_per_die as usize * usize::from(self.geometry.units_per_page)
    }

    /// Neighbours at the head of a lane: page reads, or page programs, of one page number in several planes, or
    /// erases of a block in each of several planes. Copies run alone.
    fn neighbours(&self, index: usize, lane: usize) -> usize {
        let lane = &self.dies[index].lanes[lane];
        let first = lane.commands[0];
        if !matches!(first.op, FlashOp::Read | FlashOp::Program | FlashOp::Erase) {
            return 1;
        }
        let plane = |command: &FlashCommand| self.geometry.plane_of(command.target.block);
        let fits = |nth: usize| {
            let command = &lane.commands[nth];
            command.op == first.op
                && self.geometry.page_number(command.target.page) == self.geometry.page_number(first.target.page)
                && !self.moves.are_awaited(command)
                && !self.may_not_join(command)
                && (lane.commands.iter().take(nth).all(|earlier| plane(earlier) != plane(command))
                    || lane.goes_along(&self.geometry, nth, nth))
        };
        // Each of these segments is one command, so places in both queues agree.
        let most = lane.segments.len().min(self.most_together());
        (1..most).find(|&nth| !fits(nth)).unwrap_or(most)
    }

    /// The first read with priority, and reads behind it. They wait for nothing, so any may come first.
    fn gather_reads(&mut self, index: usize) -> usize {
        let (geometry, copyback, most) = (self.geometry, self.timing.copyback, self.most_together());
        let die = &mut self.dies[index];
        let mut group = 1;
        for nth in 1..die.lanes[READS].commands.len() {
            let fits = |lane: &Lane| {
                let (first, read) = (&lane.commands[0], &lane.commands[nth]);
                let plane = geometry.plane_of(read.target.block);
                let is_free = |other: &FlashCommand| geometry.plane_of(other.target.block) != plane;
                fits_multi_plane(&geometry, [first, read], copyback)
                    && (lane.commands.iter().take(group).all(is_free) || lane.goes_along(&geometry, nth, group))
            };
            if group == most {
                break;
            }
            if !fits(&die.lanes[READS]) {
                continue;
            }
            die.find_source(nth, &self.chips.checked.array);
            if fits(&die.lanes[READS]) {
                die.lanes[READS].bring_forward(nth, group);
                group += 1;
            }
        }
        group
    }

    /// The command that is due, and the oldest of each other plane that fits and may overtake those before it.
    fn gather_work(&mut self, index: usize) -> usize {
        let Die { lanes: [_, work], queues: Some(queues), .. } = &mut self.dies[index] else { return 1 };
        queues.begin_first();
        let own = queues.plane_of(&work.commands[0]);
        let mut group = 1;
        for plane in (0..self.geometry.planes_per_die as usize).filter(|&plane| plane != own) {
            let found = self.find_overtaking(index, plane);
            let Die { lanes: [_, work], queues: Some(queues), .. } = &mut self.dies[index] else { break };
            if let Some(number) = found {
                work.move_forward(queues.overtake(number), group);
                group += 1;
            }
        }
        self.gather_units(index, group)
    }

    /// The oldest command of a plane that may overtake those before it to run with the one that is due.
    fn find_overtaking(&self, index: usize, plane: usize) -> Option<u64> {
        let Die { lanes: [reads, work], queues: Some(queues), .. } = &self.dies[index] else { return None };
        let first = &work.commands[0];
        // A read with priority goes before an erase of its block that was decided after it.
        let waits_for_read = |erase: &FlashCommand| {
            erase.op == FlashOp::Erase && reads.commands.iter().any(|read| read.target.block == erase.target.block)
        };
        // Nor does an erase overtake a program in another plane that takes units out of its block.
        let is_taken_from = |erase: &FlashCommand, place: usize| {
            let takes = |program: &FlashCommand| self.takes_units_from(program, erase.target.block);
            self.geometry.units_per_page > 1
                && erase.op == FlashOp::Erase
                && work.commands.iter().take(place).any(takes)
        };
        queues.find(plane, |place| {
            let command = &work.commands[place];
            fits_multi_plane(&self.geometry, [first, command], self.timing.copyback)
                && !waits_for_read(command)
                && !is_taken_from(command, place)
                && !self.moves.are_awaited(command)
                && !self.may_not_join(command)
        })
    }

    /// Whether a command programs mapping units that are moved out of a block.
    fn takes_units_from(&self, program: &FlashCommand, block: BlockId) -> bool {
        let array = &self.chips.checked.array;
        let source = |nth| array.staged_unit(program, usize::from(nth)).map(|unit| unit.source);
        let is_from = |nth| matches!(source(nth), Some(UnitSource::Copied(from)) if from.block == block);
        program.op == FlashOp::Program && (0..self.geometry.units_per_page).any(is_from)
    }
}

impl Die {
    /// A read with priority of the page where its data still is, if copies that are queued will move it, and the command
    /// of the work lane that it is to come before. Who does not begin now keeps what it was to read: it may have to wait
    /// for more than these copies.
    pub(super) fn source_of(&self, nth: usize, array: &NandArray) -> (FlashCommand, u64) {
        let (mut read, mut behind) = (self.lanes[READS].commands[nth], self.lanes[READS].segments[nth].behind);
        self.follow_copies(&mut read, &mut behind, array);
        (read, behind)
    }

    /// Points a read with priority to where its page still is.
    pub(super) fn find_source(&mut self, nth: usize, array: &NandArray) {
        let source = self.source_of(nth, array);
        let lane = &mut self.lanes[READS];
        (lane.commands[nth], lane.segments[nth].behind) = source;
    }

    /// What a segment that ends would have used alone.
    #[inline]
    pub(super) fn own_usage(&self, segment: &Segment, lane: &Lane, usages: &Usages) -> Usage {
        match lane.commands.front().filter(|_| self.group > 1 || self.operation.goes_on()) {
            Some(command) => usages.of(segment, command),
            None => self.usage,
        }
    }

    /// Notes that what ran of the work lane is over. Returns whether the next command is of the same plan as the
    /// one that was due; `None` where no command overtakes another.
    #[inline]
    pub(super) fn end_in_queues(&mut self) -> Option<bool> {
        let (empty, goes_on) = self.queues.as_mut()?.end();
        (0..empty).for_each(|_| self.lanes[WORK].drop_empty());
        Some(goes_on)
    }
}

impl Usage {
    /// Turns the usage of the first of a group into the group's: transfers come one after the other, array times
    /// once, the longest program's. The pages that it copies are read before it programs, at once if they have one page
    /// number.
    pub(super) fn share(
        &mut self,
        group: usize,
        lane: &Lane,
        (timing, usages): (&FlashTiming, &Usages),
        geometry: &Geometry,
    ) {
        let (mut page, mut is_one_read, mut copied, mut read) = (None, true, 0, Time::ZERO);
        let (mut transfers, mut brought) = (Time::ZERO, Time::ZERO);
        for nth in 0..group {
            let (segment, command) = (&lane.segments[nth], &lane.commands[nth]);
            let Usage { channel: transfer, die_last, .. } = usages.of(segment, command);
            transfers += transfer;
            self.die_last = self.die_last.max(die_last);
            if lane.is_brought(geometry, nth) {
                brought += transfer;
            }
            if matches!(segment.shape, Resources::DieChannelDie | Resources::Copyback) {
                is_one_read &= *page.get_or_insert(command.source.page) == command.source.page;
                copied += 1;
                read += timing.t_r(command.source.page);
            }
        }
        let Some(page) = page else {
            self.transfers = transfers - brought;
            return;
        };
        self.shape = if timing.copyback { Resources::Copyback } else { Resources::DieChannelDie };
        self.reads = if is_one_read { 1 } else { copied as u8 };
        self.die_first = if is_one_read { timing.t_r(page) } else { read };
        self.transfers = transfers;
        let out = if timing.copyback { Time::ZERO } else { self.page * copied };
        self.copy_reads = self.die_first + out;
    }
}
