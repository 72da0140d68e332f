//! Erase units: parts of a block that can be erased apart from the others, as sets of pages.
//!
//! A unit is the whole block, a leaf of the partial-block tree, or a physical sub-block. All units of a
//! block are of one size. The pages of a unit need not be adjacent: under layer-first writing those of
//! a sub-block are spread over the whole block. So a unit is held as a bit column, and array and
//! planners count and clear its pages with the same masks.

use crate::write_sequence::BlockShape;
use crate::{Pb, PbTree, bits};
use serde::{Deserialize, Serialize};

/// Most units of a block: a set of them is one 64-bit word.
pub const UNITS_MAX: usize = 64;

/// A set of erase units of one block, unit 0 in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSet(pub u64);

impl FromIterator<usize> for UnitSet {
    /// The set of these units.
    fn from_iter<I: IntoIterator<Item = usize>>(units: I) -> UnitSet {
        units.into_iter().map(UnitSet::one).fold(UnitSet::EMPTY, UnitSet::with)
    }
}

impl UnitSet {
    /// No unit.
    pub const EMPTY: UnitSet = UnitSet(0);

    /// The first `units` units, at most [`UNITS_MAX`].
    pub fn first(units: usize) -> UnitSet {
        UnitSet(if units >= UNITS_MAX { u64::MAX } else { (1 << units) - 1 })
    }

    /// One unit.
    #[inline]
    pub fn one(unit: usize) -> UnitSet {
        UnitSet(1 << unit)
    }

    /// Whether `unit` is in the set.
    #[inline]
    pub fn contains(self, unit: usize) -> bool {
        self.0 >> unit & 1 == 1
    }

    /// The units that are in one of both sets.
    #[inline]
    pub fn with(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 | other.0)
    }

    /// The units of this set that are not in the other.
    #[inline]
    pub fn without(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 & !other.0)
    }

    /// Number of units.
    #[inline]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is no unit.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The units, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let unit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(unit)
        })
    }

    /// The partial blocks that erase these leaves of a tree and no others, as large as they can be,
    /// ascending.
    pub fn partial_blocks(self, tree: PbTree) -> impl Iterator<Item = Pb> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let leaf = (left != 0).then(|| left.trailing_zeros() as usize)?;
            let holds = |pb: Pb| {
                let range = tree.leaf_range(pb);
                let leaves = UnitSet::first(range.len()).0 << range.start;
                (left & leaves == leaves).then_some(leaves)
            };
            // Its ancestors that begin with this leaf, one after the other.
            let grows = |pb: &Pb| (pb.0 > 1 && pb.0.is_multiple_of(2)).then_some(Pb(pb.0 / 2));
            let pb =
                std::iter::successors(Some(tree.leaf_pb(leaf)), grows).take_while(|&pb| holds(pb).is_some()).last()?;
            left &= !holds(pb)?;
            Some(pb)
        })
    }
}

/// Pages of every erase unit of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitPages {
    unit_of_page: Vec<u8>,
    last_page: Vec<u16>,
    units: usize,
    words: usize,
    /// Bit column of each unit, one after the other.
    masks: Vec<u64>,
}

impl UnitPages {
    /// The block as its only unit.
    pub fn whole_block(pages_per_block: u16) -> UnitPages {
        UnitPages::new(vec![0; usize::from(pages_per_block)], 1)
    }

    /// The physical sub-blocks of a block.
    pub fn sub_blocks(shape: BlockShape) -> UnitPages {
        let units = (0..shape.pages_per_block()).map(|page| shape.position(page).sub_block as u8).collect();
        UnitPages::new(units, usize::from(shape.sub_blocks()))
    }

    /// The leaves of a partial-block tree; `None` if there are more than [`UNITS_MAX`].
    pub fn leaves(tree: PbTree) -> Option<UnitPages> {
        let unit_of_page = || (0..tree.pages_per_block()).map(|page| tree.leaf_of_page(page) as u8).collect();
        (tree.leaves() <= UNITS_MAX).then(|| UnitPages::new(unit_of_page(), tree.leaves()))
    }

    fn new(unit_of_page: Vec<u8>, units: usize) -> UnitPages {
        let words = bits::words_for(unit_of_page.len());
        let mut masks = vec![0; units * words];
        let mut last_page = vec![0; units];
        for (page, &unit) in unit_of_page.iter().enumerate() {
            let start = usize::from(unit) * words;
            bits::set(&mut masks[start..start + words], page);
            last_page[usize::from(unit)] = page as u16;
        }
        UnitPages { unit_of_page, last_page, units, words, masks }
    }

    /// Number of units.
    #[inline]
    pub fn units(&self) -> usize {
        self.units
    }

    /// Pages of one unit.
    #[inline]
    pub fn pages_per_unit(&self) -> usize {
        self.unit_of_page.len() / self.units
    }

    /// Pages of the block.
    #[inline]
    pub fn pages_per_block(&self) -> u16 {
        self.unit_of_page.len() as u16
    }

    /// The last page of a unit in write order.
    #[inline]
    pub fn last_page(&self, unit: usize) -> u16 {
        self.last_page[unit]
    }

    /// The first page of each unit in write order.
    pub fn first_pages(&self) -> impl Iterator<Item = u16> {
        (0..self.units)
            .filter_map(|unit| self.unit_of_page.iter().position(|&of| usize::from(of) == unit))
            .map(|at| at as u16)
    }

    /// The unit that holds a page.
    #[inline]
    pub fn unit_of(&self, page: u16) -> usize {
        usize::from(self.unit_of_page[usize::from(page)])
    }

    /// Bit column of a unit's pages.
    #[inline]
    pub fn mask(&self, unit: usize) -> &[u64] {
        &self.masks[unit * self.words..(unit + 1) * self.words]
    }

    /// Pages of `unit`, from page `from` of the block on, that are set in the block's bit column.
    #[inline]
    pub fn count(&self, words: &[u64], unit: usize, from: u16) -> u32 {
        let first = usize::from(from) >> 6;
        let below = (1u64 << (from & 63)) - 1;
        let both = |word: usize| words[word] & self.mask(unit)[word];
        let rest: u32 = (first + 1..self.words).map(|word| both(word).count_ones()).sum();
        rest + (both(first) & !below).count_ones()
    }

    /// Clears the pages of a set of units in the block's bit column.
    pub fn clear(&self, words: &mut [u64], units: UnitSet) {
        for unit in units.iter() {
            words.iter_mut().zip(self.mask(unit)).for_each(|(word, mask)| *word &= !mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_sequence::WriteSequence;

    fn kinds() -> Vec<UnitPages> {
        let shape = |sequence| BlockShape::new(12, 16, 3, sequence).expect("legal");
        vec![
            UnitPages::whole_block(576),
            UnitPages::sub_blocks(shape(WriteSequence::Lfws)),
            UnitPages::sub_blocks(shape(WriteSequence::Sfws)),
            UnitPages::leaves(PbTree::new(576, 6).expect("legal")).expect("64 leaves"),
        ]
    }

    #[test]
    fn t033_units_partition_the_block() {
        for units in kinds() {
            let mut words = vec![0u64; 9];
            bits::set_range(&mut words, 0, 576);
            for unit in 0..units.units() {
                assert_eq!(units.count(&words, unit, 0) as usize, units.pages_per_unit());
            }
            units.clear(&mut words, UnitSet::one(0));
            assert_eq!(bits::count_range(&words, 0, 576) as usize, 576 - units.pages_per_unit());
            units.clear(&mut words, UnitSet::first(units.units()));
            assert_eq!(words, [0; 9]);
        }
    }

    #[test]
    fn t034_counting_from_a_page_agrees_with_single_pages() {
        for units in kinds() {
            let words: Vec<u64> = (0..9u64).map(|n| 0x9e37_79b9_7f4a_7c15u64.rotate_left(n as u32 * 7)).collect();
            for from in (0..576).step_by(13) {
                for unit in 0..units.units() {
                    let single = (from..576).filter(|&p| units.unit_of(p) == unit && bits::get(&words, p.into()));
                    assert_eq!(units.count(&words, unit, from) as usize, single.count());
                }
            }
        }
        assert_eq!(UnitPages::leaves(PbTree::new(4096, 7).expect("legal")), None, "128 leaves are too many");
    }

    #[test]
    fn t036_partial_blocks_cover_a_set_of_leaves_exactly_and_are_as_large_as_can_be() {
        let tree = PbTree::new(72, 3).expect("legal");
        for set in (0..256u64).map(UnitSet) {
            let found: Vec<Pb> = set.partial_blocks(tree).collect();
            let leaves: Vec<usize> = found.iter().flat_map(|&pb| tree.leaf_range(pb)).collect();
            assert_eq!(leaves, set.iter().collect::<Vec<_>>());
            let siblings = |pair: &[Pb]| pair[0].0.is_multiple_of(2) && pair[0].0 + 1 == pair[1].0;
            assert!(!found.windows(2).any(siblings), "{set:?}: {found:?}");
        }
        let all = PbTree::new(576, 6).expect("legal");
        assert_eq!(UnitSet::first(64).partial_blocks(all).collect::<Vec<_>>(), [Pb::BLOCK]);
    }

    #[test]
    fn t035_figure_2_half_a_block_updated() {
        let mut valid = vec![0u64; 8];
        bits::set_range(&mut valid, 256, 512); // pages 0 to 255 were updated
        let valid_in = |sequence| {
            let units = UnitPages::sub_blocks(BlockShape::new(32, 16, 1, sequence).expect("legal"));
            (0..16).map(|unit| units.count(&valid, unit, 0)).collect::<Vec<_>>()
        };
        assert_eq!(valid_in(WriteSequence::Lfws), [16; 16]);
        assert_eq!(valid_in(WriteSequence::Sfws), [[0; 8], [32; 8]].concat());
    }
}
