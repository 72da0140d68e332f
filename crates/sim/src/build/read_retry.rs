//! The bit errors of a spec's pages.

use pumice_nand::rber_map::{bits_per_kib, rber, worst_layer_first};
use pumice_types::{BlockShape, EraseScheme};

use crate::device::block_shape;
use crate::erase::{EraseConfig, LAST_PEC, Lifetime};
use crate::read_retry::{ErrorModel, ReadRetry};
use crate::spec::{Spec, SpecError, refuse};

/// Refuses retries where nothing says how many errors a page has.
///
/// # Errors
/// What is missing.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    if spec.erase.read_retry && spec.erase.scheme == "fixed" && block_shape(spec).is_none() {
        return refuse(
            "erase.read_retry = true needs a wear or a place that errors follow from: erase.scheme other than \"fixed\", \
             or geometry.layers and geometry.sub_blocks"
                .into(),
        );
    }
    Ok(())
}

/// The bit errors that a spec's pages have; `None` if nothing says how many.
fn model(spec: &Spec) -> Option<ErrorModel> {
    let shape = block_shape(spec);
    let level = match super::erase::config(spec) {
        Some(config) => worn_levels(&Lifetime::of(&config)),
        None => vec![unworn_level(shape?, f64::from(spec.erase.initial_pec))],
    };
    let share = match shape {
        Some(shape) => shares(shape),
        None => vec![1.0; usize::from(spec.geometry.pages_per_block)],
    };
    Some(ErrorModel { share, level, ecc_bits_per_kib: spec.erase.ecc_bits_per_kib })
}

/// The read retries that a spec asks for.
pub fn build(spec: &Spec) -> Option<ReadRetry> {
    spec.erase.read_retry.then(|| model(spec)).flatten().map(ReadRetry::new)
}

/// Errors of each page by its place, as a multiple of the worst that layer first gives.
fn shares(shape: BlockShape) -> Vec<f64> {
    let worst = worst_layer_first(shape);
    (0..shape.pages_per_block()).map(|page| rber(shape, shape.position(page)) / worst).collect()
}

/// M_RBER after 0, 1, … cycles of the run's scheme.
fn worn_levels(life: &Lifetime) -> Vec<f64> {
    (0..=LAST_PEC).map(|pec| life.at(f64::from(pec)).m_rber).collect()
}

/// Where erases do not wear: the paper's chip, grown with the initial cycles as M_RBER grows under ISPE.
fn unworn_level(shape: BlockShape, pec: f64) -> f64 {
    let life = Lifetime::of(&EraseConfig::aero_chips(EraseScheme::Ispe));
    bits_per_kib(worst_layer_first(shape)) * life.at(pec).m_rber / life.at(0.0).m_rber
}
