//! 63x and 64x: write buffer, link, queues, read priority, multi-plane commands and partial pages, in
//! times worked out by hand. Device and times as in `scheduling.rs`, with a page-level FTL where
//! nothing else is said.

use serde_json::Value;

use crate::support::{TraceFile, number};

const READ: f64 = 70.0 + TRANSFER;
const PROGRAM: f64 = TRANSFER + 900.0;
const TRANSFER: f64 = 10.56;
const BLOCK: u64 = 64 * 4096;

type Requests<'a> = &'a [(u64, char, u64, u32)];

/// A page-level FTL on one die of one plane, without anything stored.
const ONE_PLANE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("initial.fill", "0.0"),
    ("host.partial_page", "rmw"),
    ("run.check", "integrity"),
];

fn run(name: &str, requests: Requests, sets: &[(&str, &str)]) -> Value {
    let document = TraceFile::new(name, requests).run(&[ONE_PLANE, sets].concat());
    parts_sum_to_the_mean(&document);
    document
}

#[track_caller]
fn parts_sum_to_the_mean(document: &Value) {
    let Some(parts) = document["write_latency_breakdown_us"].as_object() else { return };
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    let mean = number(document, "host.write.latency_us.mean");
    assert!((sum - mean).abs() < 1e-6, "parts {sum} and mean {mean}: {parts:?}");
}

#[track_caller]
fn near(document: &Value, path: &str, expected: f64) {
    let found = number(document, path);
    assert!((found - expected).abs() < 1e-6, "{path}: {found} is not {expected}");
}

#[test]
fn t630_a_buffered_write_is_done_at_once_and_programmed_anyway() {
    for flush in ["eager", "lru"] {
        let sets = [("host.write_buffer_kib", "64"), ("host.flush", flush)];
        let document = run("buffered", &[(0, 'W', 0, 16_384)], &sets);
        near(&document, "host.write.latency_us.max", 0.0);
        near(&document, "flash.programs.host", 4.0);
    }
}

#[test]
fn t631_pages_written_again_while_they_wait_are_programmed_once() {
    let same: Vec<_> = (0..10).map(|n| (n * 5_000, 'W', 0, 4096)).collect();
    let of = |flush| run("coalescing", &same, &[("host.write_buffer_kib", "64"), ("host.flush", flush)]);
    near(&of("eager"), "flash.programs.host", 10.0);
    near(&of("lru"), "flash.programs.host", 1.0);
}

#[test]
fn t632_the_least_recently_written_page_is_programmed_first() {
    // Four pages of buffer: the fourth page that waits makes one go. Page 0 was written again, so it is
    // page 1; when that comes back it is new, and page 2 goes. At the end 0, 3 and 1 are left.
    let pages = [0, 1, 2, 0, 3, 1];
    let requests: Vec<_> = (0u64..).zip(pages).map(|(n, page)| (n * 5_000, 'W', page * 4096, 4096)).collect();
    let document = run("lru", &requests, &[("host.write_buffer_kib", "16"), ("host.flush", "lru")]);
    near(&document, "flash.programs.host", 5.0);
}

#[test]
fn t633_a_full_buffer_makes_writes_wait_for_a_program_each() {
    let requests = [(0, 'W', 0, 4096), (0, 'W', 4096, 4096), (0, 'W', 8192, 4096)];
    let document = run("full", &requests, &[("host.write_buffer_kib", "4")]);
    near(&document, "host.write.latency_us.max", 2.0 * PROGRAM);
    near(&document, "host.write.latency_us.mean", PROGRAM);
    near(&document, "write_latency_breakdown_us.queue", PROGRAM);
    // The same three pages as one request wait together.
    let document = run("full-request", &[(0, 'W', 0, 12_288)], &[("host.write_buffer_kib", "4")]);
    near(&document, "host.write.latency_us.max", 2.0 * PROGRAM);
}

#[test]
fn t634_reads_meet_what_the_buffer_holds_and_no_more() {
    // 512 bytes of a stored page are in the buffer: they are read from there, anything else from flash.
    let requests = [(0, 'W', 512, 512), (1_000, 'R', 512, 512), (2_000, 'R', 1024, 512), (3_000, 'R', 512, 1024)];
    let sets = [("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("initial.fill", "1.0")];
    let document = run("partial-reads", &requests, &sets);
    near(&document, "host.read.latency_us.mean", 2.0 * READ / 3.0);
    near(&document, "flash.reads.host", 2.0);
    near(&document, "host.buffer_hits", 1.0);
    // At the end the rest of the page is read, and the page is programmed.
    near(&document, "flash.reads.rmw", 1.0);
    near(&document, "flash.programs.host", 1.0);
}

#[test]
fn t635_parts_that_fill_a_page_in_the_buffer_need_no_read() {
    let requests: Vec<_> = (0..8).map(|n| (n * 1_000, 'W', n * 512, 512)).collect();
    let sets = [("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("initial.fill", "1.0")];
    let document = run("assembled", &requests, &sets);
    near(&document, "flash.reads.rmw", 0.0);
    near(&document, "flash.programs.host", 1.0);
}

const LINK: &[(&str, &str)] = &[("host.link_mb_per_s", "1000.0"), ("host.overhead_us", "5.0")];

/// A page over the link.
const LINK_US: f64 = 4.096;

#[test]
fn t636_link_and_overhead_are_paid_once_in_each_direction() {
    let write = run("link-write", &[(0, 'W', 0, 4096)], LINK);
    near(&write, "host.write.latency_us.max", LINK_US + 5.0 + PROGRAM);
    near(&write, "write_latency_breakdown_us.link", LINK_US + 5.0);
    let stored = [LINK, &[("initial.fill", "1.0")]].concat();
    let read = run("link-read", &[(0, 'R', 0, 4096)], &stored);
    near(&read, "host.read.latency_us.max", 5.0 + READ + LINK_US);
    let unwritten = run("link-unwritten", &[(0, 'R', 0, 4096)], LINK);
    near(&unwritten, "host.read.latency_us.max", 5.0 + LINK_US);
}

#[test]
fn t637_the_link_moves_one_request_at_a_time_each_way() {
    let two_dies = [LINK, &[("geometry.channels", "2"), ("initial.fill", "1.0")]].concat();
    // Pages 0 and 1 of the fill lie on two dies, and so do two writes.
    let writes = run("two-writes", &[(0, 'W', 0, 4096), (0, 'W', 4096, 4096)], &two_dies);
    near(&writes, "host.write.latency_us.max", 2.0 * LINK_US + 5.0 + PROGRAM);
    let reads = run("two-reads", &[(0, 'R', 0, 4096), (0, 'R', 4096, 4096)], &two_dies);
    near(&reads, "host.read.latency_us.max", 5.0 + READ + 2.0 * LINK_US);
    // A read comes in behind the data of a write, and goes out beside that of another.
    let behind = run("behind", &[(0, 'W', 0, 4096), (2, 'R', 4096, 4096)], &two_dies);
    near(&behind, "host.read.latency_us.max", LINK_US - 2.0 + 5.0 + READ + LINK_US);
    let beside = run("beside", &[(0, 'R', 4096, 4096), (1, 'W', 0, 1 << 20)], &two_dies);
    near(&beside, "host.read.latency_us.max", 5.0 + READ + LINK_US);
}

#[test]
fn t638_queues_times_depth_requests_are_outstanding() {
    let reads: Vec<_> = (0..12).map(|n| (0, 'R', n * 4096, 4096)).collect();
    let stored = [("host.mode", "closed-loop"), ("initial.fill", "1.0")];
    let of = |queues, depth| {
        let sets = [&stored[..], &[("host.queues", queues), ("host.queue_depth", depth)]].concat();
        run("queues", &reads, &sets)
    };
    // The first six wait for 1 to 6 reads of one die, each of the others for six.
    let expected = (21.0 + 36.0) / 12.0 * READ;
    near(&of("3", "2"), "host.read.latency_us.mean", expected);
    assert_eq!(of("3", "2")["host"], of("1", "6")["host"]);
    near(&of("1", "1"), "host.read.latency_us.max", READ);
}

#[test]
fn t639_a_trimmed_page_costs_nothing_and_reads_as_never_written() {
    let requests = [
        (0, "write", 0, 8192),
        (5_000, "trim", 0, 4096),
        (6_000, "read", 0, 4096),
        // Part of a page is not given up.
        (7_000, "trim", 4096, 512),
        (8_000, "read", 4096, 4096),
    ];
    let of = |sets: &[(&str, &str)]| {
        let document = TraceFile::fio("trims", &requests).run(&[ONE_PLANE, sets].concat());
        near(&document, "host.trim.requests", 2.0);
        near(&document, "host.trim.latency_us.max", 0.0);
        document
    };
    let direct = of(&[]);
    near(&direct, "host.read.latency_us.mean", READ / 2.0);
    near(&direct, "flash.programs.host", 2.0);
    near(&direct, "flash.reads.host", 1.0);
    // A page given up while it waits in the buffer is never programmed.
    let buffered = of(&[("host.write_buffer_kib", "64"), ("host.flush", "lru")]);
    near(&buffered, "host.read.latency_us.max", 0.0);
    near(&buffered, "host.buffer_hits", 1.0);
    near(&buffered, "flash.programs.host", 1.0);
}

#[test]
fn t640_a_read_with_priority_passes_programs_that_have_not_started() {
    let requests = [(0, 'W', 40_960, 4096), (0, 'W', 45_056, 4096), (0, 'W', 49_152, 4096), (100, 'R', 0, 4096)];
    let of = |priority| run("priority", &requests, &[("initial.fill", "1.0"), ("host.read_priority", priority)]);
    let (first_come, urgent) = (of("false"), of("true"));
    near(&first_come, "host.read.latency_us.max", 3.0 * PROGRAM + READ - 100.0);
    near(&urgent, "host.read.latency_us.max", PROGRAM + READ - 100.0);
    near(&urgent, "host.write.latency_us.max", 3.0 * PROGRAM + READ);
    near(&first_come, "host.write.latency_us.max", 3.0 * PROGRAM);
}

/// 64 updates of page 0 of an NFTL fill its U-block; the next one merges the pair on an idle die.
fn nftl_merge(name: &str, after: Requests, sets: &[(&str, &str)]) -> Value {
    let updates = (0..65).map(|n| (n * 5_000, 'W', 0, 4096));
    let requests: Vec<_> = updates.chain(after.iter().copied()).collect();
    let document = TraceFile::new(name, &requests).run(&[&[("ftl.u_index", "ram")], sets].concat());
    parts_sum_to_the_mean(&document);
    document
}

/// When the 65th update comes, and what its merge takes: copies, two erases and the update itself.
const MERGE_AT: u64 = 64 * 5_000;
const MERGE: f64 = 64.0 * 970.0 + 20_000.0 + PROGRAM;

#[test]
fn t641_a_read_with_priority_waits_for_a_blocking_merge_but_for_nothing_behind_it() {
    // A write to another block of the die, then a read of a third one, both amid the merge.
    let after = [(MERGE_AT + 5_000, 'W', 4 * BLOCK, 4096), (MERGE_AT + 10_000, 'R', 8 * BLOCK, 4096)];
    let of = |priority| nftl_merge("merge-read", &after, &[("host.read_priority", priority)]);
    near(&of("true"), "host.read.latency_us.max", MERGE - 10_000.0 + READ);
    near(&of("false"), "host.read.latency_us.max", MERGE - 10_000.0 + PROGRAM + READ);
}

#[test]
fn t642_a_page_whose_program_waits_is_read_from_the_buffer() {
    let requests = [(0, 'W', 0, 4096), (0, 'W', 4096, 4096), (100, 'R', 4096, 4096), (100, 'R', 0, 4096)];
    for priority in ["false", "true"] {
        let document = run("queued", &requests, &[("host.read_priority", priority)]);
        near(&document, "host.read.latency_us.max", 0.0);
        near(&document, "host.buffer_hits", 2.0);
        near(&document, "flash.reads.host", 0.0);
    }
}

#[test]
fn t643_a_page_whose_relocation_waits_is_read_where_it_still_is() {
    // The die programs a page of another block for 910.56 µs; the merge of block 0 is queued behind
    // it, and then a page that the merge will move is read.
    let updates = (0..64).map(|n| (n * 5_000, 'W', 0, 4096));
    let last = [(MERGE_AT, 'W', 4 * BLOCK, 4096), (MERGE_AT, 'W', 0, 4096), (MERGE_AT + 100, 'R', 5 * 4096, 4096)];
    let requests: Vec<_> = updates.chain(last).collect();
    let of = |priority| {
        let sets = [("ftl.u_index", "ram"), ("host.read_priority", priority), ("run.check", "integrity")];
        TraceFile::new("relocated", &requests).run(&sets)
    };
    near(&of("true"), "host.read.latency_us.max", PROGRAM - 100.0 + READ);
    near(&of("false"), "host.read.latency_us.max", PROGRAM + MERGE - 100.0 + READ);
}

const TWO_PLANES: &[(&str, &str)] = &[("geometry.planes_per_die", "2"), ("timing.multi_plane", "neighbours")];

#[test]
fn t644_programs_of_one_page_number_in_two_planes_take_their_transfers_and_one_program() {
    // Pages go to planes 0, 1, 0, 1. The first starts on the idle die, the second has a neighbour of
    // another page number, the third and fourth are page 1 of both planes.
    let document = run("multi-plane", &[(0, 'W', 0, 16_384)], TWO_PLANES);
    near(&document, "host.write.latency_us.max", 2.0 * PROGRAM + 2.0 * TRANSFER + 900.0);
    near(&document, "flash.multi_plane_commands", 1.0);
    near(&document, "flash.programs.host", 4.0);
    let single = run("single-plane", &[(0, 'W', 0, 16_384)], &[("geometry.planes_per_die", "2")]);
    near(&single, "host.write.latency_us.max", 4.0 * PROGRAM);
}

#[test]
fn t645_reads_of_one_page_number_in_two_planes_take_one_read_and_their_transfers() {
    let stored = [TWO_PLANES, &[("initial.fill", "1.0")]].concat();
    let document = run("multi-plane-read", &[(0, 'R', 0, 16_384)], &stored);
    near(&document, "host.read.latency_us.max", 2.0 * READ + 70.0 + 2.0 * TRANSFER);
    near(&document, "flash.multi_plane_commands", 1.0);
}

#[test]
fn t646_a_write_of_part_of_a_page_reads_the_old_copy_first() {
    let stored = [("initial.fill", "1.0")];
    let document = run("rmw", &[(0, 'W', 0, 512)], &stored);
    near(&document, "host.write.latency_us.max", READ + PROGRAM);
    near(&document, "write_latency_breakdown_us.rmw_read", READ);
    near(&document, "flash.reads.rmw", 1.0);
    near(&document, "flash.reads.host", 0.0);
    let whole = run("whole-page", &[(0, 'W', 0, 512)], &[("initial.fill", "1.0"), ("host.partial_page", "whole-page")]);
    near(&whole, "host.write.latency_us.max", PROGRAM);
    assert_eq!(whole["flash"]["reads"]["rmw"], Value::Null);
    // Nothing was there before.
    let new = run("new", &[(0, 'W', 0, 512)], &[]);
    near(&new, "host.write.latency_us.max", PROGRAM);
    near(&new, "flash.reads.rmw", 0.0);
}

#[test]
fn t647_old_copy_and_new_page_may_lie_on_two_dies() {
    // Logical page 1 was filled on the second die; the first write of the run goes to the first.
    let document = run("two-dies", &[(0, 'W', 4096, 512)], &[("initial.fill", "1.0"), ("geometry.channels", "2")]);
    near(&document, "host.write.latency_us.max", READ + PROGRAM);
    let simulated = number(&document, "host.simulated_s") * 1e6;
    let busy = |die: usize| document["utilisation"]["die"][die].as_f64().expect("a share") * simulated;
    assert!((busy(0) - PROGRAM).abs() < 1e-6 && (busy(1) - READ).abs() < 1e-6, "{} and {}", busy(0), busy(1));
}

#[test]
fn t648_the_old_copy_waits_in_its_dies_queue_like_any_read() {
    // The die programs another page first; then the old copy is read, then the page programmed.
    let document = run("rmw-queue", &[(0, 'W', 40_960, 4096), (0, 'W', 0, 512)], &[("initial.fill", "1.0")]);
    near(&document, "host.write.latency_us.max", 2.0 * PROGRAM + READ);
    near(&document, "write_latency_breakdown_us.queue", PROGRAM / 2.0);
    near(&document, "write_latency_breakdown_us.rmw_read", READ / 2.0);
}

#[test]
fn t649_what_is_left_in_the_buffer_is_programmed_at_the_end_with_and_without_a_clock() {
    let writes: Vec<_> = (0..40).map(|n| (n * 100, 'W', n * 3072, 2048)).collect();
    let sets = [("host.write_buffer_kib", "4096"), ("host.flush", "lru"), ("initial.fill", "0.6")];
    let timed = run("left", &writes, &sets);
    let untimed = run("left-untimed", &writes, &[&sets[..], &[("run.timed", "false")]].concat());
    assert!(number(&timed, "flash.programs.host") >= 30.0);
    assert_eq!(timed["flash"]["programs"], untimed["flash"]["programs"]);
    assert_eq!(timed["flash"]["reads"], untimed["flash"]["reads"]);
}
