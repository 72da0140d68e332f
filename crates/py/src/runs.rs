//! Requests: what a run is to be, and the run itself.

use std::sync::Arc;
use std::time::Instant;

use pumice_config::aged::{AgedIdentity, SharedAgedDevices};
use pumice_config::{Config, SpecSource, without_effect};
use pumice_engine::snapshot::Shelf;
use pumice_engine::{Circumstances, Progress, Threads, run_logged, run_on_threads};
use pumice_ftl::policy::OwnPolicy;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::attended::{Desk, attend_watching};
use crate::errors::{SpecError, sim_error, spec_error};
use crate::outputs::{Handover, Pieces, pass_rest};
use crate::own_code_watch::OwnCodeWatch;
use crate::plugins::RequestedPlugin;
use crate::policies::{RequestedPolicy, own_policy};
use crate::recorded::{self, Handed};
use crate::requested_snapshots::RequestedSnapshots;

/// A request as it is to be run.
pub struct Request {
    pub config: Config,
    pub scale: f64,
    /// Name of the preset that it starts from.
    preset: Option<String>,
    /// A line for each key that was set and is not read.
    without_effect: Vec<String>,
    /// The snapshots that its device may come from.
    shelf: Option<Arc<Shelf>>,
    /// How many threads run it, if several may.
    threads: Option<Threads>,
}

/// What the engine is asked for: a spec, and with it code of the user's own.
#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    fields: Map<String, Value>,
    #[serde(default)]
    policy: Option<RequestedPolicy>,
    #[serde(default)]
    plugins: Vec<RequestedPlugin>,
    #[serde(default)]
    snapshots: Option<RequestedSnapshots>,
    #[serde(default)]
    threads: Option<RequestedThreads>,
}

/// The threads that a request asks for.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RequestedThreads {
    UpTo(u8),
    Number(u8),
}

impl From<RequestedThreads> for Threads {
    fn from(threads: RequestedThreads) -> Threads {
        match threads {
            RequestedThreads::UpTo(most) => Threads::UpTo(most),
            RequestedThreads::Number(number) => Threads::Number(number),
        }
    }
}

/// The source that a request names. `policy` takes the place of one that the request names.
pub fn parse_source(py: Python<'_>, request: &str, policy: Option<OwnPolicy>) -> PyResult<SpecSource> {
    Ok(parse(py, request, policy)?.0)
}

/// The source that a request names, the snapshots and the threads.
fn parse(
    py: Python<'_>,
    request: &str,
    policy: Option<OwnPolicy>,
) -> PyResult<(SpecSource, Option<RequestedSnapshots>, Option<Threads>)> {
    let refused = |error: serde_json::Error| PyValueError::new_err(format!("request: {error}"));
    let asked: Asked = serde_json::from_str(request).map_err(refused)?;
    let mut source: SpecSource = serde_json::from_value(asked.fields.into()).map_err(refused)?;
    source.own_policy = match (policy, asked.policy) {
        (Some(policy), _) => Some(policy),
        (None, Some(requested)) => Some(requested.load(py)?),
        (None, None) => None,
    };
    source.plugins = asked.plugins.iter().map(RequestedPlugin::load).collect::<PyResult<_>>()?;
    let scale = source.scale.unwrap_or(1.0);
    if !(scale > 0.0 && scale <= 1.0) {
        return Err(SpecError::new_err(format!("scale = {scale} is not allowed; allowed: above 0, at most 1")));
    }
    Ok((source, asked.snapshots, asked.threads.map(Threads::from)))
}

/// Parses a request, as [`parse_source`] does.
pub fn parse_request(py: Python<'_>, request: &str, policy: Option<OwnPolicy>) -> PyResult<Request> {
    let (source, snapshots, threads) = parse(py, request, policy)?;
    let scale = source.scale.unwrap_or(1.0);
    let mut config = Config::resolve(&source).map_err(spec_error)?;
    let without_effect = without_effect(&source, &config).map_err(spec_error)?;
    let shelf = snapshots.filter(|_| AgedIdentity::of(&config, scale).is_some()).map(RequestedSnapshots::shelf);
    let shelf = shelf.transpose()?;
    config.aged_devices = shelf.clone().map(|shelf| SharedAgedDevices(shelf));
    Ok(Request { config, scale, preset: source.preset_name(), without_effect, shelf, threads })
}

/// Validates a request; returns its resolved configuration, digest and scale as JSON, and a line for each
/// key that it sets and that its run does not read; the SHA-256 of the user's own policy and layer, if there are any; and that of the
/// keys that its aged device depends on, if a snapshot of it can be kept.
/// `policy` is as in `run`.
#[pyfunction]
#[pyo3(signature = (request, policy=None))]
pub fn resolve(py: Python<'_>, request: &str, policy: Option<Bound<'_, PyAny>>) -> PyResult<String> {
    let policy = policy.map(|policy| own_policy(&policy)).transpose()?;
    let Request { config, scale, preset, without_effect, .. } = parse_request(py, request, policy)?;
    config.chip.geometry.scaled(scale).map_err(|error| SpecError::new_err(error.0))?;
    let policy_sha256 = config.ftl.own_policy.as_ref().map(|policy| policy.0.sha256());
    let plugin_sha256 = config.ftl.own_layer().map(|layer| layer.source.sha256());
    let found = json!({
        "config": config.to_json(), "config_sha256": config.digest(), "scale": scale, "preset": preset,
        "without_effect": without_effect, "policy_sha256": policy_sha256, "plugin_sha256": plugin_sha256,
        "aged_sha256": AgedIdentity::of(&config, scale).map(|aged| aged.sha256),
    });
    Ok(found.to_string())
}

/// Runs a request; returns the result document as JSON. `progress(requests, share, simulated_s)`
/// returning `False` stops the run. `sink(name, content)` takes what the keys of `[output]` ask for:
/// request_log (several calls, a dictionary of columns each), command_log (several calls, bytes),
/// timeline (several calls, text), histograms (bytes) and wear_map (a dictionary). Both are called in the calling thread.
/// `requests` replaces the file of a recorded trace: its requests as text, where they come from, and which column of that
/// is what. `policy` is the user's own, in place of one that the request names; it is called in the thread of the run.
#[pyfunction]
#[pyo3(signature = (request, progress=None, sink=None, requests=None, policy=None))]
#[allow(clippy::too_many_arguments, reason = "the Python call's arguments, one to one")]
pub fn run(
    py: Python<'_>,
    request: &str,
    progress: Option<Py<PyAny>>,
    sink: Option<Py<PyAny>>,
    requests: Option<Handed>,
    policy: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let policy = policy.map(|policy| own_policy(&policy)).transpose()?;
    let Request { mut config, scale, preset, without_effect, shelf, threads } = parse_request(py, request, policy)?;
    if let (Some(key), None) = (config.output.files().first(), &sink) {
        return Err(SpecError::new_err(format!(
            "{key} writes a file: it needs a single run with an output directory, and is not for sweeps, comparisons or repeated runs"
        )));
    }
    let mut watch = OwnCodeWatch::new(&config);
    let started = Instant::now();
    config.recorded = recorded::content(py, &config, requests)?;
    let simulate = move |desk: &Desk<Handover>| {
        let mut progress = |report: &Progress| desk.ask(Handover::Progress(*report));
        let logs = config.output.request_log || config.output.command_log || config.output.timeline;
        let mut go = || match threads {
            Some(threads) if !logs || matches!(threads, Threads::Number(_)) => {
                run_on_threads(&config, scale, threads, &mut progress)
            }
            Some(_) | None => run_logged(&config, scale, &mut Pieces(desk), &mut progress),
        };
        match &config.ftl.own_policy {
            // A thread that the interpreter knows already takes it, call by call, much faster.
            Some(_) => Python::attach(|py| py.detach(go)),
            None => go(),
        }
    };
    let serve = |py: Python<'_>, question| match question {
        Handover::Progress(report) => tell(py, &report, progress.as_ref()),
        Handover::Keep(piece) => sink.as_ref().map_or(Ok(()), |sink| piece.pass(py, sink)).map(|()| true),
    };
    let outcome = attend_watching(py, simulate, serve, &mut watch)?.map_err(sim_error)?;
    if let Some(sink) = &sink {
        pass_rest(py, sink, &outcome)?;
    }
    let circumstances = Circumstances { started, preset, without_effect };
    let mut document = outcome.told(&circumstances).map_err(sim_error)?;
    if let Some(shelf) = shelf {
        document["run"]["aged_device"] = json!(shelf.origin().name());
        document["run"]["snapshot_faults"] = json!(shelf.refusals());
    }
    Ok(document.to_string())
}

/// Tells the caller's function how far a run has come; whether it shall go on.
///
/// # Errors
/// What the function raises.
pub fn tell(py: Python<'_>, report: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<bool> {
    let Some(progress) = progress else { return Ok(true) };
    let answer = progress.call1(py, (report.requests, report.share, report.simulated.as_s()))?;
    Ok(answer.is_none(py) || answer.is_truthy(py)?)
}
