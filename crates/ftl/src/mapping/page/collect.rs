//! Garbage collection of the page-level FTL, one step at a time: a page copied, or the emptied victim
//! erased. The modes differ in who takes the steps and when, not in the steps.
//!
//! A plane's free blocks decide. Room for one victim's copies is always kept: a host block is opened
//! only if [`FLOOR`] blocks stay free, and a victim has fewer valid pages than a block has pages, so
//! emptying it takes at most one free block and gives one back.

use pumice_types::{BlockId, DieId, FlashCommand, PageAddress, PlaneId};

use super::plane::{Job, Stream};
use super::{GcMode, HotCold, PageFtl};
use crate::mapping::FtlError;
use crate::plan::Plan;

/// Free blocks that only collection may open.
const FLOOR: usize = 1;

impl PageFtl {
    /// Sees to it that `stream` has a page in `plane`. Returns whether collection is due behind the
    /// write's own program.
    pub(super) fn make_room(&mut self, plane: PlaneId, stream: Stream, plan: &mut Plan) -> Result<bool, FtlError> {
        let free = self.free_blocks(plane);
        let state = &self.planes[plane.index()];
        if state.open[stream as usize].is_some() {
            // Where all pages share a block, its room belongs to a victim in work that cannot open
            // another one.
            if self.config.hot_cold == HotCold::Mixed && state.job.is_some() && free == 0 {
                self.collect_urgently(plane, plan)?;
            }
            return Ok(false);
        }
        let low = free <= self.config.gc_start_blocks as usize;
        match self.config.gc_mode {
            GcMode::Foreground if low && free > FLOOR => return Ok(true),
            GcMode::Blocking | GcMode::Foreground if low => self.collect(plane, plan)?,
            GcMode::Background | GcMode::Preemptible if free <= FLOOR => self.collect_urgently(plane, plan)?,
            _ => {}
        }
        Ok(false)
    }

    /// Reclaims block after block of a plane that ran low until it has enough.
    pub(super) fn collect(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        self.counters.trigger_free_blocks += 1;
        while self.free_blocks(plane) <= self.config.gc_stop_blocks as usize && self.begin_reclaim(plane) {
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
        while self.free_blocks(plane) <= FLOOR && self.begin_reclaim(plane) {
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
    pub fn internal_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        let in_work = self.planes_of(die).find(|plane| self.planes[plane.index()].job.is_some());
        let Some(plane) = in_work.or_else(|| self.planes_of(die).find(|&plane| self.is_due(plane))) else {
            return Ok(());
        };
        if in_work.is_none() {
            if self.is_low(plane) && self.begin_reclaim(plane) {
                self.note_collecting(plane);
            } else {
                self.begin_move(plane);
            }
        }
        self.step(plane, plan)
    }

    /// Whether [`PageFtl::internal_step`] would append something: one look at each plane of the die.
    #[inline]
    pub fn wants_step(&self, die: DieId) -> bool {
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
        let (state, free) = (&self.planes[plane.index()], self.free_blocks(plane));
        match self.config.gc_mode {
            GcMode::Blocking | GcMode::Foreground => false,
            GcMode::Background => free <= self.config.gc_stop_blocks as usize,
            GcMode::Preemptible => state.collecting || free <= self.config.gc_start_blocks as usize,
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

    /// Takes the next victim out of the lists; `false` if no closed block has an invalid page.
    fn begin_reclaim(&mut self, plane: PlaneId) -> bool {
        let state = &mut self.planes[plane.index()];
        let Some(victim) = state.victims.choose(state.now) else { return false };
        self.begin(plane, self.config.geometry.block(plane, victim), false);
        true
    }

    /// Takes the block that static wear levelling moves out of the lists; `false` if there is none.
    fn begin_move(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.overdue(plane) else { return false };
        self.begin(plane, victim, true);
        true
    }

    fn begin(&mut self, plane: PlaneId, victim: BlockId, levels_wear: bool) {
        let state = &mut self.planes[plane.index()];
        state.victims.remove(self.config.geometry.index_in_plane(victim));
        state.job = Some(Job { victim, next: 0, copied: 0, levels_wear });
        if let Some(wear) = &mut self.wear {
            wear.open(victim);
        }
    }

    fn finish_job(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        while self.planes[plane.index()].job.is_some() {
            self.step(plane, plan)?;
        }
        Ok(())
    }

    /// Moves the next valid page of the victim in work, or erases the victim if it has none left.
    fn step(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(job) = self.planes[plane.index()].job else { return Ok(()) };
        let Some(page) = self.maps.next_valid(job.victim, job.next) else {
            self.erase_victim(plane, job, plan);
            return Ok(());
        };
        let stream = match self.config.hot_cold {
            _ if job.levels_wear => Stream::Moved,
            HotCold::Mixed => Stream::Host,
            HotCold::Copies | HotCold::Recency { .. } => Stream::Copies,
        };
        self.copy_page(stream, PageAddress::new(job.victim, page), plan)?;
        self.planes[plane.index()].job = Some(Job { next: page + 1, copied: job.copied + 1, ..job });
        Ok(())
    }

    /// Copies a page to `stream`'s open block in its plane.
    fn copy_page(&mut self, stream: Stream, source: PageAddress, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.config.geometry.plane_of(source.block);
        let lpn = self.maps.owner(source, &self.pool);
        let (target, sequence) = self.next_page(plane, stream)?;
        self.maps.invalidate(source);
        self.place(lpn, target, plane);
        self.note_change(lpn);
        self.counters.copied_pages += 1;
        plan.push(FlashCommand::copy(source, target, lpn, sequence));
        self.close_if_full(plane, stream);
        Ok(())
    }

    fn erase_victim(&mut self, plane: PlaneId, job: Job, plan: &mut Plan) {
        let counted = if job.levels_wear { &mut self.counters.moved } else { &mut self.counters.reclaimed };
        counted.merges += 1;
        counted.block_erases += 1;
        if job.levels_wear {
            self.counters.moved_pages += u64::from(job.copied);
        } else {
            self.counters.note_victim(job.copied as usize, self.maps.pages as usize);
        }
        self.erase(plane, job.victim, plan);
        let enough = self.free_blocks(plane) > self.config.gc_stop_blocks as usize;
        let state = &mut self.planes[plane.index()];
        state.job = None;
        state.collecting &= !enough;
    }
}
