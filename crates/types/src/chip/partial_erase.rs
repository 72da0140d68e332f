//! `[partial_erase]`: what the chips can erase besides a whole block, and how often.

use crate::key::{ANY, COUNT_MAX, PEN_TABLE_1, When, float, int};
use crate::partial_block::MAX_SPLITS;
use crate::{BlockShape, PbTree, SpecError, choice, keys, refuse};

use super::{ChipKeys, PageUnits};

choice! {
    /// What a chip can erase besides a whole block.
    pub enum PartialEraseUnit {
        /// Nothing.
        None = "none",
        /// The halves, quarters, … of a block.
        PartialBlock = "partial-block",
        /// Any set of the physical sub-blocks of a block.
        SubBlock = "sub-block",
    }
}

/// The keys of partial blocks are read where there are any.
const SPLITS: When = When::Is("partial_erase.unit", &["partial-block"]);

/// Merges that restore partial blocks.
const M_MERGES: When = When::IsNot("ftl.merge", &["block-erase"]);

/// Leaves are written and erased apart.
pub(super) const LEAVES_APART: When = When::Any(&[
    When::Is("ftl.erase_unit", &["partial-block"]),
    When::All(&[When::Is("ftl.kind", &["zns"]), When::Is("ftl.zns.unit", &["partial-block"])]),
]);

/// Partial erases take place.
const PARTIAL_ERASES: When = When::All(&[SPLITS, When::Any(&[M_MERGES, LEAVES_APART])]);

/// Sub-blocks are written and erased apart.
const SUB_BLOCKS_APART: When = When::Is("ftl.erase_unit", &["sub-block"]);

/// Something can be disturbed.
const DISTURBS: When =
    When::Any(&[PARTIAL_ERASES, When::All(&[SUB_BLOCKS_APART, When::Given("partial_erase.sub_block_disturb")])]);

keys! {
    /// `[partial_erase]`
    pub struct PartialEraseKeys in "partial_erase" {
        unit: PartialEraseUnit = "\"partial-block\"", ANY, "", "PEN, FAST'18, section 4", When::Always,
            "What the chip can erase besides a block. partial-block: its halves, quarters, ... sub-block: any set of its physical sub-blocks in one operation of tBERS; needs geometry.layers and geometry.sub_blocks.";
        max_splits: u8 = "6", int(0, MAX_SPLITS as i64), "", PEN_TABLE_1, PARTIAL_ERASES,
            "L: how often a block is halved. 2^L must divide the pages of a block (sfws: of a sub-block).";
        t_us: Option<Vec<f64>> = "", float(0.0, 1e9), "us", "PEN, FAST'18, Table 1, by partial-block pages", PARTIAL_ERASES,
            "Partial-erase times, level 0 (the block, so tBERS) first, L + 1 entries. Absent: Table 1, linear in log2(pages) between its entries; level 0 is tBERS.";
        disturb_tolerance: u8 = "1", int(0, 255), "", PEN_TABLE_1, PARTIAL_ERASES,
            "Disturbs that a leaf survives. Beyond it, its pages read corrupt.";
        disturb_aware: bool = "true", ANY, "", "PEN, FAST'18, section 5.2.2", DISTURBS,
            "Merges restore leaves, and collection moves data of leaves and sub-blocks, before they are disturbed beyond tolerance.";
        sub_block_disturb: Option<u32> = "", int(1, COUNT_MAX), "programs", "chosen; the effect: GLSVLSI'24, section 5.1", SUB_BLOCKS_APART,
            "Programs on its word line in other sub-blocks that a programmed page survives; beyond, it reads corrupt. At least (sub_blocks - 1) x bits_per_cell, so that a block can be written. Absent: any number.";
        wear_limit_w: u32 = "16", int(0, COUNT_MAX), "", PEN_TABLE_1, When::All(&[SPLITS, M_MERGES]),
            "W: M-Merges that a D-block (or a superblock) may take between two full merges.";
    }
}

impl ChipKeys {
    /// The partial blocks of a block; the whole block alone if there are none.
    ///
    /// # Errors
    /// More halvings than the pages of a block, or of a sub-block that is written alone, allow.
    pub fn tree(&self) -> Result<PbTree, SpecError> {
        let splits = match self.partial_erase.unit {
            PartialEraseUnit::PartialBlock => self.partial_erase.max_splits,
            PartialEraseUnit::None | PartialEraseUnit::SubBlock => 0,
        };
        let pages = self.geometry.pages_per_block;
        let runs = self.geometry.sub_blocks_in_turn().unwrap_or(1);
        PbTree::new(pages, splits).and_then(|tree| tree.in_runs(runs)).ok_or_else(|| {
            let largest = PbTree::largest_legal_splits(pages / runs);
            let halved = match self.geometry.sub_blocks_in_turn() {
                None => format!("geometry.pages_per_block = {pages}"),
                Some(_) => format!("the {} pages of a sub-block (geometry.write_sequence = \"sfws\")", pages / runs),
            };
            refuse!(
                "partial_erase.max_splits = {splits}: 2^{splits} does not divide {halved}; the largest legal value is {largest}"
            )
        })
    }

    /// Sub-blocks that the chips erase apart. `None` also where pages are mapped by units: such blocks are erased whole,
    /// and units are no pages of the shape.
    pub fn erased_sub_blocks(&self) -> Option<BlockShape> {
        let erases = self.partial_erase.unit == PartialEraseUnit::SubBlock && self.units == PageUnits::WHOLE;
        self.geometry.block_shape().filter(|_| erases)
    }

    /// Refuses partial erases that the chips cannot do.
    pub(super) fn check_partial_erase(&self) -> Result<(), SpecError> {
        let keys = &self.partial_erase;
        match keys.unit {
            PartialEraseUnit::None => Ok(()),
            PartialEraseUnit::SubBlock if self.geometry.sub_blocks.is_none() => {
                Err("partial_erase.unit = \"sub-block\" needs geometry.layers and geometry.sub_blocks".into())
            }
            PartialEraseUnit::SubBlock => self.check_sub_block_disturb(),
            PartialEraseUnit::PartialBlock => {
                let tree = self.tree()?;
                let names = ["partial_erase.t_us", "timing.t_bers_us"];
                let levels = usize::from(tree.max_splits()) + 1;
                keys.t_us
                    .as_ref()
                    .map_or(Ok(()), |times| check_erase_table(names, times, levels, self.timing.t_bers_us))
            }
        }
    }
}

impl ChipKeys {
    /// Refuses a bound that writing a block once already exceeds.
    fn check_sub_block_disturb(&self) -> Result<(), SpecError> {
        let (Some(bound), Some(shape)) = (self.partial_erase.sub_block_disturb, self.geometry.block_shape()) else {
            return Ok(());
        };
        let once = u32::from(shape.sub_blocks() - 1) * u32::from(shape.bits_per_cell());
        if bound >= once {
            return Ok(());
        }
        Err(refuse!(
            "partial_erase.sub_block_disturb = {bound}: a block that is written once disturbs its first sub-block {once} times; \
             the smallest value that works is {once}"
        ))
    }
}

/// Checks a table of erase times in microseconds against its number of levels and the block erase. `names`
/// are those of the table and of the block erase where the user wrote them.
///
/// # Errors
/// What does not fit, with what would.
pub fn check_erase_table(
    [table, block]: [&str; 2],
    times: &[f64],
    levels: usize,
    block_us: f64,
) -> Result<(), SpecError> {
    if times.len() != levels {
        return Err(refuse!(
            "{table} has {} entries; allowed: max_splits + 1 = {levels}, level 0 (the block) first",
            times.len()
        ));
    }
    if times[0] != block_us {
        return Err(refuse!("{table}[0] = {} differs from {block} = {block_us}; level 0 is the block erase", times[0]));
    }
    Ok(())
}
