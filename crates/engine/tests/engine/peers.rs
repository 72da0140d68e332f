//! 95x: faults that users of other simulators have met, each with its story. None of them may come
//! back here.

use pumice_engine::results::RequestBatch;
use pumice_engine::{Sink, run_logged};
use pumice_types::key::ValueKind;
use serde_json::Value;

use crate::support::{TraceFile, document, number, spec};

const PAGE_LEVEL: &[(&str, &str)] = &[("ftl.kind", "page"), ("ftl.over_provisioning", "0.3")];

/// A write that met garbage collection was sometimes never completed. The run ended as usual, with a
/// few requests fewer and with rates and latencies that had nothing to do with the device.
#[test]
fn t950_every_request_comes_back_however_hard_the_device_collects_garbage() {
    let pressed = [
        ("workload.requests", "20000"),
        ("workload.read_fraction", "0.2"),
        ("workload.footprint", "1.0"),
        ("workload.mean_interarrival_us", "50.0"),
        ("initial.fill", "1.0"),
        ("host.queue_depth", "32"),
    ];
    for ftl in [&[][..], PAGE_LEVEL] {
        for mode in ["open-loop", "closed-loop"] {
            let document = document(&[&pressed, ftl, &[("host.mode", mode)]].concat());
            let n = |path: &str| number(&document, path);
            assert_eq!(n("host.read.requests") + n("host.write.requests"), 20_000.0);
            assert_eq!(n("flash.programs.host"), n("host.write.requests") * 2.0);
            assert!(n("gc.invocations") > 100.0, "garbage is collected");
        }
    }
}

/// The time of a transfer was computed in whole nanoseconds a byte, so that any channel faster than
/// 1000 million transfers a second moved data in no time at all.
#[test]
fn t951_a_faster_channel_costs_less_but_never_nothing() {
    let write = TraceFile::new("fast-channel", &[(0, 'W', 0, 4096)]);
    for (rate, transfer) in [("999.0", 4.228), ("1001.0", 4.22), ("1200.0", 3.52), ("2400.0", 1.76), ("1e6", 0.004)] {
        let document = write.run(&[("timing.channel_mb_per_s", rate)]);
        let latency = number(&document, "host.write.latency_us.max");
        assert!((latency - 900.0 - transfer).abs() < 1e-9, "{rate} MB/s: {latency} µs");
    }
}

/// Requests were divided by whole seconds: a run of 1.9 s reported nearly twice its rate, and one of
/// less than a second divided by zero.
#[test]
fn t952_rates_are_taken_over_the_time_that_passed() {
    let reads = |count: u64| (0..count).map(|n| (n * 100, 'R', 0, 4096)).collect::<Vec<_>>();
    for (count, seconds) in [(100, 0.01), (19_000, 1.9)] {
        let document = TraceFile::new("rates", &reads(count)).run(&[]);
        let simulated = seconds - 100e-6 + 80.56e-6;
        assert!((number(&document, "host.simulated_s") - simulated).abs() < 1e-12);
        assert!((number(&document, "host.iops") - count as f64 / simulated).abs() < 1e-6);
        let mib = count as f64 * 4096.0 / simulated / f64::from(1 << 20);
        assert!((number(&document, "host.throughput_mib_per_s") - mib).abs() < 1e-9);
    }
}

/// A read of a page that had never been written was given a physical page, and that page was programmed:
/// reads wore the device out and took the time of writes.
#[test]
fn t953_reads_of_pages_never_written_touch_no_flash() {
    let reads = [("workload.read_fraction", "1.0"), ("initial.fill", "0.0"), ("workload.requests", "2000")];
    for ftl in [&[][..], PAGE_LEVEL] {
        let document = document(&[&reads, ftl].concat());
        assert_eq!(number(&document, "host.read.requests"), 2000.0);
        assert_eq!(number(&document, "run.flash_commands"), 0.0);
        assert_eq!(number(&document, "host.read.latency_us.max"), 0.0);
    }
}

/// The threshold was a share of a plane's blocks, rounded down: on small planes garbage collection waited
/// for fewer free blocks than none, and the device filled up and stood still.
#[test]
fn t954_garbage_collection_starts_on_the_smallest_planes() {
    for (ftl, blocks) in [
        (&[("ftl.over_provisioning", "0.45")][..], "5"),
        (&[("ftl.kind", "page"), ("ftl.over_provisioning", "0.6")], "9"),
    ] {
        let small = [
            ("geometry.blocks_per_plane", blocks),
            ("ftl.gc_free_threshold", "0.001"),
            ("workload.read_fraction", "0.0"),
            ("workload.footprint", "1.0"),
            ("initial.fill", "1.0"),
            ("run.check", "integrity"),
        ];
        let document = document(&[ftl, &small].concat());
        assert_eq!(number(&document, "host.write.requests"), 20_000.0);
        assert!(number(&document, "gc.invocations") > 100.0);
    }
}

/// Some FTLs could be chosen by name and had empty methods: the run ended at once, with a report.
#[test]
fn t955_every_ftl_that_can_be_named_stores_reads_back_and_collects() {
    let kinds = pumice_config::table::lookup("ftl.kind").map(|key| key.shape);
    let Ok(ValueKind::Choice(kinds)) = kinds else { panic!("ftl.kind is a choice") };
    for kind in kinds {
        let sets = [
            ("ftl.kind", *kind),
            ("ftl.over_provisioning", "0.3"),
            ("workload.footprint", "1.0"),
            ("workload.mean_interarrival_us", "5000.0"),
            ("initial.fill", "1.0"),
            ("run.check", "integrity"),
        ];
        let document = document(&sets);
        let n = |path: &str| number(&document, path);
        assert!(n("flash.programs.host") >= n("host.write.requests"), "{kind}");
        let found = n("flash.reads.host") + n("host.buffer_hits");
        assert!(found >= n("host.read.requests"), "{kind}: {found} pages for {} reads", n("host.read.requests"));
        assert!(n("gc.copied_pages") > 0.0 && n("flash.erases.block") > 0.0, "{kind} collects garbage");
        assert!(n("integrity.pages_checked") > 0.0 && n("integrity.lost_pages") == 0.0, "{kind}");
    }
}

// A limit on program/erase cycles could be set and was never looked at. Here a rating is counted, and says so.
#[test]
fn t956_a_limit_on_erases_cannot_be_set_without_effect() {
    let sets = |scheme| {
        let base = [("erase.endurance", "1000"), ("erase.initial_pec", "500"), ("initial.fill", "1.0")];
        document(&[&base[..], &[("ftl.kind", "page"), ("erase.scheme", scheme)]].concat())
    };
    for (scheme, before) in [("fixed", 0.0), ("ispe", 500.0)] {
        let run = sets(scheme);
        let erases = number(&run, "wear.max_erases_per_page");
        assert!(erases > 0.0);
        assert_eq!(number(&run, "wear.endurance_used"), (before + erases) / 1000.0);
    }
}

/// One random log block that the updates of so many logical blocks take in turn, each of another page: all are in every
/// victim.
#[test]
fn t233_as_many_logical_blocks_share_a_victim_of_fast_as_were_written_in_turn() {
    for blocks in [1, 3, 7, 64] {
        let write = |nth: u64| (nth * 10_000, 'W', (nth % blocks) * 64 * 4096 + (1 + nth / blocks % 63) * 4096, 4096);
        let writes: Vec<_> = (0..64 * 20).map(write).collect();
        let document = TraceFile::new("sharing", &writes).run(&[
            ("ftl.kind", "fast"),
            ("ftl.u_blocks", "2"),
            ("geometry.channels", "1"),
            ("geometry.planes_per_die", "1"),
            ("geometry.blocks_per_plane", "128"),
            ("ftl.over_provisioning", "0.3"),
            ("initial.fill", "1.0"),
        ]);
        assert_eq!(number(&document, "gc.sharing_degree"), blocks as f64);
        assert_eq!(number(&document, "gc.merges.full"), (19 * blocks) as f64, "each is merged once a victim");
    }
    assert!(document(&[("ftl.kind", "log-block")])["gc"]["sharing_degree"].is_null());
}

/// A command over two planes counted its bytes once for the command and once for each plane, or once for
/// both: throughput and write amplification were wrong by a factor.
#[test]
fn t957_multi_plane_commands_change_no_count() {
    let sets = |multi_plane| {
        let own = [
            ("timing.multi_plane", multi_plane),
            ("workload.request_bytes", "65536"),
            ("workload.requests", "4000"),
            ("workload.mean_interarrival_us", "20000.0"),
        ];
        document(&[PAGE_LEVEL, &own].concat())
    };
    let (single, multi) = (sets("off"), sets("neighbours"));
    assert!(number(&multi, "flash.multi_plane_commands") > 1000.0);
    for path in
        ["/flash/programs", "/flash/erases", "/gc/copied_pages", "/write_amplification", "/write_amplification_bytes"]
    {
        assert_eq!(single.pointer(path), multi.pointer(path), "{path}");
    }
    let bytes = |document: &Value| ["read", "write"].map(|kind| number(document, &format!("host.{kind}.bytes")));
    assert_eq!(bytes(&single), bytes(&multi));
    assert!(number(&multi, "host.write.latency_us.mean") < number(&single, "host.write.latency_us.mean"));
}

/// Keeps the arrivals of a run.
#[derive(Default)]
struct Arrivals(Vec<u64>);

impl Sink for Arrivals {
    fn requests(&mut self, batch: &RequestBatch) -> Result<(), String> {
        self.0.extend(&batch.arrival_ns);
        Ok(())
    }

    fn commands(&mut self, _bytes: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn timeline(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Times were taken for nanoseconds, whatever the trace's unit was: a trace of a day was replayed in 86 ms,
/// or in a thousand days. The same two requests, 2 s apart, in formats of six units:
#[test]
fn t958_a_traces_clock_is_that_of_its_format() {
    let traces = [
        ("msr", "128166372000000000,a,0,Write,0,4096,0\n128166372020000000,a,0,Write,8192,4096,0\n"),
        ("alibaba", "1,W,0,4096,1577808000000000\n1,W,8192,4096,1577808002000000\n"),
        ("tencent", "1538323200,0,8,1,1\n1538323202,16,8,1,1\n"),
        ("spc", "0,0,4096,W,1.5\n0,16,4096,W,3.5\n"),
        ("ssdsim", "1000 0 0 8 0\n2000001000 0 16 8 0\n"),
        ("disksim", "10.0 0 0 8 0\n2010.0 0 16 8 0\n"),
    ];
    for (format, text) in traces {
        let path = std::env::temp_dir().join(format!("pumice-clock-{}-{format}", std::process::id()));
        std::fs::write(&path, text).expect("a writable folder");
        let name = path.to_str().expect("a plain path");
        let sets = [
            ("workload.kind", "trace"),
            ("workload.path", name),
            ("workload.format", format),
            ("output.request_log", "true"),
        ];
        let mut arrivals = Arrivals::default();
        let outcome = run_logged(&spec(&sets), 1.0, &mut arrivals, &mut |_| true);
        std::fs::remove_file(&path).expect("it is there");
        outcome.expect("it runs");
        assert_eq!(arrivals.0, [0, 2_000_000_000], "{format}");
    }
}
