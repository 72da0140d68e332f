//! 3xx and 8xx: the superblock FTL of 2006 command by command on an array: its map rebuilt from spare
//! areas, and the garbage collection of section 4.3.

use proptest::prelude::*;
use pumice_ftl::merge::plan::ValidBlocks;
use pumice_ftl::merge::restore::{MMergeSettings, MergeCosts};
use pumice_ftl::merge::superblock::RestoreScope;
use pumice_ftl::{
    Figures, GcCounters, InitialFill, MergePolicy, Plan, SpareImage, SpareTables, Striped, StripedConfig,
    Superblock2006, SuperblockConfig, TranslationLayer, rebuild,
};
use pumice_nand::{ArrayConfig, NandArray, Returned};
use pumice_types::{FlashOp, Geometry, Lpn, PageAddress, PbTree, ProgramOrder, TagFormat, Time};

/// Shape of a small device.
#[derive(Clone, Copy, Debug)]
struct Shape {
    planes: u32,
    superblocks: u32,
    pages: u16,
    config: SuperblockConfig,
    /// What M-Merge restores, if it runs.
    scope: Option<RestoreScope>,
}

impl Shape {
    /// Blocks of as many partial blocks as their pages allow.
    fn tree(&self) -> PbTree {
        (0..=6).rev().find_map(|splits| PbTree::new(self.pages, splits)).expect("one whole block")
    }

    /// An erase of a whole block takes as long as ten copies, one of a part as long as one: M-Merge is often cheaper.
    fn merge(&self) -> MergePolicy {
        let Some(scope) = self.scope else { return MergePolicy::BlockErase };
        let partial_erase = vec![Time(1); self.tree().max_splits() as usize + 1];
        let costs = MergeCosts { copy: Time(1), block_erase: Time(10), partial_erase };
        let settings = MMergeSettings { disturb_tolerance: 1, disturb_aware: true, wear_limit: 16 };
        MergePolicy::MMerge { costs, settings, scope }
    }
}

/// An FTL, the array that it drives, and what was programmed into each spare area.
struct Rig {
    geometry: Geometry,
    ftl: Striped<Superblock2006>,
    tree: PbTree,
    array: NandArray,
    spare: Vec<Option<SpareImage>>,
    plan: Plan,
}

impl Rig {
    fn new(shape: &Shape) -> Rig {
        let d_blocks = shape.superblocks * shape.config.logical;
        let geometry = Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: shape.planes,
            blocks_per_plane: d_blocks + shape.config.u_blocks + 1,
            pages_per_block: shape.pages,
            page_bytes: 2048,
            spare_bytes: 64,
            units_per_page: 1,
        };
        let striped = StripedConfig { geometry, unit_blocks: shape.config.logical, units_per_plane: shape.superblocks };
        let (tree, merge) = (shape.tree(), shape.merge());
        let ftl =
            Striped::new(&striped, &[], |book| Superblock2006::new(book, shape.config).merging_as(tree, &merge, 0));
        let array = NandArray::new(ArrayConfig {
            geometry,
            tags: TagFormat::new(ftl.user_pages()),
            tree,
            program_order: ProgramOrder::InOrder,
            disturb_tolerance: 1,
            sub_block_disturb: None,
            copyback: false,
            sub_blocks: None,
        });
        let spare = vec![None; geometry.pages() as usize];
        Rig { geometry, ftl, tree, array, spare, plan: Plan::default() }
    }

    /// A device on which every logical page was written once, in order.
    fn aged(shape: &Shape) -> Rig {
        let mut rig = Rig::new(shape);
        for lpn in 0..rig.ftl.user_pages() {
            rig.write(lpn);
        }
        rig.ftl.reset_counters();
        rig
    }

    fn write(&mut self, lpn: u32) {
        self.plan.clear();
        self.ftl.write(Lpn(lpn), 1, &mut self.plan).expect("room is made");
        self.execute();
    }

    fn read(&mut self, lpn: u32) -> usize {
        self.plan.clear();
        self.ftl.read(Lpn(lpn), 1, &mut self.plan);
        self.execute();
        self.plan.commands.len()
    }

    /// Runs the plan. What a program puts into the spare area is kept beside the array.
    fn execute(&mut self) {
        let images: Vec<SpareImage> = self.ftl.planes_mut().flat_map(Superblock2006::take_images).collect();
        let mut images = images.iter();
        let pages = usize::from(self.geometry.pages_per_block);
        for command in &self.plan.commands {
            let outcome = self.array.execute(command).expect("no rule is broken");
            assert_ne!(outcome, Returned::Unexpected, "the tables name the page that holds them");
            if let Returned::Page(content) = outcome {
                assert!(!content.corrupt, "no page that counts is disturbed beyond what it bears");
            }
            let at = command.target.block.index() * pages + usize::from(command.target.page);
            match command.op {
                FlashOp::Program | FlashOp::Copy => self.spare[at] = images.next().copied(),
                FlashOp::Erase => self.spare[at..at + pages].fill(None),
                FlashOp::PartialErase => {
                    let part = self.tree.page_range(command.pb());
                    let first = command.target.block.index() * pages;
                    self.spare[first + part.start..first + part.end].fill(None);
                }
                _ => {}
            }
        }
        assert!(images.next().is_none(), "one image for each page programmed");
    }

    fn image(&self, page: PageAddress) -> Option<SpareImage> {
        self.spare[page.block.index() * usize::from(self.geometry.pages_per_block) + usize::from(page.page)]
    }

    /// The map from spare areas alone must be the FTL's, for every logical page.
    fn check_rebuilt(&self) {
        let rebuilt = rebuild(&self.geometry, |page| self.image(page));
        for lpn in (0..self.ftl.user_pages()).map(Lpn) {
            assert_eq!(rebuilt.get(&lpn).copied(), self.ftl.locate(lpn), "logical page {}", lpn.0);
            if let Some(page) = self.ftl.locate(lpn) {
                assert_eq!(self.array.peek(page).expect("readable").lpn, lpn);
            }
        }
    }

    fn counters(&self) -> &GcCounters {
        self.ftl.counters()
    }
}

fn in_spare(logical: u32, physical: u32, u_blocks: u32, cache_entries: u32) -> SuperblockConfig {
    let tables = Some(SpareTables { cache_entries, keep_images: true });
    SuperblockConfig { logical, physical, u_blocks, tables, valid_blocks: ValidBlocks::Copy }
}

fn shape() -> impl Strategy<Value = Shape> {
    let pages = prop_oneof![Just(4u16), Just(17), Just(40), Just(64)];
    let blocks = (1u32..8, 0u32..7, 1u32..10, 1u32..9);
    let valid_blocks = prop_oneof![Just(ValidBlocks::Copy), Just(ValidBlocks::Keep)];
    let scope = prop_oneof![Just(None), Just(Some(RestoreScope::Superseded)), Just(Some(RestoreScope::AsNeeded))];
    let chosen = (valid_blocks, scope);
    (1u32..3, 1u32..5, pages, blocks, chosen).prop_map(|(planes, superblocks, pages, blocks, chosen)| {
        let (valid_blocks, scope) = chosen;
        let (logical, beyond, u_blocks, entries) = blocks;
        let physical = (logical + 1 + beyond).min(8);
        let config = SuperblockConfig { valid_blocks, ..in_spare(logical, physical, u_blocks, entries) };
        Shape { planes, superblocks, pages, config, scope }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn t820_the_map_is_rebuilt_from_spare_areas_alone_at_any_moment(
        shape in shape(),
        bursts in proptest::collection::vec((any::<u32>(), 1u32..60, 1u32..30), 1..40),
    ) {
        let mut rig = Rig::new(&shape);
        let pages = rig.ftl.user_pages();
        for (first, length, width) in bursts {
            // Updates around one place, some of them repeated, as files and their tables are written.
            for n in 0..length {
                rig.write((first % pages + n * 7 % width) % pages);
            }
            rig.check_rebuilt();
        }
    }
}

/// A superblock of as many blocks as the tables can name, and writes that lead to every kind of merge. The map is
/// rebuilt again and again.
fn rebuilt_with_eight_blocks(scope: Option<RestoreScope>) -> GcCounters {
    let mut rig = Rig::aged(&Shape { planes: 1, superblocks: 3, pages: 64, config: in_spare(4, 8, 9, 2), scope });
    let pages = rig.ftl.user_pages();
    let mut place = 12_345u32;
    for n in 0..6_000u32 {
        place = place.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let random = (place >> 8) % pages;
        rig.write([random, random % 64, n % pages][n as usize / 500 % 3]);
        if n % 7 == 0 {
            rig.check_rebuilt();
        }
    }
    rig.check_rebuilt();
    *rig.counters()
}

#[test]
fn t821_the_map_is_rebuilt_after_every_write_of_a_superblock_that_owns_eight_blocks() {
    let counters = rebuilt_with_eight_blocks(None);
    assert!(counters.full.merges > 0 && counters.switch.merges > 0 && counters.partial.merges > 0, "{counters:?}");
    assert!(counters.trigger_intra > 0 && counters.trigger_inter > 0, "{counters:?}");
}

#[test]
fn t822_and_after_every_write_of_one_that_is_merged_by_m_merge() {
    for scope in [RestoreScope::Superseded, RestoreScope::AsNeeded] {
        let counters = rebuilt_with_eight_blocks(Some(scope));
        println!("{scope:?}: {counters:?}");
        assert!(counters.m_merge.merges > 5 && counters.m_merge.partial_erases > 100, "{counters:?}");
        assert!(counters.trigger_intra > 0 && counters.trigger_inter > 0, "{counters:?}");
    }
}

fn in_ram(logical: u32, u_blocks: u32) -> Shape {
    let config = SuperblockConfig { tables: None, physical: u32::MAX, ..in_spare(logical, 8, u_blocks, 1) };
    Shape { planes: 1, superblocks: 2, pages: 8, config, scope: None }
}

#[test]
fn t560_a_d_block_without_valid_pages_is_erased_and_a_u_block_promoted() {
    let mut rig = Rig::aged(&in_ram(2, 1));
    (0..8).for_each(|lpn| rig.write(lpn));
    assert_eq!(rig.counters().copied_pages, 0);
    // The next update of either superblock needs a U-block; D-block 0 has lost all of its pages.
    rig.write(20);
    assert_eq!((rig.counters().switch.merges, rig.counters().switch.block_erases), (1, 1));
    assert_eq!(rig.counters().copied_pages, 0);
    // Had the full U-block stayed one, there would be none for the second superblock.
    assert_eq!(rig.counters().trigger_inter, 1);
    (9..13).for_each(|lpn| rig.write(lpn));
    assert_eq!(rig.counters().trigger_inter, 2);
}

#[test]
fn t561_cold_pages_are_gathered_and_the_u_block_becomes_a_d_block() {
    let mut rig = Rig::aged(&in_ram(2, 1));
    [0, 1, 2, 3, 8, 9, 10, 11].into_iter().for_each(|lpn| rig.write(lpn));
    rig.write(20);
    let counters = rig.counters();
    assert_eq!((counters.full.merges, counters.full.block_erases, counters.copied_pages), (1, 2, 8));
    // Hot pages are together now: updating them again empties their block.
    [0, 1, 2, 3, 8, 9, 10, 11].into_iter().for_each(|lpn| rig.write(lpn));
    rig.write(21);
    assert_eq!(rig.counters().switch.merges, 1);
}

#[test]
fn t562_a_u_block_with_free_pages_takes_a_d_block() {
    let mut rig = Rig::aged(&in_ram(2, 1));
    [0, 1, 2].into_iter().for_each(|lpn| rig.write(lpn));
    rig.write(20);
    let counters = rig.counters();
    assert_eq!((counters.partial.merges, counters.partial.block_erases, counters.copied_pages), (1, 1, 5));
}

/// The special case of section 4.3 where no D-block fits: the others stay where they are.
#[test]
fn t568_a_u_block_with_free_pages_is_copied_with_as_few_d_blocks_as_hold_it() {
    for (updates, copied, erases) in [
        // Two pages of one D-block: its 6 valid pages and the 2 fill a new block.
        (&[0, 0, 0, 1, 1][..], 6 + 2, 2),
        // One page of each of two D-blocks.
        (&[0, 8, 0, 8][..], 7 + 7 + 2, 3),
    ] {
        let mut rig = Rig::aged(&in_ram(4, 1));
        updates.iter().for_each(|&lpn| rig.write(lpn));
        rig.write(40);
        let counters = rig.counters();
        assert_eq!((counters.full.merges, counters.partial.merges), (1, 0));
        assert_eq!((counters.copied_pages, counters.full.block_erases), (copied, erases), "{updates:?}");
    }
}

#[test]
fn t563_a_d_block_with_free_pages_takes_the_u_block() {
    let mut rig = Rig::aged(&in_ram(3, 3));
    // Two U-blocks full of updates leave 3, 3 and 2 valid pages in the D-blocks; a third supersedes five
    // pages of the second.
    let updates = [0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21, 11, 12, 16, 17, 18];
    updates.into_iter().for_each(|lpn| rig.write(lpn));
    // The first U-block is the victim: 2 + 3 cold pages go into a new block, which has 3 pages left.
    (0..8).for_each(|n| rig.write(24 + n % 2));
    let counters = rig.counters();
    assert_eq!((counters.full.merges, counters.partial.merges, counters.copied_pages), (1, 0, 5));
    // The second is next, and its 3 valid pages fit there.
    rig.write(24);
    let counters = rig.counters();
    assert_eq!((counters.full.merges, counters.partial.merges, counters.copied_pages), (1, 1, 8));
}

#[test]
fn t564_a_ninth_block_is_won_inside_the_superblock() {
    let config = SuperblockConfig { tables: None, ..in_spare(2, 4, 6, 1) };
    let mut rig = Rig::aged(&Shape { planes: 1, superblocks: 2, pages: 8, config, scope: None });
    (0..17).for_each(|n| rig.write(n * 5 % 16));
    let counters = rig.counters();
    assert_eq!((counters.trigger_intra, counters.trigger_inter), (1, 0));
    assert_eq!(counters.u_blocks_max, 2);
}

#[test]
fn t565_a_cache_miss_reads_a_spare_area_for_each_page_that_holds_a_table() {
    let mut rig = Rig::aged(&Shape { planes: 1, superblocks: 2, pages: 64, config: in_spare(2, 8, 2, 1), scope: None });
    // Four PTs, in the last page of each quarter; the newest PMD is beside the last of them.
    assert_eq!(rig.read(200), 1, "what was written last is cached");
    assert_eq!(rig.read(0), 4 + 1);
    assert_eq!(rig.read(63), 1, "the logical block is cached");
    assert_eq!(rig.read(64), 4 + 1, "the cache holds one entry");
    assert_eq!((rig.counters().map_hits, rig.counters().map_misses), (2, 2));
}

#[test]
fn t566_a_filled_device_has_the_tables_of_one_that_was_written() {
    let shape = Shape { planes: 2, superblocks: 2, pages: 40, config: in_spare(2, 8, 2, 1), scope: None };
    let (mut filled, mut written) = (Rig::new(&shape), Rig::aged(&shape));
    let array = &mut filled.array;
    let program = |block: pumice_ftl::InitialBlock| {
        array.fill_block(block.block, [block.first.0, block.stride], block.pages, block.sequence);
    };
    filled.ftl.fill(InitialFill::Blocks(1.0), program).expect("it fits");
    for lpn in (0..filled.ftl.user_pages()).step_by(13) {
        assert_eq!(filled.read(lpn), written.read(lpn), "logical page {lpn}");
    }
}
