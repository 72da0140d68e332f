//! The record of a session: a trace that replays to the same result.

use std::fs::File;
use std::path::{Path, PathBuf};

use pumice_config::Config;
use pumice_engine::{Origin, SimError, open_workload};
use pumice_types::HostRequest;
use pumice_workload::{Fact, TraceFormat, TraceWriter};

/// `workload.path` and `workload.format` of a session that is not recorded.
pub const UNRECORDED: (&str, &str) = ("served", "nbd");

/// A trace that is being written.
pub struct Record {
    path: PathBuf,
    writer: TraceWriter<File>,
    scale: f64,
}

impl Record {
    /// Begins a trace.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn create(path: &Path, scale: f64) -> Result<Record, SimError> {
        let refused = |error: std::io::Error| SimError::Output(format!("{}: {error}", path.display()));
        let file = File::create(path).map_err(refused)?;
        let writer = TraceWriter::new(TraceFormat::Csv, false, file)?;
        Ok(Record { path: path.to_owned(), writer, scale })
    }

    /// Adds a request.
    ///
    /// # Errors
    /// An output that refuses.
    pub fn write(&mut self, request: &HostRequest) -> Result<(), SimError> {
        Ok(self.writer.write(request)?)
    }

    /// Ends the trace. Returns what a run that replays it tells of its workload.
    ///
    /// # Errors
    /// An output that refuses, or a trace that does not read back.
    pub fn finish(self, config: &Config, capacity: u64) -> Result<Origin, SimError> {
        let report = self.writer.finish()?;
        if report.requests == 0 {
            let warning = format!("{}: no request came, so nothing can be replayed", self.path.display());
            return Ok(Origin { warnings: vec![warning], ..Record::unrecorded() });
        }
        let mut written = open_workload(config, self.scale, capacity)?;
        while written.next_request()?.is_some() {}
        Ok(Origin { facts: written.facts(), warnings: written.notes().warnings(), ..Origin::default() })
    }

    /// What a session tells of its requests if they are not recorded, or not yet.
    pub fn unrecorded() -> Origin {
        let (path, format) = UNRECORDED;
        let facts = vec![("path", Fact::Text(path.into())), ("format", Fact::Text(format.into()))];
        Origin { facts, ..Origin::default() }
    }
}
