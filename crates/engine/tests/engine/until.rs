//! 68x: runs that end when they know enough (`run.until`).

use pumice_config::aged::AgedIdentity;
use pumice_config::{Config, SpecError};
use serde_json::Value;

use crate::support::{TraceFile, document, number, source, spec};

/// A device in collection, with a clock and a host that keeps four requests outstanding.
const AGED: [(&str, &str); 8] = [
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.25"),
    ("initial.age_writes", "3"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("workload.footprint", "1.0"),
    ("workload.request_bytes", "4096"),
    ("workload.requests", "400000"),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&AGED[..], more].concat()
}

fn state(document: &Value, nth: usize) -> &str {
    document["until"]["quantities"][nth]["state"].as_str().expect("a state")
}

#[test]
fn t680_a_run_ends_when_it_knows_enough_and_tells_how_well() {
    for (until, tolerance, of) in [
        ("steady", 0.05, &["write_amplification", "read_latency_us", "write_latency_us"][..]),
        ("p90 +- 5 %", 0.05, &["read_latency_us", "write_latency_us"]),
    ] {
        let stopped = document(&with(&[("run.until", until)]));
        let told = &stopped["until"];
        assert_eq!(told["outcome"], "reached", "{told}");
        assert_eq!(stopped["warnings"], Value::Array(Vec::new()));
        let names: Vec<_> = told["quantities"].as_array().into_iter().flatten().map(|known| &known["of"]).collect();
        assert_eq!(names, of, "{told}");
        assert!(number(&stopped, "until.half_width") <= tolerance, "{told}");
        let (requests, at_stop) = (number(&stopped, "run.requests"), number(&stopped, "until.requests"));
        assert!((at_stop..=at_stop + 4.0).contains(&requests) && requests < 200_000.0, "{requests} {at_stop}");
        assert!(at_stop >= number(&stopped, "until.batches") * number(&stopped, "until.batch_requests"));
        assert_eq!(document(&with(&[("run.until", until)])), stopped, "the same run ends at the same request");
    }
}

#[test]
fn t681_what_a_stopped_run_says_is_what_its_metrics_say() {
    let stopped = document(&with(&[("run.until", "steady ± 3 %")]));
    let quantities = &stopped["until"]["quantities"];
    let fields = ["write_amplification", "host.read.latency_us.mean", "host.write.latency_us.mean"];
    for (nth, field) in fields.into_iter().enumerate() {
        let (known, measured) = (quantities[nth]["value"].as_f64().expect("a number"), number(&stopped, field));
        // The requests in flight at the end are measured but not looked at.
        assert!((known / measured - 1.0).abs() < 0.002, "{field}: {known} {measured}");
    }
    let stopped = document(&with(&[("run.until", "p99 ± 10 %")]));
    for (nth, kind) in ["read", "write"].into_iter().enumerate() {
        let known = stopped["until"]["quantities"][nth]["value"].as_f64().expect("a number");
        let measured = number(&stopped, &format!("host.{kind}.latency_us.p99"));
        assert!((known / measured - 1.0).abs() < 0.005, "{kind}: {known} {measured}");
    }
}

#[test]
fn t682_requests_that_end_first_are_told_with_how_well_things_are_known() {
    let short = document(&with(&[("run.until", "mean ± 0.2 %"), ("run.max_requests", "10000")]));
    assert_eq!((short["until"]["outcome"].as_str(), state(&short, 1)), (Some("not-reached"), "wide"));
    assert!(number(&short, "until.half_width") > 0.002);
    assert_eq!(number(&short, "run.requests"), 10_000.0);
    let warning = short["warnings"][0].as_str().expect("a warning");
    assert!(
        warning.starts_with("run.until = \"mean ± 0.2 %\" was not reached before the requests ended: "),
        "{warning}"
    );
    assert!(warning.contains("write_latency_us is known to ± "), "{warning}");

    let (mut trace, page) = (Vec::new(), 4096);
    (0..100).for_each(|n| trace.push((n * 10_007, 'W', n % 60 * page, 4096)));
    // The times have no common step, so nothing else is warned of.
    let short = TraceFile::new("until-short", &trace).run(&[("run.until", "mean ± 5 %")]);
    assert_eq!((short["until"]["half_width"].clone(), &short["until"]["batches"]), (Value::Null, &Value::from(0)));
    assert!(short["warnings"][0].as_str().is_some_and(|text| text.contains("too few requests")));
}

#[test]
fn t683_without_a_clock_steady_is_write_amplification_alone() {
    let untimed = document(&with(&[("run.until", "steady ± 2 %"), ("run.timed", "false")]));
    assert_eq!((untimed["until"]["outcome"].as_str(), state(&untimed, 0)), (Some("reached"), "known"));
    assert_eq!(untimed["until"]["quantities"].as_array().map(Vec::len), Some(1));
    for until in ["mean ± 5 %", "p50 ± 5 %", "p90 ± 5 %", "p99 ± 5 %", "p99.9 ± 5 %"] {
        let refused = Config::resolve(&source(&with(&[("run.until", until), ("run.timed", "false")])));
        let expected = format!("run.until = \"{until}\" is a latency, which needs run.timed = true, found false");
        assert_eq!(refused.err(), Some(SpecError(expected)));
    }
}

#[test]
fn t684_a_device_without_collection_is_not_steady_and_a_latency_on_it_warns() {
    let fresh = [("initial.age_writes", "0"), ("initial.fill", "0"), ("run.max_requests", "9000")];
    let steady = document(&with(&[&fresh[..], &[("run.until", "steady")]].concat()));
    assert_eq!((steady["until"]["outcome"].as_str(), state(&steady, 0)), (Some("not-reached"), "no-erases"));
    let writes = [("workload.read_fraction", "0"), ("run.until", "mean ± 5 %")];
    let mean = document(&with(&[&fresh[..], &writes].concat()));
    assert_eq!(mean["until"]["outcome"], "reached", "{}", mean["until"]);
    assert!(mean["warnings"][0].as_str().is_some_and(|text| text.contains("without any block being erased")));
}

#[test]
fn t685_an_open_loop_and_a_warm_up_count_what_is_measured() {
    let open = [
        ("host.mode", "open-loop"),
        ("workload.mean_interarrival_us", "6000"),
        ("run.warmup_requests", "5000"),
        ("run.until", "mean ± 10 %"),
    ];
    let stopped = document(&with(&open));
    assert_eq!(stopped["until"]["outcome"], "reached", "{}", stopped["until"]);
    let (requests, at_stop) = (number(&stopped, "run.requests"), number(&stopped, "until.requests"));
    assert!(requests >= at_stop && requests < at_stop + 100.0, "{requests} {at_stop}");
}

#[test]
fn t686_the_rule_is_no_part_of_an_aged_device_and_nothing_without_it() {
    let (plain, until) = (spec(&AGED), spec(&with(&[("run.until", "steady")])));
    let identity = AgedIdentity::of(&plain, 1.0).expect("it is aged");
    assert_eq!(AgedIdentity::of(&until, 1.0), Some(identity));
    assert_ne!(plain.digest(), until.digest(), "but it is a part of the run");
    assert_eq!(document(&with(&[("run.max_requests", "500")]))["until"], Value::Null);
}

/// Whoever reads a long trace ahead on a thread reads as much of it as the thread comes to, and the document tells.
#[test]
fn t688_a_run_that_may_end_early_reads_no_more_of_a_long_trace_than_it_takes() {
    // All lie beyond the device and are wrapped into it, which is counted and told.
    let far = 1 << 40;
    let request = |n: u64| (n * 10_007, ['W', 'R'][(n % 2) as usize], far + n * 7_919 % 60 * 4096, 4096);
    let trace = TraceFile::new("until-long", &(0..30_000).map(request).collect::<Vec<_>>());
    let stopped = trace.run(&with(&[("workload.address", "wrap"), ("run.until", "mean ± 10 %")]));
    assert_eq!(stopped["until"]["outcome"], "reached", "{}", stopped["until"]);
    let warned = stopped["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let wrapped = warned
        .filter(|text| text.contains("wrapped into it"))
        .find_map(|text| text.split(' ').next().and_then(|number| number.replace(',', "").parse::<f64>().ok()));
    let (wrapped, requests) = (wrapped.expect("a warning"), number(&stopped, "run.requests"));
    assert!(requests < 20_000.0, "{requests} requests leave enough to read");
    assert!((requests..requests + 100.0).contains(&wrapped), "{wrapped} of {requests}");
}
