//! Pure planners of the classic merges: from the state of blocks to a choice, which
//! [`crate::layers::block_mapped::in_place`] and the superblock FTL carry out.
//!
//! Source of the three kinds: Kang, Jo, Kim and Lee, *A Superblock-based Flash Translation Layer for NAND
//! Flash Memory*, EMSOFT'06, figure 3; of the superblock's choice: section 4.3 there.

use pumice_types::choice;
use serde::{Deserialize, Serialize};

use crate::plan::MergeKind;

/// A logical block and a U-block that holds pages of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlaceState {
    /// Every programmed page of the U-block is at its own offset.
    pub u_in_place: bool,
    /// Current pages of the logical block outside the U-block.
    pub elsewhere: u32,
}

/// The cheapest merge that leaves every page at its own offset.
pub fn in_place_merge(state: InPlaceState) -> MergeKind {
    match state {
        InPlaceState { u_in_place: false, .. } => MergeKind::Full,
        InPlaceState { elsewhere: 0, .. } => MergeKind::Switch,
        InPlaceState { .. } => MergeKind::Partial,
    }
}

/// Pages of a block of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockFill {
    /// Current pages.
    pub valid: u16,
    /// Pages still erased.
    pub free: u16,
}

/// A superblock whose least recently written U-block is the victim.
#[derive(Clone, Copy, Debug)]
pub struct SuperblockState<'a> {
    /// D-blocks of the superblock, those with the fewest valid pages first.
    pub d: &'a [BlockFill],
    /// The victim.
    pub u: BlockFill,
    /// Pages of a block.
    pub pages: u16,
    /// What becomes of D-blocks that are wholly valid.
    pub valid_blocks: ValidBlocks,
}

choice! {
    /// What the full merge of a full U-block, if it has to go on, does with D-blocks without an invalid page.
    /// Copying one wins nothing.
    pub enum ValidBlocks {
        /// Copies them like the others, before the U-block: section 4.3 as it is written. Section 5.4 speaks of
        /// relocating all valid pages of a superblock.
        Copy = "copy",
        /// Keeps them, and copies the U-block if that wins a block.
        Keep = "keep",
    }
}

/// How a superblock wins a free block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockMerge {
    /// Partial merge: the U-block's valid pages go to the free pages of this D-block.
    UIntoD(usize),
    /// Partial merge: this D-block's valid pages go to the free pages of the U-block, which takes its place.
    DIntoU(usize),
    /// Full merge: the first `d_blocks` D-blocks, and the U-block if `with_u`, are copied into new blocks.
    Full {
        /// D-blocks copied, those with the fewest valid pages.
        d_blocks: usize,
        /// The U-block is copied too; else it becomes a D-block.
        with_u: bool,
    },
}

impl SuperblockMerge {
    /// Kind of the merge.
    pub fn kind(self) -> MergeKind {
        match self {
            SuperblockMerge::UIntoD(_) | SuperblockMerge::DIntoU(_) => MergeKind::Partial,
            SuperblockMerge::Full { .. } => MergeKind::Full,
        }
    }
}

/// Step 2 of the superblock's garbage collection (section 4.3).
///
/// A D-block with enough free pages takes the U-block's valid pages; of several the one with the fewest
/// free pages. Else a U-block with free pages (it is then the superblock's only one, and nearly all pages
/// of the D-blocks are valid) is merged with as few D-blocks as possible ([`merge_with_u`]). Else a full
/// merge of the two D-blocks with the fewest valid pages, continued with the next fewest, the U-block
/// last, until a block is won.
pub fn superblock_merge(state: &SuperblockState) -> SuperblockMerge {
    let takes_u = |(_, d): &(usize, &BlockFill)| d.free >= state.u.valid;
    let tightest = state.d.iter().enumerate().filter(takes_u).min_by_key(|(_, d)| d.free);
    match tightest {
        Some((index, _)) => SuperblockMerge::UIntoD(index),
        None if state.u.free > 0 => merge_with_u(state),
        None => full_merge(state),
    }
}

/// The special case of section 4.3, which shuns even a full merge of two D-blocks: the D-block with the
/// fewest valid pages goes into the U-block's free pages. If it does not fit, U is copied with the n
/// D-blocks of fewest valid pages, n the smallest with u + v1 + … + vn ≤ n·P. No other set of D-blocks
/// wins a block with fewer copies of them and U.
fn merge_with_u(state: &SuperblockState) -> SuperblockMerge {
    if state.d.first().is_some_and(|d| d.valid <= state.u.free) {
        return SuperblockMerge::DIntoU(0);
    }
    let mut missing = 0;
    let suffices = |d: &BlockFill| {
        missing += u32::from(state.pages - d.valid);
        missing >= u32::from(state.u.valid)
    };
    let d_blocks = state.d.iter().position(suffices).map_or(state.d.len(), |index| index + 1);
    SuperblockMerge::Full { d_blocks, with_u: true }
}

/// How many blocks the full merge of a full U-block copies.
fn full_merge(state: &SuperblockState) -> SuperblockMerge {
    let wins = |valid: u32, blocks: usize| (valid.div_ceil(u32::from(state.pages)) as usize) < blocks;
    let keep = state.valid_blocks == ValidBlocks::Keep;
    let (mut valid, mut fewest_with_u) = (0, None);
    for (index, d) in state.d.iter().enumerate().take_while(|(_, d)| !keep || d.valid < state.pages) {
        valid += u32::from(d.valid);
        let d_blocks = index + 1;
        if d_blocks >= 2 && wins(valid, d_blocks) {
            return SuperblockMerge::Full { d_blocks, with_u: false };
        }
        if keep && fewest_with_u.is_none() && wins(valid + u32::from(state.u.valid), d_blocks + 1) {
            fewest_with_u = Some(d_blocks);
        }
    }
    SuperblockMerge::Full { d_blocks: fewest_with_u.unwrap_or(state.d.len()), with_u: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn planned(d: &[(u16, u16)], u: (u16, u16), valid_blocks: ValidBlocks) -> SuperblockMerge {
        let fill = |&(valid, free): &(u16, u16)| BlockFill { valid, free };
        let d: Vec<BlockFill> = d.iter().map(fill).collect();
        superblock_merge(&SuperblockState { d: &d, u: fill(&u), pages: 64, valid_blocks })
    }

    fn state(d: &[(u16, u16)], u: (u16, u16)) -> SuperblockMerge {
        planned(d, u, ValidBlocks::Copy)
    }

    #[test]
    fn t550_in_place_merges_copy_as_little_as_offsets_allow() {
        for (u_in_place, elsewhere, kind) in [
            (true, 0, MergeKind::Switch),
            (true, 7, MergeKind::Partial),
            (false, 7, MergeKind::Full),
            (false, 0, MergeKind::Full),
        ] {
            assert_eq!(in_place_merge(InPlaceState { u_in_place, elsewhere }), kind);
        }
    }

    #[test]
    fn t551_a_d_block_with_enough_free_pages_takes_the_u_block() {
        assert_eq!(state(&[(20, 44), (30, 12), (64, 0)], (12, 0)), SuperblockMerge::UIntoD(1));
        assert_eq!(state(&[(20, 11), (64, 0)], (11, 0)), SuperblockMerge::UIntoD(0));
    }

    #[test]
    fn t552_a_u_block_with_free_pages_is_merged_with_as_few_d_blocks_as_possible() {
        let full = |d_blocks| SuperblockMerge::Full { d_blocks, with_u: true };
        for reading in [ValidBlocks::Copy, ValidBlocks::Keep] {
            let merge = |d: &[(u16, u16)], u| planned(d, u, reading);
            assert_eq!(merge(&[(60, 0), (64, 0)], (4, 60)), SuperblockMerge::DIntoU(0));
            assert_eq!(merge(&[(61, 0), (64, 0)], (3, 60)), full(1), "it does not fit, but both fit a new block");
            assert_eq!(merge(&[(62, 0), (63, 0), (64, 0)], (3, 60)), full(2));
            assert_eq!(merge(&[(30, 0), (34, 0)], (40, 24)), full(2), "two D-blocks are never merged alone");
        }
    }

    #[test]
    fn t553_a_full_merge_goes_on_until_a_block_is_won() {
        let full = |d_blocks, with_u| SuperblockMerge::Full { d_blocks, with_u };
        assert_eq!(state(&[(30, 0), (34, 0), (60, 0), (64, 0)], (60, 0)), full(2, false));
        assert_eq!(state(&[(30, 0), (35, 0), (60, 0), (64, 0)], (60, 0)), full(3, false));
        assert_eq!(state(&[(50, 0), (50, 0), (50, 0), (50, 0)], (56, 0)), full(4, true));
        assert_eq!(state(&[(10, 0)], (54, 0)), full(1, true), "superblocks of one block");
    }

    proptest! {
        #[test]
        fn t554_exactly_one_block_is_won_with_the_fewest_blocks(
            mut valid in proptest::collection::vec(1u16..=64, 2..9), share in 0.0f64..1.0, keep in any::<bool>()
        ) {
            let valid_blocks = if keep { ValidBlocks::Keep } else { ValidBlocks::Copy };
            valid.sort_unstable();
            let missing: u16 = valid.iter().map(|v| 64 - v).sum();
            let in_u = ((f64::from(missing) * share) as u16).clamp(1, 64);
            prop_assume!(in_u <= missing);
            let fills: Vec<(u16, u16)> = valid.iter().map(|&v| (v, 0)).collect();
            let SuperblockMerge::Full { d_blocks, with_u } = planned(&fills, (in_u, 0), valid_blocks) else {
                return Err(TestCaseError::fail("no block has free pages"));
            };
            let won = |d: usize, with_u: bool| {
                let pages: u16 = valid[..d].iter().sum::<u16>() + if with_u { in_u } else { 0 };
                (d + usize::from(with_u)) as i32 - i32::from(pages.div_ceil(64))
            };
            prop_assert_eq!(won(d_blocks, with_u), 1);
            let alone = if with_u { valid.len() } else { d_blocks - 1 };
            prop_assert!((2..=alone).all(|d| won(d, false) < 1), "D-blocks alone, if they are enough");
            prop_assert!(keep || !with_u || d_blocks == valid.len(), "the U-block last");
            prop_assert!(!keep || !with_u || (1..d_blocks).all(|d| won(d, true) < 1), "as few as possible");
        }

        #[test]
        fn t569_no_set_of_d_blocks_makes_room_for_u_with_fewer_copies(
            valid in proptest::collection::vec(1u16..=64, 1..9), share in 0.0f64..1.0, written in 1u16..64,
            keep in any::<bool>()
        ) {
            let (pages, free) = (64, 64 - written);
            // Half of the D-blocks miss at most two pages, as where the special case comes up.
            let mut valid: Vec<u16> = valid.iter().map(|&v| if v % 2 == 0 { v } else { pages - v % 3 }).collect();
            valid.sort_unstable();
            let missing: u16 = valid.iter().map(|v| pages - v).sum();
            let in_u = ((f64::from(written) * share) as u16 + 1).min(written).min(missing);
            prop_assume!(in_u > 0);
            let fills: Vec<(u16, u16)> = valid.iter().map(|&v| (v, 0)).collect();
            let planned = planned(&fills, (in_u, free), if keep { ValidBlocks::Keep } else { ValidBlocks::Copy });
            // Every set of D-blocks that fits, with U's valid pages, into as many blocks.
            let sets = (1usize..1 << valid.len()).filter_map(|set| {
                let d: Vec<u16> = (0..valid.len()).filter(|&at| set >> at & 1 == 1).map(|at| valid[at]).collect();
                let copied = d.iter().sum::<u16>() + in_u;
                (copied <= d.len() as u16 * pages).then_some((copied, d.len()))
            });
            match planned {
                SuperblockMerge::DIntoU(0) => prop_assert!(valid[0] <= free),
                SuperblockMerge::Full { d_blocks, with_u: true } => {
                    let copied = valid[..d_blocks].iter().sum::<u16>() + in_u;
                    prop_assert!(valid[0] > free, "it goes into U if it can");
                    prop_assert_eq!(sets.min(), Some((copied, d_blocks)));
                }
                SuperblockMerge::DIntoU(_) | SuperblockMerge::UIntoD(_) | SuperblockMerge::Full { .. } => {
                    prop_assert!(false, "{:?}", planned);
                }
            }
        }
    }
}
