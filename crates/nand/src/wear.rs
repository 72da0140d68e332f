//! Erase counts over all pages: PEN's AEP and VEP (FAST'18 §6.1).

/// Mean, population variance and maximum of the erase operations that hit a page in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WearSummary {
    /// Average erases per page.
    pub aep: f64,
    /// Variance of erases per page, over the population of all pages.
    pub vep: f64,
    /// Most erases that one page took.
    pub max_erases_per_page: u64,
}

impl WearSummary {
    /// Summary over leaves of equal size, from the erases of each whole block and those of its leaves alone.
    pub fn over_leaves<'a>(blocks: impl Iterator<Item = (u64, &'a [u32])>) -> WearSummary {
        let (mut leaves, mut sum, mut squares, mut max) = (0u128, 0u128, 0u128, 0u64);
        let mut add = |count: u64, times: usize| {
            let (count_wide, times) = (u128::from(count), times as u128);
            leaves += times;
            sum += count_wide * times;
            squares += count_wide * count_wide * times;
            max = max.max(count);
        };
        for (whole, own) in blocks {
            // Nearly all blocks of a large device: this is faster than leaf by leaf.
            match own.iter().fold(0, |any, erases| any | erases) {
                0 => add(whole, own.len()),
                _ => own.iter().for_each(|&erases| add(whole + u64::from(erases), 1)),
            }
        }
        if leaves == 0 {
            return WearSummary::default();
        }
        // n·Σx² − (Σx)² is exact in integers; the division comes last.
        let spread = leaves * squares - sum * sum;
        WearSummary {
            aep: sum as f64 / leaves as f64,
            vep: spread as f64 / (leaves * leaves) as f64,
            max_erases_per_page: max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t310_mean_and_population_variance() {
        let blocks: [(u64, &[u32]); 3] = [(2, &[0, 2, 2]), (4, &[0]), (5, &[0, 0])];
        let wear = WearSummary::over_leaves(blocks.into_iter().chain([(1, &[6, 8][..])]));
        assert_eq!(wear, WearSummary { aep: 5.0, vep: 4.0, max_erases_per_page: 9 });
        assert_eq!(WearSummary::over_leaves(std::iter::empty()), WearSummary::default());
    }
}
