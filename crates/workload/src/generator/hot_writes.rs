//! The workloads w10 to w40: one-page random writes to a hot and a cold part.
//!
//! Paper: Buddhanoy et al., GLSVLSI'24, section 5.2. Of w`x`, 100 − x percent of the requests go to x percent of the
//! space, equally likely within each part.

use pumice_types::{Choice, SpecError, choice};

use crate::family::{Family, OpenFor};
use crate::generator::options::SyntheticOptions;
use crate::generator::patterns::HotColdAccess;
use crate::generator::requests::Generator;
use crate::shared_keys::SharedWorkloadKeys;
use crate::source::error::TraceError;

choice! {
    /// The generators w10 to w40, named by the share of the space that most requests go to.
    pub enum HotWrites {
        /// 10 % of the space.
        W10 = "w10",
        /// 20 % of the space.
        W20 = "w20",
        /// 30 % of the space.
        W30 = "w30",
        /// 40 % of the space.
        W40 = "w40",
    }
}

impl HotWrites {
    /// Share of the space that is hot, in percent; the other requests go to the rest.
    pub fn percent(self) -> u32 {
        match self {
            HotWrites::W10 => 10,
            HotWrites::W20 => 20,
            HotWrites::W30 => 30,
            HotWrites::W40 => 40,
        }
    }

    /// Where requests go.
    pub fn pattern(self) -> HotColdAccess {
        let share = |percent: u32| f64::from(percent) / 100.0;
        HotColdAccess { hot_space: share(self.percent()), hot_share: share(100 - self.percent()) }
    }
}

impl Family for HotWrites {
    type Source = Generator;
    type Keys = ();
    const NEEDS_FILE: bool = false;

    fn members() -> Vec<HotWrites> {
        HotWrites::ALL.to_vec()
    }

    fn name(self) -> String {
        Choice::name(self).to_owned()
    }

    fn about(self) -> String {
        let percent = self.percent();
        format!("one-page random writes, {} % of them to {percent} % of the footprint", 100 - percent)
    }

    fn check((): &()) -> Result<(), SpecError> {
        Ok(())
    }

    fn open(self, (): &(), shared: &SharedWorkloadKeys, run: &OpenFor) -> Result<Generator, TraceError> {
        let options = SyntheticOptions::of_shared(self.pattern().into(), shared, run);
        Generator::new(&options, &run.placement)
    }
}
