//! How well something is known from batches: confidence intervals by batch means.
//!
//! What follows each other in a run depends on each other, so that the spread of single requests says nothing of how
//! well a mean is known. Means of long batches hardly depend on each other. The interval comes from their spread and
//! Student's t (Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30, 1982).
//!
//! Whether batches are long enough is judged on batches of a fourth of their length, whose neighbours depend on each
//! other more (after Law and Carson, "A sequential procedure for determining the length of a steady-state simulation",
//! Operations Research 27, 1979).

/// Short batches that make one long batch.
pub const SHORT_IN_LONG: usize = 4;

/// Fewest short batches from which anything is concluded.
pub const SHORT_MIN: usize = 64;

/// Student's t for a 95 % interval: its 97.5 % quantiles for 15 to 31 degrees of freedom.
const T_95: [f64; 17] = [
    2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    2.040,
];

/// Short batches whose neighbours have more than this correlation are too short.
pub const CORRELATION_MAX: f64 = 0.3;

/// One short batch's part of a ratio: what is summed up, and over how much.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Sum of the quantity, such as nanoseconds of latency.
    pub sum: f64,
    /// What the sum is divided by, such as requests.
    pub weight: f64,
}

/// How well a ratio is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half-width of its 95 % interval.
    pub half_width: f64,
    /// Correlation of neighbouring short batches; 0 if nothing varies.
    pub correlation: f64,
}

/// How well `ratio`, the sum of all parts over their weight, is known. There are [`SHORT_MIN`] short batches or more,
/// in groups of [`SHORT_IN_LONG`]. `variance` is added to that of the sum.
///
/// Batches weigh differently, so this is the interval of a ratio: of the sums' deviations from what the weights let
/// expect (Cochran, "Sampling Techniques", 3rd edition 1977, section 6.3).
pub fn spread(parts: &[Part], ratio: f64, variance: f64) -> Spread {
    debug_assert!(parts.len() >= SHORT_MIN && parts.len().is_multiple_of(SHORT_IN_LONG), "{} batches", parts.len());
    let deviations: Vec<f64> = parts.iter().map(|part| part.sum - ratio * part.weight).collect();
    let weight: f64 = parts.iter().map(|part| part.weight).sum();
    let long: Vec<f64> = deviations.chunks_exact(SHORT_IN_LONG).map(|short| short.iter().sum()).collect();
    let (count, squares) = (long.len(), long.iter().map(|deviation| deviation * deviation).sum::<f64>());
    let of_sum = squares * count as f64 / (count - 1) as f64 + variance;
    let t = T_95[(count - SHORT_MIN / SHORT_IN_LONG).min(T_95.len() - 1)];
    Spread { half_width: t * of_sum.sqrt() / weight, correlation: correlation(&deviations) }
}

/// Correlation of neighbours among values around 0.
fn correlation(values: &[f64]) -> f64 {
    let together: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alone: f64 = values.iter().map(|value| value * value).sum();
    if alone > 0.0 { together / alone } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(value: impl Fn(usize) -> f64) -> Vec<Part> {
        (0..SHORT_MIN).map(|nth| Part { sum: value(nth), weight: 1.0 }).collect()
    }

    #[test]
    fn t731_an_interval_is_that_of_the_long_batches() {
        // Long batches alternate between 36 and 44 in all: 16 deviations of 4.
        let known = spread(&parts(|nth| if nth / 4 % 2 == 0 { 9.0 } else { 11.0 }), 10.0, 0.0);
        let expected = 2.131 * (16.0 * 16.0 * 16.0 / 15.0_f64).sqrt() / 64.0;
        assert!((known.half_width - expected).abs() < 1e-12, "{known:?}");
        // Inside a long batch neighbours are equal, and between two they differ: 48 times 1, 15 times -1.
        assert!((known.correlation - 33.0 / 64.0).abs() < 1e-12, "{known:?}");
    }

    #[test]
    fn t732_a_drift_shows_as_correlation_and_a_constant_has_no_width() {
        let drifting = spread(&parts(|nth| 10.0 + 0.001 * nth as f64), 10.0315, 0.0);
        assert!(drifting.half_width < 0.02 && drifting.correlation > 0.9, "{drifting:?}");
        assert_eq!(spread(&parts(|_| 3.0), 3.0, 0.0), Spread { half_width: 0.0, correlation: 0.0 });
    }

    #[test]
    fn t733_batches_of_unlike_weight_that_agree_have_no_width() {
        let unlike: Vec<Part> =
            (0..SHORT_MIN).map(|nth| Part { sum: 2.0 * (nth + 1) as f64, weight: (nth + 1) as f64 }).collect();
        assert_eq!(spread(&unlike, 2.0, 0.0).half_width, 0.0);
    }
}
