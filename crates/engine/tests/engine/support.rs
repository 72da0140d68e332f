//! Small specs and traces for the tests.

use std::path::PathBuf;

use pumice_config::{Config, SpecSource};
use pumice_engine::observe::Observer;
use pumice_engine::{Outcome, SimError, run, run_observed};
use pumice_types::{FlashCommand, Time};
use serde_json::Value;

/// The tiny preset with these settings, not resolved yet.
pub fn source(sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

/// The panic of a test whose spec is refused begins so.
pub const NO_SPEC: &str = "a valid spec";

/// A spec from the tiny preset with these settings.
pub fn spec(sets: &[(&str, &str)]) -> Config {
    Config::resolve(&source(sets)).expect(NO_SPEC)
}

/// Why a spec is refused, if it is.
pub fn accepts(sets: &[(&str, &str)]) -> Result<(), String> {
    Config::resolve(&source(sets)).map(drop).map_err(|error| error.to_string())
}

/// The result document of a spec that must run.
#[track_caller]
pub fn document(sets: &[(&str, &str)]) -> Value {
    let outcome = run(&spec(sets), 1.0, &mut |_| true).expect("the run ends well");
    assert_eq!(outcome.integrity_error, None);
    outcome.document
}

/// Runs a spec and shows an observer what happens.
///
/// # Errors
/// As [`run`].
pub fn run_seen_by(config: &Config, observer: &mut dyn Observer) -> Result<Outcome, SimError> {
    run_observed(config, 1.0, observer, &mut |_| true)
}

/// Keeps every command.
#[derive(Default)]
struct Commands(Vec<FlashCommand>);

impl Observer for Commands {
    fn command(&mut self, _start: Time, _end: Time, command: &FlashCommand) {
        self.0.push(*command);
    }
}

/// A trace in a file of its own that disappears with it.
pub struct TraceFile(PathBuf);

impl TraceFile {
    /// Writes requests `(microseconds, 'R' or 'W', first byte, bytes)` as MSR CSV.
    pub fn new(name: &str, requests: &[(u64, char, u64, u32)]) -> TraceFile {
        let path = std::env::temp_dir().join(format!("pumice-test-{}-{name}.csv", std::process::id()));
        let line = |&(us, kind, offset, bytes): &(u64, char, u64, u32)| {
            let kind = if kind == 'R' { "Read" } else { "Write" };
            format!("{},test,0,{kind},{offset},{bytes},0\n", 128_166_372_000_000_000 + us * 10)
        };
        std::fs::write(&path, requests.iter().map(line).collect::<String>()).expect("a writable folder");
        TraceFile(path)
    }

    /// Writes requests `(microseconds, action, first byte, bytes)` as an iolog of fio, which has trims.
    pub fn fio(name: &str, requests: &[(u64, &str, u64, u32)]) -> TraceFile {
        let path = std::env::temp_dir().join(format!("pumice-test-{}-{name}.log", std::process::id()));
        let line =
            |(us, action, offset, bytes): &(u64, &str, u64, u32)| format!("{us} disk {action} {offset} {bytes}\n");
        let text: String = requests.iter().map(line).collect();
        std::fs::write(&path, format!("fio version 3 iolog\n0 disk add\n0 disk open\n{text}"))
            .expect("a writable folder");
        TraceFile(path)
    }

    /// Writes lines `time_us,op,offset_bytes,size_bytes` as delimited text.
    pub fn delimited(name: &str, lines: &[(u64, &str, u64, u64)]) -> TraceFile {
        let path = std::env::temp_dir().join(format!("pumice-test-{}-{name}.csv", std::process::id()));
        let line = |(us, op, offset, size): &(u64, &str, u64, u64)| format!("{us},{op},{offset},{size}\n");
        let text: String = lines.iter().map(line).collect();
        std::fs::write(&path, format!("time_us,op,offset_bytes,size_bytes\n{text}")).expect("a writable folder");
        TraceFile(path)
    }

    /// Runs the trace with these settings.
    #[track_caller]
    pub fn run(&self, sets: &[(&str, &str)]) -> Value {
        document(&self.settings(sets))
    }

    /// The flash commands of the trace with these settings, in the order in which they took effect.
    #[track_caller]
    pub fn commands(&self, sets: &[(&str, &str)]) -> Vec<FlashCommand> {
        let mut seen = Commands::default();
        run_seen_by(&spec(&self.settings(sets)), &mut seen).expect("the run ends well");
        seen.0
    }

    /// What an integrity run of the trace finds wrong.
    pub fn integrity_error(&self, sets: &[(&str, &str)]) -> Option<String> {
        let outcome = run(&spec(&self.settings(sets)), 1.0, &mut |_| true);
        outcome.expect("no broken rule").integrity_error
    }

    fn settings<'a>(&'a self, sets: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let path = self.0.to_str().expect("a plain path");
        [&[("workload.kind", "trace"), ("workload.path", path)], sets].concat()
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        // A leftover in the temporary folder harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A number of the document by its path.
#[track_caller]
pub fn number(document: &Value, path: &str) -> f64 {
    let pointer = format!("/{}", path.replace('.', "/"));
    document.pointer(&pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is not a number"))
}
