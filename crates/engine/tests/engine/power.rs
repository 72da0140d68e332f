//! 80x: the power is cut at every command of small devices, with everything that it may leave. What was promised is
//! still there, and the device goes on.

use pumice_config::{Config, TornKind};
use pumice_engine::observe::Observer;
use pumice_engine::run_observed;
use pumice_ftl::{Allocation, GcMode, Separation};
use pumice_types::{Choice, FlashCommand, Time};
use serde_json::Value;

use crate::support::{number, spec};

type Sets<'a> = Vec<(&'a str, &'a str)>;

/// Two dies of ten blocks of eight pages, full, mostly overwritten in a fifth of it: collection never rests.
const DEVICE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.recovery", "scan"),
    ("ftl.over_provisioning", "0.6"),
    ("partial_erase.unit", "none"),
    ("geometry.channels", "2"),
    ("geometry.chips_per_channel", "1"),
    ("geometry.dies_per_chip", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.blocks_per_plane", "16"),
    ("geometry.pages_per_block", "8"),
    ("geometry.program_order", "in-order"),
    ("initial.fill", "1.0"),
    ("workload.kind", "hot-cold"),
    ("workload.read_fraction", "0.2"),
    ("workload.request_bytes", "8192"),
    ("workload.requests", "160"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("run.check", "integrity"),
];

/// When commands ran.
#[derive(Default)]
struct Spans(Vec<(Time, Time)>);

impl Observer for Spans {
    fn command(&mut self, start: Time, end: Time, _: &FlashCommand) {
        self.0.push((start, end));
    }
}

/// Runs a spec; the document, and when its commands ran.
fn run(sets: &Sets) -> (Value, Vec<(Time, Time)>) {
    let config: Config = spec(sets);
    let mut spans = Spans::default();
    let outcome = run_observed(&config, 1.0, &mut spans, &mut |_| true);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}\n{}", as_command(sets)));
    assert_eq!(outcome.integrity_error, None, "{}", as_command(sets));
    (outcome.document, spans.0)
}

/// The same run for somebody who types it.
fn as_command(sets: &Sets) -> String {
    let sets: Vec<String> = sets.iter().map(|(key, value)| format!("--set '{key}={value}'")).collect();
    format!("pumice run --preset tiny {}", sets.join(" "))
}

/// Instants at which something may be under way: the beginning, middle and end of every command.
fn instants(spans: &[(Time, Time)]) -> Vec<Time> {
    let mut all: Vec<Time> = spans
        .iter()
        .flat_map(|&(start, end)| [start + Time(1), Time((start.0 + end.0) / 2), end, end + Time(1)])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Cuts the power of a device at every instant at which something happens, with everything that may be left.
/// Returns how many cuts that were, and how many programs and erases they interrupted.
fn cut_everywhere(more: &Sets) -> [u64; 3] {
    let sets: Sets = DEVICE.iter().chain(more).copied().collect();
    let (whole, spans) = run(&sets);
    assert!(number(&whole, "flash.erases.block") > 10.0, "collection works");
    let mut counted = [0; 3];
    for at in instants(&spans) {
        for torn in TornKind::NAMES {
            let at_s = format!("[{:?}]", at.0 as f64 / 1e9);
            let sets: Sets = sets.iter().copied().chain([("power.cut_at_s", &*at_s), ("power.torn", torn)]).collect();
            let (document, _) = run(&sets);
            if document["power"]["cuts"] == 1 {
                assert_eq!(number(&document, "power.broken_promises"), 0.0, "{}", as_command(&sets));
                counted[0] += 1;
                counted[1] += number(&document, "power.torn_programs") as u64;
                counted[2] += number(&document, "power.torn_erases") as u64;
            }
        }
    }
    counted
}

#[test]
fn t800_a_page_level_ftl_keeps_its_promises_wherever_the_power_is_cut() {
    let mut counted = [0; 3];
    for &allocation in Allocation::ALL {
        for &mode in GcMode::ALL {
            let apart = if mode == GcMode::Blocking { Separation::Mixed } else { Separation::Gc };
            let sets = vec![
                ("ftl.allocation", allocation.name()),
                ("ftl.gc_mode", mode.name()),
                ("ftl.hot_cold", apart.name()),
            ];
            let more = cut_everywhere(&sets);
            counted.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    println!("{} cuts interrupted {} programs and {} erases", counted[0], counted[1], counted[2]);
    assert!(counted[0] > 1_000 && counted[1] > 500 && counted[2] > 50, "{counted:?}");
}
