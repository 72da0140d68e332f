//! Settings of the page-level FTL.

use pumice_types::{Geometry, Lpn, PlaneId, SpareMark, choice};
use serde::{Deserialize, Serialize};

use crate::blocks::reclaim_units::UnitVictims;
use crate::blocks::victims::VictimPolicy;
use crate::blocks::wear::WearLeveling;
use crate::layers::page::collect::plane::WriteStream;
use crate::layers::page::collect::stripe::Stripes;
use crate::layers::page::collect::units::EraseUnits;
use crate::layers::page::map::cached_map::CachedMap;
use crate::layers::page::map::map_log::LogShape;
use crate::layers::page::map::trim_map::TrimShape;
use crate::layers::page::streams::handles::{CollectedPlace, Handles};
use crate::seam::policy::Decider;

/// Which pages share an open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HotCold {
    /// All pages share it: what the host writes and what collection copies.
    Mixed,
    /// Copies have a block of their own.
    Copies,
    /// Copies have a block of their own, and so have hot pages, written and copied: those that the host wrote before,
    /// in this window or the last one.
    Recency {
        /// Host writes of a window, at least 1.
        window: u32,
    },
    /// Pages that a user's own policy puts together, written and copied alike.
    Placed {
        /// Blocks that it keeps open.
        streams: u8,
    },
    /// Pages of one stream of the host.
    Handles(Handles),
}

impl HotCold {
    /// Whether what the host writes and what collection copies share open blocks.
    pub(in crate::layers::page) fn shares_blocks(self) -> bool {
        match self {
            HotCold::Mixed | HotCold::Placed { .. } => true,
            HotCold::Copies | HotCold::Recency { .. } => false,
            HotCold::Handles(handles) => handles.collected == CollectedPlace::WithHost,
        }
    }

    /// What the spare area of a page in this stream says of it: with handles, which open block took it.
    #[inline]
    pub(in crate::layers::page) fn mark(self, stream: WriteStream) -> SpareMark {
        match self {
            HotCold::Handles(_) => stream.mark(),
            HotCold::Mixed | HotCold::Copies | HotCold::Recency { .. } | HotCold::Placed { .. } => SpareMark::default(),
        }
    }
}

choice! {
    /// When a plane with few free blocks reclaims, and whether the write waits.
    pub enum GcMode {
        /// At the start threshold, before the write that met it, up to the stop threshold.
        Blocking = "blocking",
        /// Collected whole after the program of the write that needs room; before it if no block can be spared for it.
        Foreground = "foreground",
        /// In steps, at or under the stop threshold, whenever the scheduler asks for one.
        Background = "background",
        /// In steps, from the start threshold on, up to the stop threshold.
        Preemptible = "preemptible",
        /// With the host's writes: under the stop threshold, the faster the fewer blocks are free; at the start
        /// threshold as fast as the host writes.
        Paced = "paced",
    }
}

impl GcMode {
    /// Whether collection waits for the scheduler to ask for a step.
    pub fn works_in_steps(self) -> bool {
        match self {
            GcMode::Blocking | GcMode::Foreground | GcMode::Paced => false,
            GcMode::Background | GcMode::Preemptible => true,
        }
    }

    /// Whether a victim is emptied bit by bit, so that a write may have to wait for the rest of it.
    pub fn interrupts_victims(self) -> bool {
        match self {
            GcMode::Blocking | GcMode::Foreground => false,
            GcMode::Background | GcMode::Preemptible | GcMode::Paced => true,
        }
    }
}

choice! {
    /// Which planes of a die reclaim when one of them must.
    pub enum GcPlanes {
        /// The plane that must.
        Own = "own",
        /// All that are at or under the start threshold.
        Die = "die",
    }
}

choice! {
    /// Which plane a write goes to.
    pub enum Allocation {
        /// The next one in turn that has room.
        Dynamic = "dynamic",
        /// The one that the logical page names: pages are dealt to the planes in their order.
        Static = "static",
    }
}

/// Settings of the page-level FTL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageConfig {
    /// Shape of the device; with stripes that of their joined planes.
    pub geometry: Geometry,
    /// Blocks of several planes that are one block here.
    pub stripes: Option<Stripes>,
    /// Logical pages; see [`PageConfig::plane_pages_max`].
    pub user_pages: u32,
    /// Planes in the order in which writes visit them.
    pub order: Vec<PlaneId>,
    /// Which of them a write goes to.
    pub allocation: Allocation,
    /// How victims are chosen.
    pub policy: VictimPolicy,
    /// What is erased apart. Static and dynamic wear levelling need whole blocks.
    pub units: EraseUnits,
    /// When reclaiming happens.
    pub gc_mode: GcMode,
    /// Pages that the host writes to a plane before a step follows one, in the modes that work in steps; 0: any number.
    pub gc_write_tokens: u32,
    /// Where, in the modes that do not work in steps.
    pub gc_planes: GcPlanes,
    /// Free blocks of a plane at or under which it starts to reclaim, at least 1.
    pub gc_start_blocks: u32,
    /// Free blocks of a plane up to which it reclaims, at least the start.
    pub gc_stop_blocks: u32,
    /// Settings of a map in flash with a cache in RAM; `None`: the whole map is in RAM.
    pub cached_map: Option<CachedMap>,
    /// Which pages lie together.
    pub hot_cold: HotCold,
    /// What is done about uneven wear.
    pub wear_leveling: WearLeveling,
    /// The map and its journal in flash, if the device recovers from them.
    pub log: Option<LogShape>,
    /// The pages that say what is trimmed, if the device recovers from spare areas.
    pub trims: Option<TrimShape>,
    /// Power may be cut.
    pub recovers: bool,
    /// Blocks of a plane that stay blank beyond what collection needs, so that there is room after a power cut (`room`).
    pub blank_blocks: u32,
    /// After a power cut, blocks that were being written are written further. Needs whole blocks, and a device that
    /// leaves nothing half done.
    pub reuses_open_blocks: bool,
    /// The planes of a die collect together where collection works in steps, and victims that are empty
    /// at the same time are erased one behind the other, so that the die can erase them at once.
    pub erases_together: bool,
    /// The user's own policy, if it decides anything here. Needs whole blocks.
    #[serde(skip)]
    pub decider: Option<Decider>,
    /// Seed of the random victim policies.
    pub seed: u64,
}

impl PageConfig {
    /// What chooses victims in a plane.
    pub(in crate::layers::page) fn victims(&self, plane: u32) -> UnitVictims {
        let units = &self.units.pages;
        let shape = [units.units() as u16, units.pages_per_unit() as u16];
        UnitVictims::new(self.policy, self.geometry.blocks_per_plane, shape, self.seed ^ u64::from(plane))
    }

    /// Good blocks of a plane that cannot be filled with valid data of the host: those kept free when
    /// collection starts, the open ones with one to copy into, and those of translation pages.
    pub fn reserved_blocks(&self) -> u32 {
        let map = self.cached_map.map_or(0, |map| map.blocks_per_plane);
        self.gc_start_blocks + PageConfig::open_blocks(self.hot_cold, self.wear_leveling) + map + self.blank_blocks
    }

    /// Blocks of a plane that data keeps open, and one to copy into.
    pub fn open_blocks(hot_cold: HotCold, wear_leveling: WearLeveling) -> u32 {
        let open = match hot_cold {
            HotCold::Mixed => 1,
            HotCold::Copies => 2,
            HotCold::Recency { .. } => 4,
            HotCold::Placed { streams } => u32::from(streams),
            HotCold::Handles(handles) => handles.open_blocks(),
        };
        open + u32::from(wear_leveling.moves_data()) + 1
    }

    /// Pages of valid data that a plane of `good_blocks` can hold.
    pub fn plane_pages_max(&self, good_blocks: u32) -> u64 {
        let blocks = good_blocks.saturating_sub(self.reserved_blocks());
        u64::from(blocks) * u64::from(self.data_pages())
    }

    /// Whether parts of blocks are erased apart.
    pub(in crate::layers::page) fn erases_parts(&self) -> bool {
        self.units.pages.units() > 1
    }

    /// Pages of a block that take data. Those behind them list what the block holds.
    pub fn data_pages(&self) -> u16 {
        self.units.pages.pages_per_block()
    }

    /// Logical pages that lie among the blocks of data or of the map: those of the host, and translation or trim pages.
    pub(in crate::layers::page) fn logical_pages(&self) -> u32 {
        let with_map = self.user_pages + self.translation_pages();
        self.trims.map_or(with_map, |trims| trims.end().max(with_map))
    }

    /// The logical page that stands for the summaries of all blocks, if blocks have one.
    pub(in crate::layers::page) fn summary_page(&self) -> Lpn {
        Lpn(self.user_pages + self.translation_pages())
    }

    /// Whether a logical page is a page of the map.
    pub(in crate::layers::page) fn is_translation_page(&self, lpn: Lpn) -> bool {
        (self.user_pages..self.user_pages + self.translation_pages()).contains(&lpn.0)
    }

    /// Translation pages of the whole device; none if the map is in RAM.
    pub fn translation_pages(&self) -> u32 {
        self.cached_map.map_or(0, |map| self.user_pages.div_ceil(map.entries_per_page))
    }
}
