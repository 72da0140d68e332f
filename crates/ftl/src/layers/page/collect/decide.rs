//! Where a user's own policy decides in place of the built-in ones: victims, streams, and moves that level wear.
//!
//! Why collection still ends, and never runs out of room: a victim has at most a block of valid pages, whatever the
//! policy names, and copies go to any open block of the policy's streams where theirs cannot be opened, so the
//! argument in `reclaim` holds with that many more open blocks. A victim without an invalid page wins nothing;
//! a policy that names one after the other, more often than a plane has blocks, is an error.

use pumice_types::{BlockId, Lpn, PlaneId, UnitSet};

use super::plane::{Job, WriteStream};
use crate::blocks::reclaim_units::{UnitChoice, UnitId};
use crate::layers::page::{HotCold, PageFtl};
use crate::plan::FtlError;
use crate::seam::policy::{AskingPlane, PageToPlace};

impl PageFtl {
    /// The stream of a page that the host writes; `named`: the one that the host names.
    #[inline]
    pub(in crate::layers::page) fn stream_of_write(
        &mut self,
        lpn: Lpn,
        plane: PlaneId,
        named: u8,
    ) -> Result<WriteStream, FtlError> {
        match self.config.hot_cold {
            HotCold::Placed { .. } => return self.named(lpn, plane, None),
            HotCold::Handles(handles) => return Ok(handles.stream_of_host(named)),
            HotCold::Mixed | HotCold::Copies | HotCold::Recency { .. } => {}
        }
        let hot = self.recent.as_mut().is_some_and(|recent| recent.note(lpn));
        Ok(if hot { WriteStream::HOT } else { WriteStream::HOST })
    }

    /// The stream that the policy names for a page.
    #[inline]
    pub(super) fn named(&self, lpn: Lpn, plane: PlaneId, copied_from: Option<u8>) -> Result<WriteStream, FtlError> {
        let Some(decider) = &self.config.decider else { return Ok(WriteStream::placed(0)) };
        let now = self.planes[plane.index()].now;
        decider.placement(&PageToPlace { lpn, plane, now, copied_from }).map(WriteStream::placed)
    }

    /// The stream of a page that collection copies: the one that the policy names if it has room, else the next one
    /// that has.
    pub(super) fn placed_stream_of_copy(
        &mut self,
        lpn: Lpn,
        job: &Job,
        plane: PlaneId,
        streams: u8,
    ) -> Result<WriteStream, FtlError> {
        let index = self.config.geometry.index_in_plane(job.victim);
        let from = self.planes[plane.index()].victims.blocks().stream_of(index);
        let named = self.named(lpn, plane, Some(from))?;
        self.stream_with_room(named, job, plane, streams)
    }

    /// The stream that the policy has named for a copy if it has room, else the next one that has.
    pub(super) fn stream_with_room(
        &self,
        named: WriteStream,
        job: &Job,
        plane: PlaneId,
        streams: u8,
    ) -> Result<WriteStream, FtlError> {
        let open = &self.planes[plane.index()].open;
        let is_open = |stream: &WriteStream| open[stream.index()].is_some();
        if is_open(&named) || self.units_for_copies(plane, job) > 0 {
            return Ok(named);
        }
        let mut others = (1..streams).map(|step| WriteStream::placed((named.number() + step) % streams));
        others.find(is_open).ok_or_else(|| self.no_free_block(plane))
    }

    /// Whether the policy names victims.
    #[inline]
    pub(super) fn names_victims(&self) -> bool {
        self.config.decider.as_ref().is_some_and(|decider| decider.decides().victim)
    }

    /// Takes the victim that the policy names out of the lists; none if no closed block has an invalid page.
    pub(super) fn take_named_victim(&mut self, plane: PlaneId) -> Result<Option<(u32, UnitChoice)>, FtlError> {
        let PageFtl { config, planes, .. } = self;
        let (state, geometry) = (&mut planes[plane.index()], &config.geometry);
        let Some(decider) = config.decider.as_ref().filter(|_| state.victims.has_invalid()) else { return Ok(None) };
        let victim = decider.victim(&mut AskingPlane { plane, now: state.now, blocks: state.victims.blocks() })?;
        let copies = state.victims.valid(UnitId { block: victim, unit: 0 }).unwrap_or_default();
        state.fruitless = if copies < geometry.pages_per_block { 0 } else { state.fruitless + 1 };
        if state.fruitless > geometry.blocks_per_plane {
            return Err(decider.wins_nothing(geometry.block(plane, victim), state.fruitless));
        }
        let units = UnitSet::one(0);
        state.victims.remove(victim, units);
        Ok(Some((victim, UnitChoice { units, copies: u32::from(copies) })))
    }

    /// Asks the policy which block's data should be moved next.
    pub(super) fn ask_for_swap(&mut self, plane: PlaneId) -> Result<(), FtlError> {
        let state = &mut self.planes[plane.index()];
        if let Some(decider) = &self.config.decider {
            let blocks = state.victims.blocks();
            state.swap = decider.wear_swap(&mut AskingPlane { plane, now: state.now, blocks })?;
        }
        Ok(())
    }

    /// The block whose data the policy wants moved, if it is still closed.
    #[inline]
    pub(super) fn wanted_swap(&self, plane: PlaneId) -> Option<BlockId> {
        let state = &self.planes[plane.index()];
        let block = state.swap?;
        let is_closed = state.victims.valid(UnitId { block, unit: 0 }).is_some();
        is_closed.then(|| self.config.geometry.block(plane, block))
    }
}
