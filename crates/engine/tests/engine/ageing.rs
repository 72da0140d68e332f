//! 706 to 709: a device is aged by writes of one page, or by what its workload writes.

use pumice_engine::observe::Observer;
use pumice_engine::run;
use pumice_types::{FlashCommand, FlashOp, Time};

use crate::support::{document, number, run_seen_by, spec};

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
