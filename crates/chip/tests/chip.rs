//! The chip as firmware sees it: bytes, refusals, time, bad blocks, bit errors, cuts of the power, snapshots.

use pumice_chip::{Chip, ChipCounts, ChipFailure, CutOutcome};
use pumice_config::{Config, SpecSource};
use pumice_types::{BlockId, PageAddress, Pb, Time};

const PAGE: usize = 4096;
const OOB: usize = 128;

const DAY: Time = Time(24 * 3600 * 1_000_000_000);

/// Two planes of eight blocks of 32 pages.
const SMALL: &str = "
    [geometry]
    channels = 1
    chips_per_channel = 1
    dies_per_chip = 1
    planes_per_die = 2
    blocks_per_plane = 8
    pages_per_block = 32
    page_bytes = 4096
    spare_bytes = 128
    program_order = \"in-order\"
    [partial_erase]
    max_splits = 2
";

fn source(more: &str) -> SpecSource {
    SpecSource { spec_text: Some(format!("{SMALL}{more}")), ..SpecSource::default() }
}

fn chip(more: &str) -> Chip {
    Chip::open(&source(more)).unwrap_or_else(|error| panic!("{error}"))
}

fn at(block: u32, page: u16) -> PageAddress {
    PageAddress::new(BlockId(block), page)
}

fn read(chip: &mut Chip, page: PageAddress) -> Result<(Vec<u8>, Vec<u8>), ChipFailure> {
    let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
    chip.read(page, &mut data, &mut oob).map(|_| (data, oob))
}

fn fill(chip: &mut Chip, block: u32, pages: u16) {
    for page in 0..pages {
        chip.program(at(block, page), &[page as u8; PAGE], &[1, page as u8]).expect("in order");
    }
}

#[track_caller]
fn refused(result: Result<impl Sized, ChipFailure>, rule: &str) {
    assert_eq!(result.err().and_then(|failure| failure.rule()), Some(rule));
}

#[test]
fn t131_a_page_gives_back_the_bytes_that_it_was_given_and_ones_for_the_others() {
    let mut chip = chip("");
    chip.program(at(3, 0), b"data", b"oob").expect("legal");
    let (data, oob) = read(&mut chip, at(3, 0)).expect("programmed");
    assert_eq!((&data[..4], &oob[..3]), (&b"data"[..], &b"oob"[..]));
    assert!(data[4..].iter().chain(&oob[3..]).all(|&byte| byte == 0xff));
    chip.program(at(3, 1), &[], &[]).expect("legal");
    assert_eq!(read(&mut chip, at(3, 1)).expect("programmed"), (vec![0xff; PAGE], vec![0xff; OOB]));

    chip.copy(at(3, 0), at(4, 0), None).expect("legal");
    chip.copy(at(3, 0), at(4, 1), Some(b"new")).expect("legal");
    assert_eq!(read(&mut chip, at(4, 0)).expect("copied"), (data.clone(), oob));
    let (copied, new) = read(&mut chip, at(4, 1)).expect("copied");
    assert_eq!((copied, &new[..4]), (data, &b"new\xff"[..]));

    chip.erase(BlockId(4)).expect("legal");
    refused(read(&mut chip, at(4, 0)), "read-erased-page");
    let mut oob = [0; OOB];
    chip.read_oob(at(4, 0), &mut oob).expect("a spare area of a blank page can be read");
    assert_eq!(oob, [0xff; OOB]);
    assert!(chip.is_blank(at(4, 0)).expect("legal") && !chip.is_blank(at(3, 0)).expect("legal"));
}

#[test]
fn t132_refusals_name_rule_and_address_and_change_nothing() {
    let mut chip = chip("[timing]\ncopyback = true");
    fill(&mut chip, 0, 3);
    let (counts, now) = (*chip.counts(), chip.now());
    refused(chip.program(at(0, 2), &[], &[]), "erase-before-program");
    refused(chip.copy(at(0, 0), at(8, 0), None), "copyback-plane");
    refused(chip.copy(at(0, 5), at(1, 0), None), "read-erased-page");
    refused(chip.erase_partial(BlockId(0), Pb(8)), "partial-block-index");
    refused(chip.erase_sub_blocks(BlockId(0), 1), "sub-block-set");
    refused(chip.page(16, 0), "address-range");
    refused(chip.page(0, 65_536), "address-range");
    chip.mark_bad(BlockId(5)).expect("power");
    refused(chip.erase(BlockId(5)), "bad-block");
    assert_eq!((*chip.counts(), chip.now()), (ChipCounts { illegal: 6, ..counts }, now));

    chip.program(at(0, 9), &[], &[]).expect("gaps are allowed");
    let text = chip.program(at(0, 8), &[], &[]).expect_err("out of order").to_string();
    assert_eq!(text, "flash rule 'program-order' refuses Program at block 0 page 8");
    let text = chip.page(16, 0).expect_err("no such block").to_string();
    assert_eq!(text, "flash rule 'address-range' refuses block 16 page 0; there are blocks 0 to 15, pages 0 to 31");
    let text = chip.program(at(0, 10), &[0; PAGE + 1], &[]).expect_err("too long").to_string();
    assert_eq!(text, "4097 bytes of data; a page has 4096");
    let text = chip.read(at(0, 0), &mut [], &mut [0; OOB + 1]).expect_err("too long").to_string();
    assert_eq!(text, "129 spare bytes; a page has 128");
}

#[test]
fn t133_operations_take_the_time_of_an_idle_device() {
    let spec = "[timing]\ncommand_overhead_us = 3.0\ncopyback = COPYBACK";
    // (4096 + 128) bytes at 400 MB/s, and the command: 10.56 us + 3 us.
    let (transfer, t_r, t_prog) = (13_560, 70_000, 900_000);
    for (copyback, copy) in [("true", t_r + t_prog), ("false", t_r + 2 * transfer + t_prog)] {
        let mut chip = chip(&spec.replace("COPYBACK", copyback));
        let mut last = chip.now();
        let mut took = |chip: &Chip| {
            let time = chip.now() - last;
            last = chip.now();
            time.0
        };
        chip.program(at(0, 0), &[], &[]).expect("legal");
        assert_eq!(took(&chip), transfer + t_prog);
        chip.read(at(0, 0), &mut [], &mut []).expect("legal");
        assert_eq!(took(&chip), t_r + transfer);
        chip.is_blank(at(0, 1)).expect("legal");
        assert_eq!(took(&chip), t_r + 3_000 + 320);
        chip.copy(at(0, 0), at(1, 0), None).expect("legal");
        assert_eq!(took(&chip), copy);
        chip.erase(BlockId(0)).expect("legal");
        assert_eq!(took(&chip), 10_000_000);
        chip.erase_partial(BlockId(1), Pb(4)).expect("legal");
        assert_eq!(took(&chip), 9_270_000, "a partial block of eight pages");
        chip.wait(DAY);
        assert_eq!(took(&chip), DAY.0);
    }
}

#[test]
fn t134_the_factorys_bad_blocks_are_those_of_a_run() {
    for seed in [1, 7] {
        let spec = SpecSource {
            preset: Some("tiny".into()),
            sets: vec![("seed".into(), seed.to_string()), ("geometry.bad_blocks_per_plane".into(), "3".into())],
            ..SpecSource::default()
        };
        let chip = Chip::open(&spec).expect("legal");
        let run = pumice_engine::build(&Config::resolve(&spec).expect("legal"), 1.0).expect("legal");
        let blocks = (0..chip.geometry().blocks()).map(BlockId);
        let bad: Vec<BlockId> = blocks.clone().filter(|&block| chip.is_bad(block)).collect();
        assert_eq!(bad.len(), 12);
        assert!(blocks.filter(|&block| run.chips.checked.array.is_bad(block)).eq(bad));
    }
}

#[test]
fn t135_a_spec_is_checked_as_that_of_a_run_and_idle_keys_are_named() {
    let refusal = |more: &str| Chip::open(&source(more)).err().expect("refused").to_string();
    assert!(refusal("max_split = 2").contains("nearest valid key: 'partial_erase.max_splits'"));
    assert!(refusal("[timing]\nt_r_us = -1").contains("timing.t_r_us"));
    assert!(refusal("[erase]\nread_retry = true").contains("geometry.layers"));
    assert!(refusal("[erase]\nmax_loops = 3").contains("erase loops"));
    let loops = refusal("[erase]\nscheme = \"ispe\"\nmax_loops = 3");
    assert!(loops.contains("partial_erase.unit = \"none\", found \"partial-block\""), "{loops}");
    assert!(Chip::open(&SpecSource { preset: Some("tini".into()), ..SpecSource::default() }).is_err());
    assert!(Chip::open(&SpecSource { scale: Some(0.5), ..source("") }).is_err());

    assert!(chip("").notes().is_empty());
    let notes = chip("disturb_aware = true\n[ftl]\nkind = \"nftl\"\n[workload]\nrequests = 3").notes().to_vec();
    let expected = ["ftl.kind", "partial_erase.disturb_aware", "workload.requests"]
        .map(|key| format!("{key} has no effect: a chip alone has no controller"));
    assert_eq!(notes, expected);
}

#[test]
fn t136_a_cut_program_leaves_what_was_chosen_and_what_looks_good_fails_later() {
    for leaves in [CutOutcome::Before, CutOutcome::Old, CutOutcome::New, CutOutcome::Mixed] {
        let mut chip = chip("");
        chip.cut_after(2, leaves);
        fill(&mut chip, 0, 2);
        let last = at(0, 2);
        assert_eq!(chip.program(last, b"new", b"n"), Err(ChipFailure::PowerLost));
        assert_eq!(read(&mut chip, at(0, 0)), Err(ChipFailure::PowerLost), "nothing runs without power");
        assert!(!chip.is_powered());
        chip.power_on();
        let looks_blank = matches!(leaves, CutOutcome::Before | CutOutcome::Old);
        assert_eq!(chip.is_blank(last).is_ok_and(|blank| blank), looks_blank);
        match leaves {
            CutOutcome::Before => chip.program(last, &[], &[]).expect("nothing has touched it"),
            CutOutcome::Old => refused(chip.program(last, &[], &[]), "unstable-program"),
            CutOutcome::New => assert!(read(&mut chip, last).is_ok_and(|(data, _)| data.starts_with(b"new"))),
            CutOutcome::Mixed | CutOutcome::Drawn => {
                assert_eq!(read(&mut chip, last), Err(ChipFailure::Uncorrectable(last)));
            }
        }
        chip.settle();
        let sound = leaves == CutOutcome::Before;
        assert_eq!(read(&mut chip, last).is_ok(), sound);
        assert_eq!(read(&mut chip, at(0, 1)).expect("it had ended").0[0], 1);
        chip.erase(BlockId(0)).expect("legal");
        chip.program(last, &[], &[]).expect("erased whole");
        assert_eq!(chip.counts().cuts, 1);
    }
}

#[test]
fn t137_what_a_cut_left_readable_fails_at_the_next_cut_at_the_latest() {
    let mut chip = chip("");
    chip.cut_after(0, CutOutcome::New);
    chip.program(at(0, 0), b"trap", &[]).expect_err("cut");
    chip.power_on();
    read(&mut chip, at(0, 0)).expect("it reads well, for now");
    chip.power_off();
    chip.power_on();
    read(&mut chip, at(0, 0)).expect_err("and no more");
}

#[test]
fn t138_a_cut_erase_leaves_old_mixed_or_blank_pages_that_take_no_program() {
    for (leaves, readable, blank) in
        [(CutOutcome::Old, 32..33, 0..1), (CutOutcome::New, 0..1, 32..33), (CutOutcome::Mixed, 1..32, 1..32)]
    {
        let mut chip = chip("");
        fill(&mut chip, 0, 32);
        chip.cut_after(0, leaves);
        assert_eq!(chip.erase(BlockId(0)), Err(ChipFailure::PowerLost));
        chip.power_on();
        let good = (0..32).filter(|&page| read(&mut chip, at(0, page)).is_ok_and(|(data, _)| data[0] == page as u8));
        let good = good.count();
        let erased = (0..32).filter(|&page| chip.is_blank(at(0, page)) == Ok(true)).count();
        assert!(readable.contains(&good) && blank.contains(&erased), "{leaves:?}: {good} readable, {erased} blank");
        chip.settle();
        assert!((0..32).all(|page| read(&mut chip, at(0, page)).is_err()));
        let fresh = (0..32).find(|&page| chip.is_blank(at(0, page)) == Ok(true));
        if let Some(page) = fresh {
            refused(chip.program(at(0, page), &[], &[]), "unstable-program");
        }
        chip.erase(BlockId(0)).expect("legal");
        fill(&mut chip, 0, 32);
        assert_eq!(chip.erases(at(0, 0)), 2, "the cut erase wears");
    }
}

#[test]
fn t139_a_cut_copy_leaves_its_source_intact() {
    let mut chip = chip("");
    fill(&mut chip, 0, 1);
    chip.cut_after(0, CutOutcome::Mixed);
    assert_eq!(chip.copy(at(0, 0), at(1, 0), None), Err(ChipFailure::PowerLost));
    chip.power_on();
    chip.settle();
    read(&mut chip, at(0, 0)).expect("intact");
    read(&mut chip, at(1, 0)).expect_err("torn");
    let mut raw = [0; 8];
    chip.read_raw(at(1, 0), &mut raw, &mut []).expect("raw reads have no code");
    assert_ne!(raw, [0; 8], "and return what the cells say");
}

#[test]
fn t140_a_program_that_fails_in_a_cut_takes_the_earlier_pages_of_its_cells_along() {
    let spec = SMALL.replace("[partial_erase]", "layers = 4\nsub_blocks = 4\nbits_per_cell = 2\n[partial_erase]");
    let open = || Chip::open(&SpecSource { spec_text: Some(spec.clone()), ..SpecSource::default() }).expect("legal");
    for (leaves, lost) in [(CutOutcome::Mixed, true), (CutOutcome::New, false), (CutOutcome::Old, false)] {
        let mut chip = open();
        fill(&mut chip, 0, 3);
        chip.cut_after(0, leaves);
        chip.program(at(0, 3), &[], &[]).expect_err("cut");
        chip.power_on();
        assert_eq!(read(&mut chip, at(0, 2)).is_err(), lost, "{leaves:?}: the other bit of the same cells");
        read(&mut chip, at(0, 1)).expect("other cells");
    }
}

#[test]
fn t141_a_chip_becomes_what_a_snapshot_was_and_goes_on_in_the_same_way() {
    let mut chip = chip("");
    fill(&mut chip, 0, 4);
    chip.cut_after(3, CutOutcome::Drawn);
    let before = chip.snapshot();
    let go_on = |chip: &mut Chip| {
        chip.draw_from(7);
        chip.program(at(0, 4), b"four", &[]).expect("legal");
        chip.erase_partial(BlockId(1), Pb(2)).expect("legal");
        chip.program(at(0, 5), b"five", &[]).expect("legal");
        assert_eq!(chip.erase(BlockId(0)), Err(ChipFailure::PowerLost));
        chip.power_on();
        let pages: Vec<_> = (0..8).map(|page| read(chip, at(0, page))).collect();
        (pages, *chip.counts(), chip.now())
    };
    let first = go_on(&mut chip);
    chip.restore(&before).expect("of this chip");
    assert_eq!(*chip.counts(), ChipCounts { operations: 4, programs: 4, ..ChipCounts::default() });
    assert!(read(&mut chip, at(0, 3)).is_ok_and(|(data, _)| data[0] == 3));
    assert!(chip.is_blank(at(0, 4)).expect("legal"));
    chip.restore(&before).expect("of this chip");
    assert_eq!(go_on(&mut chip), first);
    let other = Chip::open(&source("[timing]\nt_r_us = 71.0")).expect("legal").snapshot();
    assert!(matches!(chip.restore(&other), Err(ChipFailure::Usage(_))));
}

#[test]
fn t142_a_block_that_goes_bad_fails_programs_and_erases_and_can_still_be_read() {
    let mut chip = chip("");
    fill(&mut chip, 2, 3);
    chip.grow_bad(BlockId(2));
    assert_eq!(chip.program(at(2, 3), b"x", &[]), Err(ChipFailure::ProgramFailed(at(2, 3))));
    read(&mut chip, at(2, 3)).expect_err("not to be trusted");
    assert_eq!(read(&mut chip, at(2, 1)).expect("sound").0[0], 1);
    assert!(!chip.is_bad(BlockId(2)), "a mark is the firmware's to make");
    assert_eq!(chip.erase(BlockId(2)), Err(ChipFailure::EraseFailed(BlockId(2))));
    chip.mark_bad(BlockId(2)).expect("power");
    refused(chip.erase(BlockId(2)), "bad-block");
    assert_eq!(chip.counts().failed, 2);
}

#[test]
fn t143_an_erase_that_runs_out_of_loops_fails_again_and_its_block_is_the_firmwares_to_mark() {
    let spec = "unit = \"none\"\n[erase]\nscheme = \"ispe\"\nmax_loops = 1\ninitial_pec = 3000";
    let mut chip = Chip::open(&source(spec)).expect("legal");
    for tries in 1..4 {
        assert_eq!(chip.erase(BlockId(0)), Err(ChipFailure::EraseFailed(BlockId(0))));
        assert!(!chip.is_bad(BlockId(0)), "the chip marked it itself, and refused the next try");
        assert_eq!(chip.counts().failed, tries);
    }
    refused(chip.program(at(0, 0), &[], &[]), "unstable-program");
    chip.mark_bad(BlockId(0)).expect("power");
    refused(chip.erase(BlockId(0)), "bad-block");
}

#[test]
fn t144_bit_errors_grow_with_wear_and_age_and_are_corrected_until_they_cannot_be() {
    let open = |pec: u32| chip(&format!("[erase]\nscheme = \"ispe\"\nread_retry = true\ninitial_pec = {pec}"));
    let raw_errors = |chip: &mut Chip| {
        let mut data = vec![0; PAGE];
        chip.read_raw(at(0, 0), &mut data, &mut []).expect("legal");
        data.iter().map(|byte| (byte ^ 0x5a).count_ones()).sum::<u32>()
    };
    let mut errors = Vec::new();
    for (pec, days) in [(0, 0), (0, 365), (3000, 365), (5000, 365)] {
        let mut chip = open(pec);
        chip.program(at(0, 0), &[0x5a; PAGE], &[]).expect("legal");
        chip.wait(Time(DAY.0 * days));
        errors.push(raw_errors(&mut chip));
        assert_eq!(raw_errors(&mut chip), *errors.last().expect("one"), "the same data has the same errors");
        let (data, _) = read(&mut chip, at(0, 0)).expect("corrected");
        assert!(data.iter().all(|&byte| byte == 0x5a), "after correction there are none");
        assert_eq!(chip.counts().read_retries, 0, "below the 72 bits per KiB of the code");
    }
    assert!(errors.is_sorted() && errors[3] > 2 * errors[1], "{errors:?}");
    let a_year = f64::from(errors[1]) / 4.0;
    assert!((10.0..22.0).contains(&a_year), "AERO's fresh blocks have 16 bits per KiB after a year: {a_year}");

    let mut chip = open(5000);
    chip.program(at(0, 0), &[0x5a; PAGE], &[]).expect("legal");
    chip.wait(Time(DAY.0 * 3 * 365));
    let before = chip.now();
    read(&mut chip, at(0, 0)).expect("retries help");
    let retries = chip.counts().read_retries;
    assert!(retries > 0);
    assert_eq!((chip.now() - before).0, (1 + retries) * (70_000 + 10_560));
    chip.wait(Time(DAY.0 * 365 * 150));
    assert_eq!(read(&mut chip, at(0, 0)), Err(ChipFailure::Uncorrectable(at(0, 0))));
}

#[test]
fn t145_a_partial_erase_erases_its_pages_and_disturbs_its_neighbours() {
    let mut chip = chip("disturb_tolerance = 0");
    fill(&mut chip, 0, 32);
    chip.erase_partial(BlockId(0), Pb(5)).expect("legal");
    for page in 0..32 {
        match page {
            8..16 => assert!(chip.is_blank(at(0, page)).expect("legal")),
            0..8 | 16..24 => assert_eq!(read(&mut chip, at(0, page)), Err(ChipFailure::Uncorrectable(at(0, page)))),
            _ => assert_eq!(read(&mut chip, at(0, page)).expect("not beside it").0[0], page as u8),
        }
    }
    chip.program(at(0, 8), b"again", &[]).expect("in order inside its part");
    assert!(read(&mut chip, at(0, 8)).is_ok_and(|(data, _)| data.starts_with(b"again")));
}

#[test]
fn t146_sub_blocks_are_erased_together_and_disturb_nobody() {
    let spec = SMALL
        .replace("[partial_erase]", "layers = 8\nsub_blocks = 4\n[partial_erase]\nunit = \"sub-block\"")
        .replace("max_splits = 2", "");
    let mut chip = Chip::open(&SpecSource { spec_text: Some(spec), ..SpecSource::default() }).expect("legal");
    assert_eq!((chip.sub_blocks(), chip.max_splits()), (4, 0));
    fill(&mut chip, 0, 32);
    chip.erase_sub_blocks(BlockId(0), 0b1001).expect("legal");
    for page in 0..32 {
        let erased = page % 4 == 0 || page % 4 == 3;
        assert_eq!(chip.is_blank(at(0, page)), Ok(erased));
        assert_eq!(read(&mut chip, at(0, page)).is_ok(), !erased);
    }
    refused(chip.erase_sub_blocks(BlockId(0), 0b10000), "sub-block-set");
}

/// Where the pages of a sub-block could not be halved so often, the first smallest part was the first pages of the block.
#[test]
fn t1003_parts_of_blocks_that_are_written_sub_block_first_are_ranges_of_layers_or_refused() {
    let opened = |splits: &str| {
        let shape = "layers = 8\nsub_blocks = 4\nwrite_sequence = \"sfws\"\n[partial_erase]";
        let spec = SMALL.replace("[partial_erase]", shape).replace("max_splits = 2", &format!("max_splits = {splits}"));
        Chip::open(&SpecSource { spec_text: Some(spec), ..SpecSource::default() })
    };
    let refusal = opened("4").err().expect("refused").to_string();
    assert!(refusal.contains("max_splits = 4") && refusal.ends_with("the largest legal value is 3"), "{refusal}");
    let mut chip = opened("3").expect("legal");
    fill(&mut chip, 0, 32);
    chip.erase_partial(BlockId(0), Pb(8)).expect("legal");
    for page in 0..32 {
        assert_eq!(chip.is_blank(at(0, page)), Ok(page % 8 == 0));
    }
}
