//! Whether calls of the user's own code return: those of a policy or of a translation layer.

use std::time::{Duration, Instant};

use pumice_config::Config;
use pumice_ftl::plugin::OwnLayer;
use pumice_ftl::policy::{CallCount, OwnPolicy};
use pyo3::prelude::*;

use crate::attended::Watch;
use crate::errors::SimulationError;

/// How long a call of the user's own code may take.
const ANSWER: Duration = Duration::from_secs(10);

/// Code of the user's own whose calls are watched.
struct Watched {
    /// As errors name it.
    name: String,
    calls: CallCount,
    /// The call that went on at the last look, and since when it is known to.
    seen: Option<(u64, Instant)>,
}

impl Watched {
    fn new(name: String, calls: CallCount) -> Watched {
        Watched { name, calls, seen: None }
    }

    /// Raises an error if a call has not returned for too long.
    fn look(&mut self) -> PyResult<()> {
        let going_on = self.calls.going_on();
        let since = self.seen.filter(|&(call, _)| Some(call) == going_on).map_or_else(Instant::now, |(_, since)| since);
        self.seen = going_on.map(|call| (call, since));
        if going_on.is_some() && since.elapsed() > ANSWER {
            let (name, seconds) = (&self.name, ANSWER.as_secs());
            return Err(SimulationError::new_err(format!("{name}: a call has not returned for {seconds} s")));
        }
        Ok(())
    }
}

/// Watches whether the calls of a run's policy and translation layer return, if they are the user's own.
pub struct OwnCodeWatch {
    policy: Option<OwnPolicy>,
    watched: Vec<Watched>,
}

impl OwnCodeWatch {
    /// Watches what a configuration has of the user's own.
    pub fn new(config: &Config) -> OwnCodeWatch {
        OwnCodeWatch::of(config.ftl.own_policy.as_ref(), config.ftl.own_layer())
    }

    /// Watches a policy and a translation layer.
    pub fn of(policy: Option<&OwnPolicy>, layer: Option<&OwnLayer>) -> OwnCodeWatch {
        let of_policy = policy.iter().map(|own| Watched::new(format!("policy \"{}\"", own.0.name()), own.calls()));
        let name = |own: &OwnLayer| format!("plug-in \"{}\"", own.source.name().name());
        let of_layer = layer.iter().map(|own| Watched::new(name(own), own.calls()));
        OwnCodeWatch { policy: policy.cloned(), watched: of_policy.chain(of_layer).collect() }
    }
}

impl Watch for OwnCodeWatch {
    fn look(&mut self) -> PyResult<()> {
        self.watched.iter_mut().try_for_each(Watched::look)
    }

    fn stop(&mut self) {
        if let Some(policy) = &self.policy {
            policy.0.stop();
        }
    }
}
