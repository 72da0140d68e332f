//! Brings a device into a used state before the first request, or takes one that was brought into it before.

use pumice_config::aged::AgedIdentity;
use pumice_config::{Config, SpecError};
use pumice_ftl::TranslationLayer;
use pumice_types::Time;
use pumice_workload::RandomStream;

use crate::build::build;
use crate::error::SimError;
use crate::observe::Observer;
use crate::progress::{PROGRESS_EVERY, Progress};
use crate::ssd::Ssd;

/// How a device is aged.
pub struct Ageing<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Its scale.
    pub scale: f64,
    /// Share of the workload that counts as consumed meanwhile.
    pub share: Option<f64>,
    /// Called now and then; returning `false` stops the run.
    pub progress: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Ageing<'_> {
    /// Ages a device that was just built, or makes it one that was aged before to the same state.
    ///
    /// # Errors
    /// A broken rule or belief; [`SimError::Interrupted`].
    pub fn age<O: Observer>(&mut self, ssd: &mut Ssd<O>) -> Result<(), SimError> {
        if self.config.initial.age_writes == 0.0 {
            return Ok(());
        }
        let kept = self.config.aged_devices.as_ref().filter(|_| !ssd.observer_watches_ageing());
        let Some((devices, identity)) = kept.zip(AgedIdentity::of(self.config, self.scale)) else {
            return self.write(ssd);
        };
        if let Some(device) = devices.0.find(&identity) {
            match ssd.restore(self.config, &device) {
                Ok(()) => return Ok(()),
                Err(why) => devices.0.refuse(&why),
            }
        }
        self.write(ssd)?;
        // A layer that cannot be written down is aged by every run.
        if let Ok(device) = ssd.written_down() {
            devices.0.keep(&identity, device);
        }
        Ok(())
    }

    /// Random one-page writes, without a clock, not counted.
    fn write<O: Observer>(&mut self, ssd: &mut Ssd<O>) -> Result<(), SimError> {
        let user_pages = f64::from(ssd.ftl().user_pages());
        let page_bytes = self.config.chip.geometry.page_bytes;
        let footprint = ((user_pages * self.config.workload.shared.footprint) as u64).max(1);
        let mut random = RandomStream::new(self.config.seed, "ageing");
        for nth in 1..=(user_pages * self.config.initial.age_writes) as u64 {
            ssd.write_untimed(random.below(footprint) * u64::from(page_bytes), page_bytes)?;
            if nth % PROGRESS_EVERY == 0 {
                self.report(ssd)?;
            }
        }
        ssd.flush_untimed()?;
        ssd.restart_measuring(Time::ZERO);
        Ok(())
    }

    fn report<O: Observer>(&mut self, ssd: &Ssd<O>) -> Result<(), SimError> {
        let report = Progress { requests: 0, share: self.share, simulated: Time::ZERO };
        let goes_on = (self.progress)(&report) && !ssd.observer_has_failed();
        if goes_on { Ok(()) } else { Err(SimError::Interrupted) }
    }
}

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
        let text = match &config.ftl.own_policy {
            None => {
                "initial.age_writes = 0.0 leaves nothing to keep: a device that is only filled is quickly made anew"
            }
            Some(_) => "a device aged with a policy of your own cannot be kept",
        };
        return Err(SpecError(text.into()).into());
    };
    let observer = &mut ();
    let mut ssd = Ssd::new(config, build(config, scale)?, observer);
    Ageing { config, scale, share: None, progress }.write(&mut ssd)?;
    Ok((identity, ssd.written_down().map_err(SimError::Simulation)?))
}
