//! Pages that collection moves in runs: the valid pages of a victim, up to the end of the block that they go to.
//!
//! What a page alone decides, such as whether it is hot, is asked page by page (`collect`). Where nothing of that kind is
//! asked, all pages of a victim go to one stream, and no part of the layer but the map hears of each. Then a run is looked
//! up and noted as a whole. Its commands are the same, in the same order.

use pumice_types::{FlashCommand, PageAddress, PlaneId};

use super::collect::MOVES_AHEAD;
use super::maps::PageRun;
use super::plane::Job;
use super::{HotCold, PageConfig, PageFtl};
use crate::error::FtlError;
use crate::plan::Plan;

impl PageConfig {
    /// Whether pages may move in runs: they go where their victim's go, and nobody keeps a list of what moved.
    pub(super) fn moves_in_runs(&self) -> bool {
        let goes_together = match self.hot_cold {
            HotCold::Mixed | HotCold::Copies => true,
            HotCold::Recency { .. } | HotCold::Placed { .. } | HotCold::Handles(_) => false,
        };
        goes_together && self.cached_map.is_none() && self.log.is_none() && self.units.pages.units() == 1
    }
}

impl PageFtl {
    /// Copies valid pages of the victim in work from page `from` on, at most `most` of them, to the open block of the same
    /// plane, as far as that has room.
    pub(super) fn copy_run(
        &mut self,
        plane: PlaneId,
        job: &mut Job,
        [from, most]: [u32; 2],
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let first = self.maps.owner(PageAddress::new(job.victim, from as u16), &self.pool);
        let stream = self.stream_of_copy(first, job, plane)?;
        let (target, sequence) = self.next_page(plane, stream)?;
        self.proofs.prove(target.block, plan);
        let room = u32::from(self.config.data_pages() - target.page);
        let run = PageRun { victim: job.victim, from, target, most: most.min(room) };
        let (moved, next) = self.maps.move_run(&run, MOVES_AHEAD, &self.pool, |source, target, lpn| {
            plan.push(FlashCommand::copy(source, target, lpn, sequence));
        });
        debug_assert!(moved > 0, "the first page of a run is valid");
        (job.next, job.copied) = (next as u16, job.copied + moved);
        let state = &mut self.planes[plane.index()];
        state.now += u64::from(moved);
        if let Some(open) = &mut state.open[stream.index()] {
            open.next += moved - 1;
        }
        self.end_page(plane, stream, target.page + (moved - 1) as u16, plan);
        Ok(())
    }
}
