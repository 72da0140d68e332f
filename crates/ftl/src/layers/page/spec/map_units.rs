//! Mapping units that are smaller than a page: how many a page has, and what does not go together with them.

use pumice_types::refusal::{needs, quoted};
use pumice_types::{ChipKeys, PageAddress, ReadTransfer, SpecError, refuse};

use super::page_spec::{PageKeys, Separation};
use crate::plan::EraseUnit;
use crate::seam::{LayerSpec, Recovery};

/// Bytes of a sector: units are multiples of it.
const SECTOR: u32 = 512;

/// Units of a page; `None` if a page is one, or if the chips cannot be mapped so. `chip`: as the spec describes it.
pub(super) fn units_per_page(chip: &ChipKeys, keys: &PageKeys) -> Option<u16> {
    let (unit, page) = (keys.map_unit_bytes?, chip.geometry.page_bytes);
    let units = u16::try_from(page / unit).ok().filter(|_| page.is_multiple_of(unit) && unit.is_multiple_of(SECTOR))?;
    (units > 1 && chip.geometry.pages_per_block.checked_mul(units).is_some()).then_some(units)
}

/// Refuses units that do not make up a page, and what does not go together with units.
pub(super) fn check(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
    let Some(unit) = keys.map_unit_bytes else { return Ok(()) };
    let (chip, per_page) = (spec.chip, spec.chip.units.per_page);
    let page = chip.geometry.page_bytes * u32::from(per_page);
    if unit == page {
        return Ok(());
    }
    let what = format!("ftl.map_unit_bytes = {unit}");
    if !page.is_multiple_of(unit) || !unit.is_multiple_of(SECTOR) {
        return Err(refuse!(
            "{what}; allowed: a divisor of geometry.page_bytes = {page} that is a multiple of {SECTOR}"
        ));
    }
    if per_page == 1 {
        let pages = chip.geometry.pages_per_block;
        return Err(refuse!(
            "{what} makes blocks of {} units; allowed: at most {}",
            u64::from(pages) * u64::from(page / unit),
            u16::MAX
        ));
    }
    let (units, most) = (chip.geometry.scaled(1.0)?.pages(), PageAddress::COUNT_MAX);
    if units > most {
        return Err(refuse!("{what} gives {units} units; allowed: at most {most}"));
    }
    check_codewords(spec, unit)?;
    check_companions(spec, keys, what)
}

/// Refuses what is not there for units.
fn check_companions(spec: &LayerSpec, keys: &PageKeys, what: String) -> Result<(), SpecError> {
    let chip = spec.chip;
    // A journal page forces out what gathers of the host, also while a victim counts on the room behind it.
    let shares = keys.hot_cold == Separation::Mixed || spec.decides.streams > 0;
    let pads_room = spec.shared.recovery == Recovery::Checkpoint && keys.gc_mode.interrupts_victims() && shares;
    needs(
        what,
        [
            (
                chip.timing.copyback,
                "timing.copyback = false (a chip copies whole pages, and collection moves single units)",
                "true".into(),
            ),
            (keys.erase_unit != EraseUnit::Block, "ftl.erase_unit = \"block\"", quoted(keys.erase_unit)),
            (
                pads_room,
                "copies in open blocks of their own, or a ftl.gc_mode that ends a victim at once (ftl.recovery = \"checkpoint\" pads open pages)",
                "neither".into(),
            ),
        ],
    )
}

/// Refuses units and codewords of which neither is a multiple of the other.
fn check_codewords(spec: &LayerSpec, unit: u32) -> Result<(), SpecError> {
    let codeword = spec.chip.timing.codeword_bytes;
    match spec.chip.timing.read_transfer {
        ReadTransfer::Codewords if !unit.is_multiple_of(codeword) && !codeword.is_multiple_of(unit) => Err(refuse!(
            "ftl.map_unit_bytes = {unit} with timing.codeword_bytes = {codeword}; allowed: one a multiple of the other"
        )),
        ReadTransfer::Codewords | ReadTransfer::Page => Ok(()),
    }
}
