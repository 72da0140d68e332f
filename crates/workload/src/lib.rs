//! What the host asks for: traces, synthetic twins of traces, and generators.
//!
//! [`open_trace`], [`twin`], [`uniform`] and [`sequential`] each give a [`Workload`], which yields
//! [`HostRequest`](pumice_types::HostRequest)s until it is exhausted. [`check`] and [`info`] look
//! at a trace without a device.
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

pub use arrival::Arrival;
pub use error::{TraceError, TraceErrorKind};
pub use generator::{Generator, GeneratorOptions, sequential, uniform};
pub use placement::{AddressPolicy, COMPACT_REGION_BYTES, Placement};
pub use random::Stream;
pub use survey::{CheckReport, DecodedLine, Footprint, Heat, InfoReport, KindSummary, Survey, check, info};
pub use trace::{REORDER_WINDOW, Trace, TraceFormat, file_digest, open_trace};
pub use twins::{Twin, TwinFacts, TwinOptions, WEEK_SECONDS, twin, twin_catalogue};
pub use workload::{Fact, Notes, Workload};

#[cfg(test)]
mod tests {
    /// Runs happen in threads of their own.
    #[test]
    fn w001_a_workload_can_move_between_threads() {
        fn send<T: Send>() {}
        send::<crate::Workload>();
    }
}
