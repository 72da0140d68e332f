//! How the pages of a 3D NAND block lie in its cells, and in which order they are written.
//!
//! Source: Buddhanoy, Khan, Milenkovic, Pasricha and Ray, *Improving Block Management in 3D NAND Flash
//! SSDs with Sub-Block First Write Sequencing*, GLSVLSI'24, sections 2.1 and 4, Figures 1 and 2. A block
//! has layers (word lines), physical sub-blocks (rows of pillars behind select gates of their own) and
//! bits in each cell. Layer first (LFWS) writes all sub-blocks of a layer before the next layer;
//! sub-block first (SFWS) writes all layers of a sub-block before the next sub-block.
//!
//! Deviation: the pages of one cell are written one after the other. The order in which a vendor
//! interleaves lower and upper pages of neighbouring layers is not published.

use crate::choice;
use serde::{Deserialize, Serialize};

choice! {
    /// Order in which the pages of a block are written.
    pub enum WriteSequence {
        /// Layer first: layer by layer, all sub-blocks of a layer in turn.
        Lfws = "lfws",
        /// Sub-block first: sub-block by sub-block, all layers of a sub-block in turn.
        Sfws = "sfws",
    }
}

/// Where a page lies in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPosition {
    /// Layer, 0 is written first.
    pub layer: u16,
    /// Physical sub-block.
    pub sub_block: u16,
    /// Bit of the cells: 0 is the least significant one (LSB).
    pub bit: u8,
}

/// Layers, physical sub-blocks and bits of a block, and the sequence that orders its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShape {
    layers: u16,
    sub_blocks: u16,
    bits_per_cell: u8,
    sequence: WriteSequence,
}

/// Most physical sub-blocks of a block: as many as a flash command can name at once.
pub const SUB_BLOCKS_MAX: u16 = 32;

impl BlockShape {
    /// A block of `layers` × `sub_blocks` × `bits_per_cell` pages. `None` if a factor is 0, there are
    /// more than [`SUB_BLOCKS_MAX`] sub-blocks, or the pages do not fit a page index.
    pub fn new(layers: u16, sub_blocks: u16, bits_per_cell: u8, sequence: WriteSequence) -> Option<BlockShape> {
        let pages = u64::from(layers) * u64::from(sub_blocks) * u64::from(bits_per_cell);
        let legal = pages > 0 && pages <= u64::from(u16::MAX) && sub_blocks <= SUB_BLOCKS_MAX;
        legal.then_some(BlockShape { layers, sub_blocks, bits_per_cell, sequence })
    }

    /// Pages of the block.
    pub fn pages_per_block(self) -> u16 {
        self.layers * self.sub_blocks * u16::from(self.bits_per_cell)
    }

    /// Layers of the block.
    pub fn layers(self) -> u16 {
        self.layers
    }

    /// Physical sub-blocks of the block.
    pub fn sub_blocks(self) -> u16 {
        self.sub_blocks
    }

    /// Bits, and so pages, of one cell.
    pub fn bits_per_cell(self) -> u8 {
        self.bits_per_cell
    }

    /// The order of its pages.
    pub fn sequence(self) -> WriteSequence {
        self.sequence
    }

    /// Where page `page` lies; the inverse of [`BlockShape::page`].
    pub fn position(self, page: u16) -> CellPosition {
        let bits = u16::from(self.bits_per_cell);
        let (cell, bit) = (page / bits, (page % bits) as u8);
        let (layer, sub_block) = match self.sequence {
            WriteSequence::Lfws => (cell / self.sub_blocks, cell % self.sub_blocks),
            WriteSequence::Sfws => (cell % self.layers, cell / self.layers),
        };
        CellPosition { layer, sub_block, bit }
    }

    /// Index of the page at `position` in the block's write sequence.
    pub fn page(self, position: CellPosition) -> u16 {
        let CellPosition { layer, sub_block, bit } = position;
        let cell = match self.sequence {
            WriteSequence::Lfws => layer * self.sub_blocks + sub_block,
            WriteSequence::Sfws => sub_block * self.layers + layer,
        };
        cell * u16::from(self.bits_per_cell) + u16::from(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;

    /// A few shapes of every kind: powers of two, primes, one of each factor.
    fn shapes() -> impl Iterator<Item = BlockShape> {
        let factors = [1u16, 2, 3, 5, 16, 31, 32];
        let bits = [1u8, 2, 3, 4];
        factors.into_iter().flat_map(move |layers| {
            factors.into_iter().flat_map(move |sub_blocks| {
                bits.into_iter().flat_map(move |bits| {
                    [WriteSequence::Lfws, WriteSequence::Sfws]
                        .into_iter()
                        .filter_map(move |sequence| BlockShape::new(layers, sub_blocks, bits, sequence))
                })
            })
        })
    }

    #[test]
    fn t030_page_and_position_are_bijective() {
        for shape in shapes() {
            let mut seen = vec![false; usize::from(shape.pages_per_block())];
            for layer in 0..shape.layers() {
                for sub_block in 0..shape.sub_blocks() {
                    for bit in 0..shape.bits_per_cell() {
                        let position = CellPosition { layer, sub_block, bit };
                        let page = shape.page(position);
                        assert_eq!(shape.position(page), position, "{shape:?}");
                        assert!(!std::mem::replace(&mut seen[usize::from(page)], true), "{shape:?} page {page}");
                    }
                }
            }
            assert!(seen.into_iter().all(|seen| seen), "{shape:?}");
        }
    }

    #[test]
    fn t031_layer_first_ends_a_layer_and_sub_block_first_a_sub_block_before_the_next() {
        for shape in shapes() {
            let positions = (0..shape.pages_per_block()).map(|page| shape.position(page));
            let rank = |p: CellPosition| match shape.sequence() {
                WriteSequence::Lfws => (p.layer, p.sub_block, p.bit),
                WriteSequence::Sfws => (p.sub_block, p.layer, p.bit),
            };
            assert!(positions.map(rank).is_sorted(), "{shape:?}");
        }
    }

    #[test]
    fn t032_impossible_shapes_are_refused() {
        for (layers, sub_blocks, bits) in [(0, 4, 1), (4, 0, 1), (4, 4, 0), (4, 33, 1), (16_384, 4, 1)] {
            assert_eq!(BlockShape::new(layers, sub_blocks, bits, WriteSequence::Lfws), None);
        }
        assert_eq!(WriteSequence::from_name("sfws"), Some(WriteSequence::Sfws));
        assert_eq!(WriteSequence::from_name("SFWS"), None);
    }
}
