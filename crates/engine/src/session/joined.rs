//! The sessions of several threads, each with its channels of one device, put together.

use pumice_ftl::GcCounters;
use pumice_types::Time;

use super::Session;
use crate::chip::Chips;
use crate::error::SimError;
use crate::host::Host;
use crate::metrics::CommandTally;
use crate::observe::ObserverSlot;
use crate::results::BusyTimes;
use crate::scheduler::{MultiPlaneCounts, Suspensions};

/// What a thread found on its channels. The translation layer stays in the thread.
pub(crate) struct FoundByThread {
    pub host: Host,
    pub tally: CommandTally,
    pub uncounted_commands: u64,
    pub collection: GcCounters,
    pub chips: Chips,
    pub multi_plane: MultiPlaneCounts,
    pub suspensions: Suspensions,
    busy_before: BusyTimes,
    busy_until: BusyTimes,
}

impl<O: ObserverSlot> Session<O> {
    /// Handles what happens up to the instant at which the requests of all threads have ended, and not their own alone.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub(crate) fn go_on_until(&mut self, end: Time) -> Result<(), SimError> {
        self.course.is_over = false;
        while self.run_until(end)? {}
        self.course.is_over = true;
        self.ssd.now = end;
        Ok(())
    }

    /// What this thread found.
    pub(crate) fn into_found(self) -> FoundByThread {
        let busy_until = self.busy_until();
        let controller = self.ssd.controller;
        FoundByThread {
            host: self.ssd.host,
            collection: *controller.ftl.counters(),
            tally: controller.tally,
            uncounted_commands: controller.uncounted_commands,
            multi_plane: controller.scheduler.multi_plane(),
            suspensions: controller.scheduler.suspensions(),
            chips: controller.scheduler.chips,
            busy_before: self.course.busy_before,
            busy_until,
        }
    }

    /// Adds what another thread found.
    pub(crate) fn absorb(&mut self, other: &FoundByThread) {
        self.course.busy_after = Some(self.busy_until().and(&other.busy_until));
        self.course.busy_before = self.course.busy_before.clone().and(&other.busy_before);
        let (host, controller) = (&mut self.ssd.host, &mut self.ssd.controller);
        host.metrics.absorb(&other.host.metrics);
        host.oracle.absorb(&other.host.oracle);
        host.lost_pages += other.host.lost_pages;
        controller.tally.absorb(&other.tally);
        controller.uncounted_commands += other.uncounted_commands;
        controller.scheduler.absorb(other.multi_plane, other.suspensions);
        controller.scheduler.chips.absorb(&other.chips);
        if let Some(figures) = controller.ftl.layer_mut().figures_mut() {
            *figures.counters_mut() += &other.collection;
        }
    }
}
