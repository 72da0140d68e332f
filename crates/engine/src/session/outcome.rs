//! What a session has to report: its figures, and what a reader should be warned of.

use pumice_config::{FlowMode, HostMode};

use super::{Origin, Session};
use crate::chip::erase::Eraser;
use crate::error::SimError;
use crate::observe::ObserverSlot;
use crate::power::PowerCuts;
use crate::results::{BusyTimes, Finished, Outcome};
use crate::stopping::{StoppingReport, StoppingRule};

/// An open-loop run whose device needs more than this share of the run to drain is saturated.
const SATURATED_DRAIN_SHARE: f64 = 0.05;

/// Scale below which twins are known to drift.
const FAITHFUL_SCALE_MIN: f64 = 1.0 / 16.0;

impl<O: ObserverSlot> Session<O> {
    /// What the session has to report so far.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold.
    pub fn outcome(&self, origin: Origin) -> Result<Outcome, SimError> {
        let Session { config, scale, geometry, timing, ssd, .. } = self;
        let mut warnings = self.warnings(origin.warnings);
        let stopping = ssd.host.stopping.as_ref().map(StoppingRule::report);
        warnings.extend(stopping.as_ref().and_then(StoppingReport::warning));
        let (host, controller, power) = (&ssd.host, &ssd.controller, &ssd.power);
        let chips = &controller.scheduler.chips;
        let life = |eraser: &Eraser| (eraser.lifetime().with_stress(chips.restart_factor()), eraser.mean_pec());
        let finished = Finished {
            config,
            scale: *scale,
            geometry: *geometry,
            timing: timing.clone(),
            host,
            controller,
            power,
            facts: origin.facts,
            flow_facts: origin.flows,
            stopping,
            busy: self.busy(),
            life: chips.eraser.as_ref().map(life),
            end_of_life: self.course.end_of_life,
            warnings,
        };
        Outcome::of(&finished, self.course.submitted)
    }

    fn warnings(&self, mut warnings: Vec<String>) -> Vec<String> {
        if let Some(left) =
            self.course.cuts.as_ref().map(PowerCuts::left).filter(|&left| self.config.run.timed && left > 0)
        {
            let key = self.config.power.schedule().0;
            warnings.push(format!("{key}: the run ended before {left} of its cuts"));
        }
        let scale = self.scale;
        if scale < FAITHFUL_SCALE_MIN {
            warnings.push(format!("scale {scale} is below 1/16: results are known to drift"));
        }
        let metrics = &self.ssd.host.metrics;
        let (refused, served) = (metrics.refused.iter().sum::<u64>(), metrics.requests());
        if refused > served {
            warnings.push(format!("zones refused {refused} requests and served {served}: zones.errors says why"));
        }
        let drain = metrics.last_done.saturating_sub(metrics.last_arrival).as_s();
        let by_clock = match self.config.flows.is_empty() {
            true => self.config.host.mode == HostMode::OpenLoop,
            false => self.config.flows.iter().any(|flow| flow.mode(&self.config.host) == FlowMode::OpenLoop),
        };
        let open = self.config.run.timed && by_clock;
        if open && drain > SATURATED_DRAIN_SHARE * metrics.simulated().as_s() && metrics.requests() > 1 {
            warnings.push(format!(
                "saturated: the device needed {drain:.3} s after the last arrival; latencies grow with the length of the run"
            ));
        }
        warnings
    }

    /// Busy times up to the end of the last request.
    pub(super) fn busy_until(&self) -> BusyTimes {
        self.course.busy_after.clone().unwrap_or_else(|| self.ssd.busy_times(self.ssd.now))
    }

    /// Busy times while measuring; empty without a clock.
    fn busy(&self) -> BusyTimes {
        if !self.config.run.timed {
            return BusyTimes::default();
        }
        self.busy_until().since(&self.course.busy_before)
    }
}
