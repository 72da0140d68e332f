//! 46x, 47x: the learned map of `examples/leaftl-rust`, which says what only versions from 1.2 on of `pumice_ftl.h` can say.
#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, reason = "another test uses it")]
mod folder;
#[path = "../../../examples/leaftl-rust/src/lib.rs"]
mod leaftl;
#[path = "ftl/support.rs"]
#[allow(dead_code, reason = "another test uses the rest")]
mod support;

use std::fs;
use std::path::Path;

use pumice_capi::ftl::from_table;
use pumice_ftl::plugin::OwnLayer;
use pumice_lab::conform::{Finding, conform};
use serde_json::Value;

/// The layer through the table of the C interface.
fn layer() -> OwnLayer {
    // SAFETY: the table is that of `export_ftl!`, and stays.
    let layer = unsafe { from_table(&*leaftl::pumice_ftl()) }.unwrap();
    // A plug-in keeps what its panics say for the engine; those of these tests are to be seen.
    drop(std::panic::take_hook());
    layer
}

/// A full device under random reads and writes.
fn document(layer: &OwnLayer, varied: [(&str, &str); 2]) -> Value {
    let sets = [
        ("ftl.kind", "plugin:leaftl"),
        ("ftl.leaftl.buffer_pages", "512"),
        ("ftl.over_provisioning", "0.3"),
        ("partial_erase.unit", "none"),
        ("ftl.merge", "block-erase"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "1"),
        ("workload.kind", "uniform"),
        ("workload.footprint", "1.0"),
        ("workload.read_fraction", "0.5"),
        ("workload.requests", "6000"),
        ("workload.flush_every", "500"),
        ("initial.fill", "1.0"),
        ("run.check", "integrity"),
    ];
    support::document(&[&sets[..], &varied].concat(), std::slice::from_ref(layer)).unwrap()
}

fn count(document: &Value, path: &str) -> f64 {
    document.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {document}"))
}

#[test]
fn t475_wrong_predictions_cost_reads_and_lines_that_may_miss_save_ram() {
    let of = |gamma| document(&layer(), [("ftl.leaftl.gamma", gamma), ("run.timed", "true")]);
    let (exact, learned) = (of("0"), of("16"));
    assert_eq!(count(&exact, "/plugin/counts/mispredictions"), 0.0);
    let (looks, missed) =
        (count(&learned, "/plugin/counts/look_ups"), count(&learned, "/plugin/counts/mispredictions"));
    assert!(missed > 0.05 * looks && missed < looks, "{missed} of {looks}");
    for found in [&exact, &learned] {
        assert_eq!(count(found, "/flash/reads/map"), count(found, "/plugin/counts/mispredictions"));
        assert_eq!(count(found, "/integrity/lost_pages"), 0.0);
        assert!(count(found, "/gc/copied_pages") > 100.0);
        let written = count(found, "/host/write/bytes") / count(found, "/config/geometry/page_bytes");
        assert!(count(found, "/flash/programs/host") <= written);
    }
    let (exact_ram, learned_ram) = (count(&exact, "/gc/map/ram_bytes"), count(&learned, "/gc/map/ram_bytes"));
    assert!(learned_ram < exact_ram, "{learned_ram} and {exact_ram} bytes");
    let read = |found: &Value| count(found, "/host/read/latency_us/mean");
    assert!(read(&learned) > read(&exact), "{} and {} us", read(&learned), read(&exact));
}

#[test]
fn t476_the_learned_map_gives_one_result_through_the_interface_and_compiled_in() {
    let compiled_in = OwnLayer::compiled_in::<leaftl::LeaFtl>().unwrap();
    for timed in ["true", "false"] {
        let plain = |layer: &OwnLayer| {
            let mut found = document(layer, [("ftl.leaftl.gamma", "4"), ("run.timed", timed)]);
            found["plugin"]["sha256"] = Value::Null;
            found["run"] = Value::Null;
            found
        };
        assert_eq!(plain(&layer()), plain(&compiled_in));
    }
}

#[test]
fn t1001_a_look_up_takes_its_time_although_it_reads_no_flash() {
    let of = |time| document(&layer(), [("workload.read_fraction", "1.0"), ("ftl.leaftl.look_up_ns", time)]);
    let (quick, slow) = (of("0"), of("7000"));
    assert_eq!(quick["flash"], slow["flash"]);
    let longer = |path: &str| count(&slow, path) - count(&quick, path);
    for path in ["/host/read/latency_us/mean", "/host/read/latency_us/max"] {
        assert!((longer(path) - 7.0).abs() < 1e-6, "{path}: {} us", longer(path));
    }
}

#[test]
fn t477_the_learned_map_conforms_in_at_most_400_lines() {
    let sets = [("ftl.leaftl.buffer_pages".to_string(), "8".to_string())];
    let verdicts = conform(&layer(), &sets, &mut || true);
    let held = verdicts.iter().filter(|verdict| verdict.finding == Finding::Holds).count();
    assert!(held > 10, "{verdicts:#?}");
    for verdict in &verdicts {
        assert!(!matches!(verdict.finding, Finding::Fails { .. }), "{verdict:?}");
        assert!(verdict.sets.is_empty() || verdict.sets.contains(&sets[0]), "{verdict:?}");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/leaftl-rust/src");
    let lines = |file: &str| fs::read_to_string(folder.join(file)).unwrap().lines().count();
    assert!(lines("lib.rs") + lines("segments.rs") <= 400);
}
