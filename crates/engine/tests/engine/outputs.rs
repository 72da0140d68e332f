//! 65x: what a run writes besides its document: time series, histograms, request log, command log,
//! wear map, and the replay of a command log.

use std::io::Cursor;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use pumice_commandlog::{LogHeader, LogRecord, RECORD_BYTES, Verification, verify};
use pumice_engine::results::RequestBatch;
use pumice_engine::{Outcome, SimError, run};
use pumice_engine::{Sink, run_logged};
use pumice_types::{FlashCommand, FlashOp, Time};
use serde_json::Value;

use crate::support::{TraceFile, document, number, spec};

/// Keeps everything, or refuses after so many batches.
#[derive(Default)]
struct Kept {
    requests: Vec<RequestBatch>,
    log: Vec<u8>,
    timeline: String,
    refuses: bool,
}

impl Sink for Kept {
    fn requests(&mut self, batch: &RequestBatch) -> Result<(), String> {
        self.requests.push(batch.clone());
        if self.refuses { Err("the disk is full".into()) } else { Ok(()) }
    }

    fn commands(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.log.extend(bytes);
        if self.refuses { Err("the disk is full".into()) } else { Ok(()) }
    }

    fn timeline(&mut self, text: &str) -> Result<(), String> {
        self.timeline.push_str(text);
        if self.refuses { Err("the disk is full".into()) } else { Ok(()) }
    }
}

fn logged(sets: &[(&str, &str)]) -> (Outcome, Kept) {
    let mut kept = Kept::default();
    let outcome = run_logged(&spec(sets), 1.0, &mut kept, &mut |_| true).expect("the run ends well");
    (outcome, kept)
}

fn command_log(sets: &[(&str, &str)]) -> (Outcome, Vec<u8>) {
    let (outcome, kept) = logged(&[&[("output.command_log", "true")], sets].concat());
    (outcome, kept.log)
}

fn replayed(log: &[u8]) -> Result<Verification, String> {
    verify(&mut Cursor::new(log), &mut |_| true).map_err(|error| error.to_string())
}

fn head_bytes(log: &[u8]) -> usize {
    u32::from_le_bytes([log[12], log[13], log[14], log[15]]) as usize
}

fn records(log: &[u8]) -> Vec<LogRecord> {
    let records = log[head_bytes(log)..].chunks(RECORD_BYTES);
    records.map(|bytes| LogRecord::decode(bytes.try_into().expect("whole records")).expect("a record")).collect()
}

/// The log with these records in place of its own.
fn with_records(log: &[u8], records: &[LogRecord]) -> Vec<u8> {
    let head = log[..head_bytes(log)].iter().copied();
    head.chain(records.iter().flat_map(|record| record.encode())).collect()
}

/// The place of the first command that `wanted` accepts.
fn position(records: &[LogRecord], wanted: impl Fn(&FlashCommand) -> bool) -> usize {
    let fits = |record: &LogRecord| matches!(record, LogRecord::Command { command, .. } if wanted(command));
    records.iter().position(fits).expect("there is one")
}

const SHORT: (&str, &str) = ("workload.requests", "3000");

#[test]
fn t650_what_a_run_logs_changes_nothing_in_its_document() {
    let plain = document(&[SHORT]);
    let all = [
        ("output.request_log", "true"),
        ("output.command_log", "true"),
        ("output.histograms", "true"),
        ("output.wear_map", "true"),
    ];
    let (outcome, _) = logged(&[&[SHORT], &all[..]].concat());
    assert_eq!(outcome.document, plain);
    assert_eq!(plain["time_series"], Value::Null);
}

#[test]
fn t651_the_time_series_sums_to_the_document() {
    let document = document(&[("output.time_series_s", "0.5")]);
    let windows = document["time_series"].as_array().expect("a list");
    assert!(windows.len() > 10);
    let sum = |field: &str| windows.iter().map(|window| window[field].as_f64().unwrap_or(0.0)).sum::<f64>();
    assert_eq!(sum("reads"), number(&document, "host.read.requests"));
    assert_eq!(sum("writes"), number(&document, "host.write.requests"));
    assert_eq!(sum("write_bytes"), number(&document, "host.write.bytes"));
    let weighted = windows.iter().filter_map(|w| Some(w["write_mean_us"].as_f64()? * w["writes"].as_f64()?));
    let mean = weighted.sum::<f64>() / number(&document, "host.write.requests");
    assert!((mean / number(&document, "host.write.latency_us.mean") - 1.0).abs() < 1e-9);
    let max = windows.iter().filter_map(|window| window["write_max_us"].as_f64()).fold(0.0, f64::max);
    assert_eq!(max, number(&document, "host.write.latency_us.max"));
    let starts: Vec<f64> = windows.iter().filter_map(|window| window["start_s"].as_f64()).collect();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] > 0.49), "windows of 0.5 s, each once");
}

#[test]
fn t671_the_write_series_sums_to_the_document_with_and_without_a_clock() {
    for (kind, timed) in [("page", "true"), ("page", "false"), ("zns", "true"), ("zns", "false")] {
        let sets = [
            ("ftl.kind", kind),
            ("run.timed", timed),
            ("run.warmup_requests", "500"),
            ("workload.kind", "uniform"),
            ("workload.requests", "4000"),
            ("output.write_series", "0.05"),
        ];
        let document = document(&sets);
        let windows = document["write_series"].as_array().expect("a list");
        assert!(windows.len() > 3, "{}", windows.len());
        let sum = |field: &str| windows.iter().map(|window| window[field].as_f64().unwrap_or(0.0)).sum::<f64>();
        assert_eq!(sum("host_programs"), number(&document, "flash.programs.host"));
        assert_eq!(sum("gc_programs"), number(&document, "flash.programs.gc"));
        assert_eq!(sum("erases"), number(&document, "flash.erases.block"));
        assert!(sum("gc_programs") > 0.0);
        let pages = number(&document, "device.user_bytes") * number(&document, "device.pages");
        let window_pages = 0.05 * pages / number(&document, "device.raw_bytes");
        for (nth, window) in windows.iter().enumerate() {
            let start = window["start_capacities"].as_f64().expect("a number");
            assert!((start - 0.05 * nth as f64).abs() * window_pages / 0.05 <= 1.0, "{nth}: {start}");
        }
    }
}

#[test]
fn t652_a_request_is_in_the_window_of_its_completion() {
    // Done at 80.56 µs and, from 200 µs on, at 280.56 µs.
    let trace = TraceFile::new("windows", &[(0, 'R', 0, 4096), (200, 'R', 0, 4096)]);
    let document = trace.run(&[("output.time_series_s", "0.0001")]);
    let windows = document["time_series"].as_array().expect("a list");
    let starts: Vec<_> = windows.iter().map(|window| window["start_s"].as_f64().expect("a number")).collect();
    assert_eq!(starts, [0.0, 0.0002], "the window without a completion is left out");
    assert_eq!(windows[1]["read_mean_us"], 80.56);
    assert_eq!(windows[1]["write_mean_us"], Value::Null);
}

#[test]
fn t653_histograms_read_back_as_the_documents_percentiles() {
    let (outcome, _) = logged(&[("output.histograms", "true")]);
    let text = outcome.histograms.expect("asked for");
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(&text) {
        let Ok(LogEntry::Interval(interval)) = entry else { continue };
        let kind = interval.tag().expect("tagged").as_str();
        tags.push(kind.to_string());
        let bytes = decode_base64(interval.encoded_histogram());
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut Cursor::new(bytes)).expect("V2");
        let n = |field: &str| number(&outcome.document, &format!("host.{kind}.{field}"));
        assert_eq!(histogram.len() as f64, n("requests"));
        let p99 = histogram.value_at_quantile(0.99) as f64 / 1_000.0;
        assert!((p99 / n("latency_us.p99") - 1.0).abs() < 2e-3, "{kind}: {p99}");
        let seconds = interval.duration().as_secs_f64();
        assert!((seconds - number(&outcome.document, "host.simulated_s")).abs() < 1e-3);
    }
    assert_eq!(tags, ["read", "write"]);
}

fn decode_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        (bits, held) = (bits << 6 | u32::from(digit(byte)), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn t654_the_request_log_holds_every_measured_request() {
    let sets = [("output.request_log", "true"), ("workload.requests", "70000"), ("run.warmup_requests", "1000")];
    let (outcome, kept) = logged(&sets);
    let sizes: Vec<_> = kept.requests.iter().map(RequestBatch::len).collect();
    assert_eq!(sizes, [65_536, 69_000 - 65_536], "batches of bounded size");
    let all = |column: fn(&RequestBatch) -> &Vec<u64>| kept.requests.iter().flat_map(column).copied();
    let done: Vec<u64> = all(|batch| &batch.done_ns).collect();
    assert!(done.is_sorted());
    let kinds: Vec<u8> = kept.requests.iter().flat_map(|batch| &batch.kind).copied().collect();
    let latencies = done.iter().zip(all(|batch| &batch.arrival_ns)).map(|(done, arrival)| done - arrival);
    let writes: Vec<u64> = latencies.zip(&kinds).filter(|(_, kind)| **kind == 1).map(|(latency, _)| latency).collect();
    assert_eq!(writes.len() as f64, number(&outcome.document, "host.write.requests"));
    let mean = writes.iter().sum::<u64>() as f64 / writes.len() as f64 / 1_000.0;
    assert!((mean / number(&outcome.document, "host.write.latency_us.mean") - 1.0).abs() < 1e-12);
}

#[test]
fn t655_a_sink_that_refuses_ends_the_run_with_its_text() {
    for log in ["output.request_log", "output.command_log", "output.timeline"] {
        let mut kept = Kept { refuses: true, ..Kept::default() };
        let sets = [(log, "true"), ("workload.requests", "400000"), ("output.timeline_length_s", "100000.0")];
        let error = run_logged(&spec(&sets), 1.0, &mut kept, &mut |_| true).err().expect("refused");
        assert!(matches!(&error, SimError::Output(text) if text == "the disk is full"), "{error}");
        assert!(kept.requests.len() <= 1 && kept.log.len() < 2 << 20, "nothing is handed over after a refusal");
    }
}

#[test]
fn t656_the_wear_map_agrees_with_aep() {
    let (outcome, _) = logged(&[("output.wear_map", "true"), ("ftl.merge", "m-merge")]);
    let map = outcome.wear_map.expect("asked for");
    assert_eq!(map.erases.len(), (map.blocks * map.leaves) as usize);
    assert_eq!(f64::from(map.blocks), number(&outcome.document, "device.blocks"));
    assert!(map.leaves > 1, "partial blocks have leaves");
    let mean = map.erases.iter().map(|&erases| f64::from(erases)).sum::<f64>() / map.erases.len() as f64;
    assert!((mean - number(&outcome.document, "wear.aep")).abs() < 1e-12);
    let most = map.erases.iter().max().copied().map(f64::from);
    assert_eq!(most, Some(number(&outcome.document, "wear.max_erases_per_page")));
}

/// A map that lies in flash before the first command.
const MAP_IN_FLASH: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.map_place", "cached"),
    ("ftl.map_cache_entries", "64"),
    ("ftl.over_provisioning", "0.4"),
    ("initial.fill", "1.0"),
];

#[test]
fn t657_a_command_log_replays_without_a_broken_rule() {
    let shapes: &[&[(&str, &str)]] = &[
        &[],
        &[("ftl.merge", "m-merge"), ("geometry.bad_blocks_per_plane", "2"), ("initial.fill_unit", "page")],
        &[("timing.multi_plane", "neighbours"), ("timing.copyback", "false"), ("host.read_priority", "true")],
        &[("ftl.kind", "page"), ("ftl.over_provisioning", "0.3"), ("initial.age_writes", "0.5")],
        &[
            ("ftl.kind", "page"),
            ("ftl.over_provisioning", "0.3"),
            ("run.timed", "false"),
            ("timing.multi_plane", "neighbours"),
        ],
        &[
            ("ftl.kind", "superblock-pen"),
            ("ftl.superblock", "{ logical = 2, physical = 3 }"),
            ("ftl.over_provisioning", "0.4"),
            ("ftl.merge", "m-merge"),
        ],
        &[("ftl.kind", "gftl"), ("ftl.write_buffer_share", "0.16")],
        MAP_IN_FLASH,
        &[MAP_IN_FLASH, &[("ftl.map_unit_bytes", "2048"), ("timing.copyback", "false")]].concat(),
    ];
    for sets in shapes {
        let (outcome, log) = command_log(&[&[("workload.requests", "8000")], *sets].concat());
        let verdict = replayed(&log).expect("a whole log");
        assert_eq!(verdict.broken, None, "{sets:?}");
        let is_flash =
            |record: &&LogRecord| matches!(record, LogRecord::Command { command, .. } if command.op != FlashOp::Pause);
        let commands = records(&log).iter().filter(is_flash).count() as u64;
        assert_eq!(verdict.commands, commands);
        // A copy is a read and a program in the document, and one record in the log.
        let is_copy =
            |record: &&LogRecord| matches!(record, LogRecord::Command { command, .. } if command.op == FlashOp::Copy);
        let copies = records(&log).iter().filter(is_copy).count() as u64;
        let (logged, counted) = ((commands + copies) as f64, number(&outcome.document, "run.flash_commands"));
        assert!(if sets.contains(&("initial.age_writes", "0.5")) { logged > counted } else { logged == counted });
        assert_eq!(verdict.header.config_sha256, outcome.document["config_sha256"]);
    }
}

#[test]
fn t658_multi_plane_commands_replay_together_and_only_where_they_are_allowed() {
    let sets = [
        ("timing.multi_plane", "neighbours"),
        ("geometry.planes_per_die", "2"),
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.allocation_order", "PDWC"),
        ("workload.request_bytes", "65536"),
        SHORT,
    ];
    let (outcome, log) = command_log(&sets);
    assert!(number(&outcome.document, "flash.multi_plane_commands") > 100.0);
    assert_eq!(replayed(&log).expect("a whole log").broken, None);
    let (mut header, _) = LogHeader::read(&mut Cursor::new(&log)).expect("a head");
    header.multi_plane = false;
    let single = [&header.encode(), &log[head_bytes(&log)..]].concat();
    let broken = replayed(&single).expect("a whole log").broken.expect("two commands at once");
    assert!(broken.text.contains("die-busy"), "{}", broken.text);
}

#[test]
fn t698_copies_and_erases_of_several_planes_replay_together() {
    let sets = [
        ("timing.multi_plane", "queue"),
        ("timing.copyback", "false"),
        ("geometry.program_order", "in-order"),
        ("ftl.kind", "page"),
        ("ftl.gc_planes", "die"),
        ("ftl.over_provisioning", "0.3"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "16"),
        ("workload.footprint", "1.0"),
        ("workload.requests", "12000"),
    ];
    let (outcome, log) = command_log(&sets);
    let whole = records(&log);
    let together = |op| {
        let pair = |pair: &&[LogRecord]| match (&pair[0], &pair[1]) {
            (
                LogRecord::Command { start, command, .. },
                LogRecord::Command { start: other_start, command: other, .. },
            ) => {
                let dies = [command, other].map(|command| command.target.block.0 / 128);
                start == other_start && dies[0] == dies[1] && [command.op, other.op] == [op; 2]
            }
            _ => false,
        };
        whole.windows(2).filter(pair).count()
    };
    let (copies, erases) = (together(FlashOp::Copy), together(FlashOp::Erase));
    assert_eq!(copies as f64, number(&outcome.document, "flash.multi_plane_copies"));
    assert!(copies > 1000 && erases > 30, "{copies} {erases}");
    assert_eq!(replayed(&log).expect("a whole log").broken, None);
    // A copyback leaves no way to program other pages in the same command.
    let (mut header, _) = LogHeader::read(&mut Cursor::new(&log)).expect("a head");
    header.copyback = true;
    let copybacks = [&header.encode(), &log[head_bytes(&log)..]].concat();
    let broken = replayed(&copybacks).expect("a whole log").broken.expect("a copy beside a program");
    assert!(broken.text.contains("multi-plane"), "{}", broken.text);
}

#[test]
fn t659_the_first_broken_rule_is_named_with_its_record() {
    let (_, log) = command_log(&[SHORT]);
    let whole = records(&log);
    let program = position(&whole, |command| command.op == FlashOp::Program);
    let read = position(&whole, |command| command.op == FlashOp::Read);
    let erase = position(&whole, |command| command.op == FlashOp::Erase);

    let broken = |records: &[LogRecord]| {
        let broken = replayed(&with_records(&log, records)).expect("a whole log").broken.expect("a broken rule");
        (broken.record as usize, broken.text)
    };
    let mut twice = whole.clone();
    twice.insert(program + 1, whole[program]);
    assert_eq!(broken(&twice).0, program + 1);
    assert!(broken(&twice).1.contains("erase-before-program"));

    let mut other_page = whole.clone();
    if let LogRecord::Command { command, .. } = &mut other_page[read] {
        command.lpn.0 ^= 1;
    }
    assert_eq!(broken(&other_page).0, read);
    assert!(broken(&other_page).1.contains("integrity"));

    let mut no_erase = whole.clone();
    no_erase.remove(erase);
    let (record, text) = broken(&no_erase);
    assert!(record >= erase && (text.contains("erase-before-program") || text.contains("integrity")), "{text}");
}

#[test]
fn t660_a_command_on_a_busy_die_is_refused_a_nanosecond_early_and_not_in_time() {
    let (_, log) = command_log(&[SHORT, ("geometry.channels", "1"), ("geometry.planes_per_die", "1")]);
    let whole = records(&log);
    let times = |record: &LogRecord| match *record {
        LogRecord::Command { start, end, .. } => Some([start, end]),
        _ => None,
    };
    // Two commands of the one die that follow each other without a gap.
    let follows =
        |pair: &[LogRecord]| times(&pair[0]).is_some_and(|[_, end]| times(&pair[1]).is_some_and(|t| t[0] == end));
    let second = whole.windows(2).position(follows).expect("there is one") + 1;
    let mut early = whole.clone();
    if let LogRecord::Command { start, .. } = &mut early[second] {
        *start = Time(start.0 - 1);
    }
    let broken = replayed(&with_records(&log, &early)).expect("a whole log").broken.expect("busy");
    assert_eq!(broken.record as usize, second);
    assert!(broken.text.contains("die-busy"), "{}", broken.text);
    assert_eq!(replayed(&log).expect("a whole log").broken, None);
}

#[test]
fn t661_damage_is_told_with_its_byte() {
    let (_, log) = command_log(&[("workload.requests", "20")]);
    let head = head_bytes(&log);
    let error = |log: &[u8]| replayed(log).expect_err("damaged");
    assert!(error(&log[..log.len() - RECORD_BYTES]).contains("cut off"));
    let inside = log.len() - RECORD_BYTES - 5;
    assert!(error(&log[..inside]).contains(&format!("byte {}", log.len() - 2 * RECORD_BYTES)));
    assert!(error(&log[..10]).contains("inside its head"));
    assert!(error(&log[..head - 1]).contains("inside its head"));
    assert!(error(b"time,host,disk,kind,offset").contains("not a command log"));
    let mut unknown = log.clone();
    unknown[head + 41] = 77;
    assert!(error(&unknown).contains(&format!("record 0 (byte {head}): no record is of kind 77")));
    let mut newer = log.clone();
    newer[8] = 2;
    assert!(error(&newer).contains("version 2"));
    // A record taken out of the middle is missed at the end.
    let mut fewer = records(&log);
    let read = position(&fewer, |command| command.op == FlashOp::Read);
    fewer.remove(read);
    assert!(error(&with_records(&log, &fewer)).contains("had"));
}

#[test]
fn t662_outputs_that_need_a_clock_are_refused_without_one() {
    for key in ["output.request_log", "output.histograms", "output.timeline"] {
        let source = crate::support::source(&[("run.timed", "false"), (key, "true")]);
        let error = pumice_config::Config::resolve(&source).expect_err("refused").to_string();
        assert!(error.contains(key) && error.contains("run.timed"), "{error}");
    }
    let untimed = spec(&[("run.timed", "false"), ("output.wear_map", "true"), SHORT]);
    assert!(run(&untimed, 1.0, &mut |_| true).expect("it runs").wear_map.is_some());
}
