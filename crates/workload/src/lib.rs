//! What the host asks for: traces, synthetic twins of traces, file systems in use, and generators.
//!
//! [`WorkloadKeys`] hold what a spec says; [`WorkloadKeys::open`] gives the [`Workload`], which yields
//! [`HostRequest`](pumice_types::HostRequest)s until it is exhausted. [`open_trace`], [`twin`], [`fat`] and
//! [`synthetic`] do the same from options. [`check`] and [`info`] look at a trace without a device; [`write_trace`]
//! makes a trace of any workload.
//!
//! Inside the crate, a file imports from the files that define what it needs, never from this one.
#![forbid(unsafe_code)]

mod family;
mod fat;
mod generator;
mod kinds;
mod shared_keys;
mod source;
mod survey;
mod trace;
mod twins;
mod zoned;

pub use family::OpenFor;
pub use fat::file_system::{FileSystemKeys, FileSystemName};
pub use fat::{FatFacts, FatOptions, FatWorkload, fat_catalogue};
pub use generator::drawn::{DrawnKeys, MixKeys};
pub use generator::fio_job::{FioJob, ZonedFioJob};
pub use generator::hot_writes::HotWrites;
pub use generator::options::SyntheticOptions;
pub use generator::patterns::{
    AccessPattern, CacheAccess, HotColdAccess, PatternKeys, PatternKind, PermutationAccess, SequentialAccess,
    StreamsAccess, UniformAccess, ZipfAccess,
};
pub use generator::requests::Generator;
pub use generator::scatter::Scatter;
pub use generator::sizes::RequestSizes;
pub use kinds::open::{fat, open_trace, open_trace_with, synthetic, twin};
pub use kinds::reader::WorkloadReader;
pub use kinds::registry::{KindKeys, Workload, WorkloadKeys, WorkloadKind, catalogue};
pub use kinds::write::{TraceWriter, WriteReport, write_trace, write_trace_as};
/// What a request does, as every workload yields it.
pub use pumice_types::RequestKind;
pub use shared_keys::SharedWorkloadKeys;
pub use source::arrival::{Arrival, ArrivalKind};
pub use source::compression::Compression;
pub use source::error::{TraceError, TraceErrorKind};
pub use source::fact::Fact;
pub use source::notes::Notes;
pub use source::placement::{AddressPolicy, COMPACT_REGION_BYTES, Placement};
pub use source::random::RandomStream;
pub use source::zone_job::ZoneJob;
pub use survey::check::{CheckReport, DecodedLine, check, check_with};
pub use survey::footprint::Footprint;
pub use survey::info::{Heat, InfoReport, KindSummary, Survey, TrimSummary, info, info_with};
pub use survey::shape::{Bin, FootprintSample, WorkloadShape};
pub use trace::bytes::content::{file_digest, is_columnar};
pub use trace::bytes::recorded::{RecordedContent, SharedContent};
pub use trace::columns::header::TableColumn;
pub use trace::columns::request::ColumnRequest;
pub use trace::formats::TraceFormat;
pub use trace::kind::RecordedTrace;
pub use trace::options::{TraceKeys, TraceOptions, Trims};
pub use trace::record::reorder::REORDER_WINDOW;
pub use trace::requests::Trace;
pub use trace::table::{TableLayout, UnitColumn};
pub use trace::volumes::Volumes;
pub use twins::catalogue::{TwinFacts, WEEK_SECONDS, twin_catalogue};
pub use twins::names::TwinName;
pub use twins::options::{TwinKeys, TwinOptions};
pub use twins::requests::Twin;
pub use zoned::{ZoneJobKeys, ZoneRequests};

#[cfg(test)]
mod tests {
    /// Runs happen in threads of their own.
    #[test]
    fn w001_a_workload_can_move_between_threads() {
        fn send<T: Send>() {}
        send::<crate::Workload>();
    }
}
