//! One block on its own, as calls from outside: where its pages lie, what errors they have, and what
//! its sub-blocks are worth to garbage collection.

use pumice_config::SpecError;
use pumice_ftl::{JoinRule, UnitChoice, join_units};
use pumice_nand::rber_map::rber;
use pumice_types::{BlockShape, Choice, Time, UnitPages, UnitSet, WriteSequence, refuse};
use serde::{Deserialize, Serialize};

/// Shape of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeInput {
    /// Layers.
    pub layers: u16,
    /// Physical sub-blocks, at most 32.
    pub sub_blocks: u16,
    /// Pages of a cell.
    pub bits_per_cell: u8,
    /// `lfws` or `sfws`.
    pub write_sequence: String,
}

impl ShapeInput {
    fn shape(&self) -> Result<BlockShape, SpecError> {
        let ShapeInput { layers, sub_blocks, bits_per_cell, write_sequence } = self;
        let Some(sequence) = WriteSequence::from_name(write_sequence) else {
            return Err(refuse!("write_sequence = \"{write_sequence}\"; allowed: \"lfws\" | \"sfws\""));
        };
        BlockShape::new(*layers, *sub_blocks, *bits_per_cell, sequence).ok_or_else(|| {
            refuse!(
                "a block of {layers} layers x {sub_blocks} sub-blocks x {bits_per_cell} bits; allowed: 1 to 32 sub-blocks, \
                 at least 1 of each, at most 65535 pages"
            )
        })
    }
}

/// Pages of a block in write order, one entry a page in each column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BlockPages {
    /// Layer.
    pub layer: Vec<u16>,
    /// Physical sub-block.
    pub sub_block: Vec<u16>,
    /// Bit of the cell, 0 the least significant.
    pub bit: Vec<u8>,
    /// Raw bit error rate.
    pub rber: Vec<f64>,
}

/// Where the pages of a block lie, and their raw bit error rate.
///
/// # Errors
/// A shape that cannot be.
pub fn pages(input: &ShapeInput) -> Result<BlockPages, SpecError> {
    let shape = input.shape()?;
    let mut pages = BlockPages::default();
    for position in (0..shape.pages_per_block()).map(|page| shape.position(page)) {
        pages.layer.push(position.layer);
        pages.sub_block.push(position.sub_block);
        pages.bit.push(position.bit);
        pages.rber.push(rber(shape, position));
    }
    Ok(pages)
}

/// A wholly written block, and the price of reclaiming.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReclaimInput {
    /// Shape of the block.
    pub shape: ShapeInput,
    /// Whether each page is valid, in write order.
    pub valid: Vec<bool>,
    /// One page copied, in microseconds.
    pub copy_us: f64,
    /// One erase operation, in microseconds.
    pub erase_us: f64,
}

/// What would be reclaimed of a block in one operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reclaim {
    /// Valid pages of each sub-block.
    pub valid: Vec<u32>,
    /// Sub-blocks to erase, ascending; none if the block is all valid.
    pub erase: Vec<usize>,
    /// Valid pages in them, to be copied first.
    pub copies: u32,
}

/// Plans the reclaiming of one block by its sub-blocks, around the one with the fewest valid pages.
///
/// # Errors
/// A shape that cannot be, or another number of pages.
pub fn reclaim(input: &ReclaimInput) -> Result<Reclaim, SpecError> {
    let shape = input.shape.shape()?;
    let pages = usize::from(shape.pages_per_block());
    if input.valid.len() != pages {
        return Err(refuse!("valid has {} entries; allowed: one a page, {pages}", input.valid.len()));
    }
    let units = UnitPages::sub_blocks(shape);
    let mut valid = vec![0u32; units.units()];
    for (page, _) in input.valid.iter().enumerate().filter(|(_, valid)| **valid) {
        valid[units.unit_of(page as u16)] += 1;
    }
    let pages_per_unit = units.pages_per_unit() as u16;
    let rule = JoinRule {
        pages_per_unit,
        copy: Time::from_us(input.copy_us),
        erase: Time::from_us(input.erase_us),
        room: u32::MAX,
    };
    let fewest = (0..valid.len()).min_by_key(|&unit| valid[unit]).unwrap_or_default();
    let counts: Vec<Option<u16>> = valid.iter().map(|&pages| Some(pages as u16)).collect();
    let choice = match valid[fewest] < u32::from(pages_per_unit) {
        true => join_units(fewest, &counts, &rule),
        false => UnitChoice { units: UnitSet::EMPTY, copies: 0 },
    };
    Ok(Reclaim { valid, erase: choice.units.iter().collect(), copies: choice.copies })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(write_sequence: &str, valid: impl Fn(usize) -> bool) -> ReclaimInput {
        let shape = ShapeInput { layers: 32, sub_blocks: 16, bits_per_cell: 1, write_sequence: write_sequence.into() };
        ReclaimInput { shape, valid: (0..512).map(valid).collect(), copy_us: 825.0, erase_us: 3_800.0 }
    }

    #[test]
    fn t566_figure_2_through_the_call() {
        let sfws = reclaim(&block("sfws", |page| page >= 256)).expect("legal");
        assert_eq!((sfws.erase, sfws.copies), ((0..8).collect(), 0));
        let lfws = reclaim(&block("lfws", |page| page >= 256)).expect("legal");
        assert_eq!((lfws.valid, lfws.copies), (vec![16; 16], 256));
        assert_eq!(reclaim(&block("lfws", |_| true)).expect("legal").erase, Vec::<usize>::new());
    }

    #[test]
    fn t567_bad_blocks_are_refused_in_words() {
        let text = |input: &ReclaimInput| reclaim(input).expect_err("refused").to_string();
        assert!(text(&block("layer", |_| true)).contains("\"lfws\" | \"sfws\""));
        let short = ReclaimInput { valid: vec![true; 3], ..block("lfws", |_| true) };
        assert!(text(&short).contains("one a page, 512"));
        let mut wide = block("lfws", |_| true);
        wide.shape.sub_blocks = 33;
        assert!(text(&wide).contains("1 to 32 sub-blocks"));
        let columns = pages(&block("lfws", |_| true).shape).expect("legal");
        assert_eq!((columns.layer[17], columns.sub_block[17], columns.rber.len()), (1, 1, 512));
    }
}
