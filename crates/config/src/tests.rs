use pumice_ftl::{FtlKind, MapPlace, MergeMethod};
use pumice_types::Choice;
use pumice_types::key::ValueKind;

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
    assert_eq!(spec.chip.timing.t_r_us, 70.0, "tiny starts from pen-1tb");
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
fn t043_bad_values_say_what_was_found_and_what_is_allowed() {
    error(&source("[geometry]\nchannels = -1"), &["my.toml:2", "geometry.channels = -1", "from 1 to 1024"]);
    error(&source("[timing]\nt_r_us = \"fast\""), &["timing.t_r_us", "\"fast\"", "(us)"]);
    error(&with_set("ftl.merge", "mmerge"), &["mmerge", "\"block-erase\" | \"m-merge\" | \"m-merge-budgeted\""]);
    error(&with_set("ftl.kind", "fats"), &["fats", "\"nftl\" | \"page\""]);
    error(&source("[ftl\n"), &["my.toml:1", "not TOML"]);
    error(&source("seed = 1\nseed = 2\n"), &["my.toml:2", "not TOML"]);
    error(&source("preset = \"pen1tb\"\n"), &["my.toml:1", "pen1tb", "nearest: \"pen-1tb\""]);
    let far = source("preset = \"nothing-of-the-kind\"\n");
    let far = Config::resolve(&far).expect_err("no such preset").0;
    assert!(far.contains("\"pen-1tb\"") && !far.contains("nearest"), "{far}");
    error(&with_set("timing.t_r_us", "nan"), &["timing.t_r_us"]);
}

#[test]
fn t044_impossible_geometry_is_refused_with_what_would_work() {
    error(&with_set("geometry.pages_per_block", "72"), &["2^6", "72", "largest legal value is 3"]);
    error(&with_set("geometry.blocks_per_plane", "0"), &["geometry.blocks_per_plane = 0", "from 1"]);
    error(&with_set("geometry.blocks_per_plane", "1000000"), &["pages", "at most 1073741824"]);
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
    superblock_error(&[("ftl.merge", "m-merge"), ("partial_erase.unit", "partial-block")], &["needs ftl.kind"]);
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
fn a_section_names_each_of_its_keys_once() {
    let found = explain("ftl", &[]).expect_err("a section").0;
    for name in ["ftl.kind", "ftl.superblock.*", "ftl.zns.*"] {
        assert_eq!(found.matches(name).count(), 1, "{name} in {found}");
    }
}

#[test]
fn an_error_about_what_an_alias_set_names_the_alias() {
    let found = Config::resolve(&with_set("ftl.kind", "dftl")).expect_err("no budget for the map").0;
    assert!(found.contains("ftl.map_cache_entries"), "{found}");
    assert!(found.contains("ftl.kind = \"dftl\" stands for"), "{found}");
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
    error(&with(&[("ftl.merge", "m-merge-budgeted")]), &["needs ftl.kind = \"superblock-pen\", found \"nftl\""]);
}

#[test]
fn t064_conditions_name_keys_and_values_that_exist() {
    for key in rows() {
        for path in key.when.paths() {
            assert!(rows().iter().any(|other| other.path == path), "{} is read by {path}, which is no key", key.path);
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
        for name in kind.shared_keys() {
            let path = format!("ftl.{name}");
            assert!(rows().iter().any(|key| key.path == path), "{kind} reads {path}, which is no key");
        }
    }
}

/// A page-level FTL that starts anew by scanning, with one key more.
fn recovers(key: &str, value: &str) -> SpecSource {
    let sets = [("ftl.kind", "page"), ("ftl.over_provisioning", "0.3"), ("ftl.recovery", "scan"), (key, value)];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

#[test]
fn t066_what_cannot_start_anew_after_a_power_cut_is_refused() {
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
fn t066_what_stands_in_the_way_of_starting_anew_is_refused() {
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
