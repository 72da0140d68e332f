//! 727 to 729, 758, 759, 763, 764, 769, 774, 784, 1090, 1091 and 1098: a host that knows of zones, from traces, jobs of fio and flows.

use pumice_engine::fio_job_settings;
use serde_json::{Value, json};

use crate::support::{TraceFile, accepts, document, number};

/// Four planes on two dies of blocks of 64 pages of 4 KiB: 64 zones of 1 MiB.
pub const ZONES: &[(&str, &str)] = &[
    ("ftl.kind", "zns"),
    ("ftl.zns.interface", "zones"),
    ("ftl.zns.max_open", "24"),
    ("ftl.zns.max_active", "24"),
    ("initial.fill", "0.0"),
    ("run.check", "integrity"),
];

const ZONE: u64 = 1 << 20;

#[test]
fn t763_a_trace_writes_appends_finishes_and_resets_zones() {
    let step = 20_000_000;
    let lines = [
        (0, "W", 0, ZONE),                  // all of zone 0
        (step, "W", 0, 4096),               // it is full
        (2 * step, "W", ZONE + 4096, 4096), // not at the write pointer
        (3 * step, "append", ZONE, 8192),   // to zone 1, which then holds two pages
        (4 * step, "W", ZONE + 8192, 4096), // behind them
        (5 * step, "ZF", ZONE, 0),
        (6 * step, "ZA", ZONE, 4096), // it is full
        (7 * step, "reset", 0, ZONE),
        (8 * step, "R", 0, 4096), // of an empty zone: no flash
        (9 * step, "W", 0, 4096),
        (10 * step, "R", 0, 4096),
        (11 * step, "R", ZONE + 4096, 4096),
        (12 * step, "W", 4096, 100), // no whole page
        (13 * step, "open", 2 * ZONE, 0),
        (14 * step, "close", 2 * ZONE, 0),
    ];
    let found = TraceFile::delimited("zones", &lines).run(ZONES);
    assert_eq!(number(&found, "zones.count"), 64.0);
    assert_eq!(number(&found, "zones.capacity_pages"), 256.0);
    let errors = json!([
        { "error": "Zone Is Full", "requests": 2 },
        { "error": "Zone Invalid Write", "requests": 2 },
    ]);
    assert_eq!(found["zones"]["errors"], errors);
    assert_eq!(number(&found, "zones.refused_requests"), 4.0);
    assert_eq!(number(&found, "host.write.requests"), 3.0);
    assert_eq!(number(&found, "host.append.requests"), 1.0);
    assert_eq!([number(&found, "host.reset.requests"), number(&found, "host.finish.requests")], [1.0, 1.0]);
    assert_eq!(number(&found, "flash.programs.host"), 256.0 + 2.0 + 1.0 + 1.0);
    assert_eq!(number(&found, "flash.programs.padding"), 253.0);
    assert_eq!(number(&found, "flash.erases.block"), 4.0);
    assert_eq!(number(&found, "flash.reads.host"), 2.0);
    // The erases of the four blocks of a zone, two on each die.
    assert!(number(&found, "host.reset.latency_us.max") >= 20_000.0, "{}", found["host"]["reset"]);
}

/// Jobs as they are written for zoned drives: 14 that write a zone each, and write it again; appends to two others;
/// writes to three at once; and reads.
const JOBS: &str = "[global]\nzonemode=zbd\ndirect=1\nbs=64k\n\
    [fill]\nrw=write\nnumjobs=14\noffset_increment=1z\nsize=1z\nnumber_ios=17\n\
    [some]\nrw=randwrite\nmax_open_zones=3\noffset=30z\nsize=6z\niodepth=3\nnumber_ios=96\n\
    [log]\nrw=write\nzone_append=1\noffset=20z\nsize=2z\niodepth=4\nnumber_ios=32\n\
    [look]\nrw=randread\nsize=14z\niodepth=2\nnumber_ios=300\n";

#[test]
fn t727_a_job_file_writes_fourteen_zones_at_once_and_resets_what_it_comes_to_again() {
    let job = fio_job_settings(JOBS).expect("a job");
    let job: Vec<(&str, &str)> = job.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let found = document(&[ZONES, &job].concat());
    assert_eq!(found["zones"]["errors"], json!([]), "nothing is refused");
    // Each of 14 zones takes 16 requests, and is reset for its 17th.
    let fills: f64 = (0..14).map(|nth| number(&found, &format!("flows.fill-{nth}.write.requests"))).sum();
    assert_eq!((fills, number(&found, "host.reset.requests")), (14.0 * 17.0, 14.0));
    assert_eq!(number(&found, "flows.some.write.requests"), 96.0);
    assert_eq!(number(&found, "flows.log.write.requests"), 32.0);
    assert_eq!(number(&found, "host.append.requests"), 32.0);
    assert_eq!(number(&found, "flows.look.read.requests"), 300.0);
    assert_eq!(number(&found, "write_amplification"), 1.0);
    assert_eq!(number(&found, "integrity.corrupt_pages"), 0.0);
    assert_eq!(number(&found, "integrity.lost_pages"), 0.0);
}

#[test]
fn t728_finished_zones_are_filled_and_resets_run_beside_writers() {
    let flows = [
        ("workload.zone_request_bytes", "65536"),
        ("workload.flow[0].kind", "zone-write"),
        ("workload.flow[0].zones", "[0, 8]"),
        ("workload.flow[0].zones_at_once", "8"),
        ("workload.flow[0].zone_share", "0.5"),
        ("workload.flow[0].requests", "64"),
        ("workload.flow[0].mode", "closed-loop"),
        ("workload.flow[0].queue_depth", "8"),
        ("workload.flow[1].kind", "zone-finish"),
        ("workload.flow[1].zones", "[10, 3]"),
        ("workload.flow[1].requests", "3"),
        ("workload.flow[1].mode", "closed-loop"),
        ("workload.flow[2].kind", "zone-reset"),
        ("workload.flow[2].zones", "[20, 4]"),
        ("workload.flow[2].requests", "12"),
        ("workload.flow[2].mode", "rate-limited"),
        ("workload.flow[2].mean_interarrival_us", "100.0"),
    ];
    let found = document(&[ZONES, &flows].concat());
    assert_eq!(number(&found, "zones.refused_requests"), 0.0);
    assert_eq!(number(&found, "flash.programs.host"), 8.0 * 128.0);
    // The last request of a zone ends the job before its finish is due for the last ones; those that came are filled.
    let finished = number(&found, "host.finish.requests");
    assert_eq!(number(&found, "flash.programs.padding"), 3.0 * 256.0 + (finished - 3.0) * 128.0);
    assert_eq!(number(&found, "host.reset.requests"), 12.0);
    assert_eq!(number(&found, "flash.erases.block"), 0.0, "empty zones are not erased");
}

#[test]
fn t729_writers_of_zones_are_bound_by_their_dies() {
    let sets = [
        ("workload.kind", "zone-write"),
        ("workload.zones_at_once", "8"),
        ("workload.zone_request_bytes", "65536"),
        ("workload.requests", "800"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "16"),
    ];
    let timed = document(&[ZONES, &sets].concat());
    // Two dies, each a page of 10.56 us on its own channel and 900 us of programming after the other.
    let pages_per_s = 2.0 * 1e6 / (10.56 + 900.0);
    let found = number(&timed, "host.throughput_mib_per_s") * 256.0;
    assert!((found / pages_per_s - 1.0).abs() < 0.01, "{found} pages a second, {pages_per_s} expected");
    let untimed = document(&[ZONES, &sets, &[("run.timed", "false")]].concat());
    assert_eq!(untimed["flash"], timed["flash"]);
}

#[test]
fn t764_erases_of_a_zone_follow_one_another_and_hold_programs_back() {
    let page = 4096;
    let lines = [
        (0, "W", 0, ZONE),
        (400_000_000, "reset", 0, ZONE),
        (400_001_000, "W", ZONE, page),     // takes the buffer's only page
        (400_002_000, "W", 2 * ZONE, page), // waits for it
        (500_000_000, "R", ZONE, page),
    ];
    let times = |erases: &'static str| {
        let buffer = [("host.write_buffer_kib", "4"), ("ftl.zns.reset_erases", erases)];
        let found = TraceFile::delimited(&format!("zones-{erases}"), &lines).run(&[ZONES, &buffer].concat());
        assert_eq!(number(&found, "zones.refused_requests"), 0.0);
        assert_eq!(number(&found, "flash.erases.block"), 4.0);
        (number(&found, "host.reset.latency_us.max"), number(&found, "host.write.latency_us.p50"))
    };
    // Four blocks of 10 ms, two on each of two dies.
    assert_eq!(times("together").0, 20_000.0);
    assert_eq!(times("in-turn").0, 40_000.0);
    let (reset, waits) = times("alone");
    assert_eq!(reset, 40_000.0);
    // The program of the buffered page begins behind the last erase.
    assert!((38_000.0..42_000.0).contains(&waits), "{waits}");
}

#[test]
fn t774_a_finish_that_shares_the_buffer_is_as_one_more_writer() {
    let sets = [
        ("workload.flow[0].kind", "zone-write"),
        ("workload.flow[0].zones", "[0, 40]"),
        ("workload.flow[0].zone_request_bytes", "4096"),
        ("workload.flow[0].requests", "6000"),
        ("workload.flow[1].kind", "zone-finish"),
        ("workload.flow[1].zones", "[40, 24]"),
        ("workload.flow[1].queue_depth", "1"),
        ("workload.flow[1].requests", "1000000"),
        ("run.max_requests", "6000"),
        ("host.mode", "closed-loop"),
        ("host.write_buffer_kib", "128"),
    ];
    let ratio = |pace: &'static str, writers: &'static str, together: &'static str| {
        let own = [
            ("ftl.zns.finish_pace", pace),
            ("program.pages_per_command", together),
            ("ftl.zns.run_pages", together),
            ("workload.flow[0].queue_depth", writers),
            ("workload.flow[0].zones_at_once", writers),
        ];
        let found = document(&[ZONES, &sets, &own].concat());
        number(&found, "flash.programs.padding") / number(&found, "flash.programs.host")
    };
    for together in ["1", "8"] {
        for (writers, most) in [("1", 1.0), ("2", 0.5), ("4", 0.25)] {
            let found = ratio("shared", writers, together);
            assert!((0.85..1.1).contains(&(found / most)), "{writers} writers, {together}: {found}");
            assert!(ratio("at-once", writers, together) > 1.2 * most, "{writers}, {together}");
        }
    }
}

/// A zone whose blocks are erased when it is written again: its pages waited for the die in the write buffer, and its
/// erases behind them, so that pages were programmed over what had not been erased.
#[test]
fn t1090_a_block_is_erased_before_buffered_pages_of_its_zone_are_programmed() {
    let lines =
        [(0, "W", ZONE, 65_536), (40_000, "reset", ZONE, ZONE), (41_000, "W", ZONE, 69_632), (41_050, "ZF", ZONE, 0)];
    for reset in ["when-opened", "idle"] {
        for buffer in ["4", "64", "4096"] {
            let sets = [("ftl.zns.reset", reset), ("host.write_buffer_kib", buffer)];
            let found = TraceFile::delimited("zones-again", &lines).run(&[ZONES, &sets].concat());
            assert_eq!(number(&found, "flash.programs.host"), 33.0, "{sets:?}");
            assert_eq!(number(&found, "flash.erases.block"), 4.0, "{sets:?}");
        }
    }
}

/// A die that is sent page after page from the write buffer is not idle between two of them: 64 pages to each die, each of
/// 910.56 us, and no erase of 10 ms of other zones meanwhile.
#[test]
fn t1091_erases_for_idle_dies_wait_until_the_write_buffer_has_nothing_for_them() {
    let zones = (1..7).flat_map(|nth| {
        let at = ZONE * nth;
        [(40_000 * nth, "W", at, 65_536), (40_000 * nth + 20_000, "reset", at, ZONE)]
    });
    let writes = [(280_001, "W", 8 * ZONE, 262_144), (280_002, "flush", 0, 0)];
    let lines: Vec<_> = zones.chain(writes).collect();
    let flush = |reset| {
        let sets = [("ftl.zns.reset", reset), ("host.write_buffer_kib", "4096")];
        let found = TraceFile::delimited("zones-idle", &lines).run(&[ZONES, &sets].concat());
        number(&found, "host.flush.latency_us.max")
    };
    // One erase per plane of a die may have begun before.
    assert!(flush("idle") < flush("when-opened") + 20_100.0, "{}, {}", flush("idle"), flush("when-opened"));
}

/// Pages of one zone go to its four planes in runs of eight, and eight are programmed together. Their data move at
/// 10.56 us a page, and no page is free in the buffer of eight until all are programmed.
#[test]
fn t784_pages_that_are_programmed_together_hold_their_places_until_then() {
    let lines: Vec<_> = (0..16).map(|nth| (nth, "W", 4096 * nth, 4096)).collect();
    let sets = [
        ("program.pages_per_command", "8"),
        ("ftl.zns.run_pages", "8"),
        ("timing.t_prog_us", "100.0"),
        ("host.write_buffer_kib", "32"),
    ];
    let found = TraceFile::delimited("zones-together", &lines).run(&[ZONES, &sets].concat());
    let percentile = |name: &str| number(&found, &format!("host.write.latency_us.{name}"));
    // The second half comes in as pages of the first move; the last seven when these have been programmed.
    assert!((800.0..900.0).contains(&percentile("max")), "{}", found["host"]["write"]);
    assert!(percentile("p50") < 100.0, "{}", found["host"]["write"]);
}

#[test]
fn t769_zones_are_written_and_reset_through_a_small_buffer() {
    let sets = [
        ("workload.kind", "zone-write"),
        ("workload.flow[0].zones", "[0, 10]"),
        ("workload.flow[0].zones_at_once", "8"),
        ("workload.flow[0].zone_share", "0.75"),
        ("workload.flow[0].requests", "400"),
        ("workload.zone_request_bytes", "65536"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "24"),
        ("host.write_buffer_kib", "32"),
    ];
    for erases in ["together", "in-turn", "alone"] {
        let found = document(&[ZONES, &sets, &[("ftl.zns.reset_erases", erases)]].concat());
        assert_eq!(found["zones"]["errors"], json!([]), "{erases}: nothing is refused");
        assert_eq!(number(&found, "flash.programs.host"), 400.0 * 16.0);
        assert!(number(&found, "host.reset.requests") > 10.0);
        assert_eq!(number(&found, "integrity.corrupt_pages"), 0.0);
        assert_eq!(number(&found, "integrity.lost_pages"), 0.0);
    }
}

#[test]
fn t758_zones_that_cannot_be_are_refused() {
    let refused = |sets: &[(&str, &str)], text: &str| {
        let error = accepts(sets).expect_err(text);
        assert!(error.contains(text), "{error}");
    };
    refused(&[("workload.kind", "zone-write")], "needs ftl.kind = \"zns\" and ftl.zns.interface = \"zones\"");
    let zones = |more: (&'static str, &'static str)| [ZONES, &[more]].concat();
    let buffer = [("host.write_buffer_kib", "64"), ("host.flush", "lru")];
    refused(&[ZONES, &buffer].concat(), "needs host.flush = \"eager\" with a write buffer");
    refused(&zones(("ftl.zns.reset_erases", "alone")), "needs a host.write_buffer_kib, found 0");
    let idle = [("ftl.zns.reset_erases", "in-turn"), ("ftl.zns.reset", "idle")];
    refused(&[ZONES, &idle].concat(), "needs ftl.zns.reset = \"at-once\" with ftl.zns.reset_erases");
    refused(&zones(("ftl.recovery", "scan")), "needs ftl.recovery = \"off\"");
    refused(&zones(("ftl.zns.mapping", "on-demand")), "needs ftl.zns.mapping = \"fixed\"");
    refused(&zones(("ftl.zns.zone_size_kib", "4096")), "zone_size_kib of its capacity, 1024");
    refused(&zones(("initial.age_writes", "0.5")), "needs initial.age_writes = 0");
    refused(
        &[("workload.flow[0].kind", "uniform"), ("workload.flow[0].zones", "[0, 4]")],
        "workload.flow[0].zones = [0.0, 4.0] needs ftl.kind",
    );
}

#[test]
fn t759_random_writes_to_zones_are_refused_one_by_one_and_change_nothing() {
    let sets = [("workload.kind", "uniform"), ("workload.requests", "3000"), ("workload.read_fraction", "0.3")];
    let found: Value = document(&[ZONES, &sets].concat());
    let (done, refused) = (number(&found, "host.write.requests"), number(&found, "zones.refused_requests"));
    assert_eq!(done + refused + number(&found, "host.read.requests"), 3_000.0);
    assert!(refused > 1_500.0 && done > 0.0, "{done} done, {refused} refused");
    assert_eq!(number(&found, "flash.programs.host"), 2.0 * done);
}

#[test]
fn t1098_a_run_whose_zones_refuse_more_than_they_serve_says_so() {
    let appends = [("workload.kind", "zone-append"), ("workload.requests", "50"), ("ftl.zns.max_active", "1")];
    let with = |fill| document(&[ZONES, &appends, &[("ftl.zns.max_open", "1"), ("initial.fill", fill)]].concat());
    let told = |found: &Value| found["warnings"].to_string().contains("zones refused 50 requests and served 0");
    let (full, empty) = (with("1.0"), with("0.0"));
    assert!(told(&full) && !told(&empty), "{} {}", full["warnings"], empty["warnings"]);
}
