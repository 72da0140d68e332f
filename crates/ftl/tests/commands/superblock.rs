//! 6xx: the commands that PEN's superblock FTL emits, and their order. 5xx: its triggers and victims.

use pumice_ftl::{Figures, InitialFill, MergePolicy, Plan, SuperblockPen, SuperblockPenConfig, TranslationLayer};
use pumice_types::{BlockId, FlashCommand, FlashOp, Lpn, Pb, PbTree};

use crate::small::{PAGES, at, commands, costs, geometry, m_merge, ops};

/// Two superblocks of two logical blocks in up to three blocks, on one plane of ten blocks, all full.
fn full(merge: MergePolicy, gc_free_blocks: u32) -> SuperblockPen {
    let config = SuperblockPenConfig {
        geometry: geometry(),
        tree: PbTree::new(PAGES, 3).expect("legal"),
        logical: 2,
        physical: 3,
        superblocks_per_plane: 2,
        reserve: 0,
        gc_free_blocks,
        merge,
        costs: costs(),
    };
    let mut ftl = SuperblockPen::new(config, &[]);
    ftl.fill(InitialFill::Blocks(1.0), |_| ()).expect("it fits");
    ftl
}

fn write(ftl: &mut SuperblockPen, lpn: u32) -> Vec<FlashCommand> {
    commands(|plan| ftl.write(Lpn(lpn), 2, plan))
}

#[test]
fn t650_a_superblock_is_filled_in_order_and_read_without_a_search() {
    let mut ftl = full(MergePolicy::BlockErase, 1);
    for (n, lpn) in [5, 12, 5].into_iter().enumerate() {
        let commands = write(&mut ftl, lpn);
        assert_eq!(ops(&commands), [FlashOp::Program]);
        assert_eq!(commands[0].target, at(4, n as u16), "both logical blocks share block 4, the first free one");
    }
    let mut plan = Plan::default();
    assert!(ftl.read(Lpn(5), 2, &mut plan));
    assert_eq!((ops(&plan.commands), plan.commands[0].target), (vec![FlashOp::Read], at(4, 2)));
}

#[test]
fn t651_a_full_superblock_of_n_blocks_is_merged_and_wins_a_block() {
    let mut ftl = full(MergePolicy::BlockErase, 1);
    // Eight updates of the first logical block: block 0 holds nothing any more.
    (0..8).for_each(|lpn| drop(write(&mut ftl, lpn)));
    let commands = write(&mut ftl, 0);
    assert_eq!(ops(&commands), [FlashOp::Erase, FlashOp::Program]);
    assert_eq!((commands[0].target.block, commands[1].target), (BlockId(0), at(5, 0)));
    assert_eq!((ftl.counters().trigger_intra, ftl.counters().full.merges), (1, 1));
}

#[test]
fn t652_a_full_merge_erases_each_victim_as_soon_as_it_is_empty() {
    let mut ftl = full(MergePolicy::BlockErase, 1);
    // Updates over both logical blocks: blocks 0 and 1 keep four pages each, block 4 all eight.
    [0, 2, 4, 6, 8, 10, 12, 14].into_iter().for_each(|lpn| drop(write(&mut ftl, lpn)));
    let commands = write(&mut ftl, 0);
    let copies = [FlashOp::Copy; 4].as_slice();
    let expected = [copies, &[FlashOp::Erase], copies, &[FlashOp::Erase, FlashOp::Program]].concat();
    assert_eq!(ops(&commands), expected);
    let targets: Vec<_> = commands.iter().filter(|c| c.op == FlashOp::Copy).map(|c| c.target).collect();
    assert_eq!(targets, (0..8).map(|page| at(5, page)).collect::<Vec<_>>(), "one new block takes both");
    assert_eq!(commands[4].target.block, BlockId(0));
}

#[test]
fn t653_an_m_merge_restores_in_place_and_erases_the_u_set_last() {
    let mut ftl = full(m_merge(), 1);
    // The first leaf of block 0 is outdated; six of eight pages of block 4 outdate each other.
    [0, 0, 0, 0, 0, 0, 0, 0].into_iter().for_each(|lpn| drop(write(&mut ftl, lpn)));
    let commands = write(&mut ftl, 1);
    // Leaves are single pages: PB 8 has nothing to copy out, and takes the one valid page of block 4.
    assert_eq!(ops(&commands), [FlashOp::PartialErase, FlashOp::Copy, FlashOp::Erase, FlashOp::Program]);
    assert_eq!((commands[0].target.block, commands[0].pb()), (BlockId(0), Pb(8)));
    assert_eq!((commands[1].source, commands[1].target, commands[1].lpn), (at(4, 7), at(0, 0), Lpn(0)));
    assert_eq!(commands[2].target.block, BlockId(4));
    assert_eq!(ftl.locate(Lpn(0)), Some(at(0, 0)));
    assert_eq!((ftl.counters().m_merge.merges, ftl.counters().copied_pages), (1, 1));
}

#[test]
fn t660_wanting_a_block_in_a_low_plane_merges_the_superblock_with_most_invalid_pages() {
    let mut ftl = full(MergePolicy::BlockErase, 5);
    // Six blocks are free. The first superblock takes one; then the plane is at its threshold.
    (0..3).for_each(|lpn| drop(write(&mut ftl, lpn)));
    let commands = write(&mut ftl, 16);
    assert_eq!((ftl.counters().trigger_intra, ftl.counters().trigger_inter), (0, 1));
    let erased: Vec<_> = commands.iter().filter(|c| c.op == FlashOp::Erase).map(|c| c.target.block.0).collect();
    // Block 4 holds three pages, block 0 five: both fit in one new block.
    assert_eq!(erased, [4, 0]);
    assert_eq!(commands.last().map(|c| c.lpn), Some(Lpn(16)));
}

#[test]
fn t661_a_superblock_of_m_blocks_has_nothing_to_give() {
    let mut ftl = full(MergePolicy::BlockErase, 9);
    assert_eq!(ops(&write(&mut ftl, 0)), [FlashOp::Program], "no victim, so the block is taken below the threshold");
    assert_eq!(ftl.counters().trigger_inter, 0);
}
