//! Requests that the caller holds in memory: a table of a program, or a file that the caller has decoded.

use std::fmt;
use std::sync::Arc;

use crate::trace::columns::request::ColumnRequest;

/// The requests of a trace as delimited text in memory, without a header: one line a row.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedContent {
    /// The text: [`RecordedContent::COLUMNS`] between tabs, one line a request, each ended by a line feed. The stream
    /// of each request comes behind them if `origin_columns` has a column for it.
    pub text: Vec<u8>,
    /// What the requests come from, as results name the format.
    pub format: String,
    /// Which column of the origin is what.
    pub origin_columns: String,
    /// SHA-256 of the file that the caller has decoded; `None` takes that of the text.
    pub sha256: Option<String>,
}

impl RecordedContent {
    /// Which column of the text is what.
    pub const COLUMNS: &'static str = "time=0:ns,op=1,offset=2,size=3,volume=4";

    /// Which column of the text is what, the stream among them, as readers take it.
    pub(in crate::trace) fn columns(&self) -> Result<ColumnRequest, String> {
        let origin = ColumnRequest::parse(&self.origin_columns);
        let stream = if origin.is_ok_and(|origin| origin.stream.is_some()) { ",stream=5" } else { "" };
        ColumnRequest::parse(&format!("{}{stream}", RecordedContent::COLUMNS))
    }
}

/// The text is too long to be shown.
impl fmt::Debug for RecordedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedContent").field("format", &self.format).field("bytes", &self.text.len()).finish()
    }
}

/// Content that several readers share.
pub type SharedContent = Arc<RecordedContent>;
