//! What a run can write besides its result document, and the seam by which it is observed.
//!
//! Nothing here knows files. What is written while a run goes on (request log, command log) is handed
//! to a [`Sink`] piece by piece, so that memory stays bounded; what is known at the end (histograms,
//! wear map) is part of the run's outcome.

mod command_log;
mod header;
mod histograms;
mod logs;
mod record;
mod request_log;
mod time_series;
mod verify;
mod wear_map;

use pumice_nand::NandArray;
use pumice_types::{FlashCommand, Geometry, HostRequest, Time};

use crate::spec::Spec;

pub use header::LogHeader;
pub(crate) use histograms::interval_log;
pub use logs::{Sink, run_logged};
pub use record::{RECORD_BYTES, Record};
pub use request_log::RequestBatch;
pub(crate) use time_series::TimeSeries;
pub use verify::{Broken, LogError, Verdict, verify, verify_file};
pub use wear_map::WearMap;

/// A finished host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// When it arrived.
    pub arrival: Time,
    /// When it was done.
    pub done: Time,
    /// What it asked for.
    pub request: HostRequest,
}

/// A device before its first command.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// Its scale.
    pub scale: f64,
    /// The device's shape at that scale.
    pub geometry: &'a Geometry,
    /// The array in its initial state.
    pub array: &'a NandArray,
    /// Pages that the host can address.
    pub user_pages: u32,
}

/// Whoever wants to see a run as it happens. Everything defaults to nothing and costs nothing then.
pub trait Observer {
    /// The run is about to begin.
    fn begin(&mut self, _beginning: &Beginning) {}

    /// A flash command took effect; it held its die from `start` to `end`. Without a clock, and while
    /// the device is aged, both are 0. The commands of a multi-plane command follow each other.
    #[inline]
    fn command(&mut self, _start: Time, _end: Time, _command: &FlashCommand) {}

    /// A request that is measured was done. Requests come in the order in which they are done.
    #[inline]
    fn request(&mut self, _record: &RequestRecord) {}

    /// Whether it cannot go on watching: the run is then stopped at the next chance.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Nobody.
impl Observer for () {}

/// Two who watch: the time series of the document, if there is one, and whoever else does.
pub(crate) struct Watchers<'a, O: Observer> {
    /// The document's time series.
    pub series: Option<TimeSeries>,
    /// The other.
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
        self.other.request(record);
    }

    fn has_failed(&self) -> bool {
        self.other.has_failed()
    }
}
