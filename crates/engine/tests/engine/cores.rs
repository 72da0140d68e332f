//! 74x: the cores of the controller, against queueing theory and in times worked out by hand.

use serde_json::Value;

use crate::support::{TraceFile, document, number};

/// Reads of pages that nobody stored: the controller answers them without a flash command.
const NO_FLASH: &[(&str, &str)] = &[
    ("workload.read_fraction", "1.0"),
    ("workload.request_bytes", "4096"),
    ("workload.requests", "1000000"),
    ("initial.fill", "0.0"),
];

const T_REQUEST_US: f64 = 10.0;

/// Mean wait of an M/D/c queue by Cosmetatos' correction of half the wait of M/M/c, which is within 1 % of the exact
/// value (G. Cosmetatos, Some approximate equilibrium results for the multi-server queue M/G/r, 1976).
fn waits_in_m_d_c(cores: u32, load: f64, service: f64) -> f64 {
    let (c, offered) = (f64::from(cores), f64::from(cores) * load);
    let term = |n: u32| (1..=n).map(|k| offered / f64::from(k)).product::<f64>();
    let last = term(cores) / (1.0 - load);
    let erlang_c = last / ((0..cores).map(term).sum::<f64>() + last);
    let m_m_c = erlang_c * service / (c * (1.0 - load));
    m_m_c / 2.0 * (1.0 + (1.0 - load) * (c - 1.0) * ((4.0 + 5.0 * c).sqrt() - 2.0) / (16.0 * load * c))
}

#[test]
fn t740_requests_wait_for_cores_as_in_an_m_d_c_queue() {
    for (cores, load) in [(1, 0.3), (1, 0.8), (4, 0.6), (4, 0.85)] {
        let interarrival = format!("{}", T_REQUEST_US / f64::from(cores) / load);
        let cores_text = cores.to_string();
        let own = [
            ("controller.t_request_us", "10.0"),
            ("controller.cores", &cores_text),
            ("workload.mean_interarrival_us", &interarrival),
        ];
        let found = document(&[NO_FLASH, &own].concat());
        let waited = number(&found, "host.read.latency_us.mean") - T_REQUEST_US;
        let expected = waits_in_m_d_c(cores, load, T_REQUEST_US);
        assert!((waited / expected - 1.0).abs() < 0.02, "{cores} at {load}: waited {waited} µs, theory {expected} µs");
        assert!((number(&found, "utilisation.controller") / load - 1.0).abs() < 0.01, "{}", found["utilisation"]);
    }
}

#[test]
fn t741_a_drive_stops_at_the_requests_that_its_cores_can_handle() {
    // Two pages a request, so two commands: two cores that take 400 + 2 x 50 us each. One die could do 1.5 times that.
    let sets = [
        ("workload.read_fraction", "1.0"),
        ("workload.request_bytes", "8192"),
        ("workload.requests", "40000"),
        ("initial.fill", "1.0"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "64"),
        ("controller.t_request_us", "400.0"),
        ("controller.t_command_us", "50.0"),
        ("controller.cores", "2"),
    ];
    let found = document(&sets);
    let iops = number(&found, "host.iops");
    assert!((iops / 4_000.0 - 1.0).abs() < 0.002, "{iops}");
    assert!(number(&found, "utilisation.controller") > 0.998, "{}", found["utilisation"]);
}

/// The trace on one core that takes 10 us for a request and so much for a command.
fn by_hand(name: &str, t_command_us: &str, requests: &[(u64, char, u64, u32)]) -> Value {
    TraceFile::new(name, requests).run(&[
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.fill", "0.0"),
        ("host.partial_page", "rmw"),
        ("controller.t_request_us", "10.0"),
        ("controller.t_command_us", t_command_us),
    ])
}

#[test]
fn t742_the_commands_of_a_request_keep_its_core() {
    let found = by_hand("cores", "3", &[(0, 'W', 0, 4096), (0, 'W', 4096, 4096)]);
    // The first waits 10 us for the decision; the second until 13, and then 10.
    assert_eq!(number(&found, "write_latency_breakdown_us.controller"), f64::midpoint(10.0, 23.0));
    let parts = found["write_latency_breakdown_us"].as_object().expect("writes");
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum - number(&found, "host.write.latency_us.mean")).abs() < 1e-6, "{parts:?}");
}

#[test]
fn t743_commands_of_later_stages_are_worked_for_before_the_next_request() {
    // The old copy is read at 5,010 us and the core stays for that until 5,210. Its page is programmed from 5,090.56 on,
    // which the core works for until 5,410; the read that came at 5,050 is decided at 5,420 and needs no flash.
    let requests = [(0, 'W', 0, 4096), (5_000, 'W', 0, 512), (5_050, 'R', 81_920, 4096)];
    let found = by_hand("owed", "200", &requests);
    assert_eq!(number(&found, "flash.reads.rmw"), 1.0);
    assert_eq!(number(&found, "host.read.latency_us.max"), 370.0);
}

#[test]
fn t744_without_times_there_are_no_cores() {
    let found = document(&[("workload.requests", "500")]);
    assert!(found["utilisation"]["controller"].is_null());
    assert!(found["write_latency_breakdown_us"]["controller"].is_null());
}
