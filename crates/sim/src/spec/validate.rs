//! Rules between keys: what each alone allows may still be impossible together.

use pumice_types::PbTree;

use super::{Spec, SpecError};
use crate::{build, workload};

/// Most pages of a device: beyond, the tags of pages would have too few bits for a version.
const PAGES_MAX: u128 = 1 << 30;

/// Checks a spec whose single values are all allowed.
///
/// # Errors
/// The first impossibility, with what would be possible.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    check_addresses(spec)?;
    check_block_shape(spec)?;
    check_partial_erase(spec)?;
    build::check(spec)?;
    workload::keys(spec)?.check().map_err(SpecError)?;
    check_output(spec)
}

/// A refusal with this text.
pub(crate) fn refuse<T>(text: String) -> Result<T, SpecError> {
    Err(SpecError(text))
}

fn check_addresses(spec: &Spec) -> Result<(), SpecError> {
    let g = &spec.geometry;
    if !g.page_bytes.is_multiple_of(512) {
        return refuse(format!("geometry.page_bytes = {} is not a multiple of 512", g.page_bytes));
    }
    let factors = [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die, g.blocks_per_plane];
    let pages = factors.iter().fold(u128::from(g.pages_per_block), |n, &f| n * u128::from(f));
    if pages > PAGES_MAX {
        return refuse(format!(
            "geometry gives {pages} pages; at most {} can be addressed: use fewer or larger pages",
            PAGES_MAX
        ));
    }
    if g.bad_blocks_per_plane >= g.blocks_per_plane {
        return refuse(format!(
            "geometry.bad_blocks_per_plane = {} leaves no good block of {} in a plane",
            g.bad_blocks_per_plane, g.blocks_per_plane
        ));
    }
    Ok(())
}

fn check_block_shape(spec: &Spec) -> Result<(), SpecError> {
    let g = &spec.geometry;
    let (layers, sub_blocks) = match (g.layers, g.sub_blocks) {
        (Some(layers), Some(sub_blocks)) => (u32::from(layers), u32::from(sub_blocks)),
        (None, None) if g.write_sequence == "lfws" => return Ok(()),
        (None, None) => {
            return refuse(format!(
                "geometry.write_sequence = \"{}\" needs geometry.layers and geometry.sub_blocks",
                g.write_sequence
            ));
        }
        (given, _) => {
            let (one, other) = if given.is_some() { ("layers", "sub_blocks") } else { ("sub_blocks", "layers") };
            return refuse(format!("geometry.{one} is given without geometry.{other}; allowed: both or none"));
        }
    };
    let pages = layers * sub_blocks * u32::from(g.bits_per_cell);
    if pages != u32::from(g.pages_per_block) {
        return refuse(format!(
            "geometry.pages_per_block = {}, but layers {layers} x sub_blocks {sub_blocks} x bits_per_cell {} = {pages}; \
             every page is one bit of the cells of one layer in one sub-block",
            g.pages_per_block, g.bits_per_cell
        ));
    }
    Ok(())
}

fn check_partial_erase(spec: &Spec) -> Result<(), SpecError> {
    let (pe, pages) = (&spec.partial_erase, spec.geometry.pages_per_block);
    if pe.unit != "partial-block" {
        if spec.ftl.merge != "block-erase" {
            return refuse(format!(
                "ftl.merge = \"{}\" needs partial_erase.unit = \"partial-block\", found \"{}\"",
                spec.ftl.merge, pe.unit
            ));
        }
        if pe.unit == "sub-block" && spec.geometry.sub_blocks.is_none() {
            return refuse("partial_erase.unit = \"sub-block\" needs geometry.layers and geometry.sub_blocks".into());
        }
        return Ok(());
    }
    let largest = PbTree::largest_legal_splits(pages);
    if pe.max_splits > largest {
        return refuse(format!(
            "partial_erase.max_splits = {}: 2^{} does not divide geometry.pages_per_block = {pages}; the largest legal value is {largest}",
            pe.max_splits, pe.max_splits
        ));
    }
    match &pe.t_us {
        None => Ok(()),
        Some(times) => check_erase_table(
            ["partial_erase.t_us", "timing.t_bers_us"],
            times,
            usize::from(pe.max_splits) + 1,
            spec.timing.t_bers_us,
        ),
    }
}

/// Checks a table of erase times against its number of levels and the block erase. `names` are those
/// of the table and of the block erase where the user wrote them.
pub(crate) fn check_erase_table(
    [table, block]: [&str; 2],
    times: &[f64],
    levels: usize,
    block_us: f64,
) -> Result<(), SpecError> {
    if times.len() != levels {
        return refuse(format!(
            "{table} has {} entries; allowed: max_splits + 1 = {levels}, level 0 (the block) first",
            times.len()
        ));
    }
    if times[0] != block_us {
        return refuse(format!(
            "{table}[0] = {} differs from {block} = {block_us}; level 0 is the block erase",
            times[0]
        ));
    }
    Ok(())
}

/// Latencies and times of completion need a clock.
fn check_output(spec: &Spec) -> Result<(), SpecError> {
    let output = &spec.output;
    let timed = [
        (output.request_log, "output.request_log"),
        (output.histograms, "output.histograms"),
        (output.time_series_s.is_some(), "output.time_series_s"),
    ];
    match timed.into_iter().find(|(on, _)| *on && !spec.run.timed) {
        Some((_, key)) => refuse(format!("{key} needs run.timed = true, found false")),
        None => Ok(()),
    }
}
