//! Garbage collection of the page-level FTL, one step at a time: a page copied, or the emptied victim
//! erased. The modes differ in who takes the steps and when, not in the steps.
//!
//! A plane's free erase units decide. Room for one victim's copies is always kept: a host block is
//! opened only if as many units as a block has stay free ([`PageFtl::floor`]), and a victim has at
//! most as many valid pages as a block has pages, so emptying it takes at most what it gives back.

use pumice_types::{BlockId, DieId, FlashCommand, Lpn, PageAddress, PlaneId, UnitSet};

use super::plane::{Job, WriteStream};
use super::{EraseUnits, GcMode, GcPlanes, HotCold, PageFtl};
use crate::error::FtlError;
use crate::plan::Plan;
use crate::reclaim_units::{JoinRule, UnitChoice};

/// How many pages before it is moved the map entry of a page is asked for: some 100 ns pass for each,
/// and memory answers within a microsecond even when it is busy.
const MOVES_AHEAD: u32 = 12;

impl PageFtl {
    /// Sees to it that `stream` has a page in `plane`. Returns whether collection is due behind the
    /// write's own program.
    pub(super) fn make_room(&mut self, plane: PlaneId, stream: WriteStream, plan: &mut Plan) -> Result<bool, FtlError> {
        let state = &self.planes[plane.index()];
        if state.open[stream as usize].is_some() {
            // Where all pages share a block, its room belongs to a victim in work that cannot open
            // another one.
            let shared = state.job.is_some() && self.config.hot_cold == HotCold::Mixed;
            if shared && self.free_units(plane) == 0 {
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
            _ => {}
        }
        Ok(false)
    }

    /// Free units of a plane at which only collection may still open a block: as many units as a block
    /// has stay free when a host block is opened from above.
    #[inline]
    fn floor(&self) -> usize {
        2 * self.config.units.pages.units() - 1
    }

    /// Free units of a plane at or under which collection starts.
    #[inline]
    fn start(&self) -> usize {
        self.floor().max(self.config.gc_start_blocks as usize * self.config.units.pages.units())
    }

    /// Free units of a plane up to which collection goes on.
    #[inline]
    fn stop(&self) -> usize {
        self.floor().max(self.config.gc_stop_blocks as usize * self.config.units.pages.units())
    }

    /// Reclaims block after block of a plane that ran low until it has enough, and of the planes that collect with
    /// it. `taken`: units of `plane` that the write which met the threshold has taken since; they count as free, so
    /// that collection behind a write does as much as collection before it.
    pub(super) fn collect(&mut self, plane: PlaneId, taken: usize, plan: &mut Plan) -> Result<(), FtlError> {
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
        while self.free_units(plane) + taken <= self.stop() && self.begin_reclaim(plane) {
            self.finish_job(plane, plan)?;
        }
        if self.begin_move(plane) {
            self.finish_job(plane, plan)?;
        }
        Ok(())
    }

    /// Wins the block that a write cannot do without, in a mode that otherwise collects in steps.
    fn collect_urgently(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        self.counters.urgent += 1;
        self.finish_job(plane, plan)?;
        while self.free_units(plane) <= self.floor() && self.begin_reclaim(plane) {
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
    pub(super) fn collect_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        if self.config.erases_together {
            return self.step_of_planes(die, plan);
        }
        let in_work = self.planes_of(die).find(|plane| self.planes[plane.index()].job.is_some());
        let Some(plane) = in_work.or_else(|| self.planes_of(die).find(|&plane| self.is_due(plane))) else {
            return Ok(());
        };
        if in_work.is_none() {
            self.begin_due(plane);
        }
        self.step(plane, plan)
    }

    /// The same where the planes of a die collect together: all that are due begin, and pages are copied
    /// until every victim is empty, so that one command can erase them.
    fn step_of_planes(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        for plane in self.planes_of(die) {
            if self.planes[plane.index()].job.is_none() && self.is_due(plane) {
                self.begin_due(plane);
            }
        }
        let copies = |plane: &PlaneId| {
            let job = self.planes[plane.index()].job;
            job.is_some_and(|job| self.next_to_move(&job).is_some())
        };
        let in_work = |plane: &PlaneId| self.planes[plane.index()].job.is_some();
        match self.planes_of(die).find(copies).or_else(|| self.planes_of(die).find(in_work)) {
            Some(plane) => self.step(plane, plan),
            None => Ok(()),
        }
    }

    /// Begins the victim for which `plane` is due.
    fn begin_due(&mut self, plane: PlaneId) {
        if self.is_low(plane) && self.begin_reclaim(plane) {
            self.note_collecting(plane);
        } else {
            self.begin_move(plane);
        }
    }

    /// Whether [`PageFtl::internal_step`] would append something: one look at each plane of the die.
    #[inline]
    pub(super) fn has_step(&self, die: DieId) -> bool {
        self.planes_of(die).any(|plane| self.planes[plane.index()].job.is_some() || self.is_due(plane))
    }

    fn planes_of(&self, die: DieId) -> impl Iterator<Item = PlaneId> + use<> {
        let planes = self.config.geometry.planes_per_die;
        (die.0 * planes..(die.0 + 1) * planes).map(PlaneId)
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
            GcMode::Blocking | GcMode::Foreground => false,
            GcMode::Background => free <= self.stop(),
            GcMode::Preemptible => state.collecting || free <= self.start(),
        }
    }

    /// The block whose data static wear levelling should move now.
    #[inline]
    fn overdue(&self, plane: PlaneId) -> Option<BlockId> {
        self.wear.as_ref()?.overdue(plane)
    }

    /// Notes that a plane collects in steps, from now until it is above the stop threshold.
    fn note_collecting(&mut self, plane: PlaneId) {
        let collecting = &mut self.planes[plane.index()].collecting;
        if !std::mem::replace(collecting, true) {
            self.counters.trigger_free_blocks += 1;
        }
    }

    /// Takes the next victim out of the lists; `false` if no closed unit has an invalid page.
    fn begin_reclaim(&mut self, plane: PlaneId) -> bool {
        let Some((victim, UnitChoice { units, .. })) = self.take_victim(plane) else { return false };
        let victim = self.config.geometry.block(plane, victim);
        self.begin(Job { victim, units, next: 0, copied: 0, levels_wear: false });
        true
    }

    /// Chooses what is reclaimed next.
    fn take_victim(&mut self, plane: PlaneId) -> Option<(u32, UnitChoice)> {
        if self.config.units.leaves.is_some() {
            return self.take_leaves(plane);
        }
        let EraseUnits { pages, copy, erase, .. } = &self.config.units;
        let pages_per_unit = pages.pages_per_unit() as u16;
        let room = (self.free_units(plane) * pages.pages_per_unit()) as u32;
        let rule = JoinRule { pages_per_unit, copy: *copy, erase: *erase, room };
        let state = &mut self.planes[plane.index()];
        state.victims.take(state.now, &rule)
    }

    /// Takes the block that static wear levelling moves out of the lists; `false` if there is none.
    fn begin_move(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.overdue(plane) else { return false };
        let units = UnitSet::one(0); // Wear is levelled by whole blocks.
        self.planes[plane.index()].victims.remove(self.config.geometry.index_in_plane(victim), units);
        self.begin(Job { victim, units, next: 0, copied: 0, levels_wear: true });
        true
    }

    fn begin(&mut self, job: Job) {
        self.planes[self.config.geometry.plane_of(job.victim).index()].job = Some(job);
        if let Some(wear) = &mut self.wear {
            wear.open(job.victim);
        }
    }

    /// The next valid page of the units in work.
    #[inline]
    fn next_to_move(&self, job: &Job) -> Option<u16> {
        let mut from = job.next;
        loop {
            let page = self.maps.next_valid(job.victim, from)?;
            if job.units.contains(self.config.units.pages.unit_of(page)) {
                return Some(page);
            }
            from = page + 1;
        }
    }

    fn finish_job(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        while self.planes[plane.index()].job.is_some() {
            self.step(plane, plan)?;
        }
        Ok(())
    }

    /// Moves the next valid page of the victim in work, or erases the victim if it has none left; with it
    /// those of the die's other planes that have none left either, if planes erase together.
    fn step(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(job) = self.planes[plane.index()].job else { return Ok(()) };
        let Some(page) = self.next_to_move(&job) else {
            self.erase_victim(plane, job, plan);
            if self.config.erases_together {
                self.erase_empty_victims(plane, plan);
            }
            return Ok(());
        };
        self.maps.expect_move(job.victim, u32::from(page) + MOVES_AHEAD);
        self.copy_page(&job, page, plan)?;
        self.planes[plane.index()].job = Some(Job { next: page + 1, copied: job.copied + 1, ..job });
        Ok(())
    }

    /// Where a copy of `lpn` goes.
    #[inline]
    fn stream_of_copy(&self, lpn: Lpn, job: &Job, plane: PlaneId) -> WriteStream {
        let (own, other) = match (&self.recent, self.config.hot_cold) {
            _ if job.levels_wear => return WriteStream::Moved,
            (_, HotCold::Mixed) => return WriteStream::Host,
            (Some(recent), _) if recent.is_hot(lpn) => (WriteStream::HotCopies, WriteStream::Copies),
            (Some(_), _) => (WriteStream::Copies, WriteStream::HotCopies),
            (None, _) => return WriteStream::Copies,
        };
        // The room that is kept for a victim's copies may lie in the other one's block.
        let has_room = self.planes[plane.index()].open[own as usize].is_some() || self.free_units(plane) > 0;
        if has_room { own } else { other }
    }

    /// Copies a page of the victim in work to an open block of its plane.
    fn copy_page(&mut self, job: &Job, page: u16, plan: &mut Plan) -> Result<(), FtlError> {
        let source = PageAddress::new(job.victim, page);
        let plane = self.config.geometry.plane_of(source.block);
        let lpn = self.maps.owner(source, &self.pool);
        let stream = self.stream_of_copy(lpn, job, plane);
        let (target, sequence) = self.next_page(plane, stream)?;
        self.maps.invalidate(source);
        self.place(lpn, target, plane);
        self.note_change(lpn);
        self.counters.copied_pages += 1;
        plan.push(FlashCommand::copy(source, target, lpn, sequence));
        self.close_if_full(plane, stream);
        Ok(())
    }

    /// Erases the empty victims of the planes on the die of `plane`.
    fn erase_empty_victims(&mut self, plane: PlaneId, plan: &mut Plan) {
        for plane in self.planes_of(self.config.geometry.die_of(plane)) {
            if let Some(job) = self.planes[plane.index()].job.filter(|job| self.next_to_move(job).is_none()) {
                self.erase_victim(plane, job, plan);
            }
        }
    }

    fn erase_victim(&mut self, plane: PlaneId, job: Job, plan: &mut Plan) {
        let counted = if job.levels_wear { &mut self.counters.moved } else { &mut self.counters.reclaimed };
        counted.merges += 1;
        match &self.config.units.leaves {
            _ if self.free.is_whole(job.units) => counted.block_erases += 1,
            Some(rule) => counted.partial_erases += job.units.partial_blocks(rule.tree).count() as u64,
            None => self.counters.reclaimed_sub_blocks += u64::from(job.units.len()),
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
    }
}
