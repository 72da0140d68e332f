//! What the host asks for: traces, synthetic twins of traces, and generators.
//!
//! [`open_trace`], [`twin`], [`synthetic`], [`uniform`] and [`sequential`] each give a [`Workload`], which yields
//! [`HostRequest`](pumice_types::HostRequest)s until it is exhausted. [`check`] and [`info`] look
//! at a trace without a device; [`write_trace`] makes a trace of any workload.
#![forbid(unsafe_code)]

mod arrival;
mod error;
mod generator;
mod placement;
mod random;
mod survey;
mod trace;
mod twins;
mod workload;
mod write;

pub use arrival::Arrival;
pub use error::{TraceError, TraceErrorKind};
pub use generator::{
    Access, Generator, GeneratorOptions, RequestSizes, SyntheticOptions, W_PERCENT, from_fio_job, sequential,
    synthetic, uniform,
};
pub use placement::{AddressPolicy, COMPACT_REGION_BYTES, Placement};
/// What a request does, as every workload yields it.
pub use pumice_types::RequestKind;
pub use random::Stream;
pub use survey::{
    CheckReport, DecodedLine, Footprint, Heat, InfoReport, KindSummary, Survey, check, check_with, info, info_with,
};
pub use trace::{REORDER_WINDOW, Trace, TraceFormat, TraceOptions, Volumes, file_digest, open_trace, open_trace_with};
pub use twins::{Twin, TwinFacts, TwinOptions, WEEK_SECONDS, twin, twin_catalogue};
pub use workload::{Fact, Notes, Workload};
pub use write::{WriteReport, write_trace};

#[cfg(test)]
mod tests {
    /// Runs happen in threads of their own.
    #[test]
    fn w001_a_workload_can_move_between_threads() {
        fn send<T: Send>() {}
        send::<crate::Workload>();
    }
}
