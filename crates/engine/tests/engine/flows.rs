//! 745 to 749 and 754 to 757: flows side by side, against closed forms of shared servers and against themselves alone.

use pumice_engine::run;
use serde_json::Value;

use crate::golden::fields;
use crate::power_layers::{all_keep_their_promises, combinations, cut_often};
use crate::support::{accepts, document, number, spec};

/// Two dies on channels of their own, all of it stored. Logical blocks lie on them in turn.
const TWO_DIES: &[(&str, &str)] = &[
    ("ftl.kind", "nftl"),
    ("geometry.planes_per_die", "1"),
    ("initial.fill", "1.0"),
    ("workload.read_fraction", "1.0"),
    ("workload.request_bytes", "4096"),
    ("workload.requests", "20000"),
    ("host.mode", "closed-loop"),
];

/// Time of a read of one page on an idle die, in microseconds.
const SERVICE_US: f64 = 70.0 + 10.56;

/// The shares of the user capacity that hold so many logical blocks from one on.
fn blocks(sets: &[(&str, &str)], first: u32, blocks: u32) -> String {
    let pages = f64::from(spec(sets).user_pages(1.0).expect("a device"));
    // Half a page more, so that rounding down ends at the page that is meant.
    let share = |block: u32| (f64::from(block * 64) + 0.5) / pages;
    format!("[{}, {}]", if first == 0 { 0.0 } else { share(first) }, share(first + blocks))
}

/// The flow's part of a document, without what it was asked for.
fn flow(document: &Value, name: &str) -> Value {
    let flow = document["flows"][name].clone();
    assert!(flow.is_object(), "no flow {name}: {}", document["flows"]);
    flow
}

#[test]
fn t745_one_flow_is_the_workload_alone() {
    let modes: [&[(&str, &str)]; 3] = [
        &[("host.mode", "open-loop"), ("workload.mean_interarrival_us", "900")],
        &[("host.mode", "closed-loop"), ("host.queue_depth", "9"), ("host.write_buffer_kib", "64")],
        &[("run.timed", "false")],
    ];
    for mode in modes {
        let sets = [&[("workload.requests", "6000"), ("workload.flush_every", "50"), ("seed", "7")], mode].concat();
        let alone = document(&sets);
        let flow = document(&[&sets[..], &[("workload.flow[0].kind", "uniform")]].concat());
        assert_eq!(fields(&alone), fields(&flow), "{mode:?}");
        assert_eq!(alone["flows"], Value::Null);
        assert_eq!(flow["flows"]["flow0"]["read"], alone["host"]["read"]);
    }
}

#[test]
fn t746_flows_on_disjoint_dies_do_not_disturb_each_other() {
    let (left, right) = (blocks(TWO_DIES, 0, 1), blocks(TWO_DIES, 1, 1));
    let flows = [
        ("workload.flow[0].range", left.as_str()),
        ("workload.flow[0].queue_depth", "4"),
        ("workload.flow[1].range", right.as_str()),
        ("workload.flow[1].queue_depth", "7"),
        ("workload.flow[1].requests", "9000"),
    ];
    let sets = [TWO_DIES, &flows].concat();
    let both = document(&sets);
    for (number, name) in [("0", "flow0"), ("1", "flow1")] {
        let alone = document(&[&sets[..], &[("run.only_flow", number)]].concat());
        assert_eq!(flow(&both, name), flow(&alone, name));
    }
    // On the same die they do.
    let shared = document(&[&sets[..], &[("workload.flow[1].range", left.as_str())]].concat());
    assert_ne!(flow(&both, "flow0")["read"], flow(&shared, "flow0")["read"]);
}

#[test]
fn t747_flows_on_one_die_share_it_by_their_depths() {
    let left = blocks(TWO_DIES, 0, 1);
    let flows = [
        ("workload.flow[0].name", "shallow"),
        ("workload.flow[0].range", left.as_str()),
        ("workload.flow[0].queue_depth", "2"),
        ("workload.flow[1].name", "deep"),
        ("workload.flow[1].range", left.as_str()),
        ("workload.flow[1].queue_depth", "6"),
        ("workload.flow[1].requests", "60000"),
    ];
    let found = document(&[TWO_DIES, &flows].concat());
    // Eight requests wait for one server at any time, first come, first served.
    for (name, depth) in [("shallow", 2.0), ("deep", 6.0)] {
        let (iops, mean) = (number(&found, &format!("flows.{name}.iops")), 8.0 * SERVICE_US);
        assert!((iops * SERVICE_US / 1e6 / (depth / 8.0) - 1.0).abs() < 0.01, "{name}: {iops}");
        let latency = number(&found, &format!("flows.{name}.read.latency_us.mean"));
        assert!((latency / mean - 1.0).abs() < 0.01, "{name}: {latency} instead of {mean}");
    }
}

#[test]
fn t748_a_rate_limited_flow_keeps_its_rate_or_its_depth() {
    let left = blocks(TWO_DIES, 0, 1);
    let of = |interarrival: &str| {
        document(
            &[
                TWO_DIES,
                &[
                    ("workload.flow[0].range", left.as_str()),
                    ("workload.flow[0].mode", "rate-limited"),
                    ("workload.flow[0].queue_depth", "5"),
                    ("workload.flow[0].arrival", "fixed"),
                    ("workload.flow[0].mean_interarrival_us", interarrival),
                ],
            ]
            .concat(),
        )
    };
    let slow = of("400.0");
    assert!((number(&slow, "flows.flow0.iops") / 2_500.0 - 1.0).abs() < 0.001);
    assert!((number(&slow, "flows.flow0.read.latency_us.max") - SERVICE_US).abs() < 1e-6);
    let fast = of("10.0");
    assert!((number(&fast, "flows.flow0.iops") * SERVICE_US / 1e6 - 1.0).abs() < 0.001);
    assert!((number(&fast, "flows.flow0.read.latency_us.p50") / (5.0 * SERVICE_US) - 1.0).abs() < 0.003);
}

/// Two flows that the controller answers without flash, on a core that takes 10 us for each request.
fn at_one_core(own: &[(&str, &str)]) -> Value {
    let sets = [
        ("initial.fill", "0.0"),
        ("workload.read_fraction", "1.0"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "40000"),
        ("host.mode", "closed-loop"),
        ("controller.t_request_us", "10.0"),
        ("workload.flow[0].queue_depth", "16"),
        ("workload.flow[1].queue_depth", "16"),
    ];
    document(&[&sets, own].concat())
}

#[test]
fn t749_cores_serve_flows_by_weight_and_priority() {
    let share = |found: &Value, name: &str| number(found, &format!("flows.{name}.iops")) / 100_000.0;
    let weighted = at_one_core(&[("workload.flow[1].weight", "3"), ("workload.flow[1].requests", "120000")]);
    assert!((share(&weighted, "flow0") - 0.25).abs() < 0.001, "{}", weighted["flows"]);
    assert!((share(&weighted, "flow1") - 0.75).abs() < 0.001, "{}", weighted["flows"]);
    // An urgent request finds the core at work for another one: it waits for that one, and for no second one.
    let urgent = at_one_core(&[("workload.flow[0].queue_depth", "1"), ("workload.flow[0].priority", "urgent")]);
    assert!((number(&urgent, "flows.flow0.read.latency_us.max") - 20.0).abs() < 1e-6, "{}", urgent["flows"]);
    // Where a class always waits, the lower ones are served when it is done.
    let starved = at_one_core(&[("workload.flow[0].priority", "low")]);
    assert!((share(&starved, "flow1") - 1.0).abs() < 0.001, "{}", starved["flows"]);
    assert!((share(&starved, "flow0") - 0.5).abs() < 0.001, "{}", starved["flows"]);
}

#[test]
fn t754_a_flow_is_the_same_beside_any_other() {
    // Every flow's requests come from streams of its own: what another flow asks for changes none of them.
    let flows = [
        ("run.timed", "false"),
        ("workload.requests", "3000"),
        ("workload.flow[0].kind", "uniform"),
        ("workload.flow[1].kind", "zipf"),
        ("workload.flow[1].read_fraction", "0.5"),
    ];
    let counts = |more: &[(&str, &str)]| {
        let found = document(&[&flows, more].concat());
        (found["flows"]["flow1"]["read"].clone(), found["flows"]["flow1"]["write"].clone())
    };
    let beside = counts(&[]);
    assert_eq!(beside, counts(&[("workload.flow[0].kind", "hot-cold"), ("workload.flow[0].requests", "77")]));
    assert_eq!(beside, counts(&[("run.only_flow", "1")]));
    assert_ne!(beside, counts(&[("seed", "2")]));
}

#[test]
fn t755_arrivals_of_flows_are_merged_by_time_and_then_by_number() {
    let sets = [
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("workload.read_fraction", "1.0"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "100"),
        ("initial.fill", "1.0"),
        ("workload.arrival", "fixed"),
        ("workload.mean_interarrival_us", "1000.0"),
        ("workload.flow[0].name", "first"),
        ("workload.flow[1].name", "second"),
    ];
    let found = document(&sets);
    // Both arrive at the same instants: the first is served first each time.
    assert!((number(&found, "flows.first.read.latency_us.max") - SERVICE_US).abs() < 1e-6);
    assert!((number(&found, "flows.second.read.latency_us.max") - 2.0 * SERVICE_US).abs() < 1e-6);
    assert_eq!(number(&found, "host.read.requests"), 200.0);
}

#[test]
fn t756_flows_that_cannot_be_are_refused_by_their_path() {
    let refused = |sets: &[(&str, &str)], text: &str| {
        let error = accepts(sets).expect_err(text);
        assert!(error.contains(text), "{error}");
        assert!(!error.contains('\n'), "{error}");
    };
    let two = [("workload.flow[0].kind", "uniform"), ("workload.flow.1.kind", "zipf")];
    assert_eq!(accepts(&two), Ok(()));
    let with = |more: (&'static str, &'static str)| [two[0], two[1], more];
    refused(
        &with(("workload.flow[1].kind", "zip")),
        "workload.flow[1].kind = \"zip\" does not exist; nearest: \"zipf\"",
    );
    refused(&with(("workload.flow[1].queue_deph", "4")), "nearest valid key: 'workload.flow[1].queue_depth'");
    refused(&with(("workload.flow[3].kind", "zipf")), "flow 2 is not there yet");
    refused(&with(("workload.flow[1].name", "flow0")), "workload.flow[1].name = \"flow0\" is the name of another flow");
    refused(&with(("workload.flow[1].name", "")), "workload.flow[1].name = \"\" is no name");
    refused(&with(("workload.flow[1].range", "[0.5, 0.5]")), "workload.flow[1].range = [0.5, 0.5] is no range");
    refused(&with(("workload.flow[1].read_fraction", "1.5")), "workload.flow[1].read_fraction = 1.5 is not allowed");
    refused(&with(("workload.flow[1].kind", "trace")), "workload.flow[1].kind = \"trace\" needs workload.flow[1].path");
    refused(&with(("workload.flow[64].kind", "zipf")), "at most 64 flows");
    let streams = [
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.handles", "2"),
        ("workload.flow[1].stream", "2"),
    ];
    refused(&[&two[..], &streams].concat(), "workload.flow[1].stream = 2 with ftl.handles = 2; allowed: 0 to 1");
    refused(&with(("run.only_flow", "2")), "run.only_flow = 2 is no flow; allowed: 0 to 1");
    refused(&[two[0], ("initial.age_writes", "0.5"), ("initial.aged_by", "requests")], "initial.aged_by = \"pages\"");
}

/// Flows of all modes, with flushes among their writes.
const OF_ALL_MODES: &[(&str, &str)] = &[
    ("workload.requests", "300"),
    ("workload.flow[0].mode", "closed-loop"),
    ("workload.flow[0].queue_depth", "8"),
    ("workload.flow[0].range", "[0.0, 0.7]"),
    ("workload.flow[0].flush_every", "9"),
    ("workload.flow[1].mode", "rate-limited"),
    ("workload.flow[1].queue_depth", "2"),
    ("workload.flow[1].mean_interarrival_us", "300.0"),
    ("workload.flow[1].range", "[0.3, 1.0]"),
    ("workload.flow[1].priority", "high"),
    ("workload.flow[2].mode", "open-loop"),
    ("workload.flow[2].mean_interarrival_us", "2000.0"),
    ("workload.flow[2].kind", "zipf"),
    ("workload.flow[2].weight", "3"),
    ("controller.t_request_us", "4.0"),
    ("controller.t_command_us", "1.0"),
];

#[test]
fn t895_flows_keep_their_promises_over_power_cuts() {
    let devices = combinations().iter().map(|layer| layer.device(OF_ALL_MODES)).collect();
    let met = all_keep_their_promises(devices, cut_often);
    assert!(met.cuts > 500, "{met:?}");
}

#[test]
fn t757_all_modes_run_side_by_side_and_every_request_is_done() {
    let found = document(OF_ALL_MODES);
    let requests = |name: &str| number(&found, &format!("flows.{name}.requests"));
    assert_eq!([requests("flow0"), requests("flow1"), requests("flow2")], [333.0, 300.0, 300.0]);
    assert_eq!(found, document(OF_ALL_MODES), "the same spec gives the same document");
    let stopped = run(&spec(&[OF_ALL_MODES, &[("run.max_requests", "50")]].concat()), 1.0, &mut |_| true);
    assert_eq!(stopped.expect("it runs").requests, 50);
}

#[test]
fn t779_a_flow_names_its_stream_for_its_requests_and_for_what_ages_its_addresses() {
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.handles", "2"),
        ("ftl.isolation", "persistent"),
        ("workload.read_fraction", "0.0"),
        ("workload.requests", "4000"),
        ("workload.flow[0].range", "[0.0, 0.5]"),
        ("workload.flow[1].range", "[0.5, 1.0]"),
        ("workload.flow[1].requests", "12000"),
        ("workload.flow[1].stream", "1"),
    ];
    let found = document(&sets);
    let of = |document: &Value, handle: usize| document["placement"]["handles"][handle]["host_bytes"].clone();
    for (handle, name) in [(0, "flow0"), (1, "flow1")] {
        assert_eq!(of(&found, handle), flow(&found, name)["write"]["bytes"], "{name}");
    }
    // Aged by nothing but the addresses of the second flow, handle 0 has the blocks of the initial fill alone.
    let aged = [("initial.fill", "0.0"), ("initial.age_writes", "0.3"), ("workload.read_fraction", "1.0")];
    let moved = |stream: &'static str| {
        let all = [("workload.flow[0].range", "[0.0, 1.0]"), ("workload.flow[0].stream", stream)];
        let aged = document(&[&sets[..], &aged, &all].concat());
        aged["placement"]["handles"][1]["available_bytes"].clone()
    };
    assert_ne!(moved("0"), moved("1"), "the open blocks of the handle that is named are used");
}
