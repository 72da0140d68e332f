//! How a trace is read: the options, and the keys that they come from.

use pumice_types::choice;
use pumice_types::key::{ANY, CHOSEN, When};

use crate::shared_keys::IS_TRACE;
use crate::trace::bytes::recorded::SharedContent;
use crate::trace::columns::request::ColumnRequest;
use crate::trace::formats::TraceFormat;
use crate::trace::volumes::Volumes;

choice! {
    /// What becomes of trims (discards).
    pub enum Trims {
        /// Trims are requests like others.
        Keep = "keep",
        /// Trims are left out and counted.
        Drop = "drop",
    }
}

/// How a trace file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Format of the trace; `None` recognises it by content.
    pub format: Option<TraceFormat>,
    /// Which column of delimited text is what; `None` if the format or the header says it.
    pub columns: Option<ColumnRequest>,
    /// What is read in place of the file.
    pub content: Option<SharedContent>,
    /// What becomes of its volumes.
    pub volumes: Volumes,
    /// What becomes of its trims.
    pub trims: Trims,
}

impl Default for TraceOptions {
    fn default() -> TraceOptions {
        TraceOptions { format: None, columns: None, content: None, volumes: Volumes::Overlay, trims: Trims::Keep }
    }
}

pumice_types::keys! {
    /// What traces read of `[workload]`. Other workloads refuse a path and a format, so these three are always read.
    pub struct TraceKeys in "workload" {
        path: Option<String> = "", ANY, "", "none", When::Requests, "Trace file, plain, gzip, zstd or xz (kind = \"trace\"). In a spec or sweep file a relative path starts at that file.";
        format: Option<TraceFormat> = "", ANY, "", "found by content", When::Requests, "Trace format.";
        columns: Option<ColumnRequest> = "", ANY, "", "the header or the format", When::Requests, "Columns of a delimited trace, by number from 0 or by name: time=0:s,op=1,offset=2:sectors,size=3,volume=4,fua=5,stream=6. Units of time: ns, 100ns, us, ms, s; of offset and size: bytes, sectors, kib, mib or a number of bytes. op=1:0/1 names reads and writes; fua marks force unit access, stream is 0 to 255.";
        volumes: Volumes = "\"overlay\"", ANY, "", CHOSEN, IS_TRACE, "Traces of several volumes. overlay: all share one address space. separate: a region each, in order of first appearance. Else the number or name of the one to replay.";
        trims: Trims = "\"keep\"", ANY, "", CHOSEN, IS_TRACE, "Trims (discards) of a trace. keep: requests like others. drop: left out and counted.";
    }
}

impl TraceKeys {
    /// The options that the keys ask for.
    pub fn options(&self) -> TraceOptions {
        TraceOptions {
            format: self.format,
            columns: self.columns.clone(),
            content: None,
            volumes: self.volumes.clone(),
            trims: self.trims,
        }
    }
}
