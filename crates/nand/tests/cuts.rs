//! What a cut of the power leaves of programs and of erases of a whole block, of a partial block, of sub-blocks.

use pumice_nand::{ArrayConfig, CheckedArray, NandArray, Rule, Torn};
use pumice_types::{
    BlockId, BlockShape, Cause, FlashCommand, Geometry, Lpn, PageAddress, Pb, PbTree, ProgramOrder, SpareArea,
    TagFormat, UnitSet, WriteSequence,
};

const PAGES: u16 = 32;

/// Four partial blocks of eight pages, or four sub-blocks of eight layers; every page of block 0 is programmed.
fn full(sub_blocks: bool) -> NandArray {
    let shape = BlockShape::new(8, 4, 1, WriteSequence::Lfws).filter(|_| sub_blocks);
    let mut array = NandArray::new(ArrayConfig {
        geometry: Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: PAGES,
            page_bytes: 512,
            spare_bytes: 16,
            units_per_page: 1,
        },
        tags: TagFormat::new(100),
        tree: PbTree::new(PAGES, if sub_blocks { 0 } else { 2 }).expect("legal"),
        sub_blocks: shape,
        program_order: ProgramOrder::InOrder,
        disturb_tolerance: 1,
        sub_block_disturb: None,
        copyback: true,
    });
    array.prepare_for_cuts();
    for page in 0..PAGES {
        array.execute(&program(page)).expect("an erased page in order");
    }
    array
}

fn at(page: u16) -> PageAddress {
    PageAddress::new(BlockId(0), page)
}

fn program(page: u16) -> FlashCommand {
    FlashCommand::program(Cause::Host, at(page), Lpn(u32::from(page)), 1, 1)
}

/// An erase of a part, the pages in it, and whether the chip has sub-blocks.
fn parts() -> [(FlashCommand, Vec<u16>, bool); 2] {
    [
        (FlashCommand::partial_erase(BlockId(0), Pb(5)), (8..16).collect(), false),
        (FlashCommand::sub_block_erase(BlockId(0), UnitSet(0b10)), (0..8).map(|layer| layer * 4 + 1).collect(), true),
    ]
}

#[test]
fn t122_a_check_refuses_what_an_execution_refuses_and_changes_nothing() {
    for sub_blocks in [false, true] {
        let mut array = full(sub_blocks);
        let copy = FlashCommand::copy(at(3), PageAddress::new(BlockId(1), 5), Lpn(3), 1);
        let commands = [
            program(0),
            FlashCommand::read(Cause::Host, PageAddress::new(BlockId(1), 0), Lpn(0), 1),
            FlashCommand::erase(BlockId(2)),
            FlashCommand::partial_erase(BlockId(0), Pb(8)),
            FlashCommand::partial_erase(BlockId(0), Pb(4)),
            FlashCommand::sub_block_erase(BlockId(0), UnitSet(0)),
            FlashCommand::sub_block_erase(BlockId(0), UnitSet(0b101)),
            copy,
            copy,
            FlashCommand::erase(BlockId(0)),
        ];
        for command in commands {
            let checked = array.check(&command);
            assert_eq!(array.check(&command), checked, "a check changes nothing");
            assert_eq!(array.execute(&command).map(drop), checked, "{command:?}");
        }
    }
}

#[test]
fn t123_a_cut_erase_of_a_part_touches_its_own_pages_only() {
    for (erase, part, sub_blocks) in parts() {
        for left in [Torn::Old, Torn::New, Torn::Mixed] {
            let mut array = full(sub_blocks);
            let outcomes = [Torn::Old, Torn::New, Torn::Mixed];
            array.tear(&erase, left, |page| outcomes[usize::from(page.page) % 3]).expect("legal");
            for page in 0..PAGES {
                let now = match array.spare_area(at(page)) {
                    SpareArea::Blank => Torn::New,
                    SpareArea::Written(_) => Torn::Old,
                    SpareArea::Unreadable => Torn::Mixed,
                };
                let drawn = if left == Torn::Mixed { outcomes[usize::from(page) % 3] } else { left };
                let expected = if part.contains(&page) { drawn } else { Torn::Old };
                assert_eq!(now, expected, "{left:?}, page {page} of {erase:?}");
            }
            array.fade();
            for page in 0..PAGES {
                let is_good = matches!(array.spare_area(at(page)), SpareArea::Written(_));
                assert_eq!(is_good, !part.contains(&page), "what looked good fails later: page {page}");
            }
        }
    }
}

#[test]
fn t124_a_part_takes_programs_again_when_it_was_erased_to_the_end() {
    for (erase, part, sub_blocks) in parts() {
        for left in [Torn::Old, Torn::New, Torn::Mixed] {
            let mut array = full(sub_blocks);
            array.tear(&erase, left, |_| Torn::New).expect("legal");
            let refused = array.execute(&program(part[0])).expect_err("nothing proves that it is erased").rule;
            let expected = if left == Torn::Old { Rule::EraseBeforeProgram } else { Rule::UnstableProgram };
            assert_eq!(refused, expected);
            array.execute(&erase).expect("legal");
            for &page in &part {
                array.execute(&program(page)).expect("erased to the end");
                assert!(!array.peek(at(page)).expect("programmed").corrupt);
            }
            array.fade();
            assert!(
                part.iter().all(|&page| !array.peek(at(page)).expect("programmed").corrupt),
                "nothing is left of it"
            );
        }
    }
}

#[test]
fn t125_a_page_that_was_bad_before_a_cut_erase_is_bad_after_it() {
    for (erase, part, sub_blocks) in parts() {
        let mut array = full(sub_blocks);
        array.spoil(at(part[2]));
        array.tear(&erase, Torn::Old, |_| Torn::Old).expect("legal");
        assert_eq!(array.spare_area(at(part[2])), SpareArea::Unreadable);
        assert!(matches!(array.spare_area(at(part[3])), SpareArea::Written(_)));
    }
}

#[test]
fn t126_a_cut_partial_erase_has_disturbed_its_neighbours() {
    let mut array = full(false);
    let erase = FlashCommand::partial_erase(BlockId(0), Pb(5));
    array.tear(&erase, Torn::Old, |_| Torn::Old).expect("legal");
    assert_eq!(array.disturb(BlockId(0)), [1, 0, 1, 0]);
    assert_eq!(array.leaf_erases(BlockId(0), 1), 1, "it wears");
}

#[test]
fn t127_no_erase_takes_the_last_copy_of_what_was_written_last() {
    let to = |page: u16| PageAddress::new(BlockId(1), page);
    let erase = |block: u32| FlashCommand::erase(BlockId(block));
    let copied = || {
        let mut checked = CheckedArray::new(full(false), 100);
        checked.guard_copies();
        for page in 0..PAGES {
            let copy = FlashCommand::copy(at(page), to(page), Lpn(u32::from(page)), 2);
            checked.execute(&copy.with_number(100 + u64::from(page))).expect("legal");
        }
        checked
    };
    let lost = |checked: &mut CheckedArray, command: &FlashCommand| {
        checked.execute(command).map_or_else(|error| error.to_string(), |()| String::new())
    };
    assert_eq!(lost(&mut copied(), &erase(0)), "", "block 1 has everything");
    let mut gone = copied();
    gone.execute(&erase(0)).expect("legal");
    assert!(lost(&mut gone, &erase(1)).contains("takes the last copy of logical page 0"));
    let mut gone = copied();
    gone.execute(&FlashCommand::partial_erase(BlockId(1), Pb(5))).expect("legal");
    assert!(lost(&mut gone, &erase(0)).contains("takes the last copy of logical page 8"));
    let mut torn = copied();
    torn.tear(&FlashCommand::partial_erase(BlockId(1), Pb(7)), Torn::Old, |_| Torn::Old).expect("legal");
    assert!(lost(&mut torn, &erase(0)).contains("takes the last copy of logical page 24"), "it reads well, and fades");
    assert!(torn.tear(&erase(0), Torn::Old, |_| Torn::Old).is_err());
}
