//! A device that is aged and written down, without a run.

use pumice_config::aged::AgedIdentity;
use pumice_config::{Config, SpecError};
use pumice_types::Time;

use crate::error::SimError;
use crate::observe::ObserverRef;
use crate::run::Progress;
use crate::session::{PROGRESS_EVERY, Session};

/// The aged device of a configuration as bytes, and its identity.
///
/// # Errors
/// As [`crate::run`], and a configuration whose device is not aged or cannot be written down.
pub fn age(
    config: &Config,
    scale: f64,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<(AgedIdentity, Vec<u8>), SimError> {
    let Some(identity) = AgedIdentity::of(config, scale) else {
        let text = match (&config.ftl.own_policy, config.ftl.own_layer()) {
            (None, None) if config.initial.age_writes > 0.0 => {
                "initial.aged_by = \"requests\": a device aged by its workload cannot be kept; allowed: \"pages\""
            }
            (None, None) => {
                "initial.age_writes = 0.0 leaves nothing to keep: a device that is only filled is quickly made anew"
            }
            (Some(_), _) => "a device aged with a policy of your own cannot be kept",
            (None, Some(_)) => "a device aged with a translation layer of your own cannot be kept",
        };
        return Err(SpecError(text.into()).into());
    };
    let mut session = Session::new(config, scale, ObserverRef::nobody())?;
    if let Some(mut ageing) = session.ageing()? {
        while session.age(&mut ageing)? {
            let report = Progress { requests: 0, share: None, simulated: Time::ZERO };
            if session.course.work % PROGRESS_EVERY == 0 && !progress(&report) {
                return Err(SimError::Interrupted);
            }
        }
    }
    Ok((identity, session.ssd.written_down().map_err(SimError::Simulation)?))
}
