//! 6xx: the commands that the NFTL emits, and their order. 5xx: triggers and victims.

use pumice_ftl::{Figures, InitialFill, MergePolicy, Nftl, NftlConfig, Plan, TranslationLayer, UIndex, UPointer};
use pumice_types::{BlockId, Cause, FlashCommand, FlashOp, Lpn, Pb, PbTree, ProgramOrder, SearchExpectation};

use crate::small::{PAGES, at, commands, geometry, m_merge, ops};

fn config(merge: MergePolicy) -> NftlConfig {
    NftlConfig {
        geometry: geometry(),
        tree: PbTree::new(PAGES, 3).expect("legal"),
        program_order: ProgramOrder::Any,
        logical_blocks_per_plane: 5,
        gc_free_blocks: 3,
        kept_blocks: 1,
        u_index: UIndex::Spare,
        u_pointer: UPointer::Ram,
        merge,
    }
}

fn full(config: NftlConfig) -> Nftl {
    let mut ftl = Nftl::new(config, &[]);
    ftl.fill(InitialFill::Blocks(1.0), |_| ()).expect("it fits");
    ftl
}

fn write(ftl: &mut Nftl, lpn: u32) -> Vec<FlashCommand> {
    commands(|plan| ftl.write(Lpn(lpn), 2, plan))
}

fn write_all(ftl: &mut Nftl, lpns: &[u32]) {
    for &lpn in lpns {
        write(ftl, lpn);
    }
}

#[test]
fn t600_updates_go_to_the_u_block_in_order() {
    let mut ftl = full(config(MergePolicy::BlockErase));
    for (n, offset) in [5, 2, 5].into_iter().enumerate() {
        let commands = write(&mut ftl, offset);
        assert_eq!(ops(&commands), [FlashOp::Program]);
        assert_eq!(commands[0].target, at(5, n as u16), "block 5 is the first free one");
    }
    assert_eq!(ftl.locate(Lpn(5)), Some(at(5, 2)));
}

#[test]
fn t601_a_read_searches_from_the_newest_page_back() {
    let mut ftl = full(config(MergePolicy::BlockErase));
    let read = |ftl: &mut Nftl, lpn| {
        let mut plan = Plan::default();
        assert!(ftl.read(Lpn(lpn), 1, &mut plan));
        plan.commands
    };
    assert_eq!(ops(&read(&mut ftl, 3)), [FlashOp::Read], "no U-block, no search");
    write_all(&mut ftl, &[5, 2, 6]);
    for (offset, depth, expect, page) in [
        (6, 1, SearchExpectation::Found, at(5, 2)),
        (5, 3, SearchExpectation::Found, at(5, 0)),
        (3, 3, SearchExpectation::Absent, at(0, 3)),
    ] {
        let commands = read(&mut ftl, offset);
        assert_eq!(ops(&commands), [FlashOp::SpareSearch, FlashOp::Read]);
        assert_eq!((commands[0].target, commands[0].searched_pages()), (at(5, 2), depth));
        assert_eq!((commands[0].expectation(), commands[1].target), (expect, page));
    }
    let mut in_ram = full(NftlConfig { u_index: UIndex::Ram, ..config(MergePolicy::BlockErase) });
    write(&mut in_ram, 5);
    assert_eq!(ops(&read(&mut in_ram, 3)), [FlashOp::Read]);
}

#[test]
fn t586_a_write_pointer_that_is_searched_costs_spare_reads_by_halving() {
    use FlashOp::{Program, Read, SpareSearch};
    let mut ftl = full(NftlConfig { u_pointer: UPointer::Search, ..config(MergePolicy::BlockErase) });
    assert_eq!(ops(&write(&mut ftl, 5)), [Program], "a U-block just taken is blank");
    for (written, probed) in [(1, [4, 2, 1]), (2, [4, 2, 1]), (3, [4, 2, 3]), (4, [4, 2, 3]), (5, [4, 6, 5])] {
        let commands = write(&mut ftl, 2);
        assert_eq!(ops(&commands), [SpareSearch, SpareSearch, SpareSearch, Program], "{written} pages written");
        let pages: Vec<u16> = commands[..3].iter().map(|command| command.target.page).collect();
        assert_eq!(pages, probed, "{written} pages written");
        assert!(commands[..3].iter().all(|command| (command.cause, command.searched_pages()) == (Cause::Map, 1)));
        assert_eq!(commands[3].target, at(5, written));
    }
    let mut plan = Plan::default();
    assert!(ftl.read(Lpn(5), 1, &mut plan));
    assert_eq!(ops(&plan.commands), [SpareSearch, SpareSearch, SpareSearch, SpareSearch, Read], "a read needs it too");
    write_all(&mut ftl, &[2, 2]);
    let merging = ops(&write(&mut ftl, 0));
    assert_eq!(merging[..4], [SpareSearch; 4], "to learn that U is full, and what it holds");
    assert!(merging[4..].iter().all(|&op| op != SpareSearch), "its successor is blank");
}

#[test]
fn t602_never_written_pages_cost_no_command() {
    let mut ftl = Nftl::new(config(MergePolicy::BlockErase), &[]);
    write(&mut ftl, 3);
    let mut plan = Plan::default();
    assert!(!ftl.read(Lpn(2), 1, &mut plan) && !ftl.read(Lpn(9), 1, &mut plan));
    assert!(plan.commands.is_empty());
}

#[test]
fn t603_a_full_merge_copies_in_page_order_then_erases_d_and_u() {
    let mut ftl = full(config(MergePolicy::BlockErase));
    write_all(&mut ftl, &[7, 1, 7, 1, 7, 1, 7, 1]);
    let commands = write(&mut ftl, 0);
    let mut expected = vec![FlashOp::SpareSearch];
    expected.extend([FlashOp::Copy; 8]);
    expected.extend([FlashOp::Erase, FlashOp::Erase, FlashOp::Program]);
    assert_eq!(ops(&commands), expected);
    assert_eq!((commands[0].searched_pages(), commands[0].cause), (8, Cause::Gc));
    let copies: Vec<_> = commands[1..9].iter().map(|c| (c.source, c.target)).collect();
    assert_eq!(copies[0], (at(0, 0), at(6, 0)));
    assert_eq!(copies[1], (at(5, 7), at(6, 1)));
    assert_eq!(copies[7], (at(5, 6), at(6, 7)));
    assert_eq!((commands[9].target.block, commands[10].target.block), (BlockId(0), BlockId(5)));
    assert_eq!(commands[11].target, at(7, 0), "a new U-block takes the write");
    assert_eq!((ftl.counters().trigger_full, ftl.counters().full.merges), (1, 1));
}

#[test]
fn t604_m_merge_copies_out_erases_and_copies_back() {
    let mut ftl = full(config(m_merge()));
    // Page 0 is updated 8 times: U holds one valid page, in its last place.
    write_all(&mut ftl, &[0; 8]);
    let commands = write(&mut ftl, 0);
    use FlashOp::{Copy, Erase, PartialErase, Program, SpareSearch};
    assert_eq!(ops(&commands), [SpareSearch, PartialErase, Copy, Erase, Program]);
    assert_eq!((commands[1].target.block, commands[1].pb()), (BlockId(0), Pb(8)));
    assert_eq!((commands[2].source, commands[2].target), (at(5, 7), at(0, 0)));
    assert_eq!(ftl.counters().m_merge.partial_erases, 1);
    assert_eq!(ftl.locate(Lpn(1)), Some(at(0, 1)), "the rest never moved");
}

#[test]
fn t530_an_unpaired_write_merges_the_most_invalid_pair_ties_to_the_oldest() {
    let mut ftl = full(config(MergePolicy::BlockErase));
    // Ten blocks, five logical: U-blocks go to logical blocks 0 and 1, then three are free.
    write_all(&mut ftl, &[0, 8, 9]);
    assert_eq!(merged(&write(&mut ftl, 16)), Some(1), "two invalid pages beat one");
    assert_eq!(merged(&write(&mut ftl, 24)), Some(0), "equal: the older U-block");
    assert_eq!(ftl.counters().trigger_unpaired, 2);
}

/// The logical block whose pair the commands merge.
fn merged(commands: &[FlashCommand]) -> Option<u32> {
    commands.iter().find(|c| c.op == FlashOp::SpareSearch).map(|c| c.lpn.0 / u32::from(PAGES))
}

#[test]
fn t534_pages_superseded_inside_the_u_block_count_as_invalid() {
    let mut ftl = full(config(MergePolicy::BlockErase));
    // Block 0: page 8 of D twice is one invalid page in D and one in U. Block 1: three pages of D.
    write_all(&mut ftl, &[8, 8, 8, 8, 0, 1, 2]);
    assert_eq!(merged(&write(&mut ftl, 16)), Some(1), "four invalid pages, three of them in U, beat three in D");
}

#[test]
fn t535_a_page_that_supersedes_nothing_adds_no_invalid_page() {
    let in_order = NftlConfig { program_order: ProgramOrder::InOrder, ..config(MergePolicy::BlockErase) };
    let mut ftl = Nftl::new(in_order, &[]);
    // The last page of block 0 lies in D, so its first ones go to U, for the first time; of block 1 one page
    // is updated; block 2 is full up to its last page.
    write_all(&mut ftl, &[7, 0, 1, 2, 15, 15, 23]);
    assert_eq!((ftl.locate(Lpn(0)), ftl.locate(Lpn(15))), (Some(at(1, 0)), Some(at(3, 0))));
    // Blocks 3 and 4 take the place that is left; then a pair must go.
    write_all(&mut ftl, &[31, 39]);
    assert_eq!(merged(&write(&mut ftl, 23)), Some(1), "one invalid page beats three valid ones in U");
}

#[test]
fn t531_a_logical_block_without_a_d_block_takes_one_and_triggers_nothing() {
    let mut ftl = Nftl::new(config(MergePolicy::BlockErase), &[]);
    ftl.fill(InitialFill::Blocks(0.8), |_| ()).expect("it fits");
    write_all(&mut ftl, &[0, 8]);
    let commands = write(&mut ftl, 4 * 8 + 3);
    assert_eq!(ops(&commands), [FlashOp::Program]);
    assert_eq!(commands[0].target.page, 3, "in place");
    assert_eq!(ftl.counters().trigger_unpaired, 0);
}

#[test]
fn t532_under_program_order_an_earlier_page_goes_to_the_u_block() {
    let in_order = NftlConfig { program_order: ProgramOrder::InOrder, ..config(m_merge()) };
    let mut ftl = Nftl::new(in_order, &[]);
    assert_eq!(write(&mut ftl, 4)[0].target, at(0, 4));
    assert_eq!(write(&mut ftl, 6)[0].target, at(0, 6), "gaps are allowed");
    assert_eq!(write(&mut ftl, 5)[0].target.block, BlockId(1), "below the last programmed page");
    assert_eq!(ftl.locate(Lpn(5)), Some(at(1, 0)));
}

#[test]
fn t533_the_initial_fill_leaves_every_twentieth_block_empty() {
    let mut config = config(MergePolicy::BlockErase);
    config.geometry.blocks_per_plane = 120;
    config.logical_blocks_per_plane = 100;
    let mut ftl = Nftl::new(config, &[]);
    let mut first = Vec::new();
    ftl.fill(InitialFill::Blocks(0.95), |block| first.push(block.first.0 / u32::from(PAGES))).expect("it fits");
    let empty: Vec<u32> = (0..100).filter(|logical| !first.contains(logical)).collect();
    assert_eq!(empty, [19, 39, 59, 79, 99]);
}
