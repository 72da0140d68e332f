//! A session at one instant, kept to go back to: the device, its host and what was measured, but nobody who watches.

use pumice_ftl::Ftl;
use pumice_types::Time;

use super::Session;
use crate::controller::Controller;
use crate::host::Host;
use crate::metrics::PowerFigures;
use crate::observe::Observer;
use crate::power::PowerCuts;
use crate::results::BusyTimes;
use crate::ssd::Ssd;

/// A session at one instant. What came later is not in it, so a session that goes back has never seen it.
pub struct KeptSession<'a> {
    host: Host,
    controller: Controller,
    now: Time,
    power: PowerFigures,
    submitted: u64,
    work: u64,
    busy_before: BusyTimes,
    busy_after: Option<BusyTimes>,
    is_over: bool,
    flushes: u8,
    cuts: Option<PowerCuts<'a>>,
    behind: Time,
    aged: u32,
}

impl<'a, O: Observer> Session<'a, O> {
    /// The session as it is now.
    ///
    /// # Errors
    /// A policy or translation layer of the user's own, whose state is its own affair.
    pub fn keep(&self) -> Result<KeptSession<'a>, String> {
        let Session { ssd, config, scale: _, geometry: _, timing: _, submitted, work, .. } = self;
        let Session { busy_before, busy_after, is_over, flushes, cuts, behind, aged, .. } = self;
        let Ssd { host, controller, now, power, observer: _ } = ssd;
        if config.ftl.own_policy.is_some() || config.ftl.own_layer().is_some() {
            return Err("the state of a policy or translation layer of your own cannot be kept".into());
        }
        Ok(KeptSession {
            host: host.clone(),
            controller: controller.copied(copied_layer(&controller.ftl)?),
            now: *now,
            power: *power,
            submitted: *submitted,
            work: *work,
            busy_before: busy_before.clone(),
            busy_after: busy_after.clone(),
            is_over: *is_over,
            flushes: *flushes,
            cuts: cuts.clone(),
            behind: *behind,
            aged: *aged,
        })
    }

    /// Goes back to an instant of this session, or of another one of the same configuration and scale.
    pub fn go_back_to(&mut self, kept: KeptSession<'a>) {
        let KeptSession { host, controller, now, power, submitted, work, .. } = kept;
        let KeptSession { busy_before, busy_after, is_over, flushes, cuts, behind, aged, .. } = kept;
        (self.ssd.host, self.ssd.controller, self.ssd.now, self.ssd.power) = (host, controller, now, power);
        (self.submitted, self.work, self.is_over, self.flushes) = (submitted, work, is_over, flushes);
        (self.busy_before, self.busy_after) = (busy_before, busy_after);
        (self.cuts, self.behind, self.aged) = (cuts, behind, aged);
    }
}

/// A translation layer of the same state.
fn copied_layer(ftl: &Ftl) -> Result<Ftl, String> {
    let copied = postcard::to_stdvec(ftl).and_then(|written| postcard::from_bytes(&written));
    copied.map_err(|error| format!("the device cannot be kept: {error}"))
}
