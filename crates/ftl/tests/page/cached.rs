//! 5xx, 6xx: a map in flash that is cached on demand.

use pumice_ftl::victims::greedy::Greedy;
use pumice_ftl::victims::random::Random;
use pumice_ftl::{CachedMap, Figures, MapLoads, PageConfig, VictimPolicy};
use pumice_types::{Cause, FlashOp};

use crate::rig::{Rig, config};

/// A device of two planes with 672 pages for the host, a full one, and a cache of `entries`.
fn cached(entries: usize) -> Rig {
    cached_with(entries, VictimPolicy::from(Greedy))
}

fn cached_with(entries: usize, policy: VictimPolicy) -> Rig {
    let map = CachedMap { entries, entries_per_page: 16, blocks_per_plane: CachedMap::blocks_for(22, 8) };
    Rig::new(PageConfig { user_pages: 672, policy, cached_map: Some(map), ..config(1, 64, 8) }, 1.0)
}

/// Writes the first `pages` pages in a scattered order, `rounds` times.
fn write_rounds(rig: &mut Rig, pages: u32, rounds: u32) {
    (0..pages * rounds).for_each(|n| rig.write(n * 37 % pages));
}

#[test]
fn t650_a_cache_for_the_whole_map_costs_no_flash_access_once_it_is_warm() {
    let mut rig = cached(672);
    (0..672).for_each(|lpn| rig.read(lpn));
    assert_eq!(rig.map_commands, [672, 0, 0], "each entry is loaded once");
    write_rounds(&mut rig, 672, 5);
    assert_eq!(rig.map_commands, [672, 0, 0]);
    assert!(rig.ftl.counters().copied_pages > 0, "collection moved pages meanwhile");
    rig.check();
    assert_eq!((rig.ftl.counters().map_misses, rig.map_commands), (672, [672, 0, 0]));
}

#[test]
fn t651_a_small_cache_pays_for_misses_and_write_backs() {
    let mut rig = cached(16);
    write_rounds(&mut rig, 672, 6);
    let counters = *rig.ftl.counters();
    assert_eq!(counters.map_hits + counters.map_misses, 672 * 6);
    assert!(counters.map_misses > 672 * 5, "{} misses", counters.map_misses);
    let [reads, programs, _] = rig.map_commands;
    assert_eq!(programs, counters.map_write_backs);
    assert_eq!(reads, counters.map_misses + counters.map_write_backs, "a page is read before it is written anew");
    assert!(counters.map_erases > 0, "blocks of translation pages are reclaimed");
    rig.check();
}

#[test]
fn t652_a_skewed_load_hits_a_cache_of_its_hot_pages() {
    let mut rig = cached_with(64, VictimPolicy::from(Random));
    (0..2000).for_each(|n| rig.write(n * 37 % 48 * 14));
    let counters = rig.ftl.counters();
    assert!(counters.copied_pages > 0);
    assert_eq!(counters.map_misses, 48, "what collection moves never displaces what the host uses");
    rig.check();
}

#[test]
fn t653_one_write_back_cleans_all_changed_entries_of_its_page() {
    let mut rig = cached(16);
    // Sixteen pages of one translation page change, then sixteen others push them out.
    (0..16).for_each(|lpn| rig.write(lpn));
    (64..80).for_each(|lpn| rig.read(lpn));
    assert_eq!(rig.map_commands, [16 + 16 + 1, 1, 0]);
}

#[test]
fn t654_a_miss_reads_its_translation_page_last_and_a_hit_waits_for_nothing() {
    let mut rig = cached(1);
    rig.write(3);
    rig.plan.clear();
    let load = |rig: &mut Rig, lpn| {
        rig.plan.clear();
        let kind = pumice_types::RequestKind::Read;
        rig.ftl.load_map(pumice_types::Lpn(lpn), kind, &mut rig.plan).expect("there is room");
        rig.plan.commands.iter().map(|command| (command.cause, command.op, command.lpn.0)).collect::<Vec<_>>()
    };
    assert_eq!(load(&mut rig, 3), []);
    let first = 672;
    let expected = [
        (Cause::Map, FlashOp::Read, first),
        (Cause::Map, FlashOp::Program, first),
        (Cause::Map, FlashOp::Read, first + 40 / 16),
    ];
    assert_eq!(load(&mut rig, 40), expected, "the changed entry of page 3 is written back first");
}
