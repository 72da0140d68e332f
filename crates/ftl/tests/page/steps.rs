//! 4xx, 6xx: trims, and collection in every mode, whoever takes its steps and when.

use proptest::prelude::*;
use pumice_ftl::victims::cost_benefit::CostBenefit;
use pumice_ftl::victims::d_choices::DChoices;
use pumice_ftl::victims::greedy::Greedy;
use pumice_ftl::{
    CachedMap, CollectedPlace, Figures, GcMode, Handles, HotCold, PageConfig, VictimPolicy, WearLeveling,
};
use pumice_types::FlashOp;

use crate::hot_cold::Addresses;
use crate::rig::{Rig, config};

/// What host and scheduler do.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Write(u32),
    Read(u32),
    Trim(u32),
    Step(u32),
}

/// Acts on random pages of a device with `pages` of them.
pub fn acts(length: usize) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => any::<u32>().prop_map(Act::Write),
        1 => any::<u32>().prop_map(Act::Read),
        1 => any::<u32>().prop_map(Act::Trim),
        8 => (0u32..2).prop_map(Act::Step),
    ];
    prop::collection::vec(act, length)
}

/// Carries them out.
pub fn act(rig: &mut Rig, acts: &[Act]) {
    let pages = rig.ftl.user_pages();
    for &act in acts {
        match act {
            Act::Write(lpn) => rig.write(lpn % pages),
            Act::Read(lpn) => rig.read(lpn % pages),
            Act::Trim(lpn) => rig.trim(lpn % pages),
            Act::Step(die) => {
                rig.step(die);
            }
        }
    }
}

/// Every mode and policy on small devices, as full as validation allows.
pub fn configs() -> impl Strategy<Value = PageConfig> {
    let mode = prop_oneof![
        Just(GcMode::Blocking),
        Just(GcMode::Foreground),
        Just(GcMode::Background),
        Just(GcMode::Preemptible),
        Just(GcMode::Paced)
    ];
    let policy = prop_oneof![
        Just(VictimPolicy::from(Greedy)),
        Just(VictimPolicy::from(CostBenefit)),
        Just(VictimPolicy::from(DChoices { choices: 3 }))
    ];
    let shape = (1u32..3, 14u32..24, prop_oneof![Just(4u16), Just(8), Just(70)]);
    (shape, mode, policy, 1u32..4, 0u32..4, (places(), prop::bool::ANY))
        .prop_map(|(shape, gc_mode, policy, start, more, places)| {
            let ((map, hot_cold, wear_leveling), erases_together) = places;
            let (small, good) = (config(shape.0, shape.1, shape.2), shape.1 - 1);
            let cached_map = map.map(|(entries, entries_per_page)| {
                let pages = (shape.1 * u32::from(shape.2)).div_ceil(entries_per_page) + 1;
                CachedMap { entries, entries_per_page, blocks_per_plane: CachedMap::blocks_for(pages, shape.2) }
            });
            let thresholds =
                PageConfig { gc_start_blocks: start, gc_stop_blocks: start + more, erases_together, ..small };
            let config = PageConfig { gc_mode, policy, cached_map, hot_cold, wear_leveling, ..thresholds };
            let room = config.plane_pages_max(good).max(u64::from(shape.2));
            PageConfig { user_pages: (room * u64::from(config.geometry.planes())) as u32, ..config }
        })
        .prop_filter("room for the host", |config| config.plane_pages_max(config.geometry.blocks_per_plane - 1) > 0)
}

/// What collection does with pages of several handles.
fn collected() -> impl Strategy<Value = CollectedPlace> {
    prop_oneof![Just(CollectedPlace::Shared), Just(CollectedPlace::Apart), Just(CollectedPlace::WithHost)]
}

/// Where pages are put: the map in flash or in RAM, what lies together, how wear is levelled.
fn places() -> impl Strategy<Value = (Option<(usize, u32)>, HotCold, WearLeveling)> {
    let map = prop::option::of((1usize..200, prop_oneof![Just(8u32), Just(50)]));
    let hot_cold = prop_oneof![
        Just(HotCold::Mixed),
        Just(HotCold::Copies),
        (1u32..300).prop_map(|window| HotCold::Recency { window }),
        (1u8..4, collected()).prop_map(|(count, collected)| HotCold::Handles(Handles { count, collected })),
    ];
    let wear_leveling = (any::<bool>(), prop::option::of(1u32..5))
        .prop_map(|(dynamic, static_threshold)| WearLeveling { dynamic, static_threshold, ..WearLeveling::NONE });
    (map, hot_cold, wear_leveling).prop_map(|(map, hot_cold, leveling)| {
        // Persistently isolated data is not moved to level wear.
        let stays = matches!(hot_cold, HotCold::Handles(handles) if handles.collected != CollectedPlace::Shared);
        let static_threshold = leveling.static_threshold.filter(|_| !stays);
        (map, hot_cold, WearLeveling { static_threshold, ..leveling })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn t440_every_mode_keeps_what_the_host_stored(config in configs(), fill in 0.0f64..=1.0, acts in acts(3000)) {
        let mut rig = Rig::new(config, fill);
        for part in acts.chunks(500) {
            act(&mut rig, part);
            rig.check();
        }
    }
}

/// A full device whose pages are overwritten in turn.
fn overwritten(gc_mode: GcMode, writes: u32) -> Rig {
    let mut rig = Rig::new(PageConfig { gc_mode, gc_start_blocks: 2, gc_stop_blocks: 3, ..config(2, 16, 8) }, 1.0);
    (0..writes).for_each(|n| rig.write(n * 37 % rig.ftl.user_pages()));
    rig
}

#[test]
fn t441_a_trimmed_page_reads_as_never_written_and_is_not_copied() {
    let mut rig = Rig::new(config(1, 12, 8), 1.0);
    let pages = rig.ftl.user_pages();
    (0..pages).step_by(3).for_each(|lpn| rig.trim(lpn));
    rig.check();
    (0..pages).step_by(6).for_each(|lpn| rig.write(lpn));
    rig.check();
    (0..pages).for_each(|lpn| rig.trim(lpn));
    for n in 0..400 {
        rig.write(n % 8);
    }
    rig.check();
    assert_eq!(rig.ftl.counters().copied_pages, 0, "with everything else given up, victims are empty");
}

#[test]
fn t640_a_blocking_write_comes_after_its_collection_and_a_foreground_write_before_it() {
    for (mode, first) in [(GcMode::Blocking, false), (GcMode::Foreground, true)] {
        let mut rig = overwritten(mode, 0);
        let mut collections = 0;
        for n in 0..2000 {
            rig.write(n * 37 % rig.ftl.user_pages());
            let commands = &rig.plan.commands;
            if commands.len() > 1 {
                collections += 1;
                let program = commands.iter().position(|command| command.op == FlashOp::Program);
                assert_eq!(program, Some(if first { 0 } else { commands.len() - 1 }), "{mode:?}");
            }
            let completing = rig.plan.completes().expect("the host waits for its program");
            assert_eq!(commands[completing].op, FlashOp::Program);
        }
        assert!(collections > 20, "{mode:?}");
        rig.check();
    }
}

#[test]
fn t646_collection_behind_a_write_does_as_much_as_before_it() {
    let work = |mode| {
        let rig = overwritten(mode, 3000);
        let counters = rig.ftl.counters();
        (counters.trigger_free_blocks, counters.reclaimed.block_erases)
    };
    let (before, behind) = (work(GcMode::Blocking), work(GcMode::Foreground));
    assert!(before.0 > 100 && before.0.abs_diff(behind.0) <= 2, "{before:?} and {behind:?} collections and erases");
    assert!(before.1.abs_diff(behind.1) <= 2, "{before:?} and {behind:?} collections and erases");
}

#[test]
fn t641_a_foreground_write_without_a_spare_block_waits_as_a_blocking_one() {
    let config = PageConfig { gc_mode: GcMode::Foreground, ..config(1, 12, 8) };
    let mut rig = Rig::new(config, 1.0);
    for n in 0..1000 {
        rig.write(n * 37 % rig.ftl.user_pages());
        let last = rig.plan.commands.last().expect("a program");
        assert_eq!(last.op, FlashOp::Program, "at a threshold of one block none can be spared");
    }
}

#[test]
fn t642_with_enough_idle_time_no_write_collects() {
    for mode in [GcMode::Background, GcMode::Preemptible] {
        let mut rig = overwritten(mode, 0);
        for n in 0..3000 {
            rig.write(n * 37 % rig.ftl.user_pages());
            assert_eq!(rig.plan.commands.len(), 1, "{mode:?}");
            (0..2).for_each(|die| while rig.step(die) {});
        }
        assert_eq!(rig.ftl.counters().urgent, 0);
        assert!(rig.ftl.counters().reclaimed.block_erases > 100, "{mode:?}");
        rig.check();
    }
}

#[test]
fn t643_without_idle_time_writes_collect_urgently_and_just_enough() {
    for mode in [GcMode::Background, GcMode::Preemptible] {
        let rig = overwritten(mode, 3000);
        let counters = rig.ftl.counters();
        assert!(counters.urgent > 50, "{mode:?}: {}", counters.urgent);
        let blocking = overwritten(GcMode::Blocking, 3000);
        assert!(counters.copied_pages < blocking.ftl.counters().copied_pages, "a lower floor leaves more time to age");
    }
}

#[test]
fn t644_preemptible_waits_for_the_start_threshold_and_background_does_not() {
    for (mode, expected) in [(GcMode::Background, true), (GcMode::Preemptible, false)] {
        let settings = PageConfig { gc_mode: mode, gc_start_blocks: 2, gc_stop_blocks: 5, ..config(1, 16, 8) };
        let mut rig = Rig::new(settings, 0.0);
        // Twelve blocks a plane are written over and over, so closed blocks with invalid pages exist.
        (0..2 * 8 * 11).for_each(|n| rig.write(n % 24));
        assert_eq!((rig.step(0), rig.step(1)), (expected, expected), "{mode:?} at five free blocks");
        (0..2 * 8 * 3).for_each(|n| rig.write(n % 24));
        let steps = (0..10_000).take_while(|_| rig.step(0)).count();
        assert!((3..10_000).contains(&steps), "{mode:?}: {steps} steps until six blocks are free");
        assert_eq!(rig.ftl.counters().trigger_free_blocks, if expected { 3 } else { 1 });
    }
}

/// The most commands of one write in a steady state of random writes.
fn most_commands(gc_mode: GcMode, stop: u32) -> usize {
    let settings = PageConfig { gc_mode, gc_start_blocks: 2, gc_stop_blocks: stop, ..config(1, 40, 32) };
    let user_pages = settings.geometry.pages() as u32 * 7 / 10;
    let mut rig = Rig::new(PageConfig { user_pages, ..settings }, 1.0);
    let (mut most, mut addresses) = (0, Addresses(3));
    for n in 0..20 * user_pages {
        let before = rig.commands;
        rig.write(addresses.below(user_pages));
        most = most.max(if n > 4 * user_pages { (rig.commands - before) as usize } else { 0 });
    }
    rig.check();
    most
}

#[test]
fn t647_paced_collection_spreads_its_copies_over_the_writes() {
    let (blocking, paced) = (most_commands(GcMode::Blocking, 2), most_commands(GcMode::Paced, 6));
    println!("most commands of a write: blocking {blocking}, paced {paced}");
    assert!(paced * 2 < blocking);
}

#[test]
fn t648_paced_collection_begins_under_the_stop_threshold() {
    let settings = PageConfig { gc_mode: GcMode::Paced, gc_start_blocks: 2, gc_stop_blocks: 5, ..config(1, 16, 8) };
    let mut rig = Rig::new(settings, 0.0);
    // Every plane writes 11 of its 16 blocks: five are free, and one is open when the last of them is begun.
    (0..2 * 8 * 11).for_each(|n| rig.write(n % 48));
    assert_eq!(rig.erases.iter().sum::<u32>(), 0);
    (0..2 * 8).for_each(|n| rig.write(n % 48));
    assert!(rig.erases.iter().sum::<u32>() > 0, "empty victims are erased at once");
    assert_eq!(rig.ftl.counters().urgent, 0);
}

#[test]
fn t645_where_all_share_a_block_the_host_leaves_room_for_the_victim_in_work() {
    for writes in 1..8 {
        let settings = PageConfig { gc_mode: GcMode::Background, hot_cold: HotCold::Mixed, ..config(1, 14, 8) };
        let user_pages = (settings.plane_pages_max(13) * 2) as u32;
        let mut rig = Rig::new(PageConfig { user_pages, ..settings }, 1.0);
        for n in 0..4_000 {
            (0..2).for_each(|die| {
                let _ = rig.step(die);
            });
            (0..writes).for_each(|m| rig.write((n * writes + m) * 37 % user_pages));
        }
        rig.check();
    }
}
