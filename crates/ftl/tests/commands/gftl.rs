//! 6xx: the commands that GFTL emits: one slot for every write, full or not.

use pumice_ftl::{
    Figures, Gftl, GftlConfig, InitialFill, MergePolicy, NftlConfig, Plan, TranslationLayer, UIndex, UPointer,
};
use pumice_types::{Cause, FlashCommand, FlashOp, Lpn, PbTree, ProgramOrder, Time};

use crate::small::{PAGES, commands, geometry, ops};

const SLOT: Time = Time(100);
const COPY: Time = Time(30);
const SEARCH_PAGE: Time = Time(10);
const SEARCH: Time = Time(5);

/// Five full logical blocks in ten blocks, two of which are the buffer's.
fn gftl() -> Gftl {
    let nftl = NftlConfig {
        geometry: geometry(),
        tree: PbTree::new(PAGES, 0).expect("legal"),
        program_order: ProgramOrder::Any,
        logical_blocks_per_plane: 5,
        gc_free_blocks: 1,
        kept_blocks: 1,
        u_index: UIndex::Spare,
        u_pointer: UPointer::Ram,
        merge: MergePolicy::BlockErase,
    };
    let config = GftlConfig {
        nftl,
        reserve: 0,
        buffer_blocks: 2,
        slot: SLOT,
        copy: COPY,
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
