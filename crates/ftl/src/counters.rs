//! What garbage collection did, as counts.

/// Bins of the victim-fill histogram, in tenths of the block, a full one in the last bin: written
/// pages of the U-block for NFTL, valid pages of the victim for a page-level FTL, valid pages of the
/// emptiest block for a superblock FTL.
pub const VICTIM_FILL_BINS: usize = 11;

/// Counts of one kind of merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCount {
    /// Merges.
    pub merges: u64,
    /// Whole-block erases in them.
    pub block_erases: u64,
    /// Partial erases in them.
    pub partial_erases: u64,
}

/// Garbage collection since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcCounters {
    /// Full merges.
    pub full: MergeCount,
    /// M-Merges.
    pub m_merge: MergeCount,
    /// Blocks reclaimed by a page-level FTL.
    pub reclaimed: MergeCount,
    /// Times that a plane ran low on free blocks (page-level FTL).
    pub trigger_free_blocks: u64,
    /// Merges because the pair's U-block was full.
    pub trigger_full: u64,
    /// Merges because an unpaired D-block needed a U-block.
    pub trigger_unpaired: u64,
    /// Superblock merges because the superblock was out of room and owned N blocks.
    pub trigger_intra: u64,
    /// Superblock merges because a block was wanted and the plane ran low.
    pub trigger_inter: u64,
    /// Pages copied, each page that was read and programmed again counted once.
    pub copied_pages: u64,
    /// Histogram of victims.
    pub victim_fill: [u64; VICTIM_FILL_BINS],
    /// Most U-blocks in use at one time.
    pub u_blocks_max: u64,
}

impl GcCounters {
    /// Counts a victim with `filled` of `pages` pages.
    pub fn note_victim(&mut self, filled: usize, pages: usize) {
        self.victim_fill[filled * (VICTIM_FILL_BINS - 1) / pages] += 1;
    }
}
