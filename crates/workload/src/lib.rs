//! What the host asks for: traces, synthetic twins of traces, file systems in use, and generators.
//!
//! [`open_trace`], [`twin`], [`fat`], [`synthetic`], [`uniform`] and [`sequential`] each give a [`Workload`], which yields
//! [`HostRequest`](pumice_types::HostRequest)s until it is exhausted. [`check`] and [`info`] look
//! at a trace without a device; [`write_trace`] makes a trace of any workload.
#![forbid(unsafe_code)]

mod arrival;
mod error;
mod fat;
mod generator;
mod keys;
mod placement;
mod random;
mod survey;
mod trace;
mod twins;
mod workload;
mod write;

pub use arrival::Arrival;
pub use error::{TraceError, TraceErrorKind};
pub use fat::{FatFacts, FatOptions, FatWorkload, fat, fat_catalogue};
pub use generator::{
    Access, FioJob, Generator, GeneratorOptions, RequestSizes, SyntheticOptions, W_PERCENT, sequential, synthetic,
    uniform,
};
pub use keys::{ArrivalKind, Trims, WorkloadKeys};
pub use placement::{AddressPolicy, COMPACT_REGION_BYTES, Placement};
/// What a request does, as every workload yields it.
pub use pumice_types::RequestKind;
pub use random::Stream;
pub use survey::{
    Bin, CheckReport, DecodedLine, Footprint, FootprintSample, Heat, InfoReport, KindSummary, Shape, Survey,
    TrimSummary, check, check_with, info, info_with,
};
pub use trace::{REORDER_WINDOW, Trace, TraceFormat, TraceOptions, Volumes, file_digest, open_trace, open_trace_with};
pub use twins::{Twin, TwinFacts, TwinOptions, WEEK_SECONDS, twin, twin_catalogue};
pub use workload::{Fact, Notes, Workload};
pub use write::{Compression, WriteReport, write_trace, write_trace_as};

#[cfg(test)]
mod tests {
    /// Runs happen in threads of their own.
    #[test]
    fn w001_a_workload_can_move_between_threads() {
        fn send<T: Send>() {}
        send::<crate::Workload>();
    }
}
