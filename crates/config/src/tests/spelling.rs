//! Misspelt and old names, and other names for the same: what the user is told.

use pumice_ftl::{FtlKind, MapPlace};

use super::{error, source, with_set};
use crate::*;

#[test]
fn t042_misspelt_keys_name_the_line_and_the_nearest_key() {
    error(&source("[ftl]\n\nmergee = \"m-merge\""), &["my.toml:3", "'ftl.mergee'", "'ftl.merge'"]);
    error(&source("[gemetry]\nchannels = 2"), &["my.toml:1", "[gemetry]", "[geometry]"]);
    error(&source("sed = 2"), &["my.toml:1", "'sed'", "'seed'"]);
    error(&with_set("timing.pages_per_block", "3"), &["--set", "'geometry.pages_per_block'"]);
}

#[test]
fn t042_hints_know_sections_keys_outside_them_and_capitals_and_are_left_out_where_nothing_is_near() {
    error(&source("presett = \"x\""), &["my.toml:1: unknown key 'presett'; nearest valid key: 'preset'"]);
    error(&source("Seed = 2"), &["unknown key 'Seed'; nearest valid key: 'seed'"]);
    error(&source("channels = 2"), &["unknown key 'channels'; nearest valid key: 'geometry.channels'"]);
    error(&source("Host = 2"), &["unknown key 'Host'; nearest valid section: [host]"]);
    error(&source("[Geometry]\nchannels = 2"), &["unknown section [Geometry]; nearest valid section: [geometry]"]);
    error(&source("[ftl.Zns]\nreset = \"idle\""), &["unknown key 'ftl.Zns'; nearest valid section: [ftl.zns]"]);
    error(
        &with_set("Geometry.channels", "2"),
        &["unknown key 'Geometry.channels'; nearest valid key: 'geometry.channels'"],
    );
    error(&with_set("wrkload.Kind", "2"), &["unknown key 'wrkload.Kind'; nearest valid key: 'workload.kind'"]);
    error(&with_set("ftl.gc-mode", "2"), &["unknown key 'ftl.gc-mode'; nearest valid key: 'ftl.gc_mode'"]);
    error(&source("[quantum]\nspin = 2"), &["unknown section [quantum]; allowed: [", "[geometry], "]);
    for far in ["quantum", "ftl.quantum", "quantum.spin", ""] {
        let found = Config::resolve(&with_set(far, "2")).expect_err("no key").0;
        assert!(found.contains("unknown key") && !found.contains("nearest"), "{far}: {found}");
    }
}

#[test]
fn other_names_that_people_type_are_told_what_to_write() {
    let cases = [
        ("ftl.kind", "page-mapping", "\"page-mapping\" is \"page\" here"),
        ("ftl.kind", "M_Merge", "\"m-merge\" is \"nftl\" or \"superblock-pen\" with ftl.merge = \"m-merge\""),
        ("ftl.gc_policy", "cost_benefit", "nearest: \"cost-benefit\""),
        ("erase.scheme", "aero_cons", "nearest: \"aero-cons\""),
        ("host.mode", "closed", "nearest: \"closed-loop\""),
        ("workload.kind", "random", "\"random\" is \"uniform\" with workload.read_fraction here"),
    ];
    for (path, value, hint) in cases {
        error(&with_set(path, value), &["--set", path, hint]);
    }
    let far = Config::resolve(&with_set("host.mode", "quantum")).expect_err("no mode of that name").0;
    assert!(!far.contains("nearest"), "{far}");
}

#[test]
fn a_word_that_is_a_value_is_not_taken_for_a_misspelt_key() {
    assert!(explain("gftl", &[]).expect_err("no key").0.ends_with("it is a value of 'ftl.kind'"));
    assert!(explain("dftl", &[]).expect_err("no key").0.contains("stands for ftl.kind = \"page\""));
    assert!(explain("ftl.mrege", &[]).expect_err("no key").0.contains("nearest valid key: 'ftl.merge'"));
}

#[test]
fn an_error_about_what_an_alias_set_names_the_alias() {
    let found = Config::resolve(&with_set("ftl.kind", "dftl")).expect_err("no budget for the map").0;
    assert!(found.contains("ftl.map_cache_entries"), "{found}");
    assert!(found.contains("ftl.kind = \"dftl\" stands for"), "{found}");
}

#[test]
fn t061_old_spellings_are_told_the_new_ones() {
    error(&with_set("ftl.comparator", "gftl"), &["--set", "'ftl.comparator' is no key any more", "ftl.kind = \"pbe\""]);
    error(&source("[ftl]\ncomparator = \"none\""), &["my.toml:2", "'ftl.comparator'"]);
    error(&source("[ftl.superblock]\nvariant = \"pen\""), &["my.toml:2", "ftl.kind = \"superblock-2006\""]);
    error(&with_set("ftl.kind", "superblock"), &["ftl.kind = \"superblock\" is now", "\"superblock-pen\""]);
    error(&with_set("timing.multi_plane", "true"), &["--set", "timing.multi_plane = true is now \"neighbours\""]);
    let old = source("[timing]\nmulti_plane = false");
    error(&old, &["my.toml:2", "timing.multi_plane = false is now \"off\""]);
}

#[test]
fn t062_an_alias_sets_what_it_stands_for_and_says_so() {
    let mut source = with_set("ftl.kind", "dftl");
    source.sets.push(("ftl.map_ram_kib".into(), "64".into()));
    source.sets.push(("ftl.over_provisioning".into(), "0.2".into()));
    let config = Config::resolve(&source).expect("valid");
    assert_eq!((config.ftl.kind, config.ftl.shared.map_place), (FtlKind::Page, MapPlace::Cached));
    let notes = without_effect(&source, &config).expect("resolved");
    assert_eq!(notes, ["ftl.kind = \"dftl\" stands for ftl.kind = \"page\" with ftl.map_place = \"cached\""]);
}
