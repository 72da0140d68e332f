//! Garbage collection of the page-level FTL, one step at a time: a page copied, or the emptied victim
//! erased. The modes differ in who takes the steps and when, not in the steps.
//!
//! A plane's free erase units decide. Why collection never runs out of them, as long as no erase fails:
//!
//! Let a block have U units and P pages. A plane has B good blocks of data, and S streams that keep a block
//! open. Its host data has at most (B − start − S − 1) · P valid pages ([`PageConfig::reserved_blocks`]);
//! validation of the spec leaves one block more than that. *Room* is the pages of free units, and what is
//! left of the open blocks that copies go to.
//!
//! 1. *Emptying a victim needs no more room than there is.* The room is at least P whenever a victim is begun:
//!    a host block is opened only above the floor of 2U − 1 free units ([`PageFtl::floor`]), so at least U
//!    units stay free; one block more where power may be cut. A victim has at most P valid pages. Where units disturb each other, blank ones of the
//!    victim are no room, because its block is not handed out while it is reclaimed; but with k of them blank,
//!    the others hold at most P − k · P / U valid pages, and that is what is left of the room. Copies of hot and of cold pages
//!    have blocks of their own, so either kind takes the other one's block when it has no own one left.
//! 2. *A victim gives back at least what it takes.* Its copies are at most the pages of its erased units that
//!    were written, so the room after it is no less than before. With an invalid page among them it is more.
//! 3. *There is a victim while free units are few.* If no closed unit has an invalid page, all closed units
//!    are full of valid pages. Those are all units but the free ones and at most S · U of open blocks. So
//!    (B · U − free − S · U) / U ≤ B − start − S − 1, or free ≥ (start + 1) · U: more than the floor and the
//!    start threshold.
//! 4. *The loops end.* Each victim with an invalid page wins room (2). `fifo` may take full ones first, but at
//!    most as many as there are closed units, because each goes to the end of its order. So collection ends
//!    above the stop threshold, or without a victim; then it is above the start threshold and the floor (3),
//!    and the host's block can be opened, which makes (1) true for the next victim.
//!
//! In steps, host writes come between two copies. They take no room of a victim in work: above the floor
//! U units stay free; and where host and copies share one block, the victim is finished first if fewer are
//! free ([`PageFtl::make_room`]). Static wear levelling moves at most P pages with at least one block free (1),
//! and gives a block back. Translation pages have blocks of their own, which are not among B, and the same
//! argument with a floor of one block ([`crate::layers::page::CachedMap::blocks_for`]).

use pumice_types::{BlockId, DieId, FlashCommand, Lpn, PageAddress, PlaneId, UnitSet};

use super::plane::{Job, WriteStream};
use super::runs::{MOVES_AHEAD, NextPages};
use super::units::valid_in;
use crate::blocks::reclaim_units::UnitChoice;
use crate::layers::page::{GcMode, GcPlanes, Handles, HotCold, Neighbours, PageFtl};
use crate::plan::{FtlError, Plan, STREAMS_MAX};

impl PageFtl {
    /// Ensures that `stream` has a free page in `plane`. Returns whether collection must follow after the write's own
    /// program.
    pub(in crate::layers::page) fn make_room(
        &mut self,
        plane: PlaneId,
        stream: WriteStream,
        plan: &mut Plan,
    ) -> Result<bool, FtlError> {
        let state = &self.planes[plane.index()];
        if state.open[stream.index()].is_some() {
            // Where all pages share a block, its room belongs to a victim in work that may need more than it could
            // open another one for.
            let job = state.job.filter(|_| self.config.hot_cold.shares_blocks());
            if job.is_some_and(|job| self.units_for_copies(plane, &job) < self.config.units.pages.units()) {
                self.collect_urgently(plane, plan)?;
            }
            return Ok(false);
        }
        let free = self.free_units(plane);
        let low = free <= self.start();
        match self.config.gc_mode {
            GcMode::Foreground if low && free > self.floor() => return Ok(true),
            GcMode::Blocking | GcMode::Foreground if low => self.collect(plane, 0, plan)?,
            GcMode::Background | GcMode::Preemptible if free <= self.floor() => self.collect_urgently(plane, plan)?,
            GcMode::Paced if low => self.collect_urgently(plane, plan)?,
            GcMode::Blocking | GcMode::Foreground | GcMode::Background | GcMode::Preemptible | GcMode::Paced => {}
        }
        Ok(false)
    }

    /// Free units of a plane at which only collection may still open a block: as many units as a block
    /// has stay free when a host block is opened from above.
    #[inline]
    pub(super) fn floor(&self) -> usize {
        (2 + self.blank_in_pool()) * self.config.units.pages.units() - 1
    }

    /// Free units of a plane at or under which collection starts.
    #[inline]
    pub(in crate::layers::page) fn start(&self) -> usize {
        self.floor().max(self.config.gc_start_blocks as usize * self.config.units.pages.units())
    }

    /// Free units of a plane up to which collection goes on.
    #[inline]
    pub(in crate::layers::page) fn stop(&self) -> usize {
        self.floor().max(self.config.gc_stop_blocks as usize * self.config.units.pages.units())
    }

    /// Reclaims block after block of a plane that ran low until it has enough, and of the planes that collect with
    /// it. `taken`: units of `plane` that the triggering write has taken since the threshold was reached. They count
    /// as free, so that collection after a write reclaims as much as collection before it.
    pub(in crate::layers::page) fn collect(
        &mut self,
        plane: PlaneId,
        taken: usize,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        self.collect_plane(plane, taken, plan)?;
        if self.config.gc_planes == GcPlanes::Die {
            for other in self.planes_of(self.config.geometry.die_of(plane)).filter(|&other| other != plane) {
                let is_low = self.free_units(other) <= self.start();
                if is_low && self.planes[other.index()].victims.has_invalid() {
                    self.collect_plane(other, 0, plan)?;
                }
            }
        }
        Ok(())
    }

    /// Reclaims block after block of one plane until it has enough.
    fn collect_plane(&mut self, plane: PlaneId, taken: usize, plan: &mut Plan) -> Result<(), FtlError> {
        self.counters.trigger_free_blocks += 1;
        while self.free_units(plane) + taken <= self.stop() && self.begin_reclaim(plane)? {
            self.finish_job(plane, plan)?;
        }
        if self.begin_move(plane) {
            self.finish_job(plane, plan)?;
        }
        Ok(())
    }

    /// Reclaims a block for a write that needs one now, in a mode that otherwise collects in steps.
    fn collect_urgently(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        self.counters.urgent += 1;
        self.finish_job(plane, plan)?;
        let least = if self.config.gc_mode == GcMode::Paced { self.start() } else { self.floor() };
        while self.free_units(plane) <= least && self.begin_reclaim(plane)? {
            self.note_collecting(plane);
            self.finish_job(plane, plan)?;
        }
        Ok(())
    }

    /// Appends the next step that `die` may take while no host command waits for it. A victim in work
    /// comes before a new one, and planes in ascending order.
    ///
    /// # Errors
    /// [`FtlError`] if a copy finds no free block, which the reserve rules out.
    pub(in crate::layers::page) fn collect_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        if self.config.erases_together {
            return self.step_of_planes(die, plan);
        }
        let in_work = self.planes_of(die).find(|plane| self.planes[plane.index()].job.is_some());
        let Some(plane) = in_work.or_else(|| self.planes_of(die).find(|&plane| self.is_due(plane))) else {
            return Ok(());
        };
        if in_work.is_none() {
            self.begin_due(plane)?;
        }
        self.step_of_plane(plane, plan)
    }

    /// Notes that the host wrote a page to `plane`, and appends a step of its collection if no further one may go first.
    pub(in crate::layers::page) fn spend_token(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        if self.planes[plane.index()].job.is_none() {
            if !self.is_due(plane) {
                return Ok(());
            }
            self.begin_due(plane)?;
        }
        let passed = &mut self.planes[plane.index()].passed;
        *passed += 1;
        if *passed < self.config.gc_write_tokens { Ok(()) } else { self.step_of_plane(plane, plan) }
    }

    /// Collects where the planes of a die do it together: all that are due begin, and pages are copied
    /// until every victim is empty, so that one command can erase them.
    fn step_of_planes(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        for plane in self.planes_of(die) {
            if self.planes[plane.index()].job.is_none() && self.is_due(plane) {
                self.begin_due(plane)?;
            }
        }
        let copies = |plane: &PlaneId| {
            let job = self.planes[plane.index()].job;
            job.is_some_and(|job| self.next_to_move(&job).is_some())
        };
        let in_work = |plane: &PlaneId| self.planes[plane.index()].job.is_some();
        match self.planes_of(die).find(copies).or_else(|| self.planes_of(die).find(in_work)) {
            Some(plane) => self.step_of_plane(plane, plan),
            None => Ok(()),
        }
    }

    /// Begins the victim for which `plane` is due.
    fn begin_due(&mut self, plane: PlaneId) -> Result<(), FtlError> {
        if self.is_low(plane) && self.begin_reclaim(plane)? {
            self.note_collecting(plane);
        } else {
            self.begin_move(plane);
        }
        Ok(())
    }

    fn planes_of(&self, die: DieId) -> impl Iterator<Item = PlaneId> + use<> {
        let planes = self.config.geometry.planes_per_die;
        (die.0 * planes..(die.0 + 1) * planes).map(PlaneId)
    }

    /// Whether a victim is being emptied, or should be begun, on a die.
    pub(in crate::layers::page) fn has_job(&self, die: DieId) -> bool {
        self.planes_of(die).any(|plane| self.planes[plane.index()].job.is_some() || self.is_due(plane))
    }

    /// Whether a new victim of `plane` should be begun in a step.
    #[inline]
    fn is_due(&self, plane: PlaneId) -> bool {
        let reclaims = self.is_low(plane) && self.planes[plane.index()].victims.has_invalid();
        self.config.gc_mode.works_in_steps() && (reclaims || self.overdue(plane).is_some())
    }

    /// Whether `plane` collects in steps now.
    #[inline]
    fn is_low(&self, plane: PlaneId) -> bool {
        let (state, free) = (&self.planes[plane.index()], self.free_units(plane));
        match self.config.gc_mode {
            GcMode::Blocking | GcMode::Foreground | GcMode::Paced => false,
            GcMode::Background => free <= self.stop(),
            GcMode::Preemptible => state.collecting || free <= self.start(),
        }
    }

    /// The block whose data static wear levelling should move now.
    #[inline]
    fn overdue(&self, plane: PlaneId) -> Option<BlockId> {
        match &self.wear {
            Some(wear) => wear.overdue(plane).or_else(|| self.wanted_swap(plane)),
            None => self.wanted_swap(plane),
        }
    }

    /// Notes that a plane collects in steps, from now until it is above the stop threshold.
    pub(super) fn note_collecting(&mut self, plane: PlaneId) {
        let collecting = &mut self.planes[plane.index()].collecting;
        if !std::mem::replace(collecting, true) {
            self.counters.trigger_free_blocks += 1;
        }
    }

    /// Takes the next victim out of the lists; `false` if no closed unit has an invalid page.
    ///
    /// # Errors
    /// A user's own policy failed.
    pub(super) fn begin_reclaim(&mut self, plane: PlaneId) -> Result<bool, FtlError> {
        let taken = if self.names_victims() { self.take_named_victim(plane)? } else { self.take_victim(plane) };
        let Some((victim, UnitChoice { units, copies })) = taken else { return Ok(false) };
        let victim = self.config.geometry.block(plane, victim);
        self.begin(victim, UnitChoice { units, copies }, false);
        Ok(true)
    }

    /// Takes the block that static wear levelling moves out of the lists; `false` if there is none.
    pub(super) fn begin_move(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.overdue(plane) else { return false };
        let units = UnitSet::one(0); // Wear is levelled by whole blocks.
        self.planes[plane.index()].swap = None;
        self.planes[plane.index()].victims.remove(self.config.geometry.index_in_plane(victim), units);
        let copies = self.maps.valid_pages(victim);
        self.begin(victim, UnitChoice { units, copies }, true);
        true
    }

    /// Begins to empty these units of a victim.
    pub(super) fn begin(&mut self, victim: BlockId, chosen: UnitChoice, levels_wear: bool) {
        let UnitChoice { units, copies } = chosen;
        let job = Job { victim, units, next: 0, copied: 0, copies, levels_wear };
        let plane = self.config.geometry.plane_of(victim);
        debug_assert!(self.planes[plane.index()].job.is_none(), "a plane empties one victim at a time");
        self.planes[plane.index()].job = Some(job);
        self.maps.expect_moves(victim, MOVES_AHEAD);
        debug_assert!(self.keeps_room(plane), "the room of a plane takes all copies of a victim");
        if let Some(wear) = &mut self.wear {
            wear.open(job.victim);
        }
    }

    /// The next valid page of the units in work.
    #[inline]
    pub(super) fn next_to_move(&self, job: &Job) -> Option<u16> {
        let mut from = job.next;
        loop {
            let page = self.maps.next_valid(job.victim, from)?;
            if job.units.contains(self.config.units.pages.unit_of(page)) {
                return Some(page);
            }
            from = page + 1;
        }
    }

    pub(super) fn finish_job(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        while self.planes[plane.index()].job.is_some() {
            self.work(plane, u32::MAX, plan)?;
        }
        Ok(())
    }

    /// Moves the next valid page of the victim in work, or erases the victim if it has none left; with it
    /// those of the die's other planes that have none left either, if planes erase together.
    pub(in crate::layers::page) fn step_of_plane(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        self.planes[plane.index()].passed = 0;
        self.work(plane, 1, plan)
    }

    /// Moves up to `most` valid pages of the victim in work, or erases the victim if it has none left.
    pub(in crate::layers::page) fn work(&mut self, plane: PlaneId, most: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(mut job) = self.planes[plane.index()].job else { return Ok(()) };
        let before = job.copied;
        let moved = self.move_pages(plane, &mut job, most, plan);
        if job.copied > before {
            self.counters.copied_pages += u64::from(job.copied - before);
            self.planes[plane.index()].job = Some(job);
            return moved;
        }
        moved?;
        self.erase_victim(plane, job, plan)?;
        if self.config.erases_together {
            self.erase_empty_victims(plane, plan)?;
        }
        Ok(())
    }

    /// Moves up to `most` valid pages of the victim in work.
    #[inline]
    fn move_pages(&mut self, plane: PlaneId, job: &mut Job, most: u32, plan: &mut Plan) -> Result<(), FtlError> {
        let (before, in_runs, mut named) = (job.copied, self.config.moves_in_runs(), None);
        while job.copied - before < most
            && let Some(page) = self.next_to_move(job)
        {
            if in_runs {
                let next = NextPages { from: page, most: most - (job.copied - before), named };
                named = self.copy_run(plane, job, &next, plan)?;
                continue;
            }
            self.maps.expect_move(job.victim, u32::from(page) + MOVES_AHEAD);
            self.copy_page(plane, job, page, plan)?;
            (job.next, job.copied) = (page + 1, job.copied + 1);
        }
        Ok(())
    }

    /// Where a copy of `lpn` goes.
    #[inline]
    pub(super) fn stream_of_copy(&mut self, lpn: Lpn, job: &Job, plane: PlaneId) -> Result<WriteStream, FtlError> {
        let (own, other) = match (&self.recent, self.config.hot_cold) {
            _ if job.levels_wear => return Ok(WriteStream::MOVED),
            (_, HotCold::Placed { streams }) => return self.placed_stream_of_copy(lpn, job, plane, streams),
            (_, HotCold::Mixed) => return Ok(WriteStream::HOST),
            (_, HotCold::Handles(handles)) => {
                // Where groups are copied apart, a victim is a whole block and holds pages of one group.
                return Ok(handles.stream_of_copy(self.group_of(PageAddress::new(job.victim, 0), plane)));
            }
            (Some(recent), _) if recent.is_hot(lpn) => (WriteStream::HOT_COPIES, WriteStream::COPIES),
            (Some(_), _) => (WriteStream::COPIES, WriteStream::HOT_COPIES),
            (None, _) => return Ok(WriteStream::COPIES),
        };
        // The room that is kept for a victim's copies may lie in the other one's block.
        let has_room = self.planes[plane.index()].open[own.index()].is_some() || self.units_for_copies(plane, job) > 0;
        Ok(if has_room { own } else { other })
    }

    /// Free units of a plane that copies of the victim in work may go to. Where units disturb each other, a block
    /// of which some are reclaimed is not handed out, so its own blank ones are not among them.
    #[inline]
    pub(super) fn units_for_copies(&self, plane: PlaneId, job: &Job) -> usize {
        let is_withheld = self.config.units.neighbours.are_disturbed();
        let withheld = if is_withheld { self.free.of(job.victim).len() as usize } else { 0 };
        self.free_units(plane) - withheld
    }

    /// Whether copies have the room that they are promised: the valid pages that are left of a victim in work,
    /// or else a block. No longer promised once erases have failed. For assertions.
    pub(in crate::layers::page) fn keeps_room(&self, plane: PlaneId) -> bool {
        let state = &self.planes[plane.index()];
        let wanted = state.job.map_or(usize::from(self.config.data_pages()), |job| self.valid_pages_of(&job));
        state.retired > 0 || self.room(plane) >= wanted
    }

    /// Pages that the next copies of a plane can take: those of free units, and the rest of the blocks that are
    /// open for them. For assertions.
    fn room(&self, plane: PlaneId) -> usize {
        let (pages, state) = (&self.config.units.pages, &self.planes[plane.index()]);
        let of_handle = |(handles, job): (Handles, Job)| {
            handles.stream_of_copy(self.group_of(PageAddress::new(job.victim, 0), plane))
        };
        let handled = self.handles().zip(state.job).map(of_handle);
        let placed: [WriteStream; STREAMS_MAX as usize] = std::array::from_fn(|nth| WriteStream::placed(nth as u8));
        let streams: &[WriteStream] = match (state.job.is_some_and(|job| job.levels_wear), self.config.hot_cold) {
            (true, _) => &[WriteStream::MOVED],
            (false, HotCold::Mixed) => &[WriteStream::HOST],
            (false, HotCold::Copies) => &[WriteStream::COPIES],
            (false, HotCold::Recency { .. }) => &[WriteStream::COPIES, WriteStream::HOT_COPIES],
            (false, HotCold::Placed { streams }) => &placed[..usize::from(streams)],
            (false, HotCold::Handles(_)) => handled.as_slice(),
        };
        let free = state.job.map_or(self.free_units(plane), |job| self.units_for_copies(plane, &job));
        let open = streams.iter().filter_map(|stream| state.open[stream.index()]);
        free * pages.pages_per_unit() + open.map(|open| open.pages_left(pages)).sum::<usize>()
    }

    /// Valid pages of the units that a job reclaims. For assertions.
    fn valid_pages_of(&self, job: &Job) -> usize {
        let valid = |unit| valid_in(self.maps.valid_bits(job.victim), &self.config.units.pages, unit);
        job.units.iter().map(|unit| usize::from(valid(unit))).sum()
    }

    /// Copies a page of the victim in work to an open block of the same plane.
    #[inline]
    fn copy_page(&mut self, plane: PlaneId, job: &Job, page: u16, plan: &mut Plan) -> Result<(), FtlError> {
        let source = PageAddress::new(job.victim, page);
        let lpn = self.maps.owner(source, &self.pool);
        let stream = self.stream_of_copy(lpn, job, plane)?;
        if let Some(placed) = self.placed_of(source, plane) {
            placed.copied += 1;
        }
        let (target, sequence) = self.next_page(plane, stream, plan)?;
        self.proofs.prove(target.block, plan);
        self.maps.invalidate(source);
        self.place(lpn, target, plane);
        self.note_change(lpn);
        let first = plan.commands.len();
        plan.push(FlashCommand::copy(source, target, lpn, sequence).with_mark(self.config.hot_cold.mark(stream)));
        self.gather(plane, first, plan);
        self.end_page(plane, stream, target.page, plan);
        Ok(())
    }

    /// Erases the empty victims of the planes on the die of `plane`.
    fn erase_empty_victims(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        for plane in self.planes_of(self.config.geometry.die_of(plane)) {
            if let Some(job) = self.planes[plane.index()].job.filter(|job| self.next_to_move(job).is_none()) {
                self.erase_victim(plane, job, plan)?;
            }
        }
        Ok(())
    }

    fn erase_victim(&mut self, plane: PlaneId, job: Job, plan: &mut Plan) -> Result<(), FtlError> {
        let counted = if job.levels_wear { &mut self.counters.moved } else { &mut self.counters.reclaimed };
        counted.merges += 1;
        match &self.config.units.neighbours {
            _ if self.free.is_whole(job.units) => {
                counted.block_erases += self.config.stripes.as_ref().map_or(1, |stripes| u64::from(stripes.members()));
            }
            Neighbours::Leaves(rule) => counted.partial_erases += job.units.partial_blocks(rule.tree).count() as u64,
            Neighbours::Isolated | Neighbours::SharedLines(_) => {
                self.counters.reclaimed_sub_blocks += u64::from(job.units.len());
            }
        }
        if job.levels_wear {
            self.counters.moved_pages += u64::from(job.copied);
        } else {
            let held = job.units.without(self.free.of(job.victim));
            let pages = held.len() as usize * self.config.units.pages.pages_per_unit();
            self.counters.note_victim(job.copied as usize, pages);
        }
        self.erase(job.victim, job.units, plan);
        let enough = self.free_units(plane) > self.stop();
        let state = &mut self.planes[plane.index()];
        state.job = None;
        state.collecting &= !enough;
        if !job.levels_wear && self.config.wear_leveling.asks_policy {
            self.ask_for_swap(plane)?;
        }
        Ok(())
    }
}
