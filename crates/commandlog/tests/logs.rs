//! Logs written record by record: what a replay takes for an initial state, and which heads describe no device.
#![allow(clippy::unwrap_used, reason = "tests")]

use pumice_commandlog::{
    CommandLog, LogError, LogHeader, LogRecord, RECORD_BYTES, SubBlockShape, Verification, verify, verify_file,
};
use pumice_types::{BlockId, Cause, FlashCommand, FlashOp, Lpn, PageAddress, PageUnit, Time, UnitSource};

/// Blocks, pages of a block and logical pages of the device.
const BLOCKS: u32 = 4;
const PAGES: u16 = 16;
const LPN_BITS: u32 = 5;

fn header() -> LogHeader {
    LogHeader {
        engine: "test".into(),
        config_sha256: String::new(),
        seed: 1,
        scale: 1.0,
        record_bytes: RECORD_BYTES,
        timed: true,
        shape: [1, 1, 1, 1, BLOCKS],
        pages_per_block: PAGES,
        units_per_page: 1,
        page_bytes: 4096,
        spare_bytes: 128,
        user_pages: 32,
        lpn_bits: LPN_BITS,
        program_order: "in-order".into(),
        max_splits: 0,
        leaf_runs: 1,
        sub_blocks: None,
        disturb_tolerance: 1,
        sub_block_disturb: None,
        copyback: true,
        multi_plane: false,
    }
}

fn replayed(header: &LogHeader, records: &[LogRecord]) -> Result<Verification, String> {
    let end = LogRecord::End { records: records.len() as u64 };
    let mut bytes = header.encode();
    records.iter().chain([&end]).for_each(|record| bytes.extend(record.encode()));
    verify(&mut &bytes[..], &mut |_| true).map_err(|error| match error {
        LogError::Damaged(text) => text,
        LogError::Interrupted => unreachable!("nobody asked to stop"),
    })
}

fn fill(block: u32, lpns: [u32; 2], pages: u16) -> LogRecord {
    LogRecord::Fill { block: BlockId(block), lpns, pages, sequence: 1 }
}

fn own(block: u32, page: u16, lpn: u32) -> LogRecord {
    LogRecord::Own { place: PageAddress::new(BlockId(block), page), lpn: Lpn(lpn) }
}

fn command(op: FlashOp, block: u32, page: u16, lpn: u32, [start, end]: [u64; 2]) -> LogRecord {
    let mut command = FlashCommand::raw(op, Cause::Host, PageAddress::new(BlockId(block), page), 0);
    command.lpn = Lpn(lpn);
    LogRecord::Command { start: Time(start), end: Time(end), command }
}

#[test]
fn t067_an_initial_fill_ends_at_the_last_page_of_block_and_device() {
    let last = (1 << LPN_BITS) - 1;
    for (record, fits) in [
        (fill(0, [0, 1], PAGES), true),
        (fill(0, [0, 1], PAGES + 1), false),
        (fill(0, [last - u32::from(PAGES) + 1, 1], PAGES), true),
        (fill(0, [last - u32::from(PAGES) + 2, 1], PAGES), false),
        (fill(0, [1, 2], PAGES), true),
        (fill(0, [2, 2], PAGES), false),
        (fill(0, [last, 1], 1), true),
        (fill(0, [last + 1, 1], 1), false),
        (fill(0, [u32::MAX, u32::MAX], PAGES), false),
        (fill(BLOCKS - 1, [0, 1], 1), true),
        (fill(BLOCKS, [0, 1], 1), false),
    ] {
        let found = replayed(&header(), &[record]);
        assert_eq!(found.is_ok(), fits, "{record:?}: {found:?}");
        let text = found.err().unwrap_or_default();
        assert!(fits || text.contains("is filled beyond its pages") || text.contains("does not exist"), "{text}");
    }
}

#[test]
fn t068_a_block_has_one_initial_state_and_that_before_the_first_command() {
    let read = command(FlashOp::Read, 0, 0, 7, [0, 10]);
    let bad = LogRecord::BadBlock(BlockId(1));
    let whole = replayed(&header(), &[fill(0, [7, 1], 1), bad, read]).unwrap();
    assert_eq!((whole.commands, whole.broken), (1, None));
    for (records, said) in [
        ([fill(0, [7, 1], 1), fill(0, [8, 1], 1)], "block 0 has an initial state already"),
        ([bad, fill(1, [8, 1], 1)], "block 1 has an initial state already"),
        ([bad, bad], "block 1 has an initial state already"),
        ([LogRecord::BadBlock(BlockId(BLOCKS)), bad], "block 4 does not exist"),
        ([own(1, 0, 3), fill(1, [8, 1], 1)], "block 1 has an initial state already"),
        ([own(1, 1, 3), own(1, 1, 4)], "block 1 has an initial state already"),
        ([own(BLOCKS, 0, 3), bad], "block 4 does not exist"),
        ([own(1, PAGES, 3), bad], "block 1 has a page beyond its pages or the device's"),
        ([own(1, 0, 1 << LPN_BITS), bad], "block 1 has a page beyond its pages or the device's"),
    ] {
        let text = replayed(&header(), &records).unwrap_err();
        assert!(text.contains(said), "{text}");
    }
    let late = replayed(&header(), &[fill(0, [7, 1], 1), read, bad]).unwrap_err();
    assert!(late.contains("record 2") && late.contains("initial state after the first command"), "{late}");
}

#[test]
fn t068_pages_of_the_layers_own_are_read_as_they_were_told() {
    let told = [own(1, 0, 3), own(1, 1, 9)];
    let read = |page: u16, lpn: u32| {
        let found = replayed(&header(), &[&told[..], &[command(FlashOp::Read, 1, page, lpn, [0, 10])]].concat());
        found.unwrap().broken.is_none()
    };
    assert_eq!([read(0, 3), read(1, 9), read(1, 3), read(2, 9)], [true, true, false, false]);
}

#[test]
fn t069_a_command_ends_after_its_start_and_holds_its_die_alone() {
    let filled = fill(0, [0, 1], 8);
    let read = |page: u16, times| command(FlashOp::Read, 0, page, u32::from(page), times);
    let broken = |records: &[LogRecord]| replayed(&header(), records).unwrap().broken.map(|broken| broken.text);
    assert_eq!(broken(&[filled, read(0, [0, 10]), read(1, [10, 10]), read(2, [10, 20])]), None);
    let backwards = broken(&[filled, read(0, [10, 9])]).unwrap();
    assert!(backwards.contains("ends at 9 ns, before its start at 10 ns"), "{backwards}");
    let busy = broken(&[filled, read(0, [0, 10]), read(1, [9, 20])]).unwrap();
    assert!(busy.contains("it starts at 9 ns, and the die is busy until 10 ns"), "{busy}");
    // Without multi-plane commands two that take the same time of a die are two at once.
    assert!(broken(&[filled, read(0, [0, 10]), read(1, [0, 10])]).is_some());
}

#[test]
fn t057_what_starts_and_ends_together_is_one_command_of_several_planes_and_the_next_is_another() {
    let two_planes = LogHeader { shape: [1, 1, 1, 2, BLOCKS / 2], multi_plane: true, ..header() };
    let filled = [fill(0, [0, 1], 8), fill(2, [8, 1], 8)];
    let read = |block: u32, page: u16, times| command(FlashOp::Read, block, page, 4 * block + u32::from(page), times);
    let pairs = [read(0, 0, [0, 10]), read(2, 0, [0, 10]), read(0, 1, [10, 20]), read(2, 1, [10, 20])];
    let found = replayed(&two_planes, &[&filled[..], &pairs].concat()).unwrap();
    assert_eq!((found.commands, found.broken), (4, None));
    let twice = [read(0, 0, [0, 10]), read(0, 1, [0, 10])];
    let found = replayed(&two_planes, &[&filled[..], &twice].concat()).unwrap();
    assert!(found.broken.is_some(), "one plane reads one page at a time");
}

/// A device whose page is four mapping units.
fn header_of_units() -> LogHeader {
    LogHeader { units_per_page: 4, copyback: false, ..header() }
}

/// What a log says of a unit of the first page of block 1.
fn unit(nth: u16, lpn: u32, source: UnitSource) -> LogRecord {
    let place = PageAddress::new(BlockId(1), nth);
    LogRecord::Unit { place, unit: PageUnit { lpn: Lpn(lpn), version: 3, source, written: 0 } }
}

/// A unit of the host, one that is moved, and padding; and the program of their page.
fn told() -> [LogRecord; 5] {
    let moved = UnitSource::Copied(PageAddress::new(BlockId(0), 2));
    let [third, fourth] = [2, 3].map(|nth| unit(nth, 0, UnitSource::Padding));
    let program = command(FlashOp::Program, 1, 0, 9, [0, 10]);
    [unit(0, 9, UnitSource::Host), unit(1, 2, moved), third, fourth, program]
}

fn replayed_units(records: &[LogRecord]) -> Result<Verification, String> {
    replayed(&header_of_units(), &[&[fill(0, [0, 1], 8)], records].concat())
}

/// A wrong number of runs was reported as a wrong number of halvings, which had nothing wrong.
#[test]
fn t1002_runs_that_do_not_make_up_a_block_are_named() {
    let of = |max_splits, leaf_runs| replayed(&LogHeader { max_splits, leaf_runs, ..header() }, &[]);
    assert!(of(2, 4).is_ok());
    for runs in [0, 3, 32] {
        let text = of(2, runs).unwrap_err();
        assert!(text.contains(&format!("leaf_runs = {runs}")) && !text.contains("max_splits"), "{text}");
    }
    let text = of(3, 4).unwrap_err();
    assert!(text.contains("max_splits = 3"), "{text}");
}

#[test]
fn t056_a_program_of_units_is_held_to_the_records_of_them() {
    let read = |page: u16, lpn: u32, version: u8| {
        let mut command = FlashCommand::raw(FlashOp::Read, Cause::Host, PageAddress::new(BlockId(1), page), 0);
        (command.lpn, command.version) = (Lpn(lpn), version);
        LogRecord::Command { start: Time(10), end: Time(20), command }
    };
    // Both units of the page are sensed together; the initial fill has version 0.
    let found = replayed_units(&[&told()[..], &[read(0, 9, 3), read(1, 2, 0)]].concat()).unwrap();
    assert_eq!((found.commands, found.broken), (3, None));
    // A read of another unit than was programmed, of padding, and a move of a unit that lies elsewhere.
    for wrong in [read(0, 8, 3), read(0, 9, 2), read(2, 0, 0)] {
        let found = replayed_units(&[&told()[..], &[wrong]].concat()).unwrap();
        assert!(found.broken.is_some(), "{wrong:?}");
    }
    let mut elsewhere = told();
    elsewhere[1] = unit(1, 5, UnitSource::Copied(PageAddress::new(BlockId(0), 2)));
    assert!(replayed_units(&elsewhere).unwrap().broken.is_some());
}

#[test]
fn t056_a_program_of_units_has_a_record_of_each_before_it() {
    let told = told();
    let read = command(FlashOp::Read, 0, 0, 0, [10, 20]);
    for (records, said) in [
        (vec![told[4]], "Program behind 0 records of units; its page has 4"),
        ([&told[..2], &told[4..]].concat(), "Program behind 2 records of units; its page has 4"),
        (vec![told[0], read], "Read behind 1 records of units; its page has 0"),
        (vec![told[1]], "no program has block 1 page 1 as its unit 0"),
        (vec![unit(0, 0, UnitSource::Padding)], "as its unit 0"),
    ] {
        let text = replayed_units(&records).unwrap_err();
        assert!(text.contains(said), "{text}");
    }
    assert!(replayed(&header(), &told[..1]).unwrap_err().contains("as its unit 0"), "a page is a unit");
}

/// Makes a head another one.
type HeaderChange<'a> = &'a dyn Fn(&mut LogHeader);

#[test]
fn t026_heads_that_describe_no_device_are_refused_at_the_first_value_too_many() {
    let shape = SubBlockShape { layers: 4, sub_blocks: 4, bits_per_cell: 1, write_sequence: "lfws".into() };
    let changed = |change: &dyn Fn(&mut LogHeader)| {
        let mut header = header();
        change(&mut header);
        replayed(&header, &[]).err()
    };
    let devices: [HeaderChange; 5] = [
        &|_| {},
        &|head| head.user_pages = 1,
        &|head| (head.user_pages, head.lpn_bits) = (64, 6),
        &|head| head.lpn_bits = 6,
        &|head| head.sub_blocks = Some(shape.clone()),
    ];
    for change in devices {
        assert_eq!(changed(change), None);
    }
    let refused: [(HeaderChange, &str); 13] = [
        (&|head| head.units_per_page = 0, "units_per_page = 0"),
        (&|head| head.units_per_page = 3, "units_per_page = 3"),
        (&|head| head.user_pages = 0, "do not fit each other"),
        (&|head| (head.user_pages, head.lpn_bits) = (65, 7), "do not fit each other"),
        (&|head| head.shape[2] = 0, "do not fit each other"),
        (&|head| head.shape[4] = 1 << 28, "do not fit each other"),
        (&|head| head.lpn_bits = 4, "lpn_bits = 4"),
        (&|head| head.lpn_bits = 33, "lpn_bits = 33"),
        (&|head| head.record_bytes = RECORD_BYTES + 1, "records have 45 bytes"),
        (&|head| head.program_order = "any-order".into(), "program_order = \"any-order\""),
        (&|head| head.max_splits = 17, "max_splits = 17"),
        (&|head| (head.sub_blocks, head.max_splits) = (Some(shape.clone()), 1), "do not make up its blocks"),
        (&|head| (head.sub_blocks, head.pages_per_block) = (Some(shape.clone()), 32), "do not make up its blocks"),
    ];
    for (change, said) in refused {
        let text = changed(change).unwrap_or_default();
        assert!(text.contains(said), "{said}: {text:?}");
    }
}

#[test]
fn t089_a_log_is_replayed_compressed_or_not() {
    let mut bytes = header().encode();
    bytes.extend(LogRecord::End { records: 0 }.encode());
    let compressed = zstd::encode_all(&bytes[..], 1).unwrap();
    let plain = verify(&mut &bytes[..], &mut |_| true).unwrap();
    for (nth, bytes) in [bytes, compressed].iter().enumerate() {
        let path = std::env::temp_dir().join(format!("pumice-logs-{}-{nth}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let found = verify_file(&path, &mut |_| true);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", Ok::<_, LogError>(&plain)));
    }
}

#[test]
fn t090_a_log_asks_to_be_taken_at_each_mebibyte() {
    let mut log = CommandLog::new(&header());
    let program = FlashCommand::raw(FlashOp::Program, Cause::Host, PageAddress::new(BlockId(0), 0), 0);
    for _ in 0..2 {
        while !log.push_command(Time(0), Time(1), &program) {
            assert!(log.bytes().len() < 1 << 20, "{} bytes are kept", log.bytes().len());
        }
        assert!(log.bytes().len() < (1 << 20) + RECORD_BYTES, "{} bytes are kept", log.bytes().len());
        log.bytes().clear();
    }
}
