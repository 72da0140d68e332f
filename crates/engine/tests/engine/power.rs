//! 80x: the power is cut at every command of small devices, with everything that it may leave. What was promised is
//! still there, and the device goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pumice_config::{Config, TornKind};
use pumice_engine::observe::Observer;
use pumice_engine::run_observed;
use pumice_ftl::{Allocation, GcMode, Separation};
use pumice_types::recovery_fault::switch;
use pumice_types::{Choice, FlashCommand, RecoveryFault, Time};
use serde_json::Value;

use crate::power_blocks::OF_BLOCKS;
use crate::support::{number, spec};

/// Settings of a spec.
pub type Sets<'a> = Vec<(&'a str, &'a str)>;

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

/// Runs a spec: the document, and when its commands ran. An error names the command that repeats it.
fn run(sets: &Sets) -> Result<(Value, Vec<(Time, Time)>), String> {
    let config: Config = spec(sets);
    let mut spans = Spans::default();
    let outcome = run_observed(&config, 1.0, &mut spans, &mut |_| true);
    let told = |error: String| format!("{error}\n{}", as_command(sets));
    let outcome = outcome.map_err(|error| told(error.to_string()))?;
    outcome.integrity_error.map_or(Ok((outcome.document, spans.0)), |error| Err(told(error)))
}

/// The same run for somebody who types it.
fn as_command(sets: &Sets) -> String {
    let sets: Vec<String> = sets.iter().map(|(key, value)| format!("--set '{key}={value}'")).collect();
    format!("pumice run --preset tiny {}", sets.join(" "))
}

/// Instants at which something may be under way: around the beginning, the middle and the end of every command.
fn instants(spans: &[(Time, Time)]) -> Vec<Time> {
    let around = |&(start, end): &(Time, Time)| [start + Time(1), Time((start.0 + end.0) / 2), end, end + Time(1)];
    let mut all: Vec<Time> = spans.iter().flat_map(around).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What cuts have met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub cuts: u64,
    pub programs: u64,
    pub erases: u64,
}

impl Met {
    pub fn with(self, more: Met) -> Met {
        let Met { cuts, programs, erases } = more;
        Met { cuts: self.cuts + cuts, programs: self.programs + programs, erases: self.erases + erases }
    }

    fn add(&mut self, document: &Value) {
        self.cuts += number(document, "power.cuts") as u64;
        self.programs += number(document, "power.torn_programs") as u64;
        self.erases += number(document, "power.torn_erases") as u64;
    }
}

/// Runs with cuts at these times and all that they may leave.
fn cut_at(sets: &Sets, times: &[Time], met: &mut Met) -> Result<Vec<(Time, Time)>, String> {
    let times: Vec<String> = times.iter().map(|time| format!("{:?}", time.0 as f64 / 1e9)).collect();
    let times = format!("[{}]", times.join(", "));
    let mut last = Vec::new();
    for torn in TornKind::NAMES {
        let sets: Sets = sets.iter().copied().chain([("power.cut_at_s", &*times), ("power.torn", torn)]).collect();
        let (document, spans) = run(&sets)?;
        met.add(&document);
        last = spans;
    }
    Ok(last)
}

/// Cuts the power of a device at every `step`-th instant at which something happens; and again, at every one of them
/// while it starts anew and shortly after.
pub fn cut_everywhere(device: &Sets, step: usize, again: bool) -> Result<Met, String> {
    let (whole, spans) = run(device)?;
    let erases = |kind: &str| whole["flash"]["erases"][kind].as_f64().unwrap_or(0.0);
    assert!(erases("block") + erases("partial") > 10.0, "collection works");
    let mut met = Met::default();
    for &at in instants(&spans).iter().step_by(step) {
        let spans = cut_at(device, &[at], &mut met)?;
        if again {
            let after = instants(&spans).into_iter().filter(|&again| again > at);
            for again in after.take(INSTANTS_AGAIN) {
                cut_at(device, &[at, again], &mut met)?;
            }
        }
    }
    Ok(met)
}

/// Instants after a first cut at which a second one comes: the last of them lie behind the recovery.
const INSTANTS_AGAIN: usize = 160;

/// Devices that decide differently what is done when.
fn devices() -> impl Iterator<Item = Sets<'static>> {
    Allocation::ALL.iter().flat_map(|allocation| {
        GcMode::ALL.iter().map(|mode| {
            let apart = if *mode == GcMode::Blocking { Separation::Mixed } else { Separation::Gc };
            let names = [allocation.name(), mode.name(), apart.name()];
            let names = ["ftl.allocation", "ftl.gc_mode", "ftl.hot_cold"].into_iter().zip(names);
            DEVICE.iter().copied().chain(names).collect()
        })
    })
}

#[test]
fn t800_a_page_level_ftl_keeps_its_promises_wherever_the_power_is_cut() {
    let mut met = Met::default();
    for (device, step) in devices().map(|device| (device, 1)).chain(further_devices().map(|device| (device, 5))) {
        let more = cut_everywhere(&device, step, false).unwrap_or_else(|error| panic!("{error}"));
        met = met.with(more);
    }
    println!("{met:?}");
    assert!(met.cuts > 10_000 && met.programs > 10_000 && met.erases > 1_000, "{met:?}");
}

#[test]
fn t801_and_wherever_it_is_cut_again_while_the_device_starts_anew() {
    let mut met = Met::default();
    for device in devices() {
        let more = cut_everywhere(&device, 61, true).unwrap_or_else(|error| panic!("{error}"));
        met = met.with(more);
    }
    println!("{met:?}");
    assert!(met.cuts > 10_000, "{met:?}");
}

/// Bad blocks and several planes; and dies so far apart that one erases what another has yet to replace.
fn further_devices() -> [Sets<'static>; 2] {
    let devices: [Sets; 2] = [
        vec![("geometry.bad_blocks_per_plane", "1"), ("geometry.planes_per_die", "2")],
        vec![
            ("geometry.channels", "4"),
            ("ftl.gc_mode", "background"),
            ("host.queue_depth", "8"),
            ("workload.requests", "400"),
            ("workload.read_fraction", "0.0"),
            ("workload.request_bytes", "4096"),
        ],
    ];
    devices.map(|more| DEVICE.iter().copied().chain(more).collect())
}

/// Whether a device fails with this fault at some of its cuts.
pub fn fails(fault: RecoveryFault, device: &Sets, step: usize, again: bool) -> bool {
    switch(Some(fault));
    let met = catch_unwind(AssertUnwindSafe(|| cut_everywhere(device, step, again)));
    switch(None);
    met.map_or(true, |met| met.is_err())
}

/// Whether some cut of some device fails with this fault.
fn is_noticed(fault: RecoveryFault) -> bool {
    further_devices().iter().any(|device| fails(fault, device, 13, false))
        || devices().any(|device| fails(fault, &device, 11, false))
        || devices().any(|device| fails(fault, &device, 61, true))
}

#[test]
fn t802_every_fault_in_starting_anew_is_noticed() {
    for device in further_devices() {
        cut_everywhere(&device, 13, false).unwrap_or_else(|error| panic!("without a fault: {error}"));
    }
    let faults: Vec<RecoveryFault> =
        RecoveryFault::ALL.iter().copied().filter(|fault| !OF_BLOCKS.contains(fault)).collect();
    let missed: Vec<&str> = faults.iter().filter(|&&fault| !is_noticed(fault)).map(|fault| fault.name()).collect();
    assert!(faults.len() >= 20);
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
