//! 72x, 785, 1092: reads suspend the programs of pages. Times worked out by hand, and the busy time of dies under load.

use serde_json::Value;

use crate::contract::check_times;
use crate::support::{TraceFile, accepts, document, number};

/// A page-level FTL on one plane, full: tPROG 900 µs in ten pulses, page of 10.56 µs on the channel.
const ONE_PLANE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.program_order", "in-order"),
    ("initial.fill", "1.0"),
    ("host.read_priority", "true"),
    ("run.check", "integrity"),
];

const OWN_READ: f64 = 70.0 + 10.56;

#[track_caller]
fn near(document: &Value, path: &str, expected: f64) {
    let found = number(document, path);
    assert!((found - expected).abs() < 1e-6, "{path}: {found} is not {expected}");
}

/// A write, and a read of another page while it is programmed, from 10.56 µs to 910.56 µs if nothing stops it.
fn read_at(us: u64, sets: &[(&str, &str)]) -> Value {
    let name = format!("suspended-{us}-{}", sets.iter().map(|(_, value)| value.replace('.', "-")).collect::<String>());
    let found = TraceFile::new(&name, &[(0, 'W', 0, 4096), (us, 'R', 40_960, 4096)]).run(&[ONE_PLANE, sets].concat());
    check_times(&found);
    found
}

#[test]
fn t727_a_read_waits_for_the_end_of_a_pulse_or_interrupts_it() {
    let with = |rule| [("program.suspension", rule), ("program.suspend_us", "5"), ("program.resume_us", "7")];
    // At 300 µs the fourth pulse runs, which ends 360 µs after the program began.
    let pulse = read_at(300, &with("pulse"));
    near(&pulse, "host.read.latency_us.max", 10.56 + 360.0 + 5.0 + OWN_READ - 300.0);
    near(&pulse, "host.write.latency_us.max", 910.56 + 5.0 + OWN_READ + 7.0);
    near(&pulse, "flash.program_suspensions", 1.0);
    near(&pulse, "write_latency_breakdown_us.program", 900.0);
    near(&pulse, "write_latency_breakdown_us.transfer", 10.56);
    near(&pulse, "write_latency_breakdown_us.queue", 5.0 + OWN_READ + 7.0);
    // Interrupted, the pulse begins again: 300 - 10.56 - 270 µs are lost.
    let immediate = read_at(300, &with("immediate"));
    near(&immediate, "host.read.latency_us.max", 5.0 + OWN_READ);
    near(&immediate, "host.write.latency_us.max", 910.56 + 5.0 + OWN_READ + 7.0 + 300.0 - 10.56 - 270.0);
    // Guarded, it goes on to its end.
    let guarded = read_at(300, &[&with("immediate")[..], &[("program.suspension_guard_us", "80")]].concat());
    near(&guarded, "host.read.latency_us.max", 10.56 + 360.0 + 5.0 + OWN_READ - 300.0);
    // In the last pulse there is nothing left to stop, nor under a limit of none.
    let waits = 910.56 + OWN_READ;
    near(&read_at(880, &with("pulse")), "host.read.latency_us.max", waits - 880.0);
    let capped = [&with("capped")[..], &[("program.max_suspensions", "0")]].concat();
    near(&read_at(300, &capped), "host.read.latency_us.max", waits - 300.0);
    near(&read_at(300, &[]), "host.read.latency_us.max", waits - 300.0);
    // The last seven pulses are one piece.
    let protects = [&with("pulse")[..], &[("program.protected_pulses", "7")]].concat();
    near(&read_at(300, &protects), "host.read.latency_us.max", waits - 300.0);
    near(&read_at(200, &protects), "host.read.latency_us.max", 10.56 + 270.0 + 5.0 + OWN_READ - 200.0);
    // While its data comes over the channel, a program has not begun: it stops behind its first pulse.
    near(&read_at(5, &with("pulse")), "host.read.latency_us.max", 10.56 + 90.0 + 5.0 + OWN_READ - 5.0);
    // A page that is being programmed is read from the controller's buffer.
    let own = TraceFile::new("suspended-own", &[(0, 'W', 0, 4096), (300, 'R', 0, 4096)]);
    let own = own.run(&[ONE_PLANE, &with("pulse")].concat());
    near(&own, "host.buffer_hits", 1.0);
    near(&own, "flash.program_suspensions", 0.0);
}

#[test]
fn t785_programs_differ_by_the_share_that_is_asked_for() {
    let sets = |spread: &'static str| [("program.spread", spread), ("host.read_priority", "false")];
    let lines: Vec<_> = (0..400).map(|nth| (2000 * nth, 'W', 4096 * nth, 4096)).collect();
    let found = |spread| TraceFile::new(&format!("spread-{spread}"), &lines).run(&[ONE_PLANE, &sets(spread)].concat());
    let found = found("0.2");
    check_times(&found);
    let latency = |name: &str| number(&found, &format!("host.write.latency_us.{name}"));
    // Evenly between 720 and 1,080 us.
    assert!((910.56 + 170.0..910.56 + 180.0).contains(&latency("max")), "{}", latency("max"));
    assert!((910.56 + 144.0 - 30.0..910.56 + 144.0 + 30.0).contains(&latency("p90")), "{}", latency("p90"));
    assert!((latency("mean") - 910.56).abs() < 5.0 * 360.0 / 12f64.sqrt() / 20.0, "{}", latency("mean"));
    assert_eq!(number(&found, "write_latency_breakdown_us.queue"), 0.0);
}

/// Pages that are programmed together take the longest of their times, so a group takes longer than a page. Copies inside
/// a plane differ too.
#[test]
fn t1092_groups_of_programs_take_the_longest_and_copies_differ() {
    let sets = [
        ("geometry.planes_per_die", "4"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "32"),
        ("workload.requests", "3000"),
        ("workload.read_fraction", "0"),
    ];
    let run = |copyback, multi_plane, spread| {
        let own = [("timing.copyback", copyback), ("timing.multi_plane", multi_plane), ("program.spread", spread)];
        let found = document(&[ONE_PLANE, &sets, &own].concat());
        check_times(&found);
        found
    };
    for multi_plane in ["neighbours", "queue"] {
        let time = |spread| number(&run("false", multi_plane, spread), "host.simulated_s");
        assert!(time("0.9") > 1.05 * time("0"), "{multi_plane}: {}, {}", time("0.9"), time("0"));
    }
    let copies = |spread| number(&run("true", "off", spread), "write_latency_breakdown_us.gc_write");
    assert!(copies("0.9") != copies("0"), "{}", copies("0"));
}

/// Reads and writes at random, with collection.
const BUSY: &[(&str, &str)] = &[
    ("workload.requests", "20000"),
    ("workload.read_fraction", "0.4"),
    ("workload.request_bytes", "4096"),
    ("workload.footprint", "1.0"),
    ("ftl.merge", "block-erase"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "8"),
];

#[test]
fn t728_programs_and_copies_that_were_suspended_take_their_time_and_no_more() {
    for copyback in ["true", "false"] {
        for (mode, planes) in [("blocking", "1"), ("foreground", "1"), ("foreground", "2")] {
            let more = [("timing.copyback", copyback), ("ftl.gc_mode", mode), ("geometry.planes_per_die", planes)];
            let off = document(&[ONE_PLANE, BUSY, &more].concat());
            let on = document(&[ONE_PLANE, BUSY, &more, &[("program.suspension", "pulse")]].concat());
            check_times(&off);
            check_times(&on);
            let n = |path: &str| number(&on, path);
            assert!(n("flash.program_suspensions") > 500.0, "{more:?}: {}", n("flash.program_suspensions"));
            let mean = |document: &Value| number(document, "host.read.latency_us.mean");
            assert!(mean(&on) < 0.8 * mean(&off), "{more:?}: {} and {}", mean(&on), mean(&off));
            let reads = n("flash.reads.host") * OWN_READ;
            let programs = n("flash.programs.host") * (900.0 + 10.56);
            let collection = n("gc.time_us.copy") + n("gc.time_us.erase");
            let shares = on["utilisation"]["die"].as_array().expect("a list");
            let busy = shares.iter().filter_map(Value::as_f64).sum::<f64>() * n("host.simulated_s") * 1e6;
            assert!((busy / (reads + programs + collection) - 1.0).abs() < 1e-9, "{more:?}: {busy}");
        }
    }
}

#[test]
fn t729_suspended_programs_need_reads_that_go_first() {
    let refused = accepts(&[("program.suspension", "pulse"), ("host.read_priority", "false")]).expect_err("refused");
    assert!(
        refused.contains("program.suspension = \"pulse\"") && refused.contains("host.read_priority = true"),
        "{refused}"
    );
    let go_first = [("program.suspension", "pulse"), ("host.read_priority", "true")];
    let refused = accepts(&[&go_first[..], &[("timing.multi_plane", "queue")]].concat()).expect_err("refused");
    assert!(refused.contains("timing.multi_plane = \"off\""), "{refused}");
}
