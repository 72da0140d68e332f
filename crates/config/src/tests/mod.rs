mod refusals;
mod spelling;

use pumice_ftl::{FtlKind, MergeMethod};
use pumice_types::Choice;
use pumice_types::key::{NumberOrList, ValueKind};

use super::*;
use crate::table::rows;

fn source(text: &str) -> SpecSource {
    SpecSource { spec_text: Some(text.into()), spec_name: Some("my.toml".into()), ..SpecSource::default() }
}

fn with_set(path: &str, value: &str) -> SpecSource {
    SpecSource { sets: vec![(path.into(), value.into())], ..SpecSource::default() }
}

#[track_caller]
fn error(source: &SpecSource, parts: &[&str]) {
    let text = Config::resolve(source).expect_err("a bad spec is refused").to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
    assert!(!text.contains('\n'), "{text:?} is more than one line");
}

/// Paths of all values that are no tables.
fn paths(value: &serde_json::Value, path: &str) -> Vec<String> {
    let inside = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
    match value.as_object() {
        Some(keys) => keys.iter().flat_map(|(name, value)| paths(value, &inside(name))).collect(),
        None => vec![path.to_string()],
    }
}

#[test]
fn t040_the_key_table_and_the_typed_spec_agree() {
    let spec = Config::resolve(&SpecSource::default()).expect("defaults are valid");
    let mut typed = paths(&spec.to_json(), "");
    let mut table: Vec<String> = rows().iter().map(|key| key.path.to_string()).collect();
    typed.sort();
    table.sort();
    assert_eq!(typed, table);
}

#[test]
fn t041_every_preset_is_valid_and_layers_override_in_order() {
    for name in preset::names() {
        Config::resolve(&SpecSource { preset: Some(name.into()), ..SpecSource::default() }).expect(name);
    }
    let mut source = source("preset = \"tiny\"\nseed = 5\n[ftl]\nmerge = \"m-merge\"\n");
    source.sets = vec![("seed".into(), "9".into()), ("workload.kind".into(), "sequential".into())];
    let spec = Config::resolve(&source).expect("valid");
    assert_eq!((spec.seed, spec.ftl.shared.merge), (9, MergeMethod::MMerge));
    assert_eq!((spec.chip.geometry.blocks_per_plane, spec.workload.kind().name()), (64, "sequential".to_owned()));
    assert_eq!(spec.chip.timing.t_r_us, NumberOrList::Number(70.0), "tiny starts from pen-1tb");
}

#[test]
fn t049_a_group_of_keys_is_set_by_a_table_or_one_by_one() {
    let tables = ["[ftl]\nsuperblock = { physical = 8 }", "[ftl.superblock]\nphysical = 8"];
    let whole = with_set("ftl.superblock", "{ physical = 8 }");
    for source in [source(tables[0]), source(tables[1]), whole, with_set("ftl.superblock.physical", "8")] {
        let spec = Config::resolve(&source).expect("valid");
        assert_eq!((spec.ftl.superblock.logical, spec.ftl.superblock.physical), (4, Some(8)));
    }
    error(&source("[ftl]\nsuperblock = { phisical = 8 }"), &["my.toml:2", "'ftl.superblock.physical'"]);
    error(&source("[ftl]\nsuperblock = 8"), &["my.toml:2", "is a section", "ftl.superblock.logical"]);
    error(&with_set("ftl.merge", "{ a = 1 }"), &["ftl.merge", "not allowed"]);
}

#[test]
fn t048_a_preset_beside_the_file_takes_the_place_of_the_files() {
    let mut source = source("preset = \"tiny\"\n[ftl]\nover_provisioning = 0.2\n");
    source.preset = Some("pen-1tb".into());
    let spec = Config::resolve(&source).expect("valid");
    assert_eq!((spec.chip.geometry.blocks_per_plane, spec.ftl.shared.over_provisioning), (1888, 0.2));
}

#[test]
fn t049_sections_inside_sections_are_read_in_every_form() {
    for text in
        ["[ftl]\nsuperblock = { logical = 2 }", "[ftl.superblock]\nlogical = 2", "[ftl]\nsuperblock.logical = 2"]
    {
        assert_eq!(Config::resolve(&source(text)).expect(text).ftl.superblock.logical, 2);
    }
    error(&source("[ftl.superblock]\nlogcal = 2"), &["my.toml:2", "'ftl.superblock.logical'"]);
    error(&source("[ftl]\nsuperblock = 2"), &["my.toml:2", "'ftl.superblock' is a section"]);
    error(&source("[ftl.merge]\nkind = 2"), &["my.toml:1", "ftl.merge"]);
}

#[test]
fn t047_schema_and_explain_come_from_the_table() {
    let schema = schema(&[]).expect("no plug-ins");
    for key in rows() {
        let node = key.path.split('.').fold(&schema, |node, name| &node["properties"][name]);
        assert!(node["description"].is_string(), "{}", key.path);
        assert_eq!(explain(key.path, &[]).expect("known")["key"], key.path);
    }
    assert!(explain("ftl", &[]).expect_err("a section").to_string().contains("its keys are ftl.kind"));
    assert!(explain("ftl.mrege", &[]).expect_err("unknown").to_string().contains("'ftl.merge'"));
}

#[test]
fn t053_a_fraction_may_stand_without_its_zero() {
    for (text, value) in [(".6", 0.6), ("0.6", 0.6), ("1.", 1.0), ("+.25", 0.25)] {
        let spec = Config::resolve(&with_set("workload.read_fraction", text)).expect(text);
        assert_eq!(spec.workload.drawn.mix.read_fraction, value, "{text}");
    }
    for text in [".", "-.6", "--.6", ".6.", ".6x"] {
        error(&with_set("workload.read_fraction", text), &["workload.read_fraction", "a number from 0 to 1"]);
    }
    let named = Config::resolve(&with_set("workload.volumes", ".6")).expect("a text may look like a number");
    assert_eq!(named.workload.trace.volumes.name(), ".6");
}

#[test]
fn a_section_names_each_of_its_keys_once() {
    let found = explain("ftl", &[]).expect_err("a section").0;
    for name in ["ftl.kind", "ftl.superblock.*", "ftl.zns.*"] {
        assert_eq!(found.matches(name).count(), 1, "{name} in {found}");
    }
}

#[test]
fn the_preset_of_a_spec_has_a_name() {
    let named = |preset: Option<&str>, text: Option<&str>| {
        SpecSource { preset: preset.map(Into::into), spec_text: text.map(Into::into), ..Default::default() }
            .preset_name()
    };
    assert_eq!(named(None, None), None);
    assert_eq!(named(None, Some("seed = 3\n")), None);
    assert_eq!(named(None, Some("preset = \"pen-1tb\"\n")).as_deref(), Some("pen-1tb"));
    assert_eq!(named(Some("tiny"), Some("preset = \"pen-1tb\"\n")).as_deref(), Some("tiny"));
}

#[test]
fn t064_conditions_name_keys_and_values_that_exist() {
    for key in rows() {
        for path in key.when.paths() {
            let is_known = rows().iter().any(|other| other.path == path) || path == crate::flow::FIRST_KIND;
            assert!(is_known, "{} is read by {path}, which is no key", key.path);
        }
        for (path, names) in key.when.names() {
            let other = crate::table::lookup(path).expect("a key");
            if let ValueKind::Choice(allowed) = other.shape {
                assert!(names.iter().all(|name| allowed.contains(name)), "{}: {names:?} of {path}", key.path);
            }
        }
    }
}

#[test]
fn t065_a_layer_names_only_keys_that_exist() {
    for kind in FtlKind::ALL {
        for name in kind.facts().reads {
            let path = format!("ftl.{name}");
            assert!(rows().iter().any(|key| key.path == path), "{kind} reads {path}, which is no key");
        }
    }
}
