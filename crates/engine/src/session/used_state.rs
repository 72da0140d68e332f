//! How a session's device comes into a used state before its first request: by writes, or by wear alone.

use pumice_config::aged::{AgedIdentity, SharedAgedDevices};
use pumice_types::Lpn;
use pumice_workload::RandomStream;

use super::Session;
use crate::chip::erase::Eraser;
use crate::error::SimError;
use crate::observe::Observer;

/// Untimed random writes that bring a device into a used state.
pub struct Ageing {
    random: RandomStream,
    /// Pages that they fall on, from the first.
    footprint: u64,
    left: u64,
    /// Whether the ageing is the spec's, before the first request.
    is_initial: bool,
}

impl Ageing {
    /// The page that is written next; `None` when none is left.
    pub fn next_page(&mut self) -> Option<Lpn> {
        self.left = self.left.checked_sub(1)?;
        Some(Lpn(self.random.below(self.footprint) as u32))
    }
}

impl<O: Observer> Session<O> {
    /// The writes that the spec wants before the first request; `None` if it wants none, or if the device was made one
    /// that was aged before.
    pub fn ageing(&mut self) -> Option<Ageing> {
        let age_writes = self.config.initial.age_writes;
        if age_writes > 0.0 && self.take_aged() {
            return None;
        }
        (age_writes > 0.0).then(|| Ageing { is_initial: true, ..self.ageing_by(age_writes) })
    }

    /// So many user capacities of writes. A device is aged by the same writes, whether its spec says so or it is told to
    /// before its first request; each time it is aged again, they are others.
    pub fn ageing_by(&mut self, writes: f64) -> Ageing {
        let user_pages = f64::from(self.ssd.ftl().user_pages());
        let footprint = ((user_pages * self.config.workload.shared.footprint) as u64).max(1);
        let nth = self.course.aged;
        self.course.aged += 1;
        let stream = if nth == 0 { "ageing".to_string() } else { format!("ageing-{nth}") };
        let random = RandomStream::new(self.config.seed, &stream);
        Ageing { random, footprint, left: (user_pages * writes) as u64, is_initial: false }
    }

    /// Refuses wear that the device cannot take.
    ///
    /// # Errors
    /// In one line: blocks of this device do not wear, or would wear beyond what is counted.
    pub fn check_wear(&self, cycles: u32) -> Result<(), String> {
        let keys = &self.config.chip.erase;
        let max = u32::from(self.ssd.controller.check_wear(cycles)?) + self.ssd.controller.most_worn();
        let factor = |pec| keys.scheme.program_time_factor(pec);
        if factor(max).to_bits() != factor(u32::from(keys.initial_pec)).to_bits() {
            return Err(format!(
                "erase.scheme = \"{}\": wear changes its program time, which is settled when the device is built; serve it with erase.initial_pec",
                keys.scheme
            ));
        }
        Ok(())
    }

    /// Wears every block by so many P/E cycles, as if it had been erased so often; what it holds stays. No command is
    /// under way.
    ///
    /// # Errors
    /// As [`Session::check_wear`].
    pub fn wear(&mut self, cycles: u32) -> Result<(), String> {
        self.ssd.controller.wear(cycles)
    }

    /// Mean P/E cycles of the blocks; `None` if they do not wear.
    pub fn mean_pec(&self) -> Option<f64> {
        self.ssd.controller.scheduler.chips.eraser.as_ref().map(Eraser::mean_pec)
    }

    /// Where aged devices are kept, and the identity of this one; `None` if it has to be aged here.
    fn kept_as(&self) -> Option<(SharedAgedDevices, AgedIdentity)> {
        let devices = self.config.aged_devices.clone().filter(|_| !self.ssd.observer.watches_ageing());
        devices.zip(AgedIdentity::of(&self.config, self.scale))
    }

    /// Makes the device one that was aged before to the same state, if there is one. Returns whether it did.
    fn take_aged(&mut self) -> bool {
        let Some((devices, identity)) = self.kept_as() else { return false };
        let Some(device) = devices.0.find(&identity) else { return false };
        let restored = self.ssd.restore(&self.config, &device);
        if let Err(why) = &restored {
            devices.0.refuse(why);
        }
        restored.is_ok()
    }

    /// Keeps the device, which was just aged, for others. A layer that cannot be written down is aged each time.
    fn keep_aged(&self) {
        if let Some((devices, identity)) = self.kept_as()
            && let Ok(device) = self.ssd.written_down()
        {
            devices.0.keep(&identity, device);
        }
    }

    /// Does one of these writes, without a clock and uncounted. `false` when none is left: measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age(&mut self, ageing: &mut Ageing) -> Result<bool, SimError> {
        match ageing.next_page() {
            Some(lpn) => self.age_page(lpn).map(|()| true),
            None => self.end_ageing(ageing).map(|()| false),
        }
    }

    /// Writes a page, without a clock and uncounted.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age_page(&mut self, lpn: Lpn) -> Result<(), SimError> {
        let page_bytes = self.config.chip.geometry.page_bytes;
        self.ssd.write_untimed(u64::from(lpn.0) * u64::from(page_bytes), page_bytes)?;
        self.course.work += 1;
        Ok(())
    }

    /// The writes are done: what is buffered is programmed, and measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn end_ageing(&mut self, ageing: &Ageing) -> Result<(), SimError> {
        self.ssd.flush_untimed()?;
        self.restart_measuring(self.ssd.now);
        if ageing.is_initial {
            self.keep_aged();
        }
        Ok(())
    }
}
