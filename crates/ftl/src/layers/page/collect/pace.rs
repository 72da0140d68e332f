//! Paced collection: pages are freed as the host writes, the faster the fewer blocks are free.
//!
//! Let a plane have F free units. At or above the stop threshold nothing is collected. Below it, every page that the
//! host writes makes collection free (stop - F) / (stop - start) pages, up to one page at the start threshold. There a
//! write that needs a block waits, as in other modes. A victim of T pages with c valid ones frees T - c pages by c
//! copies, so a page freed is c / (T - c) copies. Victims without a valid page are erased at once.
//!
//! All of it is reckoned in whole numbers: each page that the host writes adds (stop - F) * c to what is owed, and a
//! copy costs (stop - start) * (T - c).
//!
//! Host writes come between the copies of a victim, as in the modes that work in steps, and the argument in `reclaim`
//! holds as for those.

use pumice_types::PlaneId;

use crate::layers::page::PageFtl;
use crate::plan::{FtlError, Plan};

impl PageFtl {
    /// Does what collection owes for a page that the host wrote to `plane`.
    pub(in crate::layers::page) fn pace(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        let mut has_paid = false;
        loop {
            if self.planes[plane.index()].job.is_none() && !self.begin_paced(plane, plan)? {
                return Ok(());
            }
            let Some(job) = self.planes[plane.index()].job else { return Ok(()) };
            if self.next_to_move(&job).is_none() {
                self.step_of_plane(plane, plan)?;
                continue;
            }
            let due = if has_paid { 0 } else { self.copies_due(plane) };
            if due == 0 {
                return Ok(());
            }
            has_paid = true;
            self.work(plane, due, plan)?;
        }
    }

    /// Begins the victim for which `plane` is due; `false` if there is none.
    fn begin_paced(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<bool, FtlError> {
        self.planes[plane.index()].owed = 0;
        if self.free_units(plane) < self.stop() && self.begin_reclaim(plane)? {
            self.note_collecting(plane);
            return Ok(true);
        }
        if self.begin_move(plane) {
            self.finish_job(plane, plan)?;
        }
        Ok(false)
    }

    /// Copies of the victim in work that are due for one more page of the host.
    fn copies_due(&mut self, plane: PlaneId) -> u32 {
        let (free, start, stop) = (self.free_units(plane), self.start(), self.stop());
        let pages_per_unit = self.config.units.pages.pages_per_unit() as u64;
        let state = &mut self.planes[plane.index()];
        let Some(job) = state.job else { return 0 };
        let (below, range) = (stop.saturating_sub(free) as u64, (stop - start) as u64);
        let (copies, pages) = (u64::from(job.copies), u64::from(job.units.len()) * pages_per_unit);
        // Without a range, and for a victim without an invalid page, a copy costs next to nothing.
        let price = (range * pages.saturating_sub(copies)).max(1);
        state.owed += below.min(range.max(1)) * copies;
        let due = state.owed / price;
        state.owed %= price;
        due.min(u64::from(u32::MAX)) as u32
    }
}
