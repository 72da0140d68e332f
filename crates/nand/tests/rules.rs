//! 1xx: each rule refuses by name. 3xx: disturb against PEN's worked figure.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the variants that it is about")]
use pumice_nand::{ArrayConfig, NandArray, Returned, Rule};
use pumice_types::{
    BlockId, Cause, FILL_VERSION, FlashCommand, Geometry, Lpn, PageAddress, Pb, PbTree, ProgramOrder,
    SearchExpectation, TagFormat,
};

fn config(order: ProgramOrder) -> ArrayConfig {
    ArrayConfig {
        geometry: Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 576,
            page_bytes: 16_384,
            spare_bytes: 1_280,
            units_per_page: 1,
        },
        tags: TagFormat::new(4_000),
        tree: PbTree::new(576, 6).expect("legal"),
        sub_blocks: None,
        program_order: order,
        disturb_tolerance: 1,
        sub_block_disturb: None,
        copyback: true,
    }
}

fn array() -> NandArray {
    NandArray::new(config(ProgramOrder::Any))
}

fn at(block: u32, page: u16) -> PageAddress {
    PageAddress::new(BlockId(block), page)
}

fn program(block: u32, page: u16, lpn: u32) -> FlashCommand {
    FlashCommand::program(Cause::Host, at(block, page), Lpn(lpn), 1, 1)
}

fn read(block: u32, page: u16) -> FlashCommand {
    FlashCommand::read(Cause::Host, at(block, page), Lpn(0), 1)
}

#[track_caller]
fn refused(array: &mut NandArray, command: FlashCommand, rule: Rule) {
    let violation = array.execute(&command).expect_err("the chip refuses this");
    assert_eq!(violation.rule, rule);
    assert!(violation.to_string().contains(&rule.to_string()));
}

#[track_caller]
fn done(array: &mut NandArray, command: FlashCommand) -> Returned {
    array.execute(&command).expect("legal")
}

#[test]
fn t100_erase_before_program() {
    let mut array = array();
    done(&mut array, program(0, 3, 7));
    refused(&mut array, program(0, 3, 8), Rule::EraseBeforeProgram);
    done(&mut array, FlashCommand::erase(BlockId(0)));
    done(&mut array, program(0, 3, 8));
}

#[test]
fn t101_program_order_holds_in_the_block_and_after_a_partial_erase_in_each_leaf() {
    let mut array = NandArray::new(config(ProgramOrder::InOrder));
    done(&mut array, program(0, 5, 5));
    refused(&mut array, program(0, 4, 4), Rule::ProgramOrder);
    done(&mut array, program(0, 30, 30)); // gaps are allowed
    done(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(64))); // leaf 0: pages 0..9
    done(&mut array, program(0, 4, 4));
    refused(&mut array, program(0, 3, 3), Rule::ProgramOrder);
    done(&mut array, program(0, 8, 8));
}

#[test]
fn t102_an_erased_page_has_a_blank_spare_area_but_no_data() {
    let mut array = array();
    refused(&mut array, read(0, 0), Rule::ReadErasedPage);
    refused(&mut array, FlashCommand::copy(at(0, 0), at(1, 0), Lpn(0), 1), Rule::ReadErasedPage);
    assert_eq!(array.spare(at(0, 0)), None);
    let search = FlashCommand::spare_search(Cause::Host, at(0, 9), 10, Lpn(0), SearchExpectation::Absent);
    assert_eq!(done(&mut array, search), Returned::Expected);
}

#[test]
fn t103_partial_block_index() {
    let mut array = array();
    refused(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(0)), Rule::PartialBlockIndex);
    refused(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(128)), Rule::PartialBlockIndex);
    done(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(127)));
}

#[test]
fn t104_bad_blocks_take_no_command() {
    let mut array = array();
    array.mark_bad(BlockId(1));
    for command in [program(1, 0, 0), read(1, 0), FlashCommand::erase(BlockId(1))] {
        refused(&mut array, command, Rule::BadBlock);
    }
    refused(&mut array, FlashCommand::partial_erase(BlockId(1), Pb(1)), Rule::BadBlock);
}

#[test]
fn t105_copyback_stays_in_its_plane() {
    let mut array = array();
    done(&mut array, program(0, 0, 9));
    refused(&mut array, FlashCommand::copy(at(0, 0), at(4, 0), Lpn(9), 1), Rule::CopybackPlane);
    done(&mut array, FlashCommand::copy(at(0, 0), at(3, 0), Lpn(9), 1));
    let mut through_controller = NandArray::new(ArrayConfig { copyback: false, ..config(ProgramOrder::Any) });
    done(&mut through_controller, program(0, 0, 9));
    done(&mut through_controller, FlashCommand::copy(at(0, 0), at(4, 0), Lpn(9), 1));
}

#[test]
fn t106_addresses_exist() {
    let mut array = array();
    refused(&mut array, read(8, 0), Rule::AddressRange);
    refused(&mut array, program(0, 576, 0), Rule::AddressRange);
    let search = FlashCommand::spare_search(Cause::Host, at(0, 3), 5, Lpn(0), SearchExpectation::Scan);
    refused(&mut array, search, Rule::AddressRange);
}

#[test]
fn t107_a_refused_command_changes_nothing() {
    let mut array = array();
    done(&mut array, program(0, 0, 9));
    refused(&mut array, program(0, 0, 10), Rule::EraseBeforeProgram);
    assert_eq!(array.spare(at(0, 0)), Some((Lpn(9), 1, 1)));
}

#[test]
fn t110_the_initial_fill_reads_back_and_survives_partial_change() {
    let mut array = array();
    array.fill_block(BlockId(2), [1_000, 1], 500, 3);
    assert_eq!(array.spare(at(2, 499)), Some((Lpn(1_499), FILL_VERSION, 3)));
    assert_eq!(array.spare(at(2, 500)), None);
    done(&mut array, program(2, 500, 77));
    done(&mut array, FlashCommand::partial_erase(BlockId(2), Pb(64)));
    assert_eq!(array.spare(at(2, 8)), None);
    assert_eq!(array.spare(at(2, 9)).map(|s| s.0), Some(Lpn(1_009)));
    assert_eq!(array.spare(at(2, 500)).map(|s| s.0), Some(Lpn(77)));
}

#[test]
fn t111_a_search_tells_where_the_newest_copy_is() {
    let mut array = array();
    for (page, lpn) in [5, 6, 5, 7].into_iter().enumerate() {
        done(&mut array, program(0, page as u16, lpn));
    }
    let search = |pages, lpn, expect| FlashCommand::spare_search(Cause::Host, at(0, 3), pages, Lpn(lpn), expect);
    use SearchExpectation::{Absent, Found};
    for (pages, lpn, expect, met) in
        [(2, 5, Found, true), (4, 5, Found, false), (3, 6, Found, true), (4, 8, Absent, true), (4, 6, Absent, false)]
    {
        let returned = if met { Returned::Expected } else { Returned::Unexpected };
        assert_eq!(done(&mut array, search(pages, lpn, expect)), returned);
    }
}

#[test]
fn t117_searches_agree_with_a_look_at_every_page() {
    let mut array = array();
    for page in 0..80 {
        done(&mut array, program(0, page, 100 + u32::from(page) % 37));
    }
    array.fill_block(BlockId(1), [100, 1], 70, 1);
    array.fill_block(BlockId(2), [100, 2], 70, 1);
    for (block, lpn) in [0, 1, 2].into_iter().flat_map(|block| (95..245).map(move |lpn| (block, lpn))) {
        let holds: Vec<bool> =
            (0..100).map(|page| array.spare(at(block, page)).is_some_and(|spare| spare.0 == Lpn(lpn))).collect();
        for (newest, pages) in [(0, 1), (40, 1), (69, 70), (79, 75), (99, 64), (99, 100)] {
            let searched = &holds[newest + 1 - pages..=newest];
            let none_newer = searched[1..].iter().all(|&held| !held);
            for (expect, met) in [
                (SearchExpectation::Found, searched[0] && none_newer),
                (SearchExpectation::Absent, !searched[0] && none_newer),
            ] {
                let newest = at(block, newest as u16);
                let search = FlashCommand::spare_search(Cause::Host, newest, pages as u16, Lpn(lpn), expect);
                let returned = if met { Returned::Expected } else { Returned::Unexpected };
                assert_eq!(done(&mut array, search), returned, "{search:?}");
            }
        }
    }
}

#[test]
fn t320_disturb_beyond_tolerance_reads_corrupt_and_a_copy_stays_corrupt() {
    let mut array = array();
    array.fill_block(BlockId(0), [0, 1], 576, 1);
    let corrupt = |array: &mut NandArray, block, page| match done(array, read(block, page)) {
        Returned::Page(content) => content.corrupt,
        other => panic!("a read returns a page, not {other:?}"),
    };
    for expected in [false, true] {
        done(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(9))); // pages 72..144
        assert_eq!(corrupt(&mut array, 0, 71), expected);
        assert_eq!(corrupt(&mut array, 0, 144), expected);
        assert!(!corrupt(&mut array, 0, 62));
    }
    done(&mut array, FlashCommand::copy(at(0, 71), at(1, 0), Lpn(71), 2));
    assert!(corrupt(&mut array, 1, 0), "a copy of a corrupt page stays corrupt");
    done(&mut array, FlashCommand::erase(BlockId(0)));
    done(&mut array, program(0, 71, 0));
    assert!(!corrupt(&mut array, 0, 71), "an erase heals");
}

#[test]
fn t321_blank_leaves_count_no_disturb_and_block_erase_disturbs_nobody() {
    let mut array = array();
    done(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(9)));
    done(&mut array, FlashCommand::erase(BlockId(1)));
    assert!(array.disturb(BlockId(0)).iter().chain(array.disturb(BlockId(2))).all(|&count| count == 0));
}

#[test]
fn t311_erases_are_counted_per_leaf() {
    let mut array = array();
    done(&mut array, FlashCommand::erase(BlockId(0)));
    done(&mut array, FlashCommand::partial_erase(BlockId(0), Pb(2)));
    assert_eq!((array.leaf_erases(BlockId(0), 0), array.leaf_erases(BlockId(0), 63)), (2, 1));
    let wear = array.wear();
    // 8 blocks: half a block twice, half a block once, the rest never.
    assert_eq!(wear.aep, 1.5 / 8.0);
    assert_eq!(wear.vep, (4.0 * 0.5 + 1.0 * 0.5) / 8.0 - (1.5f64 / 8.0) * (1.5 / 8.0));
    assert_eq!(wear.max_erases_per_page, 2);
}

/// Beyond 2^30 logical pages a version has a byte of its own beside the tag, which was too short for it.
#[test]
fn t943_the_largest_logical_pages_keep_their_versions_through_programs_copies_searches_and_fills() {
    let (last, version) = (u32::MAX - 2, 200);
    let mut array = NandArray::new(ArrayConfig { tags: TagFormat::new(u32::MAX - 1), ..config(ProgramOrder::Any) });
    let mut narrow = NandArray::new(config(ProgramOrder::Any));
    array.use_large_pages();
    let content = |array: &NandArray, page: PageAddress| {
        let content = array.peek(page).expect("programmed");
        (content.lpn.0, content.version)
    };
    for (page, lpn) in [(0, last), (1, last - 1), (2, 1 << 30), (3, 0)] {
        done(&mut array, FlashCommand::program(Cause::Host, at(0, page), Lpn(lpn), version, 1));
        done(&mut array, FlashCommand::copy(at(0, page), at(1, page), Lpn(lpn), 2));
        assert_eq!([content(&array, at(0, page)), content(&array, at(1, page))], [(lpn, version); 2]);
    }
    let search = |lpn, expect| FlashCommand::spare_search(Cause::Host, at(1, 3), 4, Lpn(lpn), expect);
    assert_eq!(done(&mut array, search(last, SearchExpectation::Found)), Returned::Expected);
    assert_eq!(done(&mut array, search(last - 2, SearchExpectation::Absent)), Returned::Expected);
    array.fill_block(BlockId(2), [last - 500, 1], 400, 3);
    assert_eq!(content(&array, at(2, 399)), (last - 101, FILL_VERSION));
    done(&mut array, FlashCommand::program(Cause::Host, at(2, 400), Lpn(7), version, 3));
    assert_eq!([content(&array, at(2, 399)), content(&array, at(2, 400))], [(last - 101, FILL_VERSION), (7, version)]);
    narrow.use_large_pages();
    assert_eq!(array.bytes_per_page(), narrow.bytes_per_page() + 1.0, "a byte a page, and none where it is not needed");
}
