//! Ageing of a device in use: it is worn, and written until it is as one that was used for long.

use pumice_config::FlushPolicy;
use pumice_engine::{SimError, Ssd};
use pumice_types::{HostRequest, Lpn, Time};
use serde_json::{Value, json};

use super::{Device, check};
use crate::device::exchange::{exchange, settle};
use crate::recording::journal::{AgeOrder, DeviceEvent};

/// Most user capacities that are written at a time.
const WRITES_MAX: f64 = 10.0;

impl<T> Device<T> {
    /// Ages the device: wears its blocks, and writes random pages again with what they hold, without a clock and
    /// uncounted. What was written before is flushed, and measuring begins again.
    ///
    /// # Errors
    /// Why it cannot; a simulation that ended in an error.
    pub fn age(&mut self, ageing: AgeOrder) -> Result<Value, SimError> {
        self.check_is_well()?;
        self.check_ageing(ageing)?;
        let aged = self.age_now(ageing);
        aged.inspect_err(|error| self.failure = Some(error.to_string()))?;
        let AgeOrder { pec, writes } = ageing;
        Ok(json!({ "pec": pec, "writes": writes, "at_s": self.now().as_s(), "mean_pec": self.session.mean_pec() }))
    }

    fn check_ageing(&self, AgeOrder { pec, writes }: AgeOrder) -> Result<(), SimError> {
        let refuse = |why: &str| Err(SimError::Simulation(format!("age: {why}")));
        if self.kept.record.is_some() || self.kept.recording.is_some() {
            return refuse("ageing is no request: no record can hold it; serve without --record and --session");
        }
        if self.session.ssd.observer.is_dead() {
            return refuse("the device answers nothing any more (power.failure)");
        }
        if self.operations.under_way() > 0 {
            return refuse("requests are under way; end the clients that use the device");
        }
        if !(0.0..=WRITES_MAX).contains(&writes) {
            return refuse(&format!("writes = {writes} is not allowed; allowed: 0 to {WRITES_MAX} user capacities"));
        }
        if pec == 0 && writes == 0.0 {
            return refuse("pec = 0 and writes = 0 age nothing");
        }
        if self.config.host.flush == FlushPolicy::Ignored {
            return refuse("host.flush = \"ignored\": what was written before could not be flushed");
        }
        if pec > 0 { self.session.check_wear(pec).or_else(|why| refuse(&why)) } else { Ok(()) }
    }

    fn age_now(&mut self, ageing: AgeOrder) -> Result<(), SimError> {
        if self.is_used() {
            let flush = self.keep(HostRequest::flush(Time::ZERO), Vec::new())?;
            exchange(&mut self.session, flush, &mut |_| Ok(()))?;
        }
        // Whatever else happens at this instant comes first, as when a store is opened.
        self.pass_time(self.now())?;
        let at = self.now() - self.session.behind();
        if let Some(store) = &mut self.kept.store {
            store.add(&DeviceEvent::Age(at, ageing))?;
        }
        self.do_age(ageing, &|| true)?;
        self.commit()
    }

    /// Ages the device once everything under way has ended.
    pub(super) fn do_age(&mut self, ageing: AgeOrder, goes_on: &dyn Fn() -> bool) -> Result<(), SimError> {
        let AgeOrder { pec, writes } = ageing;
        while let Some(next) = self.session.ssd.next_event() {
            check(goes_on)?;
            self.session.run_until(next)?;
        }
        settle(&mut self.session)?;
        if pec > 0 {
            self.session.wear(pec).map_err(SimError::Simulation)?;
        }
        let mut ageing = self.session.ageing_by(writes);
        while let Some(lpn) = ageing.next_page() {
            check(goes_on)?;
            self.write_again(lpn)?;
        }
        self.session.end_ageing()?;
        settle(&mut self.session)
    }

    /// Writes a page with what it holds. A page that cannot be read is left alone: what it held is lost.
    fn write_again(&mut self, lpn: Lpn) -> Result<(), SimError> {
        let Ssd { observer, controller, .. } = &mut self.session.ssd;
        let place = controller.ftl.locate(lpn);
        let array = &controller.scheduler.chips.checked.array;
        if !observer.write_again(lpn, place, array)? {
            return Ok(());
        }
        self.session.age_page(lpn)?;
        settle(&mut self.session)
    }
}
