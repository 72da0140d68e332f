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
    /// Summary over leaves of equal size, from the erase count of each.
    pub fn over_leaves(counts: impl Iterator<Item = u64>) -> WearSummary {
        let (mut leaves, mut sum, mut squares, mut max) = (0u128, 0u128, 0u128, 0u64);
        for count in counts {
            leaves += 1;
            sum += u128::from(count);
            squares += u128::from(count) * u128::from(count);
            max = max.max(count);
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
        let wear = WearSummary::over_leaves([2u64, 4, 4, 4, 5, 5, 7, 9].into_iter());
        assert_eq!(wear, WearSummary { aep: 5.0, vep: 4.0, max_erases_per_page: 9 });
        assert_eq!(WearSummary::over_leaves(std::iter::empty()), WearSummary::default());
    }
}
