//! Recorded traces, as a kind of workload.

use pumice_types::{SpecError, refuse};
use std::path::Path;

use crate::family::{Family, OpenFor};
use crate::shared_keys::SharedWorkloadKeys;
use crate::source::error::TraceError;
use crate::trace::options::{TraceKeys, TraceOptions};
use crate::trace::requests::Trace;

/// A recorded trace: there is one such kind, which file it is say the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordedTrace;

impl Family for RecordedTrace {
    type Source = Trace;
    type Keys = TraceKeys;
    const NEEDS_FILE: bool = true;

    fn members() -> Vec<RecordedTrace> {
        vec![RecordedTrace]
    }

    fn name(self) -> String {
        "trace".to_owned()
    }

    fn about(self) -> String {
        "a recorded trace, read from workload.path".to_owned()
    }

    fn check(keys: &TraceKeys) -> Result<(), SpecError> {
        match keys.path.as_deref() {
            Some("") => Err("workload.path is empty; allowed: the path of a trace".into()),
            Some(_) => Ok(()),
            None => Err("workload.kind = \"trace\" needs workload.path".into()),
        }
    }

    fn check_scale(scale: f64) -> Result<(), SpecError> {
        if scale == 1.0 {
            return Ok(());
        }
        Err(refuse!(
            "scale {scale}: a recorded trace is never scaled; leave the scale at 1, and let --fit-device find the smallest device for it"
        ))
    }

    fn open(self, keys: &TraceKeys, _: &SharedWorkloadKeys, run: &OpenFor) -> Result<Trace, TraceError> {
        let path = keys.path.as_deref().unwrap_or_default();
        let options = TraceOptions { content: run.content.clone(), ..keys.options() };
        Trace::open(Path::new(path), &options, &run.placement)
    }
}
