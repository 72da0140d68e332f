//! Placement by the host's streams: reclaim unit handles, as flexible data placement has them.
//!
//! Every handle has open blocks of its own, one a plane, so the data of two streams never shares a block when it is
//! written. What collection does with it is the isolation. A reclaim unit is the stripe of blocks that a handle fills
//! over the planes; each plane reclaims its own block of it.

use pumice_types::{PageAddress, PlaneId, choice};
use serde::{Deserialize, Serialize};

use crate::blocks::reclaim_units::UnitId;
use crate::layers::page::collect::plane::{Plane, WriteStream};
use crate::layers::page::{HotCold, PageFtl};
use crate::plan::PlacedCount;

choice! {
    /// How long the data of two handles stays apart.
    pub enum Isolation {
        /// Until it is collected.
        Initial = "initial",
        /// Always.
        Persistent = "persistent",
    }
}

/// Where collection copies pages to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectedPlace {
    /// Pages of all handles to one open block.
    Shared,
    /// Pages of each handle to an open block of its own.
    Apart,
    /// Pages of each handle to the open block that the host's writes go to.
    WithHost,
}

/// Reclaim unit handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handles {
    /// How many there are, at most [`crate::plan::STREAMS_MAX`].
    pub count: u8,
    /// What collection does with their pages.
    pub collected: CollectedPlace,
}

impl Handles {
    /// Blocks of a plane that they keep open.
    pub(in crate::layers::page) fn open_blocks(self) -> u32 {
        let count = u32::from(self.count);
        match self.collected {
            CollectedPlace::Shared => count + 1,
            CollectedPlace::Apart => 2 * count,
            CollectedPlace::WithHost => count,
        }
    }

    /// Where the host's pages of a stream go. A stream without a handle gets the first one, as the standard has it.
    #[inline]
    pub(in crate::layers::page) fn stream_of_host(self, stream: u8) -> WriteStream {
        WriteStream::placed(if stream < self.count { stream } else { 0 })
    }

    /// Where collection copies a page of a group to.
    #[inline]
    pub(in crate::layers::page) fn stream_of_copy(self, group: u8) -> WriteStream {
        // Persistently isolated, no block holds pages of several handles.
        debug_assert!(group < self.count || self.collected == CollectedPlace::Shared);
        match self.collected {
            CollectedPlace::Shared => WriteStream::COPIES,
            CollectedPlace::Apart => WriteStream::copied(group),
            CollectedPlace::WithHost => WriteStream::placed(group),
        }
    }
}

impl PageFtl {
    /// The handles, if there are any.
    #[inline]
    pub(in crate::layers::page) fn handles(&self) -> Option<Handles> {
        match self.config.hot_cold {
            HotCold::Handles(handles) => Some(handles),
            HotCold::Mixed | HotCold::Copies | HotCold::Recency { .. } | HotCold::Placed { .. } => None,
        }
    }

    /// Counts a page that the host writes to a stream.
    #[inline]
    pub(in crate::layers::page) fn count_written(&mut self, stream: WriteStream) {
        if let HotCold::Handles(_) = self.config.hot_cold {
            self.counters.placed[usize::from(stream.group())].written += 1;
        }
    }

    /// The counts of the group of a page that is copied, if pages are counted by handles.
    #[inline]
    pub(in crate::layers::page) fn placed_of(
        &mut self,
        source: PageAddress,
        plane: PlaneId,
    ) -> Option<&mut PlacedCount> {
        self.handles()?;
        let group = self.group_of(source, plane);
        self.counters.placed.get_mut(usize::from(group))
    }

    /// The group of a page in a closed block, or in one that is being reclaimed.
    #[inline]
    pub(in crate::layers::page) fn group_of(&self, page: PageAddress, plane: PlaneId) -> u8 {
        let block = self.config.geometry.index_in_plane(page.block);
        let unit = self.config.units.pages.unit_of(page.page);
        self.planes[plane.index()].victims.stream_of(UnitId { block, unit })
    }

    /// Pages that the open blocks of a handle still take; a whole block in planes where none is open, though a block with
    /// parts that hold data takes fewer.
    pub(in crate::layers::page) fn open_pages(&self, stream: u8) -> u64 {
        let Some(handles) = self.handles().filter(|handles| stream < handles.count) else { return 0 };
        let open = handles.stream_of_host(stream).index();
        let pages = &self.config.units.pages;
        let left = |plane: &Plane| {
            plane.open[open].map_or(usize::from(pages.pages_per_block()), |open| open.pages_left(pages)) as u64
        };
        self.planes.iter().map(left).sum()
    }
}
