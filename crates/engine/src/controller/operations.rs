//! Zone operations: what a host's zone command makes the device do behind an access, and how long that takes.

use pumice_ftl::ZoneOperation;
use pumice_types::{Lpn, RequestKind, Time};

use super::access::{PageAccess, Waits};
use super::submit::Wait;
use super::{Controller, Moment};
use crate::error::SimError;
use crate::metrics::KindMetrics;
use crate::observe::Observer;

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
    pub(super) fn begin_operations<O: Observer>(&mut self, moment: &mut Moment<O>) -> Result<(), SimError> {
        if self.rules.has_zones { self.begin_all_operations(moment) } else { Ok(()) }
    }

    #[inline(never)]
    fn begin_all_operations<O: Observer>(&mut self, moment: &mut Moment<O>) -> Result<(), SimError> {
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

    /// Runs the layer's own operations without a clock.
    pub(super) fn run_operations_untimed(&mut self, observer: &mut impl Observer) -> Result<(), SimError> {
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
