//! How often the pages of a word line were disturbed by programs in the other sub-blocks of their block.
//!
//! All sub-blocks share the word lines of their block. A program puts its voltage on one of them, so it disturbs
//! what the other sub-blocks hold there, from their own program on (GLSVLSI'24, section 5.1: the sub-blocks
//! written first have the most errors). An erase of sub-blocks grounds all word lines and reaches the channels of
//! the chosen ones only (section 2.2), so it disturbs nobody.
//!
//! A program costs two additions, however many sub-blocks there are: a word line counts all its programs, and the
//! cells of a sub-block remember that count of their own last program.

use pumice_types::{BlockId, BlockShape, Geometry, PageAddress};
use serde::{Deserialize, Serialize};

/// Programs on all word lines of a device.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct WordLines {
    shape: BlockShape,
    /// Programs in other sub-blocks that a page survives.
    bound: u32,
    /// Programs on each word line since its block was erased whole.
    programs: Vec<u32>,
    /// The word line's count when the cells of each of its sub-blocks were last programmed.
    at_program: Vec<u32>,
}

impl WordLines {
    /// Word lines without a program.
    pub(super) fn new(geometry: &Geometry, shape: BlockShape, bound: u32) -> WordLines {
        let lines = geometry.blocks() as usize * usize::from(shape.layers());
        WordLines {
            shape,
            bound,
            programs: vec![0; lines],
            at_program: vec![0; lines * usize::from(shape.sub_blocks())],
        }
    }

    /// Bytes of the columns.
    pub(super) fn state_bytes(&self) -> usize {
        size_of_val(&self.programs[..]) + size_of_val(&self.at_program[..])
    }

    /// A page's word line among all, and the cells of its sub-block on it among all such.
    #[inline]
    fn place(&self, page: PageAddress) -> (usize, usize) {
        let position = self.shape.position(page.page);
        let line = page.block.index() * usize::from(self.shape.layers()) + usize::from(position.layer);
        (line, line * usize::from(self.shape.sub_blocks()) + usize::from(position.sub_block))
    }

    /// Notes a program. Returns whether some page of the word line may be disturbed beyond the bound by now.
    #[inline]
    pub(super) fn note_program(&mut self, page: PageAddress) -> bool {
        let (line, cells) = self.place(page);
        self.programs[line] += 1;
        self.at_program[cells] = self.programs[line];
        self.programs[line] > self.bound
    }

    /// Notes that a block was erased whole.
    pub(super) fn note_erase(&mut self, block: BlockId) {
        let layers = usize::from(self.shape.layers());
        self.programs[block.index() * layers..][..layers].fill(0);
    }

    /// Programs in other sub-blocks on a programmed page's word line since its cells were programmed.
    pub(super) fn disturbs(&self, page: PageAddress) -> u32 {
        let (line, cells) = self.place(page);
        self.programs[line] - self.at_program[cells]
    }

    /// Whether a programmed page is disturbed beyond the bound.
    pub(super) fn is_over(&self, page: PageAddress) -> bool {
        self.disturbs(page) > self.bound
    }
}
