//! 47x: blocks that fail their erase leave use, and a device that runs out of blocks says so.

use pumice_config::Config;
use pumice_engine::chip::erase::{DistributionRequest, EraseConfig, distribution};
use pumice_engine::{Built, build};
use pumice_engine::{SimError, run};
use pumice_types::{BlockId, Cause, Choice, EraseMode, EraseScheme, FlashCommand, Lpn, PageAddress};
use serde_json::Value;

use crate::support::{number, source, spec};

/// A page-level device whose blocks fail beyond three erase loops: 6 % of them under ispe at 2K PEC.
const BASE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.4"),
    ("partial_erase.unit", "none"),
    ("erase.scheme", "ispe"),
    ("erase.initial_pec", "2000"),
    ("erase.max_loops", "3"),
    ("run.check", "integrity"),
    ("workload.read_fraction", "0.3"),
    ("run.max_requests", "20000"),
];

fn sets<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [BASE, more].concat()
}

fn run_with(sets: &[(&str, &str)]) -> Result<Value, SimError> {
    let outcome = run(&spec(sets), 1.0, &mut |_| true)?;
    assert_eq!(outcome.integrity_error, None);
    Ok(outcome.document)
}

#[test]
fn t470_blocks_that_fail_leave_use_in_every_mode_and_nothing_is_lost() {
    for mode in ["blocking", "foreground", "background", "preemptible"] {
        for more in [
            [("host.mode", "closed-loop"), ("host.queue_depth", "64")],
            [("ftl.wear_leveling", "both"), ("timing.multi_plane", "neighbours")],
            [("ftl.hot_cold", "mixed"), ("run.timed", "false")],
        ] {
            let document = run_with(&sets(&[&more[..], &[("ftl.gc_mode", mode)]].concat())).expect("it goes on");
            let retired = number(&document, "wear.retired_blocks");
            assert!((1.0..40.0).contains(&retired), "{mode} {more:?}: {retired} of 256 blocks");
        }
    }
}

#[test]
fn t471_what_a_scheme_remembers_is_foreseen_with_erases_still_in_the_queue() {
    let mut retired = 0.0;
    for scheme in ["ispe", "i-ispe", "dpes", "aero-cons", "aero", "aero-fit"] {
        for mode in ["table", "mechanism"] {
            for max_loops in ["2", "3"] {
                let load = [("host.mode", "closed-loop"), ("host.queue_depth", "256"), ("run.max_requests", "6000")];
                let erase = [
                    ("erase.scheme", scheme),
                    ("erase.mode", mode),
                    ("erase.max_loops", max_loops),
                    ("erase.initial_pec", "1500"),
                    ("erase.misprediction_rate", "0.2"),
                ];
                // A block in use that the chip has retired would break the rule `bad-block`.
                let timed = run_with(&sets(&[&load[..], &erase].concat())).expect("it goes on");
                let untimed = run_with(&sets(&[&load[..], &erase, &[("run.timed", "false")]].concat()));
                assert_eq!(timed["wear"], untimed.expect("it goes on")["wear"], "{scheme} {mode}");
                retired += number(&timed, "wear.retired_blocks");
            }
        }
    }
    assert!(retired > 30.0, "{retired}");
}

#[test]
fn t472_the_chip_refuses_a_block_that_failed() {
    let Built { mut chips, geometry, .. } = build(&spec(BASE), 1.0).expect("a device");
    let eraser = chips.eraser.as_ref().expect("a scheme");
    let failing: Vec<u32> = eraser.ending().collect();
    assert!((4..40).contains(&failing.len()), "{failing:?}");
    let last = geometry.blocks() - 1;
    for block in [failing[failing.len() - 1], last] {
        let fails = failing.contains(&block);
        let block = BlockId(block);
        chips.execute_untimed(&FlashCommand::erase(block)).expect("the erase itself is legal");
        let program = FlashCommand::program(Cause::Host, PageAddress::new(block, 0), Lpn(0), 1, 1);
        let refused = chips.execute_untimed(&program).err().map(|error| error.to_string());
        assert_eq!(refused.is_some_and(|text| text.contains("bad-block")), fails, "block {}", block.0);
    }
}

#[test]
fn t473_a_device_that_runs_out_of_blocks_says_what_ran_out() {
    for (allocation, mode) in [("dynamic", "blocking"), ("static", "blocking"), ("dynamic", "preemptible")] {
        let worn = [("erase.initial_pec", "4000"), ("ftl.allocation", allocation), ("ftl.gc_mode", mode)];
        let error = run_with(&sets(&worn)).expect_err("three quarters of the blocks fail");
        let text = error.to_string();
        assert!(matches!(error, SimError::WornOut(_)) && !text.contains('\n'), "{text}");
        assert!(
            text.contains("no free block left") && text.contains("are retired, because they failed an erase"),
            "{text}"
        );
    }
}

#[test]
fn t474_five_loops_erase_every_block_and_fewer_need_an_ftl_that_retires() {
    for &scheme in EraseScheme::ALL {
        for mode in [EraseMode::Table, EraseMode::Mechanism] {
            let config = EraseConfig { mode, misprediction_rate: 0.5, ..EraseConfig::aero_chips(scheme) };
            for pec in (0..=6_000).step_by(500) {
                let found = distribution(&DistributionRequest { config, pec, blocks: 200 });
                assert_eq!(found.retired, 0, "{scheme} at {pec}");
            }
        }
    }
    for (key, value) in
        [("ftl.kind", "nftl"), ("erase.scheme", "fixed"), ("ftl.map_place", "cached"), ("ftl.erase_unit", "sub-block")]
    {
        let mut source = source(&sets(&[(key, value)]));
        if key == "ftl.map_place" {
            source.sets.push(("ftl.map_cache_entries".into(), "1000".into()));
        }
        if key == "ftl.erase_unit" {
            let shape = [("partial_erase.unit", "sub-block"), ("geometry.layers", "8"), ("geometry.sub_blocks", "8")];
            source.sets.extend(shape.map(|(key, value)| (key.to_string(), value.to_string())));
        }
        let text = Config::resolve(&source).expect_err("refused").to_string();
        assert!(text.contains("erase.max_loops = 3") && text.contains(key), "{text}");
    }
}

/// A page-level device of the scheme `ispe` whose blocks are retired beyond requirement 40.
const WEARS_OUT: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.25"),
    ("partial_erase.unit", "none"),
    ("erase.scheme", "ispe"),
    ("erase.rber_requirement", "40"),
    ("run.check", "integrity"),
    ("workload.read_fraction", "0.3"),
    ("workload.requests", "1000000"),
    ("workload.footprint", "1.0"),
];

/// The last P/E cycles of the mean block of such a device.
fn last_cycles() -> f64 {
    let short = [WEARS_OUT, &[("workload.requests", "10")]].concat();
    number(&run_with(&short).expect("it runs"), "wear.pec_at_requirement").floor()
}

#[test]
fn t475_a_worn_device_ends_read_only_and_keeps_all_that_it_stored() {
    let last = last_cycles();
    let near = (last - 3.0).to_string();
    for rule in ["retired-by-cycles", "retired-by-errors"] {
        for more in [
            [("host.mode", "closed-loop"), ("host.queue_depth", "16"), ("ftl.gc_mode", "preemptible")],
            [("host.mode", "open-loop"), ("ftl.gc_mode", "background"), ("ftl.wear_leveling", "both")],
            [("run.timed", "false"), ("ftl.gc_mode", "blocking"), ("ftl.allocation", "static")],
            [("run.timed", "false"), ("ftl.gc_mode", "foreground"), ("ftl.hot_cold", "mixed")],
        ] {
            let sets = [WEARS_OUT, &more, &[("erase.initial_pec", &near), ("erase.worn_blocks", rule)]].concat();
            let document = run_with(&sets).expect("it ends in its result");
            let life = &document["life"];
            assert_eq!(life["state"], "read-only", "{rule} {more:?}: {life}");
            let (worn, left) = (number(&document, "life.worn_blocks"), number(&document, "life.spare_left"));
            assert!(worn >= 1.0 && (worn / 256.0 + left - 0.25).abs() < 0.005, "{rule} {more:?}: {life}");
            assert!(number(&document, "life.end_request") < 999_000.0, "{life}");
            assert_eq!(life["end_s"].is_null(), more.contains(&("run.timed", "false")), "{life}");
            if rule == "retired-by-cycles" {
                // Whatever is erased for the fourth time then is beyond the limit; before, nothing is.
                let cycles = number(&document, "wear.aep");
                assert!((2.0..5.0).contains(&cycles), "{more:?}: {cycles}");
            }
        }
    }
    let used = [WEARS_OUT, &[("erase.initial_pec", "20000"), ("workload.requests", "20000")]].concat();
    let document = run_with(&used).expect("it runs on");
    assert!(document["life"].is_null() && number(&document, "wear.m_rber") > 100.0);
}

#[test]
fn t476_blocks_of_a_device_end_around_the_mean_one_the_hardest_first() {
    let short =
        |rule: &'static str| spec(&[WEARS_OUT, &[("erase.worn_blocks", rule), ("workload.requests", "10")]].concat());
    let left = |rule| {
        let Built { chips, .. } = build(&short(rule), 1.0).expect("a device");
        let eraser = chips.eraser.expect("a scheme");
        (0..256).map(|block| eraser.cycles_left(block)).collect::<Vec<_>>()
    };
    let last = last_cycles() as u32;
    assert!(left("retired-by-cycles").iter().all(|&cycles| cycles == Some(last + 1)));
    assert!(left("used").iter().all(Option::is_none));
    let mut own: Vec<u32> = left("retired-by-errors").into_iter().map(|cycles| cycles.expect("an end")).collect();
    own.sort_unstable();
    println!("mean block {last}, blocks {} {} {}", own[0], own[128], own[255]);
    assert!(own[0] < last && last < own[255] && own[25] < own[230], "{last}: {own:?}");
}

#[test]
fn t477_retirement_of_worn_blocks_needs_a_layer_that_retires_and_no_power_cuts() {
    let worn = ("erase.worn_blocks", "retired-by-errors");
    for (more, named) in [
        (&[("ftl.kind", "nftl")][..], "ftl.kind"),
        (&[("ftl.map_place", "cached"), ("ftl.map_cache_entries", "1000")], "ftl.map_place"),
        (&[("ftl.recovery", "scan")], "ftl.recovery"),
    ] {
        let text = Config::resolve(&source(&[WEARS_OUT, &[worn], more].concat())).expect_err("refused").to_string();
        assert!(text.contains("erase.worn_blocks = \"retired-by-errors\"") && text.contains(named), "{text}");
    }
}

#[test]
fn t1096_what_the_write_buffer_holds_when_the_device_becomes_read_only_is_programmed_or_as_before() {
    let load = [
        ("geometry.chips_per_channel", "2"),
        ("geometry.dies_per_chip", "2"),
        ("geometry.pages_per_block", "48"),
        ("geometry.blocks_per_plane", "32"),
        ("geometry.page_bytes", "2048"),
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.373"),
        ("ftl.hot_cold", "recency"),
        ("erase.scheme", "aero"),
        ("erase.initial_pec", "7400"),
        ("erase.rber_requirement", "40"),
        ("erase.worn_blocks", "retired-by-errors"),
        ("host.flush", "lru"),
        ("workload.request_bytes", "24576"),
        ("workload.footprint", "0.05"),
        ("workload.mean_interarrival_us", "50"),
        ("workload.requests", "20000"),
        ("run.check", "integrity"),
    ];
    for kib in ["64", "128"] {
        for seed in ["1", "2", "3"] {
            let found = run_with(&[&load[..], &[("host.write_buffer_kib", kib), ("seed", seed)]].concat());
            let found = found.expect("no page is lost");
            assert_eq!(found["life"]["state"], "read-only", "{kib} KiB, seed {seed}");
            assert_eq!(found["gc"]["copied_pages"], found["flash"]["programs"]["gc"], "those of the last victim too");
        }
    }
}
