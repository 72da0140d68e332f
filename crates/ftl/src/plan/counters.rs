//! What garbage collection did, as counts.

use pumice_types::add_fields;
use serde::{Deserialize, Serialize};

use super::merge_kind::MergeKind;

/// Bins of the victim-fill histogram, in tenths of the block, a full one in the last bin: written pages of the U-block
/// for NFTL, valid pages of the victim for a page-level FTL and for zones, valid pages of the emptiest block for a
/// superblock FTL.
pub const VICTIM_FILL_BINS: usize = 11;

/// The most streams that a placement may name.
pub const STREAMS_MAX: u8 = 8;

/// Groups of pages that a page-level FTL with handles counts apart: one a handle, and pages that collection put
/// together from several.
pub(crate) const PLACED_GROUPS: usize = STREAMS_MAX as usize + 1;

/// The group of collected pages of several handles.
pub const COLLECTED: usize = PLACED_GROUPS - 1;

/// Pages of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedCount {
    /// Pages that the host wrote.
    pub written: u64,
    /// Pages that collection copied out of blocks of the group.
    pub copied: u64,
}

/// Counts of one kind of merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCount {
    /// Merges.
    pub merges: u64,
    /// Whole-block erases in them.
    pub block_erases: u64,
    /// Partial erases in them.
    pub partial_erases: u64,
}

/// Garbage collection since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcCounters {
    /// Full merges.
    pub full: MergeCount,
    /// M-Merges.
    pub m_merge: MergeCount,
    /// Partial merges.
    pub partial: MergeCount,
    /// Switch merges.
    pub switch: MergeCount,
    /// U-blocks without a valid page, erased without a merge.
    pub dead: MergeCount,
    /// Blocks reclaimed by a page-level FTL.
    pub reclaimed: MergeCount,
    /// Physical sub-blocks reclaimed apart from their block (page-level FTL).
    pub reclaimed_sub_blocks: u64,
    /// Blocks whose data static wear levelling moved.
    pub moved: MergeCount,
    /// Pages copied by it; part of `copied_pages`.
    pub moved_pages: u64,
    /// Times that a plane ran low on free blocks (page-level FTL).
    pub trigger_free_blocks: u64,
    /// Writes that had to reclaim in their own plan although reclaiming is done in steps.
    pub urgent: u64,
    /// Accesses whose map entry was cached.
    pub map_hits: u64,
    /// Accesses whose map entry was read from flash first.
    pub map_misses: u64,
    /// Translation pages written with changed entries.
    pub map_write_backs: u64,
    /// Blocks of translation pages reclaimed.
    pub map_erases: u64,
    /// Merges because the pair's U-block was full.
    pub trigger_full: u64,
    /// Merges because an unpaired D-block needed a U-block.
    pub trigger_unpaired: u64,
    /// Superblock merges because the superblock was out of room and owned N blocks.
    pub trigger_intra: u64,
    /// Superblock merges because a block was wanted and none was left, or the plane ran low.
    pub trigger_inter: u64,
    /// Random log blocks that FAST reclaimed.
    pub shared_victims: u64,
    /// Logical blocks with current pages in them.
    pub sharing_blocks: u64,
    /// Pages copied, each page that was read and programmed again counted once.
    pub copied_pages: u64,
    /// Histogram of victims.
    pub victim_fill: [u64; VICTIM_FILL_BINS],
    /// Most U-blocks in use at one time.
    pub u_blocks_max: u64,
    /// Pages by handle (page-level FTL with handles); the last group is [`COLLECTED`].
    pub placed: [PlacedCount; PLACED_GROUPS],
}

impl std::ops::AddAssign<&MergeCount> for MergeCount {
    fn add_assign(&mut self, other: &MergeCount) {
        add_fields!(self, other, MergeCount { merges, block_erases, partial_erases });
    }
}

impl std::ops::AddAssign<&PlacedCount> for PlacedCount {
    fn add_assign(&mut self, other: &PlacedCount) {
        add_fields!(self, other, PlacedCount { written, copied });
    }
}

/// What other planes of the device did. The most U-blocks at one time is no sum, and is left as it is.
impl std::ops::AddAssign<&GcCounters> for GcCounters {
    fn add_assign(&mut self, other: &GcCounters) {
        add_fields!(self, other, GcCounters {
            full, m_merge, partial, switch, dead, reclaimed, reclaimed_sub_blocks, moved, moved_pages,
            trigger_free_blocks, urgent, map_hits, map_misses, map_write_backs, map_erases, trigger_full,
            trigger_unpaired, trigger_intra, trigger_inter, shared_victims, sharing_blocks, copied_pages; u_blocks_max, victim_fill, placed
        });
        self.victim_fill.iter_mut().zip(&other.victim_fill).for_each(|(sum, count)| *sum += count);
        self.placed.iter_mut().zip(&other.placed).for_each(|(sum, count)| *sum += count);
    }
}

impl GcCounters {
    /// Count of one of the classic kinds of merge.
    pub fn merges_of(&mut self, kind: MergeKind) -> &mut MergeCount {
        match kind {
            MergeKind::Switch => &mut self.switch,
            MergeKind::Partial => &mut self.partial,
            MergeKind::Full => &mut self.full,
        }
    }

    /// Times that garbage collection was begun, for whatever reason.
    pub fn triggers(&self) -> u64 {
        self.trigger_full + self.trigger_unpaired + self.trigger_intra + self.trigger_inter + self.trigger_free_blocks
    }

    /// Counts a victim with `filled` of `pages` pages.
    pub fn note_victim(&mut self, filled: usize, pages: usize) {
        self.victim_fill[filled * (VICTIM_FILL_BINS - 1) / pages] += 1;
    }
}
