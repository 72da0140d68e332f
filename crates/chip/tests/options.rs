//! What is not a run's: options of the chip, bad blocks that are read, outcomes that are drawn anew, images in files.

use std::path::PathBuf;

use pumice_chip::{Chip, ChipChoices, ChipCounts, ChipFailure, CutOutcome, Illegal, PagePrograms};
use pumice_config::SpecSource;
use pumice_types::{BlockId, PageAddress, Time};

const PAGE: usize = 512;
const OOB: usize = 16;

const SMALL: &str = "
    [geometry]
    channels = 1
    chips_per_channel = 1
    dies_per_chip = 1
    planes_per_die = 1
    blocks_per_plane = 8
    pages_per_block = 32
    page_bytes = 512
    spare_bytes = 16
    program_order = \"in-order\"
";

fn chip_with(more: &str, options: ChipChoices) -> Chip {
    let text = format!("{SMALL}{more}\n[partial_erase]\nunit = \"none\"");
    let source = SpecSource { spec_text: Some(text), ..SpecSource::default() };
    Chip::open_with(&source, options).unwrap_or_else(|error| panic!("{error}"))
}

fn at(block: u32, page: u16) -> PageAddress {
    PageAddress::new(BlockId(block), page)
}

fn read(chip: &mut Chip, page: PageAddress) -> Result<Vec<u8>, ChipFailure> {
    let mut data = vec![0; PAGE];
    chip.read(page, &mut data, &mut []).map(|_| data)
}

fn fill(chip: &mut Chip, block: u32, pages: u16) {
    (0..pages).for_each(|page| chip.program(at(block, page), &[page as u8; PAGE], &[]).expect("in order"));
}

#[track_caller]
fn refused(result: Result<impl Sized, ChipFailure>, rule: &str) {
    assert_eq!(result.err().and_then(|failure| failure.rule()), Some(rule));
}

#[test]
fn t147_what_is_tried_again_from_a_snapshot_is_drawn_anew_and_a_number_repeats_it() {
    let mut chip = chip_with("", ChipChoices::default());
    fill(&mut chip, 0, 8);
    let before = chip.snapshot();
    let outcomes = |chip: &mut Chip, number: Option<u64>| {
        let mut found = Vec::new();
        number.into_iter().for_each(|number| chip.draw_from(number));
        for _ in 0..60 {
            chip.restore(&before).expect("of this chip");
            chip.cut_after(0, CutOutcome::Drawn);
            chip.program(at(0, 8), &[1; PAGE], &[]).expect_err("cut");
            chip.power_on();
            found.push((chip.is_blank(at(0, 8)).expect("legal"), read(chip, at(0, 8)).is_ok()));
        }
        found
    };
    let found = outcomes(&mut chip, None);
    for outcome in [(true, false), (false, true), (false, false)] {
        let times = found.iter().filter(|&&found| found == outcome).count();
        assert!((10..31).contains(&times), "{outcome:?} {times} of 60: a third each, within 3 standard deviations");
    }
    assert_eq!(outcomes(&mut chip, Some(5)), outcomes(&mut chip, Some(5)));
    assert_ne!(outcomes(&mut chip, Some(5)), outcomes(&mut chip, Some(6)));
}

#[test]
fn t148_a_program_that_fails_takes_the_pages_of_its_cells_along_at_any_distance() {
    for (bits, distance, torn, lost) in [
        (1, 1, 5, vec![]),
        (2, 1, 5, vec![4]),
        (2, 1, 4, vec![]),
        (2, 4, 5, vec![1]),
        (2, 4, 3, vec![]),
        (3, 2, 5, vec![1, 3]),
    ] {
        let options = ChipChoices { pair_distance: distance, ..ChipChoices::default() };
        let mut chip = chip_with(&format!("bits_per_cell = {bits}"), options);
        fill(&mut chip, 0, torn);
        chip.cut_after(0, CutOutcome::Mixed);
        chip.program(at(0, torn), &[], &[]).expect_err("cut");
        chip.power_on();
        let found: Vec<u16> = (0..torn).filter(|&page| read(&mut chip, at(0, page)).is_err()).collect();
        assert_eq!(found, lost, "{bits} bits at a distance of {distance}, page {torn}");
    }
    let text = format!("{SMALL}[partial_erase]\nunit = \"none\"");
    let source = SpecSource { spec_text: Some(text), ..SpecSource::default() };
    let far = ChipChoices { pair_distance: 33, ..ChipChoices::default() };
    let text = Chip::open_with(&source, far).err().expect("too far").to_string();
    assert_eq!(text, "pair_distance = 33 is not allowed; allowed: 1 to 32, the pages of a block");
}

#[test]
fn t149_a_bad_block_gives_what_it_holds_and_a_mark_of_the_factory() {
    let mut chip = chip_with("bad_blocks_per_plane = 1", ChipChoices::default());
    let bad = (0..8).find(|&block| chip.is_bad(BlockId(block))).expect("one");
    let good = (bad + 1) % 8;
    let (mut data, mut oob) = ([1; PAGE], [1; OOB]);
    chip.read_raw(at(bad, 0), &mut data, &mut oob).expect("read");
    assert_eq!((data, oob), ([0; PAGE], [0; OOB]));
    oob.fill(1);
    chip.read_oob(at(bad, 31), &mut oob).expect("read");
    assert_eq!(oob, [0; OOB]);
    assert!(!chip.is_blank(at(bad, 0)).expect("read"));
    assert_eq!(read(&mut chip, at(bad, 0)), Err(ChipFailure::Uncorrectable(at(bad, 0))));
    refused(chip.erase(BlockId(bad)), "bad-block");

    fill(&mut chip, good, 2);
    chip.mark_bad(BlockId(good)).expect("power");
    assert_eq!(read(&mut chip, at(good, 1)).expect("still there"), [1; PAGE]);
    assert!(chip.is_blank(at(good, 2)).expect("read"));
    refused(read(&mut chip, at(good, 2)), "read-erased-page");
    refused(chip.program(at(good, 2), &[], &[]), "bad-block");
    let other = (0..8).find(|&block| !chip.is_bad(BlockId(block))).expect("one");
    chip.power_off();
    assert_eq!(chip.mark_bad(BlockId(other)), Err(ChipFailure::PowerLost), "marks were made without power");
    assert!(!chip.is_bad(BlockId(other)));
}

#[test]
fn t150_a_part_of_a_page_is_read_and_a_part_programmed() {
    let mut chip = chip_with("", ChipChoices::default());
    let all: Vec<u8> = (0..PAGE).map(|byte| (byte % 251) as u8).collect();
    chip.program(at(0, 0), &all, &[]).expect("legal");
    let mut part = [0; 100];
    chip.read_at(at(0, 0), 300, &mut part).expect("inside");
    assert_eq!(part[..], all[300..400]);
    let text = chip.read_at(at(0, 0), 413, &mut part).expect_err("beyond").to_string();
    assert_eq!(text, "100 bytes of data from 413 on; a page has 512");
    chip.program_at(at(0, 1), 500, b"end").expect("legal");
    let data = read(&mut chip, at(0, 1)).expect("programmed");
    assert_eq!(&data[498..505], b"\xff\xffend\xff\xff");
    refused(chip.program_at(at(0, 1), 0, b"begin"), "erase-before-program");
}

#[test]
fn t151_pages_take_as_many_programs_as_their_data_sheet_says_and_only_clear_bits() {
    let mut chip = chip_with("", ChipChoices { programs: PagePrograms::Times(3), ..ChipChoices::default() });
    chip.program_at(at(0, 0), 0, b"\xf0one").expect("first");
    refused(chip.program_at(at(0, 0), 0, b"\x0f"), "erase-before-program");
    chip.program_at(at(0, 0), 4, b"two").expect("second");
    chip.program(at(0, 0), b"\x70", b"own").expect("third: the bits were 1");
    refused(chip.program_at(at(0, 0), 100, b"x"), "erase-before-program");
    let mut oob = [0; 4];
    assert_eq!(&read(&mut chip, at(0, 0)).expect("programmed")[..8], b"\x70onetwo\xff");
    chip.read_oob(at(0, 0), &mut oob).expect("programmed");
    assert_eq!(&oob, b"own\xff");
    chip.erase(BlockId(0)).expect("legal");
    chip.program(at(0, 0), b"anew", &[]).expect("erased");
    assert_eq!(&read(&mut chip, at(0, 0)).expect("programmed")[..5], b"anew\xff");
    refused(read(&mut chip, at(0, 1)), "read-erased-page");
}

#[test]
fn t152_a_cut_of_a_further_program_leaves_what_was_chosen() {
    for (leaves, at_once, later) in [
        (CutOutcome::Before, Ok(&b"one\xff"[..]), Ok(&b"one\xff"[..])),
        (CutOutcome::Old, Ok(b"one\xff"), Ok(b"one\xff")),
        (CutOutcome::New, Ok(b"one+"), Err(())),
        (CutOutcome::Mixed, Err(()), Err(())),
    ] {
        let mut chip = chip_with("", ChipChoices { programs: PagePrograms::Times(4), ..ChipChoices::default() });
        chip.program_at(at(0, 0), 0, b"one").expect("first");
        chip.cut_after(0, leaves);
        assert_eq!(chip.program_at(at(0, 0), 3, b"+"), Err(ChipFailure::PowerLost));
        chip.power_on();
        let found = |chip: &mut Chip| read(chip, at(0, 0)).map(|data| data[..4].to_vec()).map_err(drop);
        assert_eq!(found(&mut chip), at_once.map(Vec::from), "{leaves:?}");
        chip.settle();
        assert_eq!(found(&mut chip), later.map(Vec::from), "{leaves:?}");
        let next = chip.program_at(at(0, 0), 8, b"x");
        assert_eq!(next.is_ok(), leaves == CutOutcome::Before, "what was cut takes no further program");
    }
}

#[test]
fn t153_bytes_are_programmed_one_by_one_as_in_nor_flash() {
    let mut chip = chip_with("", ChipChoices { programs: PagePrograms::Bytes, ..ChipChoices::default() });
    assert_eq!(read(&mut chip, at(3, 7)).expect("erased bytes can be read"), [0xff; PAGE]);
    for nth in 0..200_u8 {
        chip.program_at(at(0, 0), nth.into(), &[nth]).expect("any number");
    }
    let data = read(&mut chip, at(0, 0)).expect("programmed");
    assert!((0..200).all(|nth| data[nth] == nth as u8) && data[200..].iter().all(|&byte| byte == 0xff));
    chip.program_at(at(0, 0), 9, &[0]).expect("bits are cleared");
    refused(chip.program_at(at(0, 0), 9, &[1]), "erase-before-program");
}

#[test]
fn t154_a_chip_that_refuses_nothing_corrupts_what_an_illegal_operation_touches() {
    let mut chip =
        chip_with("bad_blocks_per_plane = 1", ChipChoices { illegal: Illegal::Corrupt, ..ChipChoices::default() });
    let bad = (0..8).find(|&block| chip.is_bad(BlockId(block))).expect("one");
    let [one, other] = [(bad + 1) % 8, (bad + 2) % 8];
    fill(&mut chip, one, 4);
    chip.program(at(one, 2), &[0xf5; PAGE], &[]).expect("done");
    let mut raw = [0; 1];
    let lost: Vec<u16> = (0..4).filter(|&page| read(&mut chip, at(one, page)).is_err()).collect();
    assert_eq!(lost, [2, 3], "the page, and the one beside it");
    fill(&mut chip, other, 1);
    chip.program(at(other, 9), &[9; PAGE], &[]).expect("legal");
    chip.program(at(other, 5), &[5; PAGE], &[]).expect("out of order, and done");
    assert!(read(&mut chip, at(other, 5)).is_err() && read(&mut chip, at(other, 9)).is_ok());
    assert_eq!(chip.erase(BlockId(bad)), Err(ChipFailure::EraseFailed(BlockId(bad))));
    assert_eq!(chip.program(at(bad, 0), &[], &[]), Err(ChipFailure::ProgramFailed(at(bad, 0))));
    assert_eq!(read(&mut chip, at(one, 8)), Err(ChipFailure::Uncorrectable(at(one, 8))));
    chip.read_raw(at(one, 8), &mut raw, &mut []).expect("blank");
    assert_eq!((raw, chip.counts().illegal), ([0xff], 4));
    refused(chip.page(8, 0), "address-range");
    chip.erase(BlockId(one)).expect("legal");
    fill(&mut chip, one, 4);
    assert!((0..4).all(|page| read(&mut chip, at(one, page)).is_ok()), "an erase makes it good");
}

#[test]
fn t155_a_planned_failure_meets_its_operation_and_the_block_stays_bad() {
    let mut chip = chip_with("", ChipChoices::default());
    chip.fail_after(2);
    fill(&mut chip, 0, 2);
    assert_eq!(chip.program(at(1, 0), &[], &[]), Err(ChipFailure::ProgramFailed(at(1, 0))));
    assert_eq!(chip.erase(BlockId(1)), Err(ChipFailure::EraseFailed(BlockId(1))));
    chip.program(at(0, 2), &[], &[]).expect("another block");
    chip.cut_after(0, CutOutcome::New);
    chip.program(at(0, 3), &[], &[]).expect_err("cut");
    chip.power_on();
    chip.settle_after(1);
    chip.program(at(2, 0), &[], &[]).expect("before it settles");
    read(&mut chip, at(0, 3)).expect("reads well for now");
    chip.program(at(2, 1), &[], &[]).expect("behind it");
    read(&mut chip, at(0, 3)).expect_err("settled");
}

/// A folder for files of a test.
fn folder_of(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pumice-image-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

const WORN: &str = "bad_blocks_per_plane = 1\n[erase]\nscheme = \"ispe\"\ninitial_pec = 500";

/// A chip with three pages in a block, a spare area, and a page that a cut has left readable; and that block.
fn chip_in_the_middle() -> (Chip, u32) {
    let mut chip = chip_with(WORN, ChipChoices::default());
    let block = (0..8).find(|&block| !chip.is_bad(BlockId(block))).expect("one");
    chip.erase(BlockId(block)).expect("legal");
    fill(&mut chip, block, 3);
    chip.program(at(block, 3), &[], b"own").expect("legal");
    chip.cut_after(0, CutOutcome::New);
    chip.program(at(block, 4), &[4; PAGE], &[]).expect_err("cut");
    chip.wait(Time(77));
    (chip, block)
}

#[test]
fn t156_an_image_holds_the_chip() {
    let folder = folder_of("t156");
    let path = folder.join("chip.image");
    let (mut chip, block) = chip_in_the_middle();
    chip.save(&path).expect("written");
    let mut other = chip_with(WORN, ChipChoices::default());
    other.load(&path).expect("of this chip");
    assert!(!other.is_powered());
    assert_eq!((other.now(), *other.counts()), (chip.now(), ChipCounts::default()));
    for chip in [&mut chip, &mut other] {
        chip.power_on();
        assert_eq!(read(chip, at(block, 4)).expect("for now"), [4; PAGE]);
        chip.settle();
        assert!(read(chip, at(block, 4)).is_err());
        let mut oob = [0; 3];
        chip.read_oob(at(block, 3), &mut oob).expect("written");
        assert_eq!((&oob, chip.erases(at(block, 0))), (b"own", 1));
        assert_eq!(read(chip, at(block, 2)).expect("written"), [2; PAGE]);
        refused(chip.program(at(block, 1), &[], &[]), "erase-before-program");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn t160_an_image_of_another_chip_or_a_damaged_one_is_refused_and_changes_nothing() {
    let folder = folder_of("t160");
    let path = folder.join("chip.image");
    let (mut chip, block) = chip_in_the_middle();
    chip.power_on();
    chip.save(&path).expect("written");
    let mut unlike = chip_with("", ChipChoices::default());
    let text = unlike.load(&path).expect_err("another").to_string();
    assert!(text.ends_with("is an image of a chip of another spec or seed, or with other options"), "{text}");
    let mut bytes = std::fs::read(&path).expect("written");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    for (content, said) in [
        (&bytes[..], "is an image that is damaged"),
        (&bytes[..30], "is an image that is cut short"),
        (b"x", "is no image of a chip"),
    ] {
        std::fs::write(&path, content).expect("written");
        assert!(chip.load(&path).expect_err("no image").to_string().ends_with(said));
    }
    assert!(chip.load(&folder.join("none")).is_err());
    assert_eq!(read(&mut chip, at(block, 2)).expect("as before"), [2; PAGE]);
    std::fs::remove_dir_all(&folder).expect("removed");
}
