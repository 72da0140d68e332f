//! 6xx: the commands that GFTL emits: one slot for every write, full or not.

use pumice_ftl::merge::restore::{MMergeSettings, MergeCosts};
use pumice_ftl::merge::superblock::RestoreScope;
use pumice_ftl::{
    Figures, Gftl, GftlConfig, InitialFill, MergePolicy, NftlConfig, Plan, TranslationLayer, UIndex, UPointer,
};
use pumice_types::{Cause, FlashCommand, FlashOp, Lpn, PbTree, ProgramOrder, Time};

use crate::small::{PAGES, at, commands, geometry, ops};

const SLOT: Time = Time(100);
const COPY: Time = Time(30);
const PART: Time = Time(20);
const SEARCH_PAGE: Time = Time(10);
const SEARCH: Time = Time(5);

/// Five full logical blocks in ten blocks, two of which are the buffer's.
fn gftl() -> Gftl {
    gftl_with(0, MergePolicy::BlockErase)
}

fn gftl_with(splits: u8, merge: MergePolicy) -> Gftl {
    let nftl = NftlConfig {
        geometry: geometry(),
        tree: PbTree::new(PAGES, splits).expect("legal"),
        program_order: ProgramOrder::Any,
        logical_blocks_per_plane: 5,
        gc_free_blocks: 1,
        kept_blocks: 1,
        u_index: UIndex::Spare,
        u_pointer: UPointer::Ram,
        merge,
    };
    let config = GftlConfig {
        nftl,
        reserve: 0,
        buffer_blocks: 2,
        slot: SLOT,
        copy: COPY,
        partial_erase: vec![SLOT, PART],
        search_page: SEARCH_PAGE,
        search: SEARCH,
    };
    let mut ftl = Gftl::new(config, &[]);
    ftl.fill(InitialFill::Blocks(1.0), |_| ()).expect("it fits");
    ftl
}

fn write(ftl: &mut Gftl, lpn: u32) -> Vec<FlashCommand> {
    commands(|plan| ftl.write(Lpn(lpn), 2, plan))
}

fn time(command: &FlashCommand) -> Time {
    match command.op {
        FlashOp::Copy => COPY,
        FlashOp::SpareSearch => SEARCH + SEARCH_PAGE * u64::from(command.searched_pages()),
        FlashOp::Pause => command.duration(),
        FlashOp::PartialErase => PART,
        _ => SLOT,
    }
}

/// Commands of the slot; the host's own program ends the plan.
fn slot(commands: &[FlashCommand]) -> &[FlashCommand] {
    let (last, slot) = commands.split_last().expect("a program");
    assert_eq!((last.op, last.cause), (FlashOp::Program, Cause::Host));
    assert_eq!(slot.iter().map(time).sum::<Time>(), SLOT, "the slot is always as long: {slot:?}");
    slot
}

#[test]
fn t670_every_write_has_its_slot_and_a_merge_is_spread_over_them() {
    let mut ftl = gftl();
    for _ in 0..PAGES {
        assert_eq!(ops(slot(&write(&mut ftl, 3))), [FlashOp::Pause], "nothing to do");
    }
    // The pair is full: search of its eight pages, eight copies of 30 in slots of 100, two erases.
    let (search, copy, pause, erase) = (FlashOp::SpareSearch, FlashOp::Copy, FlashOp::Pause, FlashOp::Erase);
    let expected: [&[FlashOp]; 6] = [
        &[search, pause],
        &[copy, copy, copy, pause],
        &[copy, copy, copy, pause],
        &[copy, copy, pause],
        &[erase],
        &[erase],
    ];
    for ops_of_slot in expected {
        assert_eq!(ops(slot(&write(&mut ftl, 12))), ops_of_slot);
    }
    assert_eq!(ops(slot(&write(&mut ftl, 12))), [pause]);
    assert_eq!((ftl.counters().trigger_full, ftl.counters().full.merges), (1, 1));
    assert_eq!((ftl.counters().copied_pages, ftl.counters().full.block_erases), (8, 2));
}

#[test]
fn t671_writes_of_a_queued_block_go_to_the_buffer_and_are_read_there() {
    let mut ftl = gftl();
    (0..PAGES).for_each(|_| drop(write(&mut ftl, 3)));
    let buffered = write(&mut ftl, 5).last().expect("a program").target;
    assert_eq!(ftl.locate(Lpn(5)), Some(buffered));
    assert_ne!(ftl.locate(Lpn(3)).map(|page| page.block), Some(buffered.block));
    let mut plan = Plan::default();
    assert!(ftl.read(Lpn(5), 2, &mut plan));
    assert_eq!(ops(&plan.commands), [FlashOp::Read], "no search");
    // Another block's writes finish the merge, which takes the buffered page along.
    (0..6).for_each(|_| drop(write(&mut ftl, 12)));
    let merged = ftl.locate(Lpn(5)).expect("stored");
    assert_eq!((ftl.locate(Lpn(3)).map(|page| page.block), merged.page), (Some(merged.block), 5));
}

#[test]
fn t672_a_page_written_while_it_is_merged_stays_in_the_buffer() {
    let mut ftl = gftl();
    (0..PAGES).for_each(|_| drop(write(&mut ftl, 3)));
    // Search, then the first three copies; page 0 is copied and then written anew.
    (0..2).for_each(|_| drop(write(&mut ftl, 12)));
    let newest = write(&mut ftl, 0).last().expect("a program").target;
    (0..5).for_each(|_| drop(write(&mut ftl, 12)));
    assert_eq!(ftl.counters().full.merges, 1);
    assert_eq!(ftl.locate(Lpn(0)), Some(newest));
    // The next write finds the block out of the queue, and its page programmed in D: it goes to a U-block.
    let target = write(&mut ftl, 0).last().expect("a program").target;
    assert_eq!((ftl.locate(Lpn(0)), target.page), (Some(target), 0));
    assert_ne!(target.block, newest.block);
}

#[test]
fn t673_an_m_merge_is_spread_over_slots_and_takes_what_the_host_wrote_meanwhile() {
    let costs = MergeCosts { copy: COPY, block_erase: SLOT, partial_erase: vec![SLOT, PART] };
    let settings = MMergeSettings { disturb_tolerance: 1, disturb_aware: true, wear_limit: 16 };
    let mut ftl = gftl_with(1, MergePolicy::MMerge { costs, settings, scope: RestoreScope::Superseded });
    (0..PAGES).for_each(|_| drop(write(&mut ftl, 3)));
    // U holds page 3 alone, in its last page. Its first half is erased and takes the three other pages of D's first half,
    // which is erased and gets all four back.
    let (search, copy, pause, erase) = (FlashOp::SpareSearch, FlashOp::Copy, FlashOp::Pause, FlashOp::Erase);
    let part = FlashOp::PartialErase;
    assert_eq!(ops(slot(&write(&mut ftl, 12))), [search, pause], "what is in U is known only now");
    let buffered = write(&mut ftl, 1);
    assert_eq!(ops(slot(&buffered)), [part, copy, copy, pause]);
    let newest = write(&mut ftl, 0);
    assert_eq!(ops(slot(&newest)), [copy, part, copy, pause]);
    let mut plan = Plan::default();
    assert!(ftl.read(Lpn(2), 1, &mut plan));
    assert_eq!((ops(&plan.commands), plan.commands[0].target.page), (vec![FlashOp::Read], 2), "no search of U");
    let last = write(&mut ftl, 12);
    assert_eq!(ops(slot(&last)), [copy, copy, copy, pause]);
    assert_eq!(last[0].source, buffered.last().expect("a program").target, "from the buffer");
    assert_eq!(ops(slot(&write(&mut ftl, 12))), [erase], "U");
    let homes: Vec<_> = (1..4).map(|lpn| ftl.locate(Lpn(lpn))).collect();
    assert_eq!(homes, (1..4).map(|page| Some(at(0, page))).collect::<Vec<_>>());
    assert_eq!(ftl.locate(Lpn(0)), newest.last().map(|program| program.target), "it stays in the buffer");
    let counters = ftl.counters();
    assert_eq!((counters.full.merges, counters.full.block_erases), (0, 0));
    assert_eq!((counters.m_merge.merges, counters.m_merge.partial_erases, counters.m_merge.block_erases), (1, 2, 1));
    assert_eq!(counters.copied_pages, 7);
}
