//! Raw bit errors by place in the block and write sequence, and the read retries that they take.
//!
//! Source: GLSVLSI'24, section 5.1 and Figures 3 and 4: a 32-layer MLC chip, each block written layer
//! first and sub-block first and read at once. The paper prints a figure, no table. This map has the
//! figure's shape as the text states it, and levels chosen so that all lies below the paper's 10⁻³:
//! - lower (LSB) pages do not depend on the sequence;
//! - upper (MSB) pages written sub-block first suffer program disturb, because cells above and below are
//!   programmed already and hold the pre-charge voltage up; the voltage enters from both ends, so the
//!   middle layers lose most of it;
//! - every sub-block written later adds disturb, so S0 and S1 are worst and the last sub-block best;
//! - from S6 on of sixteen, the worst page of a sub-block is better than the worst layer-first page.
//!
//! Deviations: one chip without wear or retention; all bits but the first of a cell count as MSB; a sub-block that is
//! erased and written again alone keeps the value of its place, because no measurement exists.

use pumice_types::{BlockShape, CellPosition, WriteSequence};

/// Bit error rate of every LSB page.
const LSB: f64 = 6e-5;

/// Bit error rate of a layer-first MSB page in the middle of the block.
const MSB: f64 = 2e-4;

/// How much worse the outermost layers are, as a share: cells differ with depth.
const EDGE: f64 = 0.6;

/// Disturb of a middle-layer MSB page in the first sub-block, where the pre-charge is lost most, as a
/// multiple of its errors without.
const PRECHARGE_LOSS: f64 = 1.75;

/// Share by which the errors of the last sub-block are below those of the first, before the pre-charge loss above.
/// The last one is best because nothing is programmed after it.
const LAST_WRITTEN_RELIEF: f64 = 0.08;

/// Bits of a KiB, the unit of error-correcting codes.
const BITS_PER_KIB: f64 = 8192.0;

/// Share of the bit errors that one retry with shifted reference voltages leaves.
const RETRY_RESIDUE: f64 = 0.8;

/// Retries after which a page counts as uncorrectable.
const RETRIES_MAX: u32 = 16;

/// Raw bit error rate of the page at `position` in a block of this shape.
pub fn rber(shape: BlockShape, position: CellPosition) -> f64 {
    if position.bit == 0 {
        return LSB;
    }
    let depth = depth(position.layer, shape.layers());
    let layer_first = MSB * (1.0 + EDGE * depth * depth);
    match shape.sequence() {
        WriteSequence::Lfws => layer_first,
        WriteSequence::Sfws => {
            let place = share(position.sub_block, shape.sub_blocks());
            let still_to_come = 1.0 - place;
            let loss = PRECHARGE_LOSS * (1.0 - depth) * still_to_come * still_to_come;
            layer_first * (1.0 - LAST_WRITTEN_RELIEF * place) * (1.0 + loss)
        }
    }
}

/// Bit error rate of the worst page of a block of this shape written layer first. A model with one error level a
/// block uses that level for this page.
pub fn worst_layer_first(shape: BlockShape) -> f64 {
    if shape.bits_per_cell() == 1 { LSB } else { MSB * (1.0 + EDGE) }
}

/// Bit errors of one KiB of data at a raw bit error rate.
pub fn bits_per_kib(rber: f64) -> f64 {
    rber * BITS_PER_KIB
}

/// Retries that a page with this many errors needs until a code that corrects `ecc_bits_per_kib` can
/// read it: none while it can at once. `None`: more than the chip offers, uncorrectable.
pub fn retries(errors_per_kib: f64, ecc_bits_per_kib: f64) -> Option<u32> {
    let mut left = errors_per_kib;
    (0..=RETRIES_MAX).find(|_| {
        let correctable = left <= ecc_bits_per_kib;
        left *= RETRY_RESIDUE;
        correctable
    })
}

/// 0 in the middle of `count` places, 1 at both ends.
fn depth(nth: u16, count: u16) -> f64 {
    (2.0 * share(nth, count) - 1.0).abs()
}

/// 0 at the first of `count` places, 1 at the last.
fn share(nth: u16, count: u16) -> f64 {
    if count > 1 { f64::from(nth) / f64::from(count - 1) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sequence: WriteSequence) -> BlockShape {
        BlockShape::new(32, 16, 2, sequence).expect("legal")
    }

    fn all(sequence: WriteSequence) -> impl Iterator<Item = (CellPosition, f64)> {
        let shape = shape(sequence);
        (0..shape.pages_per_block()).map(move |page| (shape.position(page), rber(shape, shape.position(page))))
    }

    fn worst(sequence: WriteSequence, of: impl Fn(CellPosition) -> bool) -> f64 {
        all(sequence).filter(|(position, _)| of(*position)).map(|(_, rber)| rber).fold(0.0, f64::max)
    }

    fn mean(sequence: WriteSequence, bit: u8) -> f64 {
        let pages: Vec<f64> = all(sequence).filter(|(p, _)| p.bit == bit).map(|(_, rber)| rber).collect();
        pages.iter().sum::<f64>() / pages.len() as f64
    }

    #[test]
    fn t330_figure_3_lower_pages_are_alike_and_upper_pages_worse_but_correctable() {
        use WriteSequence::{Lfws, Sfws};
        assert_eq!(mean(Lfws, 0), mean(Sfws, 0));
        assert!(mean(Sfws, 1) > 1.1 * mean(Lfws, 1));
        assert!(all(Lfws).chain(all(Sfws)).all(|(_, rber)| rber < 1e-3));
    }

    #[test]
    fn t331_figure_3c_the_middle_layers_are_worst_sub_block_first() {
        let by_layer = |sequence| (0..32).map(move |layer| worst(sequence, |p| p.layer == layer));
        let gap: Vec<f64> =
            by_layer(WriteSequence::Sfws).zip(by_layer(WriteSequence::Lfws)).map(|(sfws, lfws)| sfws / lfws).collect();
        assert!(gap[8..24].iter().all(|&gap| gap > 1.5), "{gap:?}");
        assert!(gap[..16].is_sorted() && gap[16..].is_sorted_by(|a, b| a >= b), "worst in the middle: {gap:?}");
    }

    #[test]
    fn t332_figure_3d_the_first_sub_blocks_are_worst_and_from_s6_on_better_than_layer_first() {
        let sfws: Vec<f64> = (0..16).map(|s| worst(WriteSequence::Sfws, |p| p.sub_block == s)).collect();
        let lfws = worst(WriteSequence::Lfws, |_| true);
        assert!(sfws.is_sorted_by(|a, b| a > b), "{sfws:?}");
        assert!(sfws[..6].iter().all(|&rber| rber > lfws) && sfws[6..].iter().all(|&rber| rber < lfws), "{sfws:?}");
        assert!(sfws[1] > 1.3 * lfws);
    }

    #[test]
    fn t333_no_page_written_layer_first_is_worse_than_the_worst_and_one_is_as_bad() {
        for bits in 1..=3 {
            let shape = BlockShape::new(32, 16, bits, WriteSequence::Lfws).expect("legal");
            let rates = (0..shape.pages_per_block()).map(|page| rber(shape, shape.position(page)));
            assert_eq!(rates.fold(0.0, f64::max), worst_layer_first(shape));
        }
    }

    #[test]
    fn t334_no_retry_up_to_the_capability_then_one_step_after_the_other() {
        let errors = bits_per_kib(1e-3);
        assert_eq!(retries(errors, errors), Some(0));
        assert_eq!(retries(errors, errors * 0.999), Some(1));
        assert_eq!(retries(errors, errors * 0.65), Some(2));
        assert_eq!(retries(1000.0, 1.0), None);
        assert!(retries(errors, 72.0) == Some(0), "the paper's chip needs none with a code of 72 bits");
    }
}
