//! What a layer is: the keys that it reads, what it can do, and what is known of its results.

use super::recovery::Recovery;
use super::shared_keys::{MapPlace, MergeMethod};

/// What is fixed of a layer, whatever its spec says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Names of the [`SharedKeys`] and [`SuperblockKeys`] that it reads, such as `u_blocks` or
    /// `superblock.logical`.
    ///
    /// [`SharedKeys`]: super::SharedKeys
    /// [`SuperblockKeys`]: super::SuperblockKeys
    pub reads: &'static [&'static str],
    /// Keys of this layer that every other layer refuses, unless they have their default, instead of ignoring them.
    pub strict_keys: &'static [&'static str],
    /// The merges that it knows.
    pub merges: &'static [MergeMethod],
    /// Where its map may be.
    pub map_places: &'static [MapPlace],
    /// How it can recover after a power cut; [`Recovery::Off`] alone if it cannot.
    pub recoveries: &'static [Recovery],
    /// Victims are reclaimed by a policy ([`PolicyKeys`](crate::blocks::victims::PolicyKeys)).
    pub chooses_victims: bool,
    /// A user's own policy is asked for victims, streams and moves that level wear.
    pub asks_policies: bool,
    /// All copies of a logical page lie on one die. A die runs its programs and erases in the order in which
    /// they are decided, so no erase needs to wait for programs on other dies.
    pub copies_on_one_die: bool,
    /// Writes of the host reach all of the device, wherever they go. Columns of its pages then lie in large pages.
    pub writes_everywhere: bool,
    /// The host of the layer counts erase units: a device made small keeps its blocks, and has fewer pages in each.
    pub keeps_blocks: bool,
    /// Pages that the host trims are given up.
    pub gives_up_trimmed: bool,
    /// What is given up is written down, wherever the layer recovers from power cuts.
    pub writes_down_trims: bool,
    /// The figures of garbage collection that it has.
    pub reports: Reports,
}

impl Facts {
    /// A layer of which nothing more is known.
    pub const PLAIN: Facts = Facts {
        reads: &[],
        strict_keys: &[],
        merges: &[MergeMethod::BlockErase],
        map_places: &[MapPlace::Ram],
        recoveries: &[Recovery::Off],
        chooses_victims: false,
        asks_policies: false,
        copies_on_one_die: false,
        writes_everywhere: false,
        keeps_blocks: false,
        gives_up_trimmed: false,
        writes_down_trims: false,
        reports: Reports::NOTHING,
    };

    /// Whether it gives up what is trimmed, and no longer knows that after a power cut.
    pub fn forgets_trims(&self) -> bool {
        self.gives_up_trimmed && !self.writes_down_trims
    }
}

/// Which figures of garbage collection a layer has; the others are null in its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reports {
    /// Full merges.
    pub full_merges: bool,
    /// Partial merges, switch merges, and blocks erased without a merge.
    pub partial_and_switch_merges: bool,
    /// Merges because a pair was full, or because a block without a U-block needed one.
    pub pair_triggers: bool,
    /// Merges inside a superblock, and between superblocks.
    pub superblock_triggers: bool,
    /// Victims reclaimed because free blocks ran low.
    pub reclaims_victims: bool,
    /// U-blocks in use.
    pub u_blocks: bool,
}

impl Reports {
    /// A layer of which nothing more is known.
    pub const NOTHING: Reports = Reports {
        full_merges: false,
        partial_and_switch_merges: false,
        pair_triggers: false,
        superblock_triggers: false,
        reclaims_victims: false,
        u_blocks: false,
    };

    /// Victims that a policy chooses.
    pub const VICTIMS: Reports = Reports { reclaims_victims: true, ..Reports::NOTHING };

    /// Pairs of a D-block and a U-block that are merged whole.
    pub const PAIRS: Reports = Reports { full_merges: true, pair_triggers: true, u_blocks: true, ..Reports::NOTHING };

    /// Pairs that are merged in whole, in part, or by a switch of roles.
    pub const HYBRID_PAIRS: Reports = Reports { partial_and_switch_merges: true, ..Reports::PAIRS };
}
