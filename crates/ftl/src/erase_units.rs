//! What a layer erases apart, as a spec asks for it.

use pumice_types::erase_unit::UNITS_MAX;
use pumice_types::refusal::{needs, quoted};
use pumice_types::{PartialEraseUnit, WriteSequence, choice};

use crate::layer::LayerSpec;

choice! {
    /// What a layer erases at once.
    pub enum EraseUnit {
        /// A block.
        Block = "block",
        /// Partial blocks of a block.
        PartialBlock = "partial-block",
        /// Physical sub-blocks of a block.
        SubBlock = "sub-block",
    }
}

/// Refuses an erase unit, the value of `key`, that the chip does not have or whose leaves are too many.
pub(crate) fn check_unit(spec: &LayerSpec, key: &str, unit: EraseUnit) -> Result<(), String> {
    let wanted = match unit {
        EraseUnit::Block => return Ok(()),
        EraseUnit::PartialBlock => PartialEraseUnit::PartialBlock,
        EraseUnit::SubBlock => PartialEraseUnit::SubBlock,
    };
    let found = spec.chip.partial_erase.unit;
    let needed = format!("partial_erase.unit = \"{wanted}\"");
    needs(format_args!("{key} = \"{unit}\""), [(found != wanted, &needed, quoted(found))])?;
    if unit == EraseUnit::PartialBlock { check_leaves(spec, key) } else { Ok(()) }
}

/// Refuses leaves that collection cannot reclaim.
fn check_leaves(spec: &LayerSpec, key: &str) -> Result<(), String> {
    let (splits, splits_max) = (spec.chip.partial_erase.max_splits, UNITS_MAX.trailing_zeros());
    if u32::from(splits) > splits_max {
        return Err(format!(
            "{key} = \"partial-block\" with partial_erase.max_splits = {splits}; allowed: at most {splits_max}"
        ));
    }
    match spec.chip.geometry.write_sequence {
        WriteSequence::Lfws => Ok(()),
        WriteSequence::Sfws => Err(format!(
            "{key} = \"partial-block\" needs geometry.write_sequence = \"lfws\", found \"sfws\": a partial block is \
             a range of layers, and sub-block first neighbouring pages do not lie in neighbouring layers"
        )),
    }
}
