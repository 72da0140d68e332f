//! 7xx: wear levelling.

use pumice_ftl::{Figures, GcMode, PageConfig, WearLeveling};

use crate::rig::{Rig, config};

/// Most and fewest erases of a block after the first quarter of a full device was overwritten over and
/// over; the rest stays.
fn spread(wear_leveling: WearLeveling, gc_mode: GcMode) -> (u32, u32, Rig) {
    let settings = PageConfig { wear_leveling, gc_mode, gc_start_blocks: 2, gc_stop_blocks: 3, ..config(1, 40, 8) };
    let mut rig = Rig::new(PageConfig { user_pages: 480, ..settings }, 1.0);
    for n in 0..60_000 {
        rig.write(n * 37 % 120);
        (0..2).for_each(|die| while rig.step(die) {});
    }
    rig.check();
    let extremes = (*rig.erases.iter().max().expect("blocks"), *rig.erases.iter().min().expect("blocks"));
    (extremes.0, extremes.1, rig)
}

#[test]
fn t770_static_levelling_keeps_the_spread_near_its_threshold() {
    for mode in [GcMode::Blocking, GcMode::Preemptible] {
        let (most, fewest, _) = spread(WearLeveling::NONE, mode);
        assert!(fewest <= 1 && most > 100, "{mode:?}: {fewest} to {most} erases, cold blocks stay as they are");
        for dynamic in [false, true] {
            let leveling = WearLeveling { dynamic, static_threshold: Some(20), ..WearLeveling::NONE };
            let (most, fewest, rig) = spread(leveling, mode);
            println!("{mode:?} dynamic {dynamic}: {fewest} to {most} erases, {:?}", rig.ftl.counters().moved);
            assert!(most - fewest <= 20 + 5, "{mode:?} dynamic {dynamic}: {fewest} to {most} erases");
            let counters = rig.ftl.counters();
            assert!(counters.moved.block_erases > 0 && counters.moved_pages > 0);
            assert_eq!(
                counters.moved.block_erases + counters.reclaimed.block_erases,
                rig.erases.iter().map(|&n| u64::from(n)).sum::<u64>()
            );
        }
    }
}

#[test]
fn t771_least_worn_first_saves_static_levelling_most_of_its_moves() {
    let moves = |dynamic| {
        let (.., rig) =
            spread(WearLeveling { dynamic, static_threshold: Some(20), ..WearLeveling::NONE }, GcMode::Blocking);
        rig.ftl.counters().moved.block_erases
    };
    let (in_order, by_wear) = (moves(false), moves(true));
    println!("moves: in order {in_order}, least worn first {by_wear}");
    assert!(by_wear * 2 < in_order);
}
