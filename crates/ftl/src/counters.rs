//! What garbage collection did, as counts.

/// How a merge was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// All valid pages copied into a free block, both blocks erased.
    Full,
    /// PEN's merge: restored partial blocks of the D-block, U-block erased.
    MMerge,
}

/// Bins of the victim-fill histogram: written share of the U-block, in tenths; a full one is in
/// the last bin.
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
    /// Merges because the pair's U-block was full.
    pub trigger_full: u64,
    /// Merges because an unpaired D-block needed a U-block.
    pub trigger_unpaired: u64,
    /// Pages copied, each page that was read and programmed again counted once.
    pub copied_pages: u64,
    /// Written share of merged U-blocks.
    pub victim_fill: [u64; VICTIM_FILL_BINS],
    /// Most U-blocks in use at one time.
    pub u_blocks_max: u64,
}

impl GcCounters {
    /// Counts a victim U-block with `written` of `pages` pages.
    pub fn note_victim(&mut self, written: usize, pages: usize) {
        self.victim_fill[written * (VICTIM_FILL_BINS - 1) / pages] += 1;
    }
}
