//! Small files, good and broken: each broken one gives one clear line.

use std::path::{Path, PathBuf};

use pumice_types::{Choice, HostRequest, RequestKind};
use pumice_workload::{
    AddressPolicy, Notes, Placement, TraceError, TraceErrorKind, TraceFormat, TraceOptions, Trims, check, info,
    open_trace, open_trace_with,
};

const ANYWHERE: Placement = Placement { capacity_bytes: u64::MAX, page_bytes: 4_096, policy: AddressPolicy::Exact };

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(format!("{name}.txt"))
}

fn run(name: &str, format: Option<TraceFormat>) -> Result<(Vec<HostRequest>, Notes), TraceError> {
    let mut workload = open_trace(&path(name), format, &ANYWHERE)?;
    let mut requests = Vec::new();
    while let Some(request) = workload.next_request()? {
        requests.push(request);
    }
    Ok((requests, workload.notes()))
}

/// File, line of the error, and a part of its text.
const BROKEN: &[(&str, u64, &str)] = &[
    ("msr-truncated", 3, "4 fields in \"128166372016421111,hm,0,Wri\"; allowed are 7: Timestamp,Hostname"),
    ("msr-junk", 3, "1 field in \"\\u{7}\\u{13} not a trace at all\""),
    ("msr-negative", 3, "Offset \"-512\" found; allowed are whole numbers"),
    ("msr-columns", 3, "6 fields in"),
    ("msr-unit", 1, "Timestamp \"1172163600\" is no time; allowed are Windows filetimes"),
    ("alibaba-truncated", 3, "3 fields in \"419,W,87927\"; allowed are 5: device_id,opcode,offset,length,timestamp"),
    ("alibaba-junk", 3, "1 field in \"%%%%\""),
    ("alibaba-negative", 3, "length \"-1\" found; allowed are 1 to 4294967295 bytes"),
    ("alibaba-columns", 3, "device_id \"W\" found; allowed are whole numbers"),
    ("alibaba-unit", 1, "timestamp \"1577808144\" is no time; allowed are microseconds since 1970"),
    (
        "tencent-truncated",
        3,
        "4 fields in \"1538323200,4247200,128,\"; allowed are 5: Timestamp,Offset,Size,IOType,VolumeID",
    ),
    ("tencent-junk", 3, "1 field in \"<html>\""),
    ("tencent-negative", 3, "Offset \"-8\" found; allowed are sectors of 512 bytes"),
    ("tencent-columns", 3, "IOType \"R\" found; allowed are 0 and 1"),
    ("tencent-unit", 1, "Timestamp \"1538323200000\" is no time; allowed are seconds since 1970"),
    ("spc-truncated", 3, "3 fields in \"0,303574,3584\"; allowed are 5: ASU,LBA,Size,Opcode,Timestamp"),
    ("spc-junk", 3, "1 field in \"{\\\"lba\\\": 5}\""),
    ("spc-negative", 3, "Timestamp \"-0.026214\" found; allowed are plain digits"),
    ("spc-columns", 3, "Size \"w\" found; allowed are 1 to"),
    ("spc-unit", 3, "Timestamp \"1172163600000000000000\" found"),
    ("ssdsim-truncated", 3, "3 fields in \"78643005 1 555\"; allowed are 5: time device LBA sectors type"),
    ("ssdsim-junk", 3, "time \"~~~~\" found"),
    ("ssdsim-negative", 3, "LBA \"-55596\" found; allowed are sectors"),
    ("ssdsim-columns", 3, "type \"R\" found; allowed are 0 and 1"),
    ("ssdsim-unit", 3, "time \"78.643005\" found; allowed are whole numbers"),
    ("disksim-truncated", 3, "2 fields in \"78.643005 1\"; allowed are 5: time device block size flags"),
    ("disksim-junk", 3, "2 fields in \"begin trace\""),
    ("disksim-negative", 3, "time \"-78.643005\" found; allowed are plain digits"),
    ("disksim-columns", 3, "device \"78.643005\" found; allowed are whole numbers"),
    ("disksim-unit", 3, "size \"4294967296\" found; allowed are 1 to 8388607 sectors"),
    ("systor-truncated", 3, "4 fields in"),
    ("systor-junk", 3, "Timestamp \"\u{fc}ber\" found"),
    ("systor-negative", 3, "Offset \"-4096\" found"),
    ("systor-columns", 3, "IOType \"0\" found; allowed are R and W"),
    (
        "systor-unit",
        2,
        "Timestamp \"1456095145133.076\" found; allowed are plain digits like 12.345, from 0 to 18446744073",
    ),
    ("blkparse-truncated", 3, "D   R 4938888 +\" found; allowed for a D event are flags"),
    ("blkparse-junk", 3, "2 fields in \"CPU overheated\"; allowed are 6"),
    ("blkparse-negative", 3, "time \"-0.000027421\" found"),
    ("blkparse-columns", 3, "sequence \"0.000027421\" found; allowed are whole numbers"),
    ("blkparse-unit", 3, "time \"27421us\" found"),
    ("blkparse-sectors", 1, "0 to 8388607 sectors"),
    ("fio-truncated", 4, "action \"wri\" found; allowed are add, open and close"),
    ("fio-junk", 4, "1 field in \"....\"; allowed are 5, or only those up to the action: timestamp file action"),
    ("fio-negative", 4, "offset \"-4096\" found"),
    ("fio-columns", 4, "4 fields in"),
    ("fio-unit", 4, "offset \"4k\" found; allowed are whole numbers"),
    ("csv-truncated", 4, "2 fields in \"250000;W\"; allowed are 5, as in line 1"),
    ("csv-junk", 3, "1 field in \"<html>\"; allowed are 4, as in line 1"),
    ("csv-negative", 3, "offset (column \"offset_bytes\") \"-4096\" found; allowed are whole numbers from 0"),
    ("csv-columns", 3, "op (column \"op\") \"4096\" found; allowed are R, W, read"),
    ("csv-unit", 1, "\"time\" does not end in a unit; set workload.columns (--columns) to time=time:UNIT,op=op"),
    ("csv-decimals", 2, "size (column \"size_sectors\") \"0.5\" found; allowed are 1 to 8388607 units of 512 bytes"),
    ("fio-version", 1, "\"fio version 1 iolog\" found; allowed as first line are \"fio version 2 iolog\""),
    ("fio-v3-wait", 3, "action \"wait\" found; allowed are read, write, trim, sync and datasync"),
];

#[test]
fn w220_every_broken_file_gives_one_clear_line() {
    for &(name, line, part) in BROKEN {
        let format: TraceFormat = name.split('-').next().expect("a format").parse().expect("a format");
        let error = check(&path(name), Some(format)).expect_err(name);
        let message = error.to_string();
        assert!(message.contains(&format!("{name}.txt:{line}: ")) && message.contains(part), "{name}: {message}");
        assert!(!message.contains(['\n', '\r']) && message.len() < 700, "{name}: {message}");
        assert_eq!(error.kind(), TraceErrorKind::Content, "{name}");
        // By content too, there is one line that names the file, whatever it is taken for.
        let message = check(&path(name), None).expect_err(name).to_string();
        assert!(message.contains(&format!("{name}.txt:")) && !message.contains('\n'), "{name}: {message}");
    }
}

#[test]
fn w221_every_broken_file_of_the_corpus_is_tested() {
    let mut untested: Vec<String> = std::fs::read_dir(path("x").parent().expect("a directory"))
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().trim_end_matches(".txt").to_owned())
        .filter(|name| !name.ends_with("good") && name != "README.md")
        .filter(|name| !BROKEN.iter().any(|(known, ..)| known == name))
        .collect();
    untested.sort();
    assert_eq!(untested, ["blkparse-no-requests", "ssdsim-or-disksim"], "these have tests of their own");
}

/// Format, reads and writes of its good file.
const GOOD: &[(&str, u64, u64)] = &[
    ("msr", 1, 1),
    ("alibaba", 1, 1),
    ("tencent", 1, 1),
    ("spc", 0, 2),
    ("ssdsim", 1, 1),
    ("disksim", 1, 1),
    ("systor", 1, 0),
    ("blkparse", 1, 0),
    ("fio", 0, 1),
    ("csv", 1, 2),
];

#[test]
fn w222_the_good_file_of_every_format_is_recognised_and_read_alike_by_name() {
    for &format in TraceFormat::ALL {
        let row = GOOD.iter().find(|(name, ..)| *name == format.name());
        let &(_, reads, writes) = row.unwrap_or_else(|| panic!("{format} has no row in GOOD"));
        let name = format!("{format}-good");
        let report = check(&path(&name), None).expect(&name);
        assert_eq!((report.format.as_str(), report.reads, report.writes), (format.name(), reads, writes));
        let named = run(&name, Some(format)).expect(&name);
        assert_eq!(named, run(&name, None).expect(&name), "{format}");
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let ended = directory.path().join("blank-end.txt");
        std::fs::write(&ended, [&std::fs::read(path(&name)).expect("readable")[..], b"\n \n"].concat())
            .expect("writable");
        let report = check(&ended, None).expect("blank lines at the end");
        assert_eq!((report.format.as_str(), report.reads, report.writes), (format.name(), reads, writes));
        let surveyed = info(&path(&name), None).expect(&name);
        assert_eq!(surveyed.read.requests + surveyed.write.requests, reads + writes);
    }
}

/// What every format must be tried with.
const FAULTS: [&str; 5] = ["truncated", "junk", "negative", "columns", "unit"];

#[test]
fn w228_every_format_has_a_file_with_every_fault() {
    for format in TraceFormat::ALL {
        for fault in FAULTS {
            let name = format!("{format}-{fault}");
            assert!(path(&name).is_file(), "tests/corpus/{name}.txt is missing");
            assert!(BROKEN.iter().any(|(known, ..)| *known == name), "{name} has no row in BROKEN");
        }
    }
}

#[test]
fn w229_formats_have_the_trims_and_flushes_that_they_say() {
    let files = std::fs::read_dir(path("x").parent().expect("a directory")).expect("readable");
    let names = files.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned());
    let good: Vec<String> = names.filter_map(|name| name.strip_suffix("good.txt").map(str::to_owned)).collect();
    for format in TraceFormat::ALL {
        let own = good.iter().filter(|name| name.starts_with(&format!("{format}-")));
        let reports: Vec<_> = own.map(|name| check(&path(&format!("{name}good")), None).expect(name)).collect();
        assert_eq!(reports.iter().any(|report| report.trims > 0), format.has_trims(), "trims of {format}");
        assert_eq!(reports.iter().any(|report| report.flushes > 0), format.has_flushes(), "flushes of {format}");
    }
}

/// The page of the formats is for people; each format must be on it, with its columns.
#[test]
fn w219_every_format_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/WORKLOADS.md");
    let text = std::fs::read_to_string(&page).expect("part of the repository");
    for format in TraceFormat::ALL {
        assert!(text.lines().any(|line| line.starts_with(&format!("| `{format}` | "))), "{format} has no row");
        assert!(!format.about().is_empty() && format.units().contains("time: "), "{format}");
    }
}

#[test]
fn w223_units_by_hand() {
    let second = |name: &str| *run(name, None).expect(name).0.last().expect("some");
    for (name, arrival_ns, offset, bytes, kind) in [
        ("msr-good", 1_332_052_600, 2_860_097_536, 4_096, RequestKind::Write),
        ("alibaba-good", 85_000, 59_110_326_272, 360_448, RequestKind::Read),
        ("tencent-good", 0, 13_896_880 * 512, 65_536, RequestKind::Read),
        ("spc-good", 26_214_000, 55_590 * 512, 3_072, RequestKind::Write),
        ("ssdsim-good", 26_214_000, 240_840 * 512, 3_072, RequestKind::Read),
        ("disksim-good", 26_214_000, 240_840 * 512, 3_072, RequestKind::Read),
        ("systor-good", 0, 899_056_122_368, 131_072, RequestKind::Read),
        ("blkparse-good", 0, 4_938_888 * 512, 131_072, RequestKind::Read),
        ("fio-good", 0, 4_096, 512, RequestKind::Write),
        ("csv-good", 3_500_000, 4_096, 512, RequestKind::Write),
        ("fio-v2-good", 300_000, 8_192, 512, RequestKind::Write),
    ] {
        let found = second(name);
        let found = (found.arrival.0, found.offset_bytes, found.bytes, found.kind);
        assert_eq!(found, (arrival_ns, offset, bytes, kind), "{name}");
    }
}

#[test]
fn w224_flushes_are_requests_and_other_events_without_data_are_counted() {
    let (requests, notes) = run("blkparse-events-good", None).expect("legal");
    let order: Vec<(u64, u64, RequestKind)> =
        requests.iter().map(|r| (r.arrival.0, r.offset_bytes / 512, r.kind)).collect();
    let expected = [
        (0, 4_938_888, RequestKind::Write),
        (1_000, 2_048, RequestKind::Trim),
        (2_000, 0, RequestKind::Flush),
        (3_000, 0, RequestKind::Flush),
        (5_500, 0, RequestKind::Flush),
        (5_500, 4_938_896, RequestKind::Write),
        (7_000, 4_938_896, RequestKind::Read),
    ];
    assert_eq!(order, expected);
    assert_eq!(requests.iter().map(|r| r.fua).collect::<Vec<_>>(), [false, false, false, false, false, true, false]);
    assert_eq!((notes.discards, notes.no_data, notes.other_lines, notes.lines), (0, 2, 9, 17));
    let checked = check(&path("blkparse-events-good"), None).expect("legal");
    assert_eq!((checked.records, checked.flushes, checked.fua_writes), (6, 3, 1), "one flush belongs to a write");
    let surveyed = info(&path("blkparse-events-good"), None).expect("legal");
    assert_eq!((surveyed.requests, surveyed.flushes, surveyed.fua_writes), (7, 3, 1));
    assert_eq!(notes.other_volumes, 1);
    let (requests, notes) = run("fio-v2-good", None).expect("legal");
    assert_eq!((requests.len(), requests[1].arrival.0), (5, 250_000));
    assert_eq!((requests[2].kind, requests[2].bytes), (RequestKind::Flush, 0));
    assert_eq!((requests[3].kind, requests[3].bytes), (RequestKind::Trim, 4_096));
    assert_eq!((notes.discards, notes.no_data, notes.other_lines), (0, 0, 6));
    let message = run("blkparse-no-requests", None).expect_err("none").to_string();
    assert!(message.contains("holds no reads, writes or trims (1 line read)"), "{message}");
}

#[test]
fn w226_trims_are_dropped_if_the_options_say_so_and_counted_either_way() {
    // One flush of the first file is not a record of its own.
    for (name, trims, others, within) in [("blkparse-events-good", 1, 6, 1), ("fio-v2-good", 1, 4, 0)] {
        let options = TraceOptions { trims: Trims::Drop, ..TraceOptions::default() };
        let mut workload = open_trace_with(&path(name), &options, &ANYWHERE).expect(name);
        let kept: Vec<HostRequest> = std::iter::from_fn(|| workload.next_request().expect(name)).collect();
        assert!(kept.len() == others && kept.iter().all(|request| request.kind != RequestKind::Trim), "{name}");
        assert_eq!(workload.notes().discards, trims, "{name}");
        let (checked, surveyed) = (check(&path(name), None).expect(name), info(&path(name), None).expect(name));
        let records = trims + others as u64 - within;
        assert_eq!((checked.trims, checked.records, checked.discards), (trims, records, 0), "{name}");
        assert_eq!((surveyed.trim.requests, surveyed.requests), (trims, trims + others as u64), "{name}");
    }
    let surveyed = info(&path("fio-v2-good"), None).expect("legal");
    assert_eq!((surveyed.trim.bytes, surveyed.write.footprint.bytes), (4_096, 1_024), "a trim touches nothing");
}

#[test]
fn w227_a_compacted_trim_reaches_what_was_touched_and_nothing_else() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let file = directory.path().join("trace");
    let lines = "fio version 3 iolog\n0 f add\n0 f open\n1 f write 9437184 4096\n2 f write 5242880 4096\n\
                 3 f trim 0 10485760\n4 f trim 20971520 4096\n5 f close\n";
    std::fs::write(&file, lines).expect("a writable temporary directory");
    let placement = Placement { capacity_bytes: 4 << 20, policy: AddressPolicy::Compact, ..ANYWHERE };
    let mut workload = open_trace(&file, None, &placement).expect("legal");
    let requests: Vec<HostRequest> = std::iter::from_fn(|| workload.next_request().expect("legal")).collect();
    let found: Vec<(u64, u64, u32)> = requests.iter().skip(2).map(|r| (r.arrival.0, r.offset_bytes, r.bytes)).collect();
    // Region 5 was touched second, region 9 first; the trim of region 20 concerns nothing.
    assert_eq!(found, [(2_000, 1 << 20, 1 << 20), (2_000, 0, 1 << 20)]);
    assert_eq!(workload.notes().discards, 1);
}

#[test]
fn w225_what_content_cannot_decide_is_asked_for() {
    let message = run("ssdsim-or-disksim", None).expect_err("ambiguous").to_string();
    for part in ["ssdsim-or-disksim.txt:1: ", "\"ssdsim\"", "\"disksim\"", "workload.format"] {
        assert!(message.contains(part), "{message}");
    }
    let last = |format| run("ssdsim-or-disksim", Some(format)).expect("named").0[2].arrival.0;
    assert_eq!((last(TraceFormat::SsdSim), last(TraceFormat::DiskSim)), (31, 31_000_000));
}
