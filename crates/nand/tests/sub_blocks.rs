//! Erase of physical sub-blocks: its rules, its wear, and the worked figure of GLSVLSI'24.

use pumice_nand::{ArrayConfig, NandArray, Returned, Rule};
use pumice_types::{
    BlockId, BlockShape, Cause, FlashCommand, Geometry, Lpn, PageAddress, PbTree, ProgramOrder, TagFormat, UnitSet,
    WriteSequence,
};

const PAGES: u16 = 512;

fn array(sequence: WriteSequence) -> NandArray {
    NandArray::new(config(sequence))
}

fn config(sequence: WriteSequence) -> ArrayConfig {
    ArrayConfig {
        geometry: Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 4,
            pages_per_block: PAGES,
            page_bytes: 8_192,
            spare_bytes: 0,
            units_per_page: 1,
        },
        tags: TagFormat::new(1_000),
        tree: PbTree::new(PAGES, 0).expect("legal"),
        sub_blocks: BlockShape::new(32, 16, 1, sequence),
        program_order: ProgramOrder::InOrder,
        disturb_tolerance: 0,
        sub_block_disturb: None,
        copyback: true,
    }
}

fn at(page: u16) -> PageAddress {
    PageAddress::new(BlockId(0), page)
}

fn program(page: u16) -> FlashCommand {
    FlashCommand::program(Cause::Host, at(page), Lpn(u32::from(page)), 1, 1)
}

fn erase(sub_blocks: u64) -> FlashCommand {
    FlashCommand::sub_block_erase(BlockId(0), UnitSet(sub_blocks))
}

#[track_caller]
fn done(array: &mut NandArray, command: FlashCommand) {
    assert!(array.execute(&command).is_ok(), "{command:?} is legal");
}

#[track_caller]
fn refused(array: &mut NandArray, command: FlashCommand, rule: Rule) {
    assert_eq!(array.execute(&command).expect_err("the chip refuses this").rule, rule);
}

fn full(sequence: WriteSequence) -> NandArray {
    let mut array = array(sequence);
    (0..PAGES).for_each(|page| done(&mut array, program(page)));
    array
}

#[test]
fn t108_sub_blocks_are_those_of_the_chip() {
    let mut array = full(WriteSequence::Lfws);
    for none_or_too_many in [0, 1 << 16, 0x1_0001] {
        refused(&mut array, erase(none_or_too_many), Rule::SubBlockSet);
    }
    assert!(array.is_programmed(at(0)), "a refused command changes nothing");
    done(&mut array, erase(0xFFFF));
    array.mark_bad(BlockId(0));
    refused(&mut array, erase(1), Rule::BadBlock);
}

#[test]
fn t109_order_ascends_in_the_block_and_after_a_sub_block_erase_in_each_sub_block() {
    for sequence in [WriteSequence::Lfws, WriteSequence::Sfws] {
        let shape = BlockShape::new(32, 16, 1, sequence).expect("legal");
        let page = |layer, sub_block| shape.page(pumice_types::CellPosition { layer, sub_block, bit: 0 });
        let mut array = array(sequence);
        done(&mut array, program(page(0, 1)));
        refused(&mut array, program(page(0, 0)), Rule::ProgramOrder);
        done(&mut array, program(page(31, 15)));
        done(&mut array, erase(0b11));
        done(&mut array, program(page(5, 1)));
        refused(&mut array, program(page(4, 1)), Rule::ProgramOrder);
        done(&mut array, program(page(0, 0))); // another sub-block has an order of its own
        done(&mut array, program(page(6, 1)));
        refused(&mut array, program(page(31, 15)), Rule::EraseBeforeProgram);
    }
}

#[test]
fn t112_a_sub_block_erase_blanks_its_pages_and_no_others_and_disturbs_nobody() {
    for sequence in [WriteSequence::Lfws, WriteSequence::Sfws] {
        let shape = BlockShape::new(32, 16, 1, sequence).expect("legal");
        let mut array = full(sequence);
        (0..3).for_each(|_| done(&mut array, erase(0b1010)));
        for page in 0..PAGES {
            let erased = [1, 3].contains(&shape.position(page).sub_block);
            assert_eq!(array.is_programmed(at(page)), !erased, "{sequence:?} page {page}");
            if !erased {
                let read = FlashCommand::read(Cause::Host, at(page), Lpn(u32::from(page)), 1);
                let Ok(Returned::Page(content)) = array.execute(&read) else { panic!("a programmed page is read") };
                assert_eq!((content.lpn, content.corrupt), (Lpn(u32::from(page)), false));
            }
        }
    }
}

#[test]
fn t113_the_initial_fill_survives_the_erase_of_other_sub_blocks() {
    let mut array = array(WriteSequence::Lfws);
    array.fill_block(BlockId(0), [100, 2], 40, 7);
    done(&mut array, erase(1));
    assert_eq!(array.spare(at(32)), None, "layer 2, sub-block 0");
    assert_eq!(array.spare(at(33)), Some((Lpn(166), 0, 7)));
}

#[test]
fn t312_wear_is_counted_per_sub_block() {
    let mut array = array(WriteSequence::Sfws);
    done(&mut array, FlashCommand::erase(BlockId(0)));
    done(&mut array, erase(0b101));
    let erases: Vec<u64> = (0..4).map(|sub_block| array.leaf_erases(BlockId(0), sub_block)).collect();
    assert_eq!(erases, [2, 1, 2, 1]);
    // 4 blocks of 16 sub-blocks: two of them twice, fourteen once, the rest never.
    let (aep, squares) = (18.0 / 64.0, (2.0 * 4.0 + 14.0) / 64.0);
    assert_eq!(array.wear().aep, aep);
    assert!((array.wear().vep - (squares - aep * aep)).abs() < 1e-12);
}

#[test]
fn t313_figure_2_eight_sub_blocks_are_freed_by_one_operation_without_a_copy() {
    let shape = BlockShape::new(32, 16, 1, WriteSequence::Sfws).expect("legal");
    let mut array = full(WriteSequence::Sfws);
    let updated = |page: u16| page < 256;
    let without_valid = (0..16).filter(|&s| (0..PAGES).all(|p| shape.position(p).sub_block != s || updated(p)));
    let free: UnitSet = without_valid.map(usize::from).collect();
    assert_eq!(free, UnitSet(0xFF));
    done(&mut array, erase(free.0));
    assert_eq!((0..PAGES).filter(|&page| !array.is_programmed(at(page))).count(), 256);
    (0..256).for_each(|page| done(&mut array, program(page)));
}

/// A full block whose pages survive so many programs in other sub-blocks.
fn disturbed(sequence: WriteSequence, bound: u32) -> NandArray {
    let mut array = NandArray::new(ArrayConfig { sub_block_disturb: Some(bound), ..config(sequence) });
    (0..PAGES).for_each(|page| done(&mut array, program(page)));
    array
}

fn is_corrupt(array: &NandArray, page: u16) -> bool {
    array.peek(at(page)).expect("a programmed page").corrupt
}

#[test]
fn t114_a_program_disturbs_the_same_word_line_of_the_other_sub_blocks_and_nothing_else() {
    for sequence in [WriteSequence::Lfws, WriteSequence::Sfws] {
        let shape = BlockShape::new(32, 16, 1, sequence).expect("legal");
        let page = |layer, sub_block| shape.page(pumice_types::CellPosition { layer, sub_block, bit: 0 });
        let mut array = disturbed(sequence, 15);
        for written in 0..PAGES {
            // As many sub-blocks were written after it on its word line.
            let expected = 15 - u32::from(shape.position(written).sub_block);
            assert_eq!(array.word_line_disturb(at(written)), expected, "{sequence:?} page {written}");
            assert!(!is_corrupt(&array, written));
        }
        // Erases disturb nobody; sub-blocks 2 and 5 are written again up to layer 1.
        done(&mut array, erase(0b10_0100));
        let again: Vec<u16> = (0..2).flat_map(|layer| [2, 5].map(|sub_block| page(layer, sub_block))).collect();
        again.iter().for_each(|&page| done(&mut array, program(page)));
        let count = |layer, sub_block| array.word_line_disturb(at(page(layer, sub_block)));
        assert_eq!([count(0, 0), count(1, 1), count(2, 0)], [17, 16, 15], "layer 2 is not written yet");
        assert_eq!([count(0, 2), count(0, 5), count(1, 15)], [1, 0, 2]);
        let corrupt: Vec<_> = (0..PAGES).filter(|&p| array.is_programmed(at(p)) && is_corrupt(&array, p)).collect();
        let mut beyond = [page(0, 0), page(0, 1), page(1, 0), page(1, 1)];
        beyond.sort_unstable();
        assert_eq!(corrupt, beyond);
    }
}

#[test]
fn t115_what_was_disturbed_stays_corrupt_where_it_is_copied_and_is_sound_when_written_anew() {
    let mut array = disturbed(WriteSequence::Sfws, 15);
    done(&mut array, erase(1 << 15));
    (480..512).for_each(|page| done(&mut array, program(page)));
    assert!(is_corrupt(&array, 0) && !is_corrupt(&array, 32), "16 programs on the word lines of S0, 15 on S1's");
    let copy = FlashCommand::copy(at(0), PageAddress::new(BlockId(1), 0), Lpn(0), 2);
    done(&mut array, copy);
    assert!(array.peek(copy.target).expect("programmed").corrupt);
    done(&mut array, erase(1));
    done(&mut array, program(0));
    assert!(!is_corrupt(&array, 0), "a program starts anew");
    // It disturbs the others: S1 now has one more than it bears.
    assert!(is_corrupt(&array, 32) && !is_corrupt(&array, 33));
    done(&mut array, FlashCommand::erase(BlockId(0)));
    (0..PAGES).for_each(|page| done(&mut array, program(page)));
    assert!((0..PAGES).all(|page| !is_corrupt(&array, page)), "a block erase starts anew");
}

#[test]
fn t116_the_bits_of_a_cell_do_not_disturb_each_other_and_an_initial_fill_counts_as_written() {
    let shape = BlockShape::new(4, 2, 2, WriteSequence::Lfws).expect("legal");
    let mut config = ArrayConfig { sub_blocks: Some(shape), sub_block_disturb: Some(2), ..config(WriteSequence::Lfws) };
    config.geometry.pages_per_block = 16;
    config.tree = PbTree::new(16, 0).expect("legal");
    let mut array = NandArray::new(config);
    array.fill_block(BlockId(0), [100, 1], 16, 1);
    // Each cell of S0 is followed by the two pages of S1's cell.
    let disturbs = |array: &NandArray| [0, 1, 2, 3].map(|page| array.word_line_disturb(at(page)));
    done(&mut array, erase(0b10));
    assert_eq!(disturbs(&array)[..2], [2, 2]);
    done(&mut array, program(2));
    assert!(is_corrupt(&array, 0) && is_corrupt(&array, 1), "a third program of S1");
    done(&mut array, program(3));
    assert_eq!(disturbs(&array), [4, 4, 0, 0]);
    assert!(!is_corrupt(&array, 4), "the next layer");
}
