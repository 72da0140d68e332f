//! Pages that collection moves in runs: the valid pages of a victim, up to the end of the block that they go to.
//!
//! What a page alone decides, such as whether it is hot, is asked page by page (`reclaim`). Where nothing of that kind is
//! asked, all pages of a victim go to one stream, and no part of the layer but the map hears of each. Then a run is looked
//! up and noted as a whole. A user's own policy is asked for the stream of each page; a run ends where it names another.
//! The commands of runs are the same as those of single pages, in the same order, and so are the questions.

use pumice_types::{FlashCommand, Lpn, PageAddress, PlaneId, SpareMark};

use super::plane::{Job, WriteStream};
use crate::layers::page::map::page_maps::PageRun;
use crate::layers::page::{HotCold, PageConfig, PageFtl};
use crate::plan::{FtlError, Plan};
use crate::seam::policy::PageToPlace;

/// Pages of a victim, valid or not, by which the prefetch of map entries is ahead of the copies: some ten nanoseconds
/// pass for each copy, and memory answers within a microsecond even when it is busy.
pub(super) const MOVES_AHEAD: u32 = 32;

/// The next pages that may move.
pub(super) struct NextPages {
    /// The first of them, which is valid.
    pub(in crate::layers::page) from: u16,
    /// How many move at most.
    pub(in crate::layers::page) most: u32,
    /// The stream that the policy has named for it, if it was asked already.
    pub(super) named: Option<WriteStream>,
}

/// Where the first page of a run goes.
struct RunStart {
    stream: WriteStream,
    /// The stream of the victim, by which the policy is asked for each further page. `None`: all pages go along.
    asks_from: Option<u8>,
    /// The policy's stream had no room, so that the next page may go elsewhere again.
    goes_alone: bool,
}

/// What the copies of a run have in common.
#[derive(Clone, Copy)]
struct Copies {
    sequence: u32,
    mark: SpareMark,
}

impl Copies {
    #[inline]
    fn of(self, source: PageAddress, target: PageAddress, lpn: Lpn) -> FlashCommand {
        FlashCommand::copy(source, target, lpn, self.sequence).with_mark(self.mark)
    }
}

impl PageConfig {
    /// Whether pages may move in runs: they go where their victim's go or where a policy wants, and nobody keeps a list of
    /// what moved.
    pub(super) fn moves_in_runs(&self) -> bool {
        let goes_together = match self.hot_cold {
            HotCold::Mixed | HotCold::Copies | HotCold::Placed { .. } | HotCold::Handles(_) => true,
            HotCold::Recency { .. } => false,
        };
        goes_together && self.cached_map.is_none() && self.log.is_none() && self.units.pages.units() == 1
    }
}

impl PageFtl {
    /// Copies valid pages of the victim in work to the open block of the same plane, as far as that has room and the
    /// pages go there. Returns the stream of the page behind them, if the policy has named one.
    pub(super) fn copy_run(
        &mut self,
        plane: PlaneId,
        job: &mut Job,
        next: &NextPages,
        plan: &mut Plan,
    ) -> Result<Option<WriteStream>, FtlError> {
        let start = self.start_of_run(plane, job, next)?;
        let stream = start.stream;
        let (target, sequence) = self.next_page(plane, stream, plan)?;
        self.proofs.prove(target.block, plan);
        let room = if start.goes_alone { 1 } else { u32::from(self.config.data_pages() - target.page) };
        let most = next.most.min(room);
        let run = PageRun { victim: job.victim, from: next.from.into(), target, most, ahead: MOVES_AHEAD };
        let copies = Copies { sequence, mark: self.config.hot_cold.mark(stream) };
        let mut other = None;
        let (moved, behind) = match start.asks_from {
            Some(from) => {
                let asked = PageToPlace { lpn: Lpn(0), plane, now: 0, copied_from: Some(from) };
                let first = plan.commands.len();
                let moved = self.move_as_named(&run, copies, (stream, asked, &mut other), plan);
                self.gather(plane, first, plan);
                moved
            }
            None if self.gathering.is_some() => self.move_units(plane, &run, copies, plan),
            None => self.move_together(&run, copies, plan),
        };
        debug_assert!(moved > 0, "the first page of a run is valid");
        self.end_run(plane, job, (stream, target, moved), plan);
        (job.next, job.copied) = (behind as u16, job.copied + moved);
        Ok(other.transpose()?.map(WriteStream::placed))
    }

    /// Moves a run whose pages all go along. A function of its own, so that the loop has the registers for itself.
    #[inline(never)]
    fn move_together(&mut self, run: &PageRun, copies: Copies, plan: &mut Plan) -> (u32, u32) {
        let moved = |source, target, lpn| plan.push(copies.of(source, target, lpn));
        self.maps.move_run(run, &self.pool, |_| true, moved)
    }

    /// As `move_together`, of mapping units: each goes into its page at once, as `gather` would put it there.
    #[inline(never)]
    fn move_units(&mut self, plane: PlaneId, run: &PageRun, copies: Copies, plan: &mut Plan) -> (u32, u32) {
        let PageFtl { maps, pool, gathering: Some(gathering), .. } = self else { return (0, run.from) };
        let (completes, mut programmed) = (plan.completes_at_end(), None);
        let moved = |source, target, lpn| {
            programmed = gathering.add_copy(plane, &copies.of(source, target, lpn), plan).or(programmed);
        };
        let (moved, behind) = maps.move_run(run, pool, |_| true, moved);
        // An access that ends with the last command waits for that unit's program.
        if completes && moved == 1 {
            plan.complete_at_or_here(programmed);
        }
        (moved, behind)
    }

    /// Moves pages up to the first for which the policy names another stream than the first of the run has, and puts what
    /// it has named into `other`. `asked`: what it is asked, but for page and time.
    #[inline(never)]
    fn move_as_named(
        &mut self,
        run: &PageRun,
        copies: Copies,
        (stream, mut asked, other): (WriteStream, PageToPlace, &mut Option<Result<u8, FtlError>>),
        plan: &mut Plan,
    ) -> (u32, u32) {
        let PageFtl { maps, pool, config, planes, .. } = self;
        let Some(decider) = &config.decider else { return (0, run.from) };
        let (mut placing, nth) = (decider.placing(), stream.number());
        asked.now = planes[asked.plane.index()].now;
        let goes_along = |lpn| {
            (asked.lpn, asked.now) = (lpn, asked.now + 1);
            let Some(answer) = placing.other_than(nth, &asked) else { return true };
            *other = Some(answer);
            false
        };
        maps.move_run(run, pool, goes_along, |source, target, lpn| plan.push(copies.of(source, target, lpn)))
    }

    /// Where the first page of a run goes.
    fn start_of_run(&mut self, plane: PlaneId, job: &Job, next: &NextPages) -> Result<RunStart, FtlError> {
        let source = PageAddress::new(job.victim, next.from);
        let lpn = self.maps.owner(source, &self.pool);
        match self.config.hot_cold {
            HotCold::Placed { streams } if !job.levels_wear => {
                let from = self.group_of(source, plane);
                let named = next.named.map_or_else(|| self.named(lpn, plane, Some(from)), Ok)?;
                let stream = self.stream_with_room(named, job, plane, streams)?;
                Ok(RunStart { stream, asks_from: Some(from), goes_alone: stream != named })
            }
            HotCold::Placed { .. }
            | HotCold::Mixed
            | HotCold::Copies
            | HotCold::Recency { .. }
            | HotCold::Handles(_) => {
                let stream = self.stream_of_copy(lpn, job, plane)?;
                Ok(RunStart { stream, asks_from: None, goes_alone: false })
            }
        }
    }

    /// Notes that so many pages have moved to a stream, from this target on.
    fn end_run(
        &mut self,
        plane: PlaneId,
        job: &Job,
        (stream, target, moved): (WriteStream, PageAddress, u32),
        plan: &mut Plan,
    ) {
        if let Some(placed) = self.placed_of(PageAddress::new(job.victim, 0), plane) {
            placed.copied += u64::from(moved);
        }
        let state = &mut self.planes[plane.index()];
        state.now += u64::from(moved);
        if let Some(open) = &mut state.open[stream.index()] {
            open.next += moved - 1;
        }
        self.end_page(plane, stream, target.page + (moved - 1) as u16, plan);
    }
}
