//! Partial blocks (PEN, FAST'18 §4.3): a block is halved up to L times, and the halves form a
//! binary tree whose nodes are numbered like a heap. PB 1 is the whole block, the children of PB
//! `p` are `2p` and `2p + 1`, and the PBs of the last level are the *leaves*, the grain at which
//! erases and disturbs are counted.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Index of a partial block: 1 is the whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pb(pub u16);

impl Pb {
    /// The whole block.
    pub const BLOCK: Pb = Pb(1);

    /// Number of halvings that lead to this PB: `floor(log2 index)`.
    #[inline]
    pub fn level(self) -> u32 {
        15 - self.0.leading_zeros()
    }

    /// The two halves of this PB.
    #[inline]
    pub fn children(self) -> [Pb; 2] {
        [Pb(self.0 * 2), Pb(self.0 * 2 + 1)]
    }
}

/// The tree of partial blocks of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PbTree {
    pages_per_block: u16,
    max_splits: u8,
    /// Runs of pages that a partial block has.
    runs: u16,
}

/// Most splits that [`PbTree`] accepts, whatever the block's size.
pub const MAX_SPLITS: u8 = 12;

impl PbTree {
    /// The tree with `max_splits` halvings (L). `None` if the pages cannot be halved so often or
    /// L is over [`MAX_SPLITS`].
    pub fn new(pages_per_block: u16, max_splits: u8) -> Option<PbTree> {
        let legal = max_splits <= PbTree::largest_legal_splits(pages_per_block);
        (pages_per_block > 0 && legal).then_some(PbTree { pages_per_block, max_splits, runs: 1 })
    }

    /// The tree of a block of so many sub-blocks that is written sub-block first: a partial block is a range of layers, and
    /// so has a run of pages in each of them. `None` if the pages of a sub-block cannot be halved so often.
    pub fn in_runs(self, sub_blocks: u16) -> Option<PbTree> {
        let pages = self.pages_per_block.checked_div(sub_blocks)?;
        let legal = self.max_splits <= PbTree::largest_legal_splits(pages);
        (legal && self.pages_per_block.is_multiple_of(sub_blocks)).then_some(PbTree { runs: sub_blocks, ..self })
    }

    /// Runs of pages that a partial block has.
    pub fn runs(self) -> u16 {
        self.runs
    }

    /// The largest L for a block of this many pages: how often 2 divides it.
    pub fn largest_legal_splits(pages_per_block: u16) -> u8 {
        (pages_per_block.trailing_zeros() as u8).min(MAX_SPLITS)
    }

    /// L, the number of halvings.
    pub fn max_splits(self) -> u8 {
        self.max_splits
    }

    /// Pages of the whole block.
    pub fn pages_per_block(self) -> usize {
        self.pages_per_block as usize
    }

    /// Number of leaves, `2^L`.
    #[inline]
    pub fn leaves(self) -> usize {
        1 << self.max_splits
    }

    /// Pages of one leaf.
    #[inline]
    pub fn pages_per_leaf(self) -> usize {
        self.pages_per_block as usize >> self.max_splits
    }

    /// Number of partial blocks, the whole block included: `2^(L + 1) − 1`.
    pub fn pb_count(self) -> usize {
        self.leaves() * 2 - 1
    }

    /// Whether `pb` exists in this tree.
    pub fn contains(self, pb: Pb) -> bool {
        (1..=self.pb_count()).contains(&(pb.0 as usize))
    }

    /// The PB of the last level that is leaf `leaf`.
    #[inline]
    pub fn leaf_pb(self, leaf: usize) -> Pb {
        Pb((self.leaves() + leaf) as u16)
    }

    /// Leaf that holds page `page`.
    #[inline]
    pub fn leaf_of_page(self, page: usize) -> usize {
        if self.runs == 1 {
            return page / self.pages_per_leaf();
        }
        let pages = self.pages_per_block() / usize::from(self.runs);
        page % pages / (pages >> self.max_splits)
    }

    /// Pages of `pb`.
    #[inline]
    pub fn pages(self, pb: Pb) -> usize {
        self.pages_per_block as usize >> pb.level()
    }

    /// Leaves of `pb`, ascending.
    #[inline]
    pub fn leaf_range(self, pb: Pb) -> Range<usize> {
        let width = self.leaves() >> pb.level();
        let first = (pb.0 as usize - (1 << pb.level())) * width;
        first..first + width
    }

    /// Page indices of `pb`, ascending, where it is one run.
    #[inline]
    pub fn page_range(self, pb: Pb) -> Range<usize> {
        debug_assert_eq!(self.runs, 1, "layers that restore pages in place have no blocks written sub-block first");
        let leaves = self.leaf_range(pb);
        leaves.start * self.pages_per_leaf()..leaves.end * self.pages_per_leaf()
    }

    /// Page indices of each run of `pb`, ascending.
    pub fn page_ranges(self, pb: Pb) -> impl Iterator<Item = Range<usize>> {
        let (leaves, runs) = (self.leaf_range(pb), usize::from(self.runs));
        let (pages, width) = (self.pages_per_block() / runs, self.pages_per_leaf() / runs);
        (0..runs).map(move |run| run * pages + leaves.start * width..run * pages + leaves.end * width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t010_a_block_of_576_pages_has_127_partial_blocks() {
        let tree = PbTree::new(576, 6).expect("576 = 2^6 × 9");
        assert_eq!(tree.pb_count(), 127);
        assert_eq!(tree.pages_per_leaf(), 9);
        assert_eq!(tree.page_range(Pb(9)), 72..144);
        assert_eq!(tree.page_range(Pb(14)), 432..504);
    }

    #[test]
    fn t011_children_partition_their_parent() {
        for splits in 0..=6 {
            let tree = PbTree::new(576, splits).expect("legal");
            assert_eq!(tree.page_range(Pb::BLOCK), 0..576);
            for index in 1..tree.leaves() as u16 {
                let [left, right] = Pb(index).children();
                assert_eq!(tree.page_range(left).end, tree.page_range(right).start);
                assert_eq!(tree.page_range(Pb(index)), tree.page_range(left).start..tree.page_range(right).end);
            }
            for leaf in 0..tree.leaves() {
                assert_eq!(tree.leaf_range(tree.leaf_pb(leaf)), leaf..leaf + 1);
            }
        }
    }

    #[test]
    fn t019_sub_block_first_a_partial_block_is_a_range_of_layers() {
        let shape = crate::BlockShape::new(8, 3, 2, crate::WriteSequence::Sfws).expect("legal");
        let tree = PbTree::new(48, 3).and_then(|tree| tree.in_runs(3)).expect("16 pages of a sub-block");
        for page in 0..48u16 {
            let leaf = tree.leaf_of_page(page.into());
            assert_eq!(leaf, usize::from(shape.position(page).layer), "eight leaves of a layer each");
            for pb in (1..=tree.pb_count() as u16).map(Pb) {
                let holds = tree.page_ranges(pb).any(|run| run.contains(&usize::from(page)));
                assert_eq!(holds, tree.leaf_range(pb).contains(&leaf), "page {page}, {pb:?}");
            }
        }
        assert_eq!(PbTree::new(48, 4).and_then(|tree| tree.in_runs(2)), None, "24 pages are not halved four times");
        assert_eq!(PbTree::new(48, 4).and_then(|tree| tree.in_runs(0)), None);
    }

    #[test]
    fn t012_illegal_splits_are_refused_and_the_largest_legal_is_named() {
        for (pages, largest) in [(72, 3), (144, 4), (288, 5), (576, 6), (2304, 8)] {
            assert_eq!(PbTree::largest_legal_splits(pages), largest);
            assert!(PbTree::new(pages, largest).is_some());
            assert!(PbTree::new(pages, largest + 1).is_none());
        }
        assert!(PbTree::new(0, 0).is_none());
    }
}
