//! Bad inputs that once cost a minute, gigabytes or an abort: each is refused at once, in one line.

use std::time::{Duration, Instant};

use pumice_config::{Config, SpecSource};

fn with(sets: &[(&str, &str)]) -> SpecSource {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

#[track_caller]
fn refusal(source: &SpecSource) -> String {
    let text = Config::resolve(source).expect_err("it must be refused").to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// A device of 2^20 dies ran for a minute without a word, and one of 2^30 blocks would need 90 GB.
#[test]
fn t930_devices_of_too_many_dies_or_blocks_are_refused_with_what_is_allowed() {
    let small = [("geometry.pages_per_block", "1"), ("partial_erase.max_splits", "0")];
    let many = [("geometry.channels", "1024"), ("geometry.chips_per_channel", "1024")];
    let text = refusal(&with(&[&small[..], &many[..]].concat()));
    assert!(text.contains("gives 1048576 dies; allowed: at most 65536"), "{text}");
    let many =
        [("geometry.channels", "256"), ("geometry.chips_per_channel", "256"), ("geometry.blocks_per_plane", "1024")];
    let text = refusal(&with(&[&small[..], &many[..]].concat()));
    assert!(text.contains("gives 134217728 blocks; allowed: at most 16777216"), "{text}");
}

/// 2^26 KiB of pages of 512 bytes took 8 GB before the first request.
#[test]
fn t931_a_write_buffer_of_too_many_pages_is_refused_with_what_is_allowed() {
    let sets = [("geometry.page_bytes", "512"), ("geometry.spare_bytes", "64"), ("host.write_buffer_kib", "67108864")];
    let text = refusal(&with(&sets));
    assert!(text.contains("host.write_buffer_kib = 67108864") && text.contains("allowed: at most 8388608"), "{text}");
    Config::resolve(&with(&[("host.write_buffer_kib", "67108864")])).expect("2^24 pages of 4 KiB are allowed");
}

/// A buffer smaller than a page was no buffer, and no word said so.
#[test]
fn t937_a_write_buffer_of_less_than_a_page_is_refused() {
    let large = ("geometry.page_bytes", "16384");
    let text = refusal(&with(&[large, ("host.write_buffer_kib", "15")]));
    assert!(text.contains("host.write_buffer_kib = 15 holds no page of geometry.page_bytes = 16384"), "{text}");
    assert!(text.contains("allowed: 0, or at least 16"), "{text}");
    for kib in ["0", "16"] {
        Config::resolve(&with(&[large, ("host.write_buffer_kib", kib)])).expect("none, or one page");
    }
}

/// The nearest known name was sought with time in proportion to the square of the name's length: hours for these.
#[test]
fn t932_a_name_of_a_mebibyte_is_refused_at_once() {
    let name = "ü".repeat(1 << 20);
    let begun = Instant::now();
    let preset = SpecSource { preset: Some(name.clone()), ..SpecSource::default() };
    let section = SpecSource { spec_text: Some(format!("[\"{name}\"]\nx = 1\n")), ..SpecSource::default() };
    for source in [with(&[(&name, "1")]), with(&[("ftl.merge", &name)]), preset, section] {
        let text = refusal(&source);
        assert!(text.chars().count() < 1000, "{} characters", text.chars().count());
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Errors about values that a program had set began with `--set:`, which nobody had typed.
#[test]
fn t933_an_error_names_where_its_value_came_from() {
    let place = |origins: &[&str]| {
        let origins = origins.iter().map(ToString::to_string).collect();
        refusal(&SpecSource { origins, ..with(&[("run.timed", "true"), ("seed", "-1")]) })
    };
    let what = "seed = -1 is not allowed; allowed: a whole number from 0 to 2^63 - 1";
    assert_eq!(place(&[]), format!("--set: {what}"));
    assert_eq!(place(&["--set", "--seed"]), format!("--seed: {what}"));
    assert_eq!(place(&["", ""]), what);
    let unknown = SpecSource { origins: vec![String::new()], ..with(&[("ftl.mrege", "1")]) };
    assert!(refusal(&unknown).starts_with("unknown key 'ftl.mrege'"));
    let preset = SpecSource { preset: Some("tini".into()), ..SpecSource::default() };
    assert!(refusal(&preset).starts_with("preset = \"tini\" does not exist"));
    // A number beyond TOML's integers was shown as a text in quotes.
    let large = with(&[("seed", "9223372036854775808")]);
    assert!(refusal(&large).contains("seed = 9223372036854775808 is not allowed"));
}
