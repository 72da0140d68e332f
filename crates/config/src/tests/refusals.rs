//! Values and combinations that no device can have are refused, with what would work.

use super::{error, source, with_set};
use crate::*;

#[test]
fn t043_bad_values_say_what_was_found_and_what_is_allowed() {
    error(&source("[geometry]\nchannels = -1"), &["my.toml:2", "geometry.channels = -1", "from 1 to 1024"]);
    error(&source("[timing]\nt_r_us = \"fast\""), &["timing.t_r_us", "\"fast\"", "(us)"]);
    error(&with_set("ftl.merge", "mmerge"), &["mmerge", "\"block-erase\" | \"m-merge\" | \"m-merge-budgeted\""]);
    error(&with_set("ftl.kind", "fats"), &["fats", "\"nftl\" | \"page\""]);
    error(&source("[ftl\n"), &["my.toml:1", "not TOML"]);
    error(&source("seed = 1\nseed = 2\n"), &["my.toml:2", "not TOML"]);
    error(&source("preset = \"pen1tb\"\n"), &["my.toml:1", "pen1tb", "nearest: \"pen-1tb\""]);
    let shares = "[workload]\nread_fraction = 0.5\ntrim_fraction = 0.6\n";
    error(
        &source(&format!("{shares}kind = \"zipf\"\n")),
        &["workload.trim_fraction = 0.6 beside workload.read_fraction"],
    );
    let flow = "[[workload.flow]]\nkind = \"uniform\"\nread_fraction = 0.5\ntrim_fraction = 0.6\n";
    error(&source(flow), &["workload.flow[0]", "trim_fraction = 0.6 beside"]);
    let far = source("preset = \"nothing-of-the-kind\"\n");
    let far = Config::resolve(&far).expect_err("no such preset").0;
    assert!(far.contains("\"pen-1tb\"") && !far.contains("nearest"), "{far}");
    error(&with_set("timing.t_r_us", "nan"), &["timing.t_r_us"]);
}

#[test]
fn t044_impossible_geometry_is_refused_with_what_would_work() {
    error(&with_set("geometry.pages_per_block", "72"), &["2^6", "72", "largest legal value is 3"]);
    let sfws = "[geometry]\npages_per_block = 64\nlayers = 8\nsub_blocks = 8\nwrite_sequence = \"sfws\"\n";
    // A leaf was a run of pages where the pages of a sub-block could not be halved so often, whoever erased it.
    error(
        &source(&format!("{sfws}[ftl]\nkind = \"page\"\n[partial_erase]\nmax_splits = 4\n")),
        &["partial_erase.max_splits = 4", "the 8 pages of a sub-block", "largest legal value is 3"],
    );
    error(&with_set("geometry.blocks_per_plane", "0"), &["geometry.blocks_per_plane = 0", "from 1"]);
    error(&with_set("geometry.blocks_per_plane", "1000000"), &["pages", "at most 4294967294"]);
    error(&with_set("geometry.page_bytes", "1000"), &["multiple of 512"]);
    error(&with_set("geometry.bad_blocks_per_plane", "1888"), &["no good block"]);
    error(&with_set("partial_erase.t_us", "[1.0]"), &["1 entries", "= 7"]);
    let times = "[9000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]";
    error(&with_set("partial_erase.t_us", times), &["t_us[0] = 9000", "t_bers_us = 10000"]);
    let mut no_chip = with_set("partial_erase.unit", "none");
    no_chip.sets.push(("ftl.merge".into(), "m-merge".into()));
    error(&no_chip, &["needs partial_erase.unit"]);
}

#[test]
fn t045_over_provisioning_without_u_blocks_is_refused_with_the_smallest_that_works() {
    let refused = Config::resolve(&with_set("ftl.over_provisioning", "0.0005")).expect_err("no U-blocks").to_string();
    let smallest = refused.rsplit(' ').next().expect("ends with the value");
    assert!(Config::resolve(&with_set("ftl.over_provisioning", smallest)).is_ok(), "{refused}");
    let below = format!("{}", smallest.parse::<f64>().expect("a number") - 0.0006);
    assert!(Config::resolve(&with_set("ftl.over_provisioning", &below)).is_err());
}

/// The preset with these settings must be refused.
#[track_caller]
fn superblock_error(sets: &[(&str, &str)], parts: &[&str]) {
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    error(&SpecSource { preset: Some("superblock-2006-2g".into()), sets, ..SpecSource::default() }, parts);
}

#[test]
fn t050_ftls_with_u_blocks_name_what_they_cannot_serve() {
    let physical = ("ftl.superblock.physical", "9");
    superblock_error(&[physical], &["physical = 9", "name 8 blocks", "\"ram\""]);
    superblock_error(&[("ftl.superblock.logical", "8")], &["logical = 8 leaves no U-block among the 8"]);
    superblock_error(&[("geometry.pages_per_block", "128")], &["128", "name 64 pages"]);
    superblock_error(&[("geometry.spare_bytes", "32")], &["spare_bytes = 32", "needs 63"]);
    superblock_error(&[("geometry.planes_per_die", "4")], &["73732 blocks", "name 65535"]);
    superblock_error(&[("ftl.kind", "replacement-block")], &["program_order = \"any\"", "\"in-order\""]);
    superblock_error(&[("ftl.kind", "fast"), ("ftl.u_blocks", "1")], &["u_blocks = 1", "at least 2"]);
    superblock_error(&[("ftl.kind", "nftl")], &["map_place", "superblock"]);
    superblock_error(&[("ftl.merge", "m-merge")], &["partial_erase.unit = \"partial-block\""]);
}

#[test]
fn t051_too_many_u_blocks_are_refused_with_the_over_provisioning_that_works() {
    for kind in ["superblock-2006", "log-block", "fast"] {
        let given = |over_provisioning: &str| SpecSource {
            preset: Some("superblock-2006-2g".into()),
            sets: [("ftl.kind", kind), ("ftl.u_blocks", "2049"), ("ftl.over_provisioning", over_provisioning)]
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .to_vec(),
            ..SpecSource::default()
        };
        let refused = Config::resolve(&given("0.111159")).expect_err("no room").to_string();
        let smallest = refused.rsplit(' ').next().expect("ends with the value");
        assert!(Config::resolve(&given(smallest)).is_ok(), "{refused}");
        // Eight logical blocks more of the plane's 18,433, two superblocks, do not fit.
        let below = smallest.parse::<f64>().expect("a number") - 8.0 / 18_433.0;
        assert!(Config::resolve(&given(&below.to_string())).is_err(), "{kind}: {below} is enough, {refused}");
    }
}

#[test]
fn t046_workload_keys_belong_together() {
    error(&with_set("workload.kind", "twin:prn1"), &["twin:prn1", "nearest: \"twin:prn_1\""]);
    error(&with_set("workload.kind", "trace"), &["needs workload.path"]);
    error(
        &source("[workload]\nkind = \"trace\"\npath = \"\""),
        &["workload.path is empty; allowed: the path of a trace"],
    );
    error(&with_set("workload.path", "a.csv"), &["workload.path", "\"trace\""]);
}

#[test]
fn t060_the_shape_of_a_block_must_account_for_its_pages() {
    let with = |pairs: &[(&str, &str)]| {
        let sets = pairs.iter().map(|(key, value)| (format!("geometry.{key}"), value.to_string())).collect();
        SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
    };
    Config::resolve(&with(&[("layers", "8"), ("sub_blocks", "4"), ("bits_per_cell", "2")])).expect("64 pages");
    error(&with(&[("layers", "8"), ("sub_blocks", "4")]), &["pages_per_block = 64", "8 x sub_blocks 4", "= 32"]);
    error(&with(&[("layers", "8")]), &["geometry.layers is given without geometry.sub_blocks"]);
    error(&with(&[("sub_blocks", "8")]), &["geometry.sub_blocks is given without geometry.layers"]);
    error(&with(&[("write_sequence", "\"sfws\"")]), &["needs geometry.layers and geometry.sub_blocks"]);
    error(&with(&[("layers", "2"), ("sub_blocks", "33")]), &["geometry.sub_blocks", "from 1 to 32"]);
}

#[test]
fn t063_a_layer_refuses_what_would_make_it_another_device() {
    let with = |sets: &[(&str, &str)]| SpecSource {
        preset: Some("tiny".into()),
        sets: sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        ..SpecSource::default()
    };
    for (key, value) in
        [("gc_mode", "preemptible"), ("hot_cold", "mixed"), ("wear_leveling", "both"), ("allocation", "static")]
    {
        let (path, found) =
            (format!("ftl.{key}"), format!("ftl.{key} = \"{value}\" needs ftl.kind = \"page\", found \"fast\""));
        error(&with(&[("ftl.kind", "fast"), (&path, value)]), &[&found]);
    }
    error(
        &with(&[("ftl.capacity_loss", "0.1")]),
        &["ftl.capacity_loss = 0.1 needs ftl.kind = \"pbe\", found \"nftl\""],
    );
    error(&with(&[("ftl.map_place", "spare")]), &["needs ftl.kind = \"superblock-2006\" | \"replacement-block\""]);
    error(
        &with(&[("ftl.merge", "m-merge-budgeted")]),
        &["needs ftl.kind = \"superblock-pen\" | \"superblock-2006\", found \"nftl\""],
    );
}

/// A page-level FTL that recovers by scanning, with one key more.
fn recovers(key: &str, value: &str) -> SpecSource {
    let sets = [("ftl.kind", "page"), ("ftl.over_provisioning", "0.3"), ("ftl.recovery", "scan"), (key, value)];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

#[test]
fn t066_what_cannot_recover_after_a_power_cut_is_refused() {
    Config::resolve(&recovers("power.cut_at_s", "[0.1, 0.5]")).expect("valid");
    Config::resolve(&recovers("workload.trim_fraction", "0.1")).expect("trims are written down");
    error(&with_set("power.cut_at_s", "[0.1]"), &["power.cut_at_s needs ftl.recovery = \"scan\", found \"off\""]);
    let mut summary = recovers("ftl.recovery", "summary");
    summary.sets.push(("ftl.kind".into(), "fast".into()));
    error(&summary, &["ftl.recovery = \"summary\" needs ftl.kind = \"page\", found \"fast\""]);
    let mut cached = recovers("ftl.map_place", "cached");
    cached.sets.push(("ftl.map_cache_entries".into(), "64".into()));
    Config::resolve(&cached).expect("the map is found by a scan");
    cached.sets.push(("ftl.recovery".into(), "summary".into()));
    Config::resolve(&cached).expect("and from summaries");
    cached.sets.push(("ftl.recovery".into(), "checkpoint".into()));
    error(&cached, &["ftl.recovery = \"checkpoint\" needs ftl.map_place = \"ram\", found \"cached\""]);
    let small = |bytes: &str| {
        let sets = [("ftl.recovery", "scan"), ("geometry.spare_bytes", bytes)];
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
        SpecSource { sets, ..SpecSource::default() }
    };
    error(&small("16"), &["ftl.recovery = \"scan\" stores 17 bytes in each spare area, and geometry.spare_bytes = 16"]);
    Config::resolve(&small("17")).expect("fits");
    let page = |bytes: &str| recovers("geometry.spare_bytes", bytes);
    error(&page("15"), &["ftl.recovery = \"scan\" stores 16 bytes in each spare area, and geometry.spare_bytes = 15"]);
    Config::resolve(&page("16")).expect("fits");
    error(&recovers("power.cut_at_s", "[0.5, 0.1]"), &["power.cut_at_s = [0.5, 0.1] is not in ascending order"]);
    let message = ["power.cut_at_command: 2.5 is not allowed; allowed: whole numbers"];
    error(&recovers("power.cut_at_command", "[1, 2.5]"), &message);
    error(
        &recovers("power.cut_at_command", "[3, 1]"),
        &["power.cut_at_command = [3.0, 1.0] is not in ascending order"],
    );
    error(&with_set("power.cuts", "3"), &["power.cuts needs ftl.recovery = \"scan\", found \"off\""]);
    let mut both = recovers("power.cuts", "3");
    both.sets.push(("power.cut_at_s".into(), "[0.1]".into()));
    error(&both, &["power.cut_at_s and power.cuts are both given; allowed: one of them"]);
    error(&recovers("power.cut_at_s", "0.5"), &["power.cut_at_s = 0.5 is not allowed; allowed: a list of numbers"]);
}

#[test]
fn t066_what_stands_in_the_way_of_recovery_is_refused() {
    error(
        &recovers("output.command_log", "true"),
        &["ftl.recovery = \"scan\" needs output.command_log = false, found true"],
    );
    Config::resolve(&recovers("timing.multi_plane", "queue")).expect("commands overtake others");
    let mut failing = recovers("erase.scheme", "ispe");
    Config::resolve(&failing).expect("erases in loops");
    failing.sets.push(("erase.max_loops".into(), "4".into()));
    error(&failing, &["ftl.recovery = \"scan\" needs erase.max_loops = 5, found 4"]);
    let mut passing = recovers("erase.suspension", "pulse");
    passing.sets.push(("host.read_priority".into(), "true".into()));
    Config::resolve(&passing).expect("reads suspend erases");
    passing.sets.push(("erase.suspension_for".into(), "reads-and-writes".into()));
    Config::resolve(&passing).expect("writes do so too");
}

/// The value named works, and a little less does not, whether the whole device is refused or only the small one.
#[test]
fn the_over_provisioning_with_which_a_capacity_works_is_named() {
    let device = |spare: f64| SpecSource {
        preset: Some("bench-64g".into()),
        sets: vec![("ftl.over_provisioning".into(), spare.to_string()), ("geometry.capacity_gib".into(), "1.5".into())],
        ..SpecSource::default()
    };
    for (spare, before) in
        [(0.0001, "capacity_gib = 1.5, ftl.over_provisioning = "), (0.08, "or ftl.over_provisioning = ")]
    {
        let told = Config::resolve(&device(spare)).expect_err("too little").to_string();
        let least = told.split(before).nth(1).and_then(|rest| rest.split(' ').next()).expect(&told);
        let least: f64 = least.parse().expect(&told);
        assert!(Config::resolve(&device(least)).is_ok(), "{told}");
        assert!(Config::resolve(&device(least - 2e-6)).is_err(), "{told}");
    }
}

#[test]
fn t086_open_blocks_are_written_further_only_where_operations_end() {
    let mut reuses = recovers("ftl.open_block", "reuse");
    error(&reuses, &["ftl.open_block = \"reuse\" needs power.protection = \"operations\" | \"full\", found \"none\""]);
    reuses.sets.push(("power.protection".into(), "operations".into()));
    Config::resolve(&reuses).expect("what the dies have begun ends");
}

#[test]
fn t087_outputs_of_times_need_a_clock() {
    for (key, value) in [
        ("output.request_log", "true"),
        ("output.histograms", "true"),
        ("output.timeline", "true"),
        ("output.time_series_s", "1.0"),
    ] {
        let mut timed = with_set(key, value);
        Config::resolve(&timed).expect("a clock runs");
        timed.sets.push(("run.timed".into(), "false".into()));
        error(&timed, &[&format!("{key} needs run.timed = true, found false")]);
    }
}

#[test]
fn t088_a_device_made_small_has_the_fewest_blocks_that_hold_the_capacity() {
    let of = |sets: &[(&str, String)]| {
        let sets = sets.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
        Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() })
    };
    for percent in (10..40).step_by(3) {
        let asked = f64::from(percent) / 100.0 * of(&[]).expect("valid").user_bytes(1.0).expect("it has some") as f64;
        let small = of(&[("geometry.capacity_gib", format!("{:?}", asked / f64::from(1 << 30)))]).expect("it fits");
        let blocks = small.chip.geometry.blocks_per_plane;
        assert!(small.user_bytes(1.0).expect("it has some") as f64 >= asked, "{percent} %: {blocks} blocks");
        let less = of(&[("geometry.blocks_per_plane", (blocks - 1).to_string())]).and_then(|less| less.user_bytes(1.0));
        assert!(less.is_ok_and(|bytes| (bytes as f64) < asked), "{percent} %: fewer than {blocks} blocks hold it");
    }
}
