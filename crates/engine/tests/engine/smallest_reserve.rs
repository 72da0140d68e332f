//! 44x: the least over-provisioning that a spec may have is enough. Every option of the page-level FTL that
//! decides over its free blocks, each with each, on small devices at that limit.

use std::collections::HashSet;

use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::{Allocation, EraseUnit, GcMode, GcPolicy, Leveling, MapPlace, Separation};
use pumice_types::Choice;

use crate::contract::check_counts;
use crate::power::sampled;
use crate::support::{number, source};

type Sets = Vec<(&'static str, &'static str)>;

/// One plane of sixteen blocks, full at the start, most writes to a fifth of it. The blocks have 8 leaves of
/// three pages, or 4 sub-blocks of six.
const DEVICE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.hot_window", "0.3"),
    ("ftl.wear_threshold", "3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.blocks_per_plane", "16"),
    ("geometry.pages_per_block", "24"),
    ("geometry.program_order", "in-order"),
    ("geometry.layers", "6"),
    ("geometry.sub_blocks", "4"),
    ("partial_erase.max_splits", "3"),
    ("initial.fill", "1.0"),
    ("workload.kind", "hot-cold"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.1"),
    ("workload.request_bytes", "16384"),
    ("workload.requests", "300"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("run.check", "integrity"),
];

/// As often as the six pages of a sub-block can be halved.
const ONE_SPLIT: (&str, &str) = ("partial_erase.max_splits", "1");

/// Units of one page, or two: as many as there can be.
const SIX_SPLITS: (&str, &str) = ("partial_erase.max_splits", "6");

/// What else takes blocks away, or changes when they are taken. Each alone, and all together.
const CONDITIONS: &[&[(&str, &str)]] = &[
    &[],
    &[("geometry.bad_blocks_per_plane", "2")],
    &[("geometry.planes_per_die", "2"), ("timing.multi_plane", "neighbours")],
    &[("geometry.planes_per_die", "2"), ("timing.multi_plane", "queue"), ("ftl.gc_planes", "die")],
    &[("ftl.gc_free_threshold", "0.2"), ("ftl.gc_stop_threshold", "0.4"), ("geometry.blocks_per_plane", "20")],
    &[("workload.trim_fraction", "0.3"), ("geometry.channels", "2")],
    &[("geometry.write_sequence", "sfws"), ONE_SPLIT, ("run.timed", "false"), ("workload.requests", "900")],
    &[("partial_erase.sub_block_disturb", "3")],
    &[("geometry.pages_per_block", "64"), ("geometry.layers", "2"), ("geometry.sub_blocks", "32"), SIX_SPLITS],
];

/// The erase unit of the chip that collection needs.
fn chip_unit(unit: EraseUnit) -> &'static str {
    match unit {
        EraseUnit::Block => "none",
        EraseUnit::PartialBlock => "partial-block",
        EraseUnit::SubBlock => "sub-block",
    }
}

/// Every choice of every option, legal or not.
fn options() -> impl Iterator<Item = Sets> {
    let places = MapPlace::ALL.iter().flat_map(|&place| Allocation::ALL.iter().map(move |&to| (place, to)));
    let kinds = EraseUnit::ALL.iter().flat_map(|&unit| Separation::ALL.iter().map(move |&apart| (unit, apart)));
    let ways = GcPolicy::ALL.iter().flat_map(|&policy| GcMode::ALL.iter().map(move |&mode| (policy, mode)));
    let ways = ways.flat_map(|(policy, mode)| Leveling::ALL.iter().map(move |&level| (policy, mode, level)));
    places.flat_map(move |(place, allocation)| {
        let ways = ways.clone();
        kinds.clone().flat_map(move |(unit, apart)| {
            ways.clone().map(move |(policy, mode, level)| {
                vec![
                    ("ftl.map_place", place.name()),
                    ("ftl.allocation", allocation.name()),
                    ("ftl.erase_unit", unit.name()),
                    ("ftl.hot_cold", apart.name()),
                    ("ftl.gc_policy", policy.name()),
                    ("ftl.gc_mode", mode.name()),
                    ("ftl.wear_leveling", level.name()),
                ]
            })
        })
    })
}

/// A spec with this over-provisioning.
fn with_spare(sets: &Sets, spare: &str) -> Result<Config, String> {
    let SpecSource { sets, .. } = source(&[&sets[..], &[("ftl.over_provisioning", spare)]].concat());
    let source = SpecSource { sets, ..source(&[]) };
    Config::resolve(&source).map_err(|error| error.to_string())
}

/// The least over-provisioning of these settings; `None` if they are refused whatever it is.
fn least_spare(sets: &Sets) -> Option<String> {
    let refusal = with_spare(sets, "0.0").err()?;
    let (_, least) = refusal.split_once("the smallest value that works is ")?;
    Some(least.to_string())
}

/// Runs settings at their least over-provisioning; `false` if they are refused whatever it is.
fn run_at_least(sets: &Sets) -> bool {
    let Some(least) = least_spare(sets) else { return false };
    let spec = with_spare(sets, &least).unwrap_or_else(|error| panic!("{least} is called enough: {error}"));
    let outcome = run(&spec, 1.0, &mut |_| true);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error} with ftl.over_provisioning = {least}, {sets:?}"));
    assert_eq!(outcome.integrity_error, None, "{sets:?}");
    check_counts(&outcome.document);
    true
}

/// Settings of these options under a condition.
fn under(options: &Sets, condition: &[(&'static str, &'static str)]) -> Sets {
    let of = |key| options.contains(&key);
    let cached = of(("ftl.map_place", MapPlace::Cached.name())).then_some(("ftl.map_cache_entries", "40"));
    let unit = EraseUnit::ALL.iter().find(|unit| of(("ftl.erase_unit", unit.name()))).expect("one of them");
    let chip = ("partial_erase.unit", chip_unit(*unit));
    DEVICE.iter().chain(options).chain([&chip]).chain(&cached).chain(condition).copied().collect()
}

/// Options under a condition, which is numbered.
type Case = (Sets, usize);

/// Options that can be had together, under every condition that fits them. What is refused without a further condition
/// is refused with it.
fn allowed_cases(all: &[Sets]) -> Vec<Case> {
    let conditions = |options: &Sets| {
        let options = options.clone();
        (0..CONDITIONS.len()).map(move |nth| (options.clone(), nth))
    };
    all.iter().filter(|options| least_spare(&under(options, &[])).is_some()).flat_map(conditions).collect()
}

/// So few of these cases that all three options, or two and a condition, which any of them joins meet in one of the few:
/// first those are taken that join the most for the first time.
fn every_three(cases: &[Case]) -> Vec<&Case> {
    let threes = |(options, condition): &Case| {
        let all: Vec<_> = options.iter().copied().map(Ok).chain([Err(*condition)]).collect();
        let firsts = move |nth: usize| (0..nth).map(move |first| [first, nth]);
        let pairs = (0..all.len()).flat_map(firsts);
        let threes: Vec<_> = pairs.flat_map(|[a, b]| (0..a).map(move |c| [c, a, b])).collect();
        threes.into_iter().map(move |three| three.map(|nth| all[nth]))
    };
    let (mut met, mut chosen) = (HashSet::new(), Vec::new());
    for least in [56, 42, 28, 20, 14, 9, 6, 4, 3, 2, 1] {
        for case in cases {
            if threes(case).filter(|three| !met.contains(three)).count() >= least {
                met.extend(threes(case));
                chosen.push(case);
            }
        }
    }
    chosen
}

/// Does work on parts of a list side by side, and joins what comes of it.
fn side_by_side<T: Sync, R: Send>(all: &[T], work: impl Fn(&[T]) -> Vec<R> + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            all.chunks(all.len().div_ceil(threads)).map(|part| scope.spawn(move || work(part))).collect();
        running.into_iter().flat_map(|part| part.join().expect("no run fails")).collect()
    })
}

#[test]
fn t447_every_three_options_and_conditions_run_at_their_least_over_provisioning() {
    let all: Vec<Sets> = options().collect();
    let allowed = side_by_side(&all, allowed_cases);
    let cases = if sampled(1, 2) == 1 { allowed.iter().collect() } else { every_three(&allowed) };
    let ran = side_by_side(&cases, |part| {
        let runs = part.iter().map(|(options, condition)| {
            assert!(run_at_least(&under(options, CONDITIONS[*condition])), "{options:?}, condition {condition}");
        });
        runs.collect()
    });
    println!("{} of {} cases of {} combinations run", ran.len(), allowed.len(), all.len());
    assert!(allowed.len() >= 12_000, "{} cases of {} combinations", allowed.len(), all.len());
}

#[test]
fn t449_handles_run_at_their_least_over_provisioning() {
    let mut ran = 0;
    for (isolation, apart) in [("initial", "gc"), ("persistent", "gc"), ("persistent", "mixed")] {
        for (handles, mode) in
            ["1", "3"].iter().flat_map(|&handles| GcMode::ALL.iter().map(move |&mode| (handles, mode)))
        {
            for (place, level) in [("ram", "none"), ("cached", "dynamic"), ("ram", "both")] {
                let mut sets = DEVICE.to_vec();
                sets.extend([
                    ("ftl.handles", handles),
                    ("ftl.isolation", isolation),
                    ("ftl.hot_cold", apart),
                    ("ftl.gc_mode", mode.name()),
                    ("ftl.map_place", place),
                    ("ftl.wear_leveling", level),
                    ("geometry.blocks_per_plane", "24"),
                    ("partial_erase.unit", "none"),
                    ("workload.kind", "streams"),
                    ("workload.stream_space", "[0.2, 0.3, 0.5]"),
                    ("workload.stream_share", "[0.7, 0.2, 0.1]"),
                ]);
                sets.extend((place == "cached").then_some(("ftl.map_cache_entries", "40")));
                ran += usize::from(run_at_least(&sets));
            }
        }
    }
    // Persistently isolated data is not moved to level wear.
    assert_eq!(ran, 30 + 2 * 20);
}

#[test]
fn t450_handles_recover_at_their_least_over_provisioning() {
    let mut cuts = 0.0;
    for (isolation, apart) in [("initial", "gc"), ("persistent", "gc"), ("persistent", "mixed")] {
        for (recovery, mode) in
            ["scan", "summary"].iter().flat_map(|&recovery| GcMode::ALL.iter().map(move |&mode| (recovery, mode)))
        {
            let mut sets = DEVICE.to_vec();
            sets.extend([
                ("ftl.handles", "3"),
                ("ftl.isolation", isolation),
                ("ftl.hot_cold", apart),
                ("ftl.gc_mode", mode.name()),
                ("ftl.recovery", recovery),
                ("geometry.channels", "2"),
                ("geometry.blocks_per_plane", "24"),
                ("partial_erase.unit", "none"),
                ("workload.kind", "streams"),
                ("workload.requests", "600"),
                ("power.cuts", "30"),
            ]);
            let least = least_spare(&sets).expect("these settings go together");
            let spec = with_spare(&sets, &least).unwrap_or_else(|error| panic!("{least} is called enough: {error}"));
            let outcome = run(&spec, 1.0, &mut |_| true);
            let outcome = outcome.unwrap_or_else(|error| panic!("{error} with {least}, {sets:?}"));
            assert_eq!(outcome.integrity_error, None, "{sets:?}");
            cuts += number(&outcome.document, "power.cuts");
        }
    }
    assert!(cuts > 800.0, "{cuts} cuts");
}

#[test]
fn t462_parts_of_blocks_recover_at_their_least_over_provisioning() {
    let mut cuts = 0.0;
    for (unit, place, sequence) in
        ["sub-block", "partial-block"].iter().flat_map(|&unit| [(unit, "ram", "lfws"), (unit, "cached", "sfws")])
    {
        for mode in GcMode::ALL {
            let mut sets = DEVICE.to_vec();
            sets.extend([
                ("ftl.erase_unit", unit),
                ("partial_erase.unit", unit),
                ("geometry.write_sequence", sequence),
                ONE_SPLIT,
                ("ftl.map_place", place),
                ("ftl.gc_mode", mode.name()),
                ("ftl.recovery", "scan"),
                ("geometry.channels", "2"),
                ("geometry.blocks_per_plane", "24"),
                ("workload.requests", "600"),
                ("power.cuts", "30"),
            ]);
            sets.extend((place == "cached").then_some(("ftl.map_cache_entries", "40")));
            let least = least_spare(&sets).expect("these settings go together");
            let spec = with_spare(&sets, &least).unwrap_or_else(|error| panic!("{least} is called enough: {error}"));
            let outcome = run(&spec, 1.0, &mut |_| true);
            let outcome = outcome.unwrap_or_else(|error| panic!("{error} with {least}, {sets:?}"));
            assert_eq!(outcome.integrity_error, None, "{sets:?}");
            cuts += number(&outcome.document, "power.cuts");
        }
    }
    assert!(cuts > 500.0, "{cuts} cuts");
}

/// The log of a device of units was larger than the room that was reserved for it.
#[test]
fn t451_units_run_and_recover_at_their_least_over_provisioning() {
    let mut ran = 0;
    for (recovery, interval) in [
        ("off", "0.1"),
        ("scan", "0.1"),
        ("summary", "0.1"),
        ("checkpoint", "0.05"),
        ("checkpoint", "1.0"),
        ("checkpoint", "3.0"),
    ] {
        for (unit, apart) in [("4096", "gc"), ("1024", "gc"), ("1024", "mixed")] {
            for mode in GcMode::ALL {
                let mut sets = DEVICE.to_vec();
                sets.extend([
                    ("geometry.page_bytes", "16384"),
                    ("geometry.spare_bytes", "512"),
                    ("geometry.blocks_per_plane", "40"),
                    ("ftl.map_unit_bytes", unit),
                    ("ftl.hot_cold", apart),
                    ("ftl.gc_mode", mode.name()),
                    ("ftl.recovery", recovery),
                    ("partial_erase.unit", "none"),
                    ("timing.copyback", "false"),
                    ("workload.request_bytes", unit),
                    ("workload.requests", "2000"),
                ]);
                if recovery == "checkpoint" {
                    sets.push(("ftl.checkpoint_interval", interval));
                }
                let Some(least) = least_spare(&sets) else { continue };
                let spec = with_spare(&sets, &least).unwrap_or_else(|error| panic!("{least} is too little: {error}"));
                let outcome = run(&spec, 1.0, &mut |_| true);
                let outcome = outcome.unwrap_or_else(|error| panic!("{error} with {least}, {sets:?}"));
                assert_eq!(outcome.integrity_error, None, "{sets:?}");
                ran += 1;
            }
        }
    }
    // Of 90: a journal that pads open pages is refused beside shared blocks in steps, and so is a log beyond the plane.
    assert_eq!(ran, 62);
}

/// Copies of cold pages had no block of their own, the only blank leaves of the plane were those of the victim
/// itself, and the block of the hot copies had room: collection gave up.
#[test]
fn t448_room_in_the_other_block_of_copies_is_found_where_only_the_victim_has_blank_leaves() {
    for (pages, splits, least) in [("24", "3", "0.4375"), ("24", "3", "0.5"), ("64", "6", "0.4375")] {
        for policy in GcPolicy::ALL {
            crate::support::document(&[
                ("ftl.kind", "page"),
                ("ftl.gc_policy", policy.name()),
                ("ftl.hot_cold", "recency"),
                ("ftl.erase_unit", "partial-block"),
                ("ftl.over_provisioning", least),
                ("geometry.blocks_per_plane", "16"),
                ("geometry.pages_per_block", pages),
                ("partial_erase.max_splits", splits),
                ("workload.kind", "hot-cold"),
                ("workload.footprint", "1.0"),
                ("run.check", "integrity"),
            ]);
        }
    }
}
