//! 48x: power cuts of translation layers in shared objects.

use std::fs;
use std::path::Path;

use pumice_capi::ftl::load;
use pumice_config::Config;
use pumice_ftl::plugin::OwnLayer;
use pumice_lab::conform::{Finding, power_cuts};

use super::altered;
use super::folder::Folder;
use super::support::{LOAD, document, error_of, rust_example, source};

/// A load with cuts, for which an initial fill and trims are left out.
const CUT: &[(&str, &str)] =
    &[("ftl.recovery", "scan"), ("power.cuts", "20"), ("host.mode", "closed-loop"), ("workload.requests", "20000")];

#[test]
fn t484_an_example_loses_power_like_a_built_in_layer_and_both_examples_alike() {
    let folder = Folder::new("power");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-ftl-c/own_ftl.c");
    let c = load(&folder.shared("own_ftl.so", &fs::read_to_string(path).unwrap())).unwrap();
    let document = |name: &str, layer: OwnLayer| {
        let mut found = document(&[LOAD, CUT, &[("ftl.kind", name)]].concat(), &[layer]).unwrap();
        for field in ["plugin", "run", "config", "config_sha256", "gc"] {
            found[field] = Default::default();
        }
        found
    };
    let in_rust = document("plugin:page-log", load(&rust_example()).unwrap());
    let power = &in_rust["power"];
    assert_eq!((&power["cuts"], &power["broken_promises"]), (&20.into(), &0.into()));
    for field in ["spare_reads", "recovery_programs", "recovery_erases", "moved_pages", "torn_programs"] {
        assert!(power[field].as_u64().unwrap() > 0, "{field}: {power}");
    }
    assert!(power["recovery_us"]["mean"].as_f64().unwrap() > 100.0 && power["erased_again"].is_null());
    assert_eq!(document("plugin:page-log-c", c), in_rust);
}

/// Faults of a recovery, and what the run says of them.
const FAULTS: &[(&str, &str, &str)] = &[
    ("fails", "-DRECOVER_FAILS", "plug-in \"broken\": recover failed: out of patience"),
    (
        "nowhere",
        "-DRECOVER_READS_NOWHERE",
        "plug-in \"broken\": reads the spare area of block 4096 page 0; the device has",
    ),
    (
        "no-page",
        "-DRECOVER_READS_NO_PAGE",
        "plug-in \"broken\": reads the spare area of block 0 page 65535; the device has",
    ),
    (
        "no-block",
        "-DRECOVER_READS_NO_BLOCK",
        "plug-in \"broken\": reads the spare area of block 4096 page 0; the device",
    ),
    (
        "reads-on",
        "-DRECOVER_READS_ON",
        "plug-in \"broken\": reads more than 16 times as many spare areas as the device has",
    ),
    (
        "programs",
        "-DRECOVER_PROGRAMS",
        "plug-in \"broken\": planned Program to recover with; allowed: copies and erases",
    ),
    ("reads", "-DRECOVER_READS", "plug-in \"broken\": planned Read to recover with; allowed: copies and erases"),
    ("erases", "-DRECOVER_ERASES_NOWHERE", "plug-in \"broken\": planned Erase at block 4096 page 0; the device has"),
    ("overflows", "-DRECOVER_OVERFLOWS", "plug-in \"broken\": planned 131073 commands in one call; allowed: 131072"),
    // It takes every block for blank.
    ("forgets", "", "flash rule 'erase-before-program' refuses Program at block 0 page 0"),
];

#[test]
fn t485_a_faulty_recovery_ends_the_run_with_one_line() {
    let folder = Folder::new("recoveries");
    for (name, flags, expected) in FAULTS {
        let plugins = [load(&folder.broken(name, &format!("-DRECOVER {flags}"))).unwrap()];
        let sets = [("ftl.kind", "plugin:broken"), ("power.cuts", "2"), ("workload.requests", "2000")];
        let error = error_of(&[LOAD, CUT, &sets, &[("initial.fill", "0.3")]].concat(), &plugins);
        assert!(error.contains(expected) && !error.contains('\n'), "{name}: {error}");
    }
}

#[test]
fn t486_without_a_recovery_a_plug_in_is_refused_cuts_in_one_line() {
    let folder = Folder::new("without");
    let refused = |layer: OwnLayer, sets: &[(&str, &str)]| {
        let kind = layer.source.name().kind();
        let sets = [sets, &[("ftl.kind", kind)]].concat();
        Config::resolve(&source(&sets, &[layer])).unwrap_err().to_string()
    };
    let plain = load(&folder.broken("plain", "")).unwrap();
    // What a table holds beyond the size of its version is not read.
    let old = load(&folder.broken("old", "-DRECOVER -DBUILT_FOR_1_0")).unwrap();
    for layer in [plain, old] {
        assert!(!layer.source.recovers());
        let text = refused(layer.clone(), &[("ftl.recovery", "scan")]);
        assert!(text.starts_with("ftl.recovery = \"scan\" needs ftl.kind = \"nftl\" | \"page\" | "), "{text}");
        assert!(text.ends_with(", found \"plugin:broken\"") && !text.contains('\n'), "{text}");
        let text = refused(layer.clone(), &[("power.cuts", "3")]);
        assert!(text.starts_with("power.cuts needs a layer that can recover, found ftl.kind = \"plugin:broken\""));
        let sets = [("ftl.kind", "plugin:broken"), ("workload.requests", "300"), ("initial.fill", "0.0")];
        assert!(document(&[LOAD, &sets].concat(), &[layer]).is_ok(), "else it works");
    }
    let example = || load(&rust_example()).unwrap();
    let text = refused(example(), &[("power.cuts", "3")]);
    assert_eq!(text, "power.cuts needs ftl.recovery = \"scan\", found \"off\"");
    let text = refused(example(), &[("ftl.recovery", "scan"), ("workload.trim_fraction", "0.1")]);
    assert!(text.contains("needs workload.trim_fraction = 0, found 0.1"), "{text}");
    let text = refused(example(), &[("ftl.recovery", "checkpoint")]);
    assert!(text.ends_with("found \"plugin:page-log\""), "{text}");
}

/// Faults in the recovery of the example: what is replaced.
const SEEDED: &[(&str, [&str; 2])] = &[
    ("the page that was programmed last is trusted", ["area[page].programmed > 0 &&", "0 &&"]),
    ("blank blocks are trusted", ["if (log->unproven[block])\n        pumice", "if (0)\n        pumice"]),
    ("the oldest data counts", ["? page->written > other->written", "? page->written < other->written"]),
    ("the first copy counts", [": page->programmed > other->programmed", ": page->programmed < other->programmed"]),
    (
        "the next best copy is erased",
        ["next_best != NONE && plane->free_block[at - 1]", "0 && plane->free_block[at - 1]"],
    ),
    (
        "the first block is forgotten",
        [
            "block = 0; block < blocks; block++) {\n        pumice_ftl_spare",
            "block = 1; block < blocks; block++) {\n        pumice_ftl_spare",
        ],
    ),
    ("nothing is kept in reserve", ["#define KEPT_FOR_CUTS 3", "#define KEPT_FOR_CUTS 0"]),
    ("bad blocks are read", ["log->closed[block] != 2 && chips", "chips"]),
    (
        "the last page is placed anew but not copied",
        [
            "    pumice_ftl_push(plan, pumice_ftl_copy(suspect",
            "    if (0) pumice_ftl_push(plan, pumice_ftl_copy(suspect",
        ],
    ),
    (
        "what is written is written further",
        ["log->closed[block] = log->valid[block] > 0;", "log->closed[block] = log->valid[block] == pages;"],
    ),
];

#[test]
fn t487_faults_of_a_recovery_are_found_and_come_with_the_settings_that_repeat_them() {
    let folder = Folder::new("cuts");
    for (nth, (what, change)) in SEEDED.iter().enumerate() {
        let layer = altered(&folder, &format!("cut-{nth}"), *change);
        let verdicts = power_cuts(&layer, &[], &mut || true);
        let failed = verdicts.iter().find(|verdict| matches!(verdict.finding, Finding::Fails { .. }));
        let failed = failed.unwrap_or_else(|| panic!("{what}: not found"));
        let Finding::Fails { text, .. } = &failed.finding else { continue };
        assert!(!text.contains('\n'), "{what}: {text}");
        let sets: Vec<(&str, &str)> = failed.sets.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(&error_of(&sets, &[layer]), text, "{what}: the settings repeat it");
    }
}
