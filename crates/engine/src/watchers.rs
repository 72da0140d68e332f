//! Observers of one run.

use pumice_nand::NandArray;
use pumice_types::{DieId, FlashCommand, HostRequest, Time};
use pumice_workload::RandomStream;
use serde_json::Value;

use crate::metrics::TimeSeries;
use crate::observe::{Beginning, Observer, RequestRecord};
use crate::stopping::StoppingRule;

/// Passes each event to the observers of a run: the time series of the document and the rule that ends the run, if there
/// are any, and the caller's observer.
pub struct Watchers<'a, O: Observer> {
    /// The time series.
    pub series: Option<TimeSeries>,
    /// The rule that ends the run.
    pub stopping: Option<StoppingRule>,
    /// The caller's.
    pub other: &'a mut O,
}

impl<O: Observer> Observer for Watchers<'_, O> {
    fn begin(&mut self, beginning: &Beginning) {
        self.other.begin(beginning);
    }

    #[inline]
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.other.command(start, end, command);
    }

    #[inline]
    fn request(&mut self, record: &RequestRecord) {
        if let Some(series) = &mut self.series {
            series.note(record);
        }
        if let Some(stopping) = &mut self.stopping {
            stopping.note(record);
        }
        self.other.request(record);
    }

    fn watches_ageing(&self) -> bool {
        self.other.watches_ageing()
    }

    #[inline]
    fn watches_transfers(&self) -> bool {
        self.other.watches_transfers()
    }

    #[inline]
    fn transfer(&mut self, die: DieId, start: Time, end: Time) {
        self.other.transfer(die, start, end);
    }

    #[inline]
    fn torn(&mut self, command: &FlashCommand) {
        self.other.torn(command);
    }

    fn power_lost(&mut self, array: &mut NandArray, random: &mut RandomStream) {
        self.other.power_lost(array, random);
    }

    #[inline]
    fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.other.suspended(start, end, command);
    }

    #[inline]
    fn accepted(&mut self, slot: u32, request: &HostRequest) {
        self.other.accepted(slot, request);
    }

    #[inline]
    fn completed(&mut self, slot: u32) {
        self.other.completed(slot);
    }

    fn has_failed(&self) -> bool {
        self.other.has_failed()
    }
}

impl<O: Observer> Watchers<'_, O> {
    /// `time_series` of the result document.
    pub fn document(&self) -> Value {
        self.series.as_ref().map_or(Value::Null, TimeSeries::document)
    }
}
