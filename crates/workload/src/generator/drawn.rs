//! Generators whose requests the spec describes: an access pattern, sizes, and shares of reads and trims.

use pumice_types::key::{CHOSEN, When, float, int};
use pumice_types::{Choice, SpecError, refuse};

use crate::family::{Family, OpenFor};
use crate::generator::options::SyntheticOptions;
use crate::generator::patterns::{PatternKeys, PatternKind};
use crate::generator::requests::Generator;
use crate::generator::sizes::RequestSizes;
use crate::shared_keys::{IS_DRAWN, SharedWorkloadKeys};
use crate::source::error::TraceError;
use crate::source::key_group::key_group;

pumice_types::keys! {
    /// What generators read of `[workload]`, whatever their access pattern.
    pub struct MixKeys in "workload" {
        request_bytes: u32 = "16384", int(512, 1 << 30), "bytes", CHOSEN, When::All(&[IS_DRAWN, When::NotGiven("workload.request_sizes")]), "Size of a generated request.";
        request_sizes: Option<Vec<f64>> = "", float(512.0, 1073741824.0), "bytes", "request_bytes alone", IS_DRAWN, "Sizes of generated requests, mixed by request_weights.";
        request_weights: Option<Vec<f64>> = "", float(1e-6, 1e9), "", "equal weights", IS_DRAWN, "Weight of each of request_sizes.";
        read_fraction: f64 = "0.0", float(0.0, 1.0), "share of requests", CHOSEN, IS_DRAWN, "Reads among generated requests.";
    }
}

key_group! {
    /// What generators read of `[workload]`.
    pub struct DrawnKeys {
        /// Sizes and kinds of requests.
        pub mix: MixKeys,
        /// Where requests go.
        pub patterns: PatternKeys,
    }
}

impl MixKeys {
    /// Refuses sizes and weights that do not belong together.
    fn check(&self) -> Result<(), SpecError> {
        match (&self.request_sizes, &self.request_weights) {
            (None, Some(_)) => Err("workload.request_weights needs workload.request_sizes".into()),
            (Some(sizes), Some(weights)) if sizes.len() != weights.len() => Err(refuse!(
                "workload.request_weights has {} entries and workload.request_sizes {}; allowed: one weight a size",
                weights.len(),
                sizes.len()
            )),
            (Some(sizes), _) if sizes.is_empty() => {
                Err("workload.request_sizes is empty; allowed: at least one size".into())
            }
            (Some(sizes), _) if sizes.iter().any(|size| size.fract() != 0.0) => {
                Err("workload.request_sizes holds a fraction of a byte; allowed: whole numbers".into())
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn sizes(&self) -> Result<RequestSizes, TraceError> {
        let Some(sizes) = &self.request_sizes else { return Ok(RequestSizes::one(self.request_bytes)) };
        let weights = self.request_weights.clone().unwrap_or_else(|| vec![1.0; sizes.len()]);
        let pairs: Vec<(u32, f64)> = sizes.iter().map(|&bytes| bytes as u32).zip(weights).collect();
        RequestSizes::mixed(&pairs)
    }
}

impl Family for PatternKind {
    type Source = Generator;
    type Keys = DrawnKeys;
    const NEEDS_FILE: bool = false;

    fn members() -> Vec<PatternKind> {
        PatternKind::ALL.to_vec()
    }

    fn name(self) -> String {
        Choice::name(self).to_owned()
    }

    fn about(self) -> String {
        PatternKind::about(self).to_owned()
    }

    fn check(keys: &DrawnKeys) -> Result<(), SpecError> {
        keys.mix.check()
    }

    fn open(self, keys: &DrawnKeys, shared: &SharedWorkloadKeys, run: &OpenFor) -> Result<Generator, TraceError> {
        let options = SyntheticOptions {
            sizes: keys.mix.sizes()?,
            read_fraction: keys.mix.read_fraction,
            ..SyntheticOptions::of_shared(self.with(&keys.patterns), shared, run)
        };
        Generator::new(&options, &run.placement)
    }
}
