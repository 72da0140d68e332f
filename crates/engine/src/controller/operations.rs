//! Zone operations: what a host's zone command makes the device do behind an access, and how long that takes.

use pumice_ftl::{HostZones, ZoneError, ZoneOperation};
use pumice_types::{Lpn, RequestKind, Time, ZoneCommand};

use super::access::{PageAccess, Waits};
use super::submit::Wait;
use super::{Controller, Moment};
use crate::error::SimError;
use crate::host::oracle::Oracle;
use crate::metrics::KindMetrics;
use crate::observe::ObserverRef;

/// Times of the zone operations that are done.
#[derive(Clone, Default)]
pub struct ZoneTimes {
    /// Resets that erase at once.
    pub reset: KindMetrics,
    /// Finishes that fill their zone.
    pub finish: KindMetrics,
}

impl ZoneTimes {
    /// The last command of an operation has ended.
    pub(super) fn record(&mut self, operation: ZoneOperation, time: Time) {
        let times = match operation {
            ZoneOperation::Reset => &mut self.reset,
            ZoneOperation::Finish => &mut self.finish,
        };
        times.record(0, time);
    }
}

impl Controller {
    /// Begins the zone operations that the access which was just decided made the host ask for.
    #[inline]
    pub(super) fn begin_operations(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        if self.rules.has_zones { self.begin_all_operations(moment) } else { Ok(()) }
    }

    #[inline(never)]
    fn begin_all_operations(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        loop {
            self.plan.clear();
            let Some(operation) = self.ftl.next_operation(&mut self.plan) else { return Ok(()) };
            let waits = Waits::Operation(operation, moment.now);
            let access = PageAccess::new(waits, Lpn(0), RequestKind::Write, u64::MAX).in_last_stage();
            let token = self.accesses.insert(access);
            let groups = self.submit_plan(&Wait::for_all(token), moment)?;
            if let Some(access) = self.accesses.get(token) {
                access.groups_left = groups;
            }
        }
    }

    /// Whether requests have the addresses of zones.
    #[inline]
    pub fn has_host_zones(&self) -> bool {
        self.rules.has_host_zones
    }

    /// The zones whose addresses requests have, if they have.
    pub fn host_zones(&mut self) -> Option<&mut dyn HostZones> {
        self.ftl.layer_mut().host_zones()
    }

    /// Begins a command to the zone of a page, for which the request waits. Returns for how many groups of flash commands.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn begin_zone_command(
        &mut self,
        request: u32,
        command: (ZoneCommand, Lpn),
        moment: &mut Moment,
    ) -> Result<Result<u32, ZoneError>, SimError> {
        if let Err(refusal) = self.command_zone(command, Some(request), moment.oracle, &mut moment.observer) {
            return Ok(Err(refusal));
        }
        let mut groups = 0;
        loop {
            self.plan.clear();
            let Some(operation) = self.ftl.next_operation(&mut self.plan) else { return Ok(Ok(groups)) };
            if self.in_turn.has_turns(operation) {
                groups += self.begin_in_turn((request, command.1), operation, moment)?;
                continue;
            }
            groups += self.submit_plan(&Wait::for_all(request), moment)?;
        }
    }

    /// Runs a command to the zone of a page without a clock.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn run_zone_command(
        &mut self,
        command: (ZoneCommand, Lpn),
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<Result<(), ZoneError>, SimError> {
        match self.command_zone(command, None, oracle, observer) {
            Ok(()) => self.run_operations_untimed(observer).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Lets the layer carry out a command to a zone. What it gives up is trimmed.
    fn command_zone(
        &mut self,
        (command, page): (ZoneCommand, Lpn),
        request: Option<u32>,
        oracle: &mut Oracle,
        observer: &mut ObserverRef,
    ) -> Result<(), ZoneError> {
        let Some(zones) = self.ftl.layer_mut().host_zones() else { return Ok(()) };
        for lpn in zones.command(command, page)?.map(Lpn) {
            self.buffer.iter_mut().for_each(|buffer| buffer.trim(lpn));
            oracle.note_trim(lpn, request);
            observer.gives_up(lpn);
        }
        Ok(())
    }

    /// Runs the layer's own operations without a clock.
    pub(super) fn run_operations_untimed(&mut self, observer: &mut ObserverRef) -> Result<(), SimError> {
        while self.rules.has_zones {
            self.plan.clear();
            if self.ftl.next_operation(&mut self.plan).is_none() {
                break;
            }
            self.execute_plan(observer)?;
        }
        Ok(())
    }
}
