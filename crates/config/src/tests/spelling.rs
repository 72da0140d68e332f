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
    error(&with_set("gc_treshold", "2"), &["unknown key 'gc_treshold'; here it is 'ftl.gc_free_threshold'"]);
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
        ("ftl.kind", "page-mapping", "here it is \"page\""),
        ("ftl.kind", "M_Merge", "here it is \"nftl\" or \"superblock-pen\" with ftl.merge = \"m-merge\""),
        ("ftl.gc_policy", "cost_benefit", "nearest: \"cost-benefit\""),
        ("erase.scheme", "aero_cons", "nearest: \"aero-cons\""),
        ("host.mode", "closed", "nearest: \"closed-loop\""),
        ("geometry.bits_per_cell", "TLC", "here it is 3"),
        ("workload.kind", "random", "here it is \"uniform\" with workload.read_fraction"),
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

/// Keys as users of other tools type them, and what the answer must name.
const TYPED_ELSEWHERE: &[(&str, &str)] = &[
    ("timing.t_read_us", "'timing.t_r_us'"),
    ("timing.t_prog", "'timing.t_prog_us'"),
    ("read_latency", "'timing.t_r_us'"),
    ("program_latency", "'timing.t_prog_us'"),
    ("flash.erase_latency", "'timing.t_bers_us'"),
    ("ftl.gc_threshold", "'ftl.gc_free_threshold'"),
    ("gc_exec_threshold", "'ftl.gc_free_threshold'"),
    ("op_ratio", "'ftl.over_provisioning'"),
    ("overprovisioning", "'ftl.over_provisioning'"),
    ("ftl.op", "'ftl.spare_over_user'"),
    ("block_pages", "'geometry.pages_per_block'"),
    ("geometry.pages", "'geometry.pages_per_block'"),
    ("pages", "'geometry.pages_per_block'"),
    ("geometry.blocks", "'geometry.blocks_per_plane'"),
    ("channel_count", "'geometry.channels'"),
    ("chips", "'geometry.chips_per_channel'"),
    ("geometry.dies", "'geometry.dies_per_chip'"),
    ("planes", "'geometry.planes_per_die'"),
    ("page_size", "'geometry.page_bytes'"),
    ("block_size", "'workload.request_bytes'"),
    ("queue_depth", "'host.queue_depth'"),
    ("iodepth", "'host.queue_depth'"),
    ("bs", "'workload.request_bytes'"),
    ("workload.rw", "'workload.kind'"),
    ("numjobs", "'host.queues'"),
    ("seed_random", "'seed'"),
    ("cache_size", "'host.write_buffer_kib'"),
    ("write_cache", "'host.write_buffer_kib'"),
    ("address_mapping", "'ftl.kind'"),
    ("ftl.mapping", "'ftl.kind'; nearest valid key: 'ftl.zns.mapping'"),
    ("CMT_Capacity", "'ftl.map_cache_entries'"),
    ("Plane_Allocation_Scheme", "'ftl.allocation_order'"),
    ("preemptible_gc", "ftl.gc_mode = \"preemptible\""),
    ("erase.suspend", "'erase.suspension'"),
    ("tlc", "'geometry.bits_per_cell'"),
    ("cell_type", "'geometry.bits_per_cell'"),
];

/// Every name leads to the key that is meant or to a reason, whatever section it is typed in.
#[test]
fn t058_names_of_other_tools_lead_to_the_key_that_is_meant() {
    for &(path, meant) in TYPED_ELSEWHERE {
        let found = Config::resolve(&with_set(path, "2")).expect_err("no key of ours").0;
        assert!(found.contains(meant), "{path}: {found}");
    }
    error(&source("[flash]\nt_read_us = 40"), &["my.toml:1", "[timing] for the times"]);
}

/// A name that has become a key, or a key that is gone, would lead astray.
#[test]
fn t058_every_name_leads_to_a_key_that_exists_and_is_none_itself() {
    let mut seen = Vec::new();
    for key in synonyms::NAMES.keys.keys() {
        assert!(table::lookup(key).is_ok(), "{key} is no key");
    }
    for names in synonyms::NAMES.keys.values().chain(synonyms::NAMES.told.values()) {
        for name in names.split(' ') {
            assert!(!seen.contains(&name), "{name} is there twice");
            assert!(synonyms::instead_of(name).is_some() && table::lookup(name).is_err(), "{name}");
            seen.push(name);
        }
    }
}

#[test]
fn t059_numbers_take_units_on_the_command_line() {
    let read = [
        ("workload.request_bytes", "4k", 4096.0),
        ("workload.request_bytes", "8KiB", 8192.0),
        ("host.write_buffer_kib", "64m", 65_536.0),
        ("host.write_buffer_kib", "2GiB", 2_097_152.0),
        ("timing.t_r_us", "900ns", 0.9),
        ("timing.t_prog_us", "0.6 ms", 600.0),
        ("timing.t_prog_us", "1e3us", 1000.0),
        ("output.time_series_s", "100ms", 0.1),
        ("ftl.over_provisioning", "7%", 0.07),
        ("workload.requests", "1e6", 1_000_000.0),
        ("geometry.capacity_gib", "64GB", 59.604_644_775_390_625),
    ];
    for (path, text, number) in read {
        let mut asked = with_set(path, text);
        asked.preset = Some("pen-1tb".into());
        let key = table::lookup(path).expect("a key");
        let found = values_of(&asked)[key.path].clone();
        let found: f64 = found.to_string().parse().expect("a number");
        assert!((found - number).abs() <= 1e-9 * number, "{path} = {text}: {found}");
    }
    for (path, text) in [("workload.request_bytes", "4us"), ("timing.t_r_us", "4k"), ("workload.requests", "4k")] {
        error(&with_set(path, text), &["--set", path, "is not allowed; allowed: a"]);
    }
}

fn values_of(source: &SpecSource) -> Values {
    sources::values(source).expect("values")
}

#[test]
fn t059_a_text_where_a_number_is_due_says_so() {
    error(
        &source("[geometry]\npages_per_block = \"64\""),
        &["my.toml:2", "geometry.pages_per_block = \"64\" is a text, where a number is due; write 64"],
    );
    error(&source("[workload]\nrequest_bytes = \"4k\""), &["is a text, where a number is due; write 4096"]);
}

#[test]
fn t059_microseconds_that_were_meant_as_seconds_are_refused() {
    error(&with_set("timing.t_prog_us", "0.0009"), &["--set", "0.0009 is less than a nanosecond", "microseconds"]);
    assert!(Config::resolve(&with_set("timing.t_prog_us", "900ns")).is_ok());
}

#[test]
fn t059_a_percentage_is_told_its_share() {
    error(&with_set("ftl.over_provisioning", "7"), &["ftl.over_provisioning = 7 is not allowed", "; 7 % is 0.07"]);
    error(&with_set("workload.read_fraction", "70"), &["; 70 % is 0.7"]);
}

#[test]
fn over_provisioning_has_a_name_for_spare_over_user() {
    let told = explain("ftl.over_provisioning", &[]).expect("a key").to_string();
    assert!(told.contains("ftl.spare_over_user"), "{told}");
    let found = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect();
        let shared = Config::resolve(&SpecSource { sets, ..SpecSource::default() }).expect("valid").ftl.shared;
        (shared.over_provisioning, shared.spare_over_user.expect("it is filled in"))
    };
    let near = |(raw, user): (f64, f64), (a, b): (f64, f64)| (raw - a).abs() < 1e-9 && (user - b).abs() < 1e-9;
    assert!(near(found(&[("ftl.spare_over_user", "0.25")]), (0.2, 0.25)));
    assert!(near(found(&[("ftl.over_provisioning", "0.2")]), (0.2, 0.25)));
    assert!(near(found(&[("ftl.spare_over_user", "0.1"), ("ftl.over_provisioning", "0.2")]), (0.2, 0.25)));
    assert!(near(found(&[("ftl.over_provisioning", "0.2"), ("ftl.spare_over_user", "100%")]), (0.5, 1.0)));
    let (raw, user) = found(&[("ftl.over_provisioning", "0.127")]);
    let again = found(&[("ftl.over_provisioning", "0.127"), ("ftl.spare_over_user", &format!("{user:?}"))]);
    assert_eq!(again, (raw, user), "a resolved spec is resolved to itself");
}

#[test]
fn every_wrong_setting_is_told_at_once_one_a_line() {
    let mut two =
        source("sed = 1\n[ftl]\ngc_polcy = \"fifo\"\nmerge = \"m-merge\"\n[geometry]\nchannels = 0\n[sweep]\n");
    two.sets = vec![("ftl.mrge".into(), "m-merge".into()), ("seed".into(), "1".into())];
    let found = Config::resolve(&two).expect_err("five mistakes").0;
    let parts =
        ["my.toml:1: unknown key 'sed'", "my.toml:3: unknown key 'ftl.gc_polcy'", "channels = 0", "it is [vary]"];
    let lines: Vec<&str> = found.lines().collect();
    for part in parts.into_iter().chain(["--set: unknown key 'ftl.mrge'"]) {
        assert_eq!(lines.iter().filter(|line| line.contains(part)).count(), 1, "{part}: {found}");
    }
    assert_eq!(lines.len(), 5, "{found}");
    let many: String = (0..50).map(|number| format!("x{number} = 1\n")).collect();
    assert_eq!(Config::resolve(&source(&many)).expect_err("no keys").0.lines().count(), 10);
}

#[test]
fn a_key_without_effect_is_told_with_what_reads_it() {
    let warned = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
        let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
        without_effect(&source, &Config::resolve(&source).expect("valid")).expect("resolved").join("\n")
    };
    let depth = warned(&[("host.queue_depth", "4")]);
    assert_eq!(
        depth,
        "host.queue_depth has no effect with host.mode = \"open-loop\"; host.mode = \"closed-loop\" reads it"
    );
    let policy = warned(&[("ftl.gc_policy", "fifo")]);
    assert_eq!(policy, "ftl.gc_policy has no effect with ftl.kind = \"nftl\"; ftl.kind = \"page\" reads it");
}
