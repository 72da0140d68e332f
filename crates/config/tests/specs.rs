//! Broken specs: each gives one clear line.

use std::path::{Path, PathBuf};

use pumice_config::{Config, SpecSource};

/// File, and parts of its error.
const BROKEN: [(&str, &[&str]); 18] = [
    ("unknown-key", &["unknown-key.toml:3", "'ftl.mrege'", "nearest valid key: 'ftl.merge'"]),
    ("unknown-section", &["unknown-section.toml:2", "flt"]),
    ("unknown-preset", &["unknown-preset.toml:2", "pen-1bt", "nearest: \"pen-1tb\""]),
    ("not-toml", &["not-toml.toml:2", "not TOML"]),
    ("unclosed-text", &["unclosed-text.toml:3", "not TOML"]),
    ("twice", &["twice.toml:3", "not TOML"]),
    ("wrong-type", &["wrong-type.toml:2", "geometry.channels", "a whole number from 1 to 1024"]),
    ("out-of-range", &["out-of-range.toml:3", "geometry.pages_per_block", "a whole number from 1 to 16384"]),
    ("fraction", &["fraction.toml:2", "geometry.channels"]),
    ("not-a-number", &["not-a-number.toml:2", "timing.t_prog_us"]),
    ("wrong-choice", &["wrong-choice.toml:2", "host.mode", "\"open-loop\" | \"closed-loop\""]),
    ("value-as-section", &["value-as-section.toml:1", "seed"]),
    ("section-as-value", &["section-as-value.toml:1", "ftl"]),
    ("splits", &["partial_erase.max_splits = 12", "the largest legal value is"]),
    ("path-without-trace", &["workload.path belongs to workload.kind = \"trace\""]),
    ("trace-without-path", &["workload.kind = \"trace\" needs workload.path"]),
    ("unknown-workload", &["workload.kind = \"twin:prn_7\" does not exist; nearest: \"twin:prn_"]),
    ("weights", &["workload.request_weights has 1 entries", "one weight a size"]),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

#[test]
fn t051_every_broken_spec_gives_one_clear_line() {
    for (name, parts) in BROKEN {
        let file = format!("{name}.toml");
        let text = std::fs::read_to_string(corpus().join(&file)).expect(name);
        let source = SpecSource { spec_text: Some(text), spec_name: Some(file), ..SpecSource::default() };
        let message = Config::resolve(&source).expect_err(name).to_string();
        assert!(!message.contains('\n') && message.len() < 1_000, "{name}: {message}");
        for part in parts {
            assert!(message.contains(part), "{name}: {part:?} is not in: {message}");
        }
    }
}

#[test]
fn t052_every_broken_spec_of_the_corpus_is_tested() {
    let entries = std::fs::read_dir(corpus()).expect("part of the repository");
    let mut found: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().replace(".toml", "")).collect();
    found.sort();
    let mut tested: Vec<String> = BROKEN.iter().map(|(name, _)| name.to_string()).collect();
    tested.sort();
    assert_eq!(found, tested);
}
