//! Garbage collection of the page-level FTL, one step at a time: a page copied, or the emptied victim
//! erased. The modes differ in who takes the steps and when, not in the steps.
//!
//! A plane's free blocks decide. Room for one victim's copies is always kept: a host block is opened
//! only if [`FLOOR`] blocks stay free, and a victim has fewer valid pages than a block has pages, so
//! emptying it takes at most one free block and gives one back.

use pumice_types::{DieId, FlashCommand, PageAddress, PlaneId};

use super::plane::{Job, Stream};
use super::{GcMode, PageFtl};
use crate::mapping::FtlError;
use crate::plan::Plan;

/// Free blocks that only collection may open.
const FLOOR: usize = 1;

impl PageFtl {
    /// Sees to it that `stream` has a page in `plane`. Returns whether collection is due behind the
    /// write's own program.
    pub(super) fn make_room(&mut self, plane: PlaneId, stream: Stream, plan: &mut Plan) -> Result<bool, FtlError> {
        if self.planes[plane.index()].open[stream as usize].is_some() {
            return Ok(false);
        }
        let free = self.free_blocks(plane);
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
        if in_work.is_none() && self.begin_reclaim(plane) {
            self.note_collecting(plane);
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
        let (state, free) = (&self.planes[plane.index()], self.free_blocks(plane));
        let low = match self.config.gc_mode {
            GcMode::Blocking | GcMode::Foreground => false,
            GcMode::Background => free <= self.config.gc_stop_blocks as usize,
            GcMode::Preemptible => state.collecting || free <= self.config.gc_start_blocks as usize,
        };
        low && state.victims.has_invalid()
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
        state.victims.remove(victim);
        let victim = self.config.geometry.block(plane, victim);
        state.job = Some(Job { victim, next: 0, copied: 0 });
        true
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
        self.copy_page(plane, PageAddress::new(job.victim, page), plan)?;
        self.planes[plane.index()].job = Some(Job { next: page + 1, copied: job.copied + 1, ..job });
        Ok(())
    }

    fn copy_page(&mut self, plane: PlaneId, source: PageAddress, plan: &mut Plan) -> Result<(), FtlError> {
        let lpn = self.maps.owner(source, &self.pool);
        let (target, sequence) = self.next_page(plane, Stream::Copies)?;
        self.maps.invalidate(source);
        self.place(lpn, target, plane);
        self.counters.copied_pages += 1;
        plan.push(FlashCommand::copy(source, target, lpn, sequence));
        self.close_if_full(plane, Stream::Copies);
        Ok(())
    }

    fn erase_victim(&mut self, plane: PlaneId, job: Job, plan: &mut Plan) {
        self.counters.reclaimed.merges += 1;
        self.counters.reclaimed.block_erases += 1;
        self.counters.note_victim(job.copied as usize, self.maps.pages as usize);
        plan.push(FlashCommand::erase(job.victim));
        self.pool.give_back(plane, job.victim);
        let enough = self.free_blocks(plane) > self.config.gc_stop_blocks as usize;
        let state = &mut self.planes[plane.index()];
        state.job = None;
        state.collecting &= !enough;
    }
}
