//! 706 to 709, 788, 789: a device is aged by writes of one page, by what its workload writes, or by drawing where writes lead.

#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

use proptest::prelude::*;
use pumice_engine::observe::{Observer, ObserverRef};
use pumice_engine::{Session, run};
use pumice_types::{FlashCommand, FlashOp, Lpn, Time};

use crate::contract::run_any_host;
use crate::random_devices::{host_settings, page_settings};
use crate::support::{accepts, document, number, run_seen_by, spec};

/// Requests of 32 pages, to planes that their pages name.
const STATIC: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.allocation", "static"),
    ("ftl.over_provisioning", "0.2"),
    ("partial_erase.unit", "none"),
    ("geometry.channels", "4"),
    ("geometry.chips_per_channel", "1"),
    ("geometry.dies_per_chip", "2"),
    ("geometry.planes_per_die", "1"),
    ("geometry.blocks_per_plane", "96"),
    ("geometry.pages_per_block", "64"),
    ("initial.fill", "1.0"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("workload.request_bytes", "131072"),
];

/// Random ones, writes all of them.
const UNIFORM: &[(&str, &str)] = &[("workload.kind", "uniform"), ("workload.read_fraction", "0.0")];

fn iops(more: &[(&str, &str)]) -> f64 {
    number(&document(&[STATIC, UNIFORM, more].concat()), "host.iops")
}

#[test]
fn t706_a_device_aged_by_its_requests_is_where_they_lead() {
    // 1,228 requests write the user capacity.
    let by_itself = iops(&[("workload.requests", "8000"), ("run.warmup_requests", "6000")]);
    let aged = |by: &str| iops(&[("workload.requests", "2000"), ("initial.age_writes", "5"), ("initial.aged_by", by)]);
    let (by_requests, by_pages) = (aged("requests"), aged("pages"));
    println!(
        "requests/s: {by_itself:.0} after its own requests, aged by requests {by_requests:.0}, by pages {by_pages:.0}"
    );
    assert!((by_requests / by_itself - 1.0).abs() < 0.03, "{by_requests} and {by_itself}");
    assert!(by_pages < 0.95 * by_requests, "{by_pages} and {by_requests}");
}

/// Pages programmed for the host before measuring begins, and while it lasts.
#[derive(Default)]
struct Programmed(Vec<(bool, u32)>);

impl Observer for Programmed {
    fn command(&mut self, _: Time, end: Time, command: &FlashCommand) {
        if command.op == FlashOp::Program {
            self.0.push((end > Time::ZERO, command.lpn.0));
        }
    }
}

#[test]
fn t707_a_generator_ages_by_requests_that_come_behind_those_of_the_run() {
    let all = |sets: &[(&str, &str)]| {
        let mut seen = Programmed::default();
        run_seen_by(&spec(&[STATIC, UNIFORM, sets].concat()), &mut seen).expect("it runs");
        seen.0
    };
    let long = all(&[("workload.requests", "700")]);
    let aged = all(&[("workload.requests", "100"), ("initial.age_writes", "0.4"), ("initial.aged_by", "requests")]);
    let of =
        |all: &[(bool, u32)], timed: bool| all.iter().filter(|one| one.0 == timed).map(|one| one.1).collect::<Vec<_>>();
    let (ageing, run) = (of(&aged, false), of(&aged, true));
    let sorted = |lpns: &[u32]| {
        let mut lpns = lpns.to_vec();
        lpns.sort_unstable();
        lpns
    };
    let of_long = of(&long, true);
    let requests = (0.4f64 * 39_321.0 * 4096.0 / 131_072.0).ceil() as usize;
    assert_eq!(ageing.len(), requests * 32, "as much as is asked for, in whole requests");
    assert_eq!(sorted(&run), sorted(&of_long[..100 * 32]));
    assert_eq!(sorted(&ageing), sorted(&of_long[100 * 32..(100 + requests) * 32]));
}

#[test]
fn t709_every_workload_ages_its_device() {
    for kind in ["sequential", "uniform", "zipf", "hot-cold", "permutation", "w10", "pic", "twin:hm_0"] {
        let more = [
            ("workload.kind", kind),
            ("workload.requests", "200"),
            ("workload.request_bytes", "8192"),
            ("workload.address", "wrap"),
            ("run.max_requests", "200"),
            ("run.check", "integrity"),
            ("initial.age_writes", "1.5"),
            ("initial.aged_by", "requests"),
        ];
        let outcome = run(&spec(&[STATIC, &more].concat()), 1.0, &mut |_| true).expect("it runs");
        assert_eq!(outcome.integrity_error, None, "{kind}");
        let aged = outcome.flash_commands - number(&outcome.document, "run.flash_commands") as u64;
        assert!(aged > 39_321, "{kind}: {aged} commands before the first request");
    }
}

/// Valid pages of the blocks of an aged device, in order, the valid pages of its planes, and the write amplification of a
/// user capacity of random writes more.
fn aged(sets: &[(&str, &str)]) -> (Vec<u32>, Vec<f64>, f64) {
    let config = spec(sets);
    let mut session = Session::new(&config, 1.0, ObserverRef::nobody()).expect("a device");
    let mut ageing = session.ageing().expect("a workload").expect("it is aged");
    while session.age(&mut ageing).expect("it ages") {}
    let geometry = config.device_geometry(1.0).expect("a geometry");
    let (mut blocks, mut planes) = (vec![0; geometry.blocks() as usize], vec![0.0; geometry.planes() as usize]);
    let ftl = session.ssd.ftl();
    for place in (0..ftl.user_pages()).filter_map(|lpn| ftl.locate(Lpn(lpn))) {
        blocks[place.block.index()] += 1;
        planes[geometry.plane_of(place.block).index()] += 1.0;
    }
    // Free blocks, and those that are being written.
    blocks.sort_unstable();
    let outcome = run(&config, 1.0, &mut |_| true).expect("it runs");
    assert_eq!(outcome.integrity_error, None, "{sets:?}");
    (blocks, planes, number(&outcome.document, "write_amplification"))
}

fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The largest difference between the shares of blocks that have at most so many valid pages.
fn distance(one: &[u32], other: &[u32]) -> f64 {
    let share = |of: &[u32], most: u32| of.partition_point(|&valid| valid <= most) as f64 / of.len() as f64;
    let all = one.iter().chain(other);
    all.map(|&most| (share(one, most) - share(other, most)).abs()).fold(0.0, f64::max)
}

/// A device that is aged whole.
const WHOLE: &[(&str, &str)] = &[
    ("geometry.blocks_per_plane", "256"),
    ("geometry.planes_per_die", "2"),
    ("ftl.allocation", "dynamic"),
    ("ftl.over_provisioning", "0.12"),
    ("workload.request_bytes", "4096"),
    ("workload.requests", "120000"),
    ("workload.footprint", "1.0"),
    ("run.timed", "false"),
    ("run.check", "integrity"),
];

#[test]
fn t708_a_drawn_device_is_where_random_writes_lead() {
    for more in [
        &[][..],
        &[("ftl.allocation", "static")],
        &[("ftl.over_provisioning", "0.3")],
        &[("ftl.erase_group", "die"), ("timing.copyback", "false")],
        &[
            ("timing.copyback", "false"),
            ("geometry.blocks_per_plane", "64"),
            ("geometry.page_bytes", "16384"),
            ("ftl.map_unit_bytes", "4096"),
            ("host.write_buffer_kib", "256"),
            ("ftl.over_provisioning", "0.2"),
        ],
    ] {
        let of = |writes, by| {
            let ageing = [("initial.age_writes", writes), ("initial.aged_by", by)];
            aged(&[STATIC, UNIFORM, WHOLE, more, &ageing].concat())
        };
        let (written, drawn) = (of("8", "pages"), of("0.05", "drawn"));
        let apart = distance(&written.0, &drawn.0);
        println!(
            "{more:?}: valid pages of blocks apart by {apart:.3}, fewest {:?}, planes spread {:.0} and {:.0}, write amplification {:.3} and {:.3}",
            [&written.0, &drawn.0].map(|blocks| blocks[blocks.len() / 8]),
            spread(&written.1),
            spread(&drawn.1),
            written.2,
            drawn.2,
        );
        assert!(apart < 0.05, "{more:?}: {apart}");
        assert!((drawn.2 / written.2 - 1.0).abs() < 0.015, "{more:?}: {} and {}", written.2, drawn.2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn t788_no_host_makes_a_drawn_device_lose_anything(settings in page_settings(), host in host_settings()) {
        let drawn = [
            ("ftl.gc_policy", "greedy"),
            ("initial.age_writes", "0.1"),
            ("initial.aged_by", "drawn"),
            ("workload.footprint", "1.0"),
        ];
        let drawn = drawn.map(|(key, value)| (key.to_string(), value.to_string()));
        run_any_host(&[settings, drawn.to_vec()].concat(), &host);
    }
}

#[test]
fn t789_a_steady_state_without_a_closed_form_is_not_drawn() {
    let drawn = [("initial.age_writes", "0.1"), ("initial.aged_by", "drawn"), ("workload.footprint", "1.0")];
    let refused = |more: &[(&str, &str)], wanted: &str| {
        let why = accepts(&[STATIC, UNIFORM, &drawn, more].concat()).expect_err("it is refused");
        assert_eq!(why, format!("initial.aged_by = \"drawn\" needs {wanted}"));
    };
    refused(&[("ftl.gc_policy", "fifo")], "ftl.gc_policy = \"greedy\", found \"fifo\"");
    refused(&[("workload.footprint", "0.5")], "a workload.footprint of initial.fill or more, found 0.5 and 1");
    let cached = [("ftl.map_place", "cached"), ("ftl.map_cache_entries", "100")];
    refused(&cached, "ftl.map_place = \"ram\", found \"cached\"");
    let nftl = [("ftl.kind", "nftl"), ("ftl.allocation", "dynamic"), ("initial.fill", "0.9")];
    refused(&nftl, "ftl.kind = \"page\", found \"nftl\"");
}
