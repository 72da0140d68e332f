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
    let failing: Vec<u32> = eraser.failing().collect();
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
        assert!(matches!(error, SimError::Simulation(_)) && !text.contains('\n'), "{text}");
        assert!(text.contains("no free block left") && text.contains("failed their erase and are retired"), "{text}");
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
