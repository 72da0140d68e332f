//! Whether a translation layer of the user's own keeps its contract: small devices, drawn requests, every rule and
//! check of a run, and the shortest sequence of requests that shows a failure.

mod cuts;
mod requests;
mod setup;
mod shrink;

use pumice_config::Config;
use pumice_ftl::plugin::OwnLayer;
use serde_json::{Value, json};

use cuts::check_cuts;
pub use requests::PageRequest;
use requests::{draw, run_sequence};
pub use setup::Finding;
use setup::{Sets, config_of, fails, outcome_of, settings};
use shrink::shortest;

/// Requests of one sequence, at the start.
const SEQUENCE: usize = 3000;

/// Sequences a device.
const SEQUENCES: u64 = 4;

/// Runs that are spent on making a sequence shorter.
const SHRINK_TRIES: usize = 3000;

/// Longest sequence that a verdict holds.
const SHOWN_REQUESTS: usize = 200;

/// A device of the suite: name, and what differs from the preset `tiny`.
type Device = (&'static str, &'static [(&'static str, &'static str)]);

/// The preset itself.
const TINY: Device = ("as it is", &[]);

/// Devices of the suite, each so small that a few hundred writes make a layer collect; the smallest first, because it
/// shows a failure by the fewest requests.
const DEVICES: &[Device] = &[
    (
        "one plane of 12 blocks",
        &[("geometry.channels", "1"), ("geometry.planes_per_die", "1"), SHORT, ("geometry.blocks_per_plane", "12")],
    ),
    ("two dies", &[SHORT, FEW]),
    ("bad blocks", &[SHORT, ("geometry.blocks_per_plane", "24"), ("geometry.bad_blocks_per_plane", "3")]),
    ("pages in order", &[("geometry.program_order", "in-order"), ("geometry.pages_per_block", "6"), FEW]),
    ("no copyback", &[("timing.copyback", "false"), SHORT, FEW]),
];

/// Blocks of four pages.
const SHORT: (&str, &str) = ("geometry.pages_per_block", "4");

/// Few blocks.
const FEW: (&str, &str) = ("geometry.blocks_per_plane", "16");

/// A check and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was checked.
    pub check: &'static str,
    /// On which device.
    pub device: &'static str,
    /// How the device differs from the preset `tiny`, and what else was set.
    pub sets: Vec<(String, String)>,
    /// What the check found.
    pub finding: Finding,
}

impl Verdict {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let (holds, text, requests) = match &self.finding {
            Finding::Holds => (json!(true), None, &[][..]),
            Finding::NotRun(why) => (Value::Null, Some(why.as_str()), &[][..]),
            Finding::Fails { text, requests } => (json!(false), Some(text.as_str()), &requests[..]),
        };
        let shown = requests.iter().take(SHOWN_REQUESTS).map(ToString::to_string).collect::<Vec<_>>();
        json!({
            "check": self.check, "device": self.device, "preset": "tiny", "sets": self.sets, "holds": holds,
            "text": text, "requests": shown, "length": requests.len(),
        })
    }
}

/// Runs the suite on a plug-in. `progress` is called before each check and may stop it by `false`.
/// `sets` are settings of every device.
pub fn conform(layer: &OwnLayer, own: &[(String, String)], progress: &mut dyn FnMut() -> bool) -> Vec<Verdict> {
    let checks: [Check; 5] = [
        ("sequences of requests: read your writes, nothing lost, a program for each write", DEVICES, check_sequences),
        ("a run with a clock: rules, integrity, counts", DEVICES, check_timed),
        ("a run with a clock: rules, integrity, counts", &[TINY], check_timed),
        ("the same run twice gives the same result", &[TINY], check_repeat),
        ("blocks whose erases fail", &[TINY], check_failing),
    ];
    let mut verdicts = examined(layer, own, &checks, progress);
    verdicts.extend(power_cuts(layer, own, progress));
    verdicts
}

/// Runs that part of the suite which cuts the power.
pub fn power_cuts(layer: &OwnLayer, own: &[(String, String)], progress: &mut dyn FnMut() -> bool) -> Vec<Verdict> {
    let devices = if layer.source.recovers() { DEVICES } else { &[NO_DEVICE] };
    examined(layer, own, &[("power cuts: promises kept, no last copy erased", devices, check_cuts)], progress)
}

/// What comes of checks on their devices.
fn examined(
    layer: &OwnLayer,
    own: &[(String, String)],
    checks: &[Check],
    progress: &mut dyn FnMut() -> bool,
) -> Vec<Verdict> {
    let own: Vec<(&str, &str)> = own.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut verdicts = Vec::new();
    for &(check, devices, examine) in checks {
        for (device, differs) in devices {
            if !progress() {
                return verdicts;
            }
            let (sets, finding) = examine(layer, &[differs, &own[..]].concat());
            verdicts.push(Verdict { check, device, sets, finding });
        }
    }
    verdicts
}

type Examine = fn(&OwnLayer, &[(&str, &str)]) -> (Sets, Finding);

/// What is checked, on which devices, and how.
type Check = (&'static str, &'static [Device], Examine);

/// Device of a check that is not run.
const NO_DEVICE: Device = ("", &[]);

/// What a check finds on the device of some settings. A layer may refuse a device, such as one that is too small for it.
fn on_device(layer: &OwnLayer, sets: Sets, check: impl FnOnce(&Config) -> Finding) -> (Sets, Finding) {
    let finding = config_of(layer, &sets).map_or_else(Finding::NotRun, |config| check(&config));
    (sets, finding)
}

/// Drawn sequences on a device that is new; the first that fails is made as short as it gets.
fn check_sequences(layer: &OwnLayer, device: &[(&str, &str)]) -> (Sets, Finding) {
    on_device(layer, settings(layer, device, &[]), sequences)
}

fn sequences(config: &Config) -> Finding {
    let pages = match config.user_pages(1.0) {
        Ok(pages) => pages,
        Err(error) => return fails(error.to_string()),
    };
    for seed in 0..SEQUENCES {
        let sequence = draw(seed, SEQUENCE, pages);
        let Err(first) = run_sequence(config, &sequence) else { continue };
        let requests = shortest(&sequence, SHRINK_TRIES, |left| run_sequence(config, left).is_err());
        let text = run_sequence(config, &requests).err().unwrap_or(first);
        return Finding::Fails { text, requests };
    }
    Finding::Holds
}

/// Load of a run with a clock: several requests at a time, trims, most of the device used.
const TIMED: &[(&str, &str)] = &[
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "16"),
    ("workload.kind", "zipf"),
    ("workload.footprint", "1.0"),
    ("workload.requests", "4000"),
    ("workload.request_bytes", "12288"),
    ("workload.read_fraction", "0.3"),
    ("workload.trim_fraction", "0.05"),
    ("initial.fill", "0.9"),
    ("initial.age_writes", "0.5"),
];

/// The document of a run; an error if it fails or its counts do not agree.
fn document(layer: &OwnLayer, config: &Config) -> Result<Value, String> {
    let document = outcome_of(config)?;
    let count = |path: &str| document.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let (programmed, page) = (count("/flash/programs/host"), u64::from(config.chip.geometry.page_bytes));
    let written = count("/host/write/bytes") / page;
    // A page that is written again while RAM holds it is programmed once.
    if programmed > written || programmed < written && !layer.source.offers().buffers {
        return Err(format!("counts: {written} pages were written, {programmed} programmed for the host"));
    }
    Ok(document)
}

fn holds(layer: &OwnLayer, config: &Config) -> Finding {
    document(layer, config).map_or_else(fails, |_| Finding::Holds)
}

fn check_timed(layer: &OwnLayer, device: &[(&str, &str)]) -> (Sets, Finding) {
    on_device(layer, settings(layer, device, TIMED), |config| holds(layer, config))
}

fn check_repeat(layer: &OwnLayer, device: &[(&str, &str)]) -> (Sets, Finding) {
    let sets = settings(layer, device, &[TIMED, &[("seed", "7")]].concat());
    on_device(layer, sets, |config| match (document(layer, config), document(layer, config)) {
        (Ok(first), Ok(second)) if first == second => Finding::Holds,
        (Ok(_), Ok(_)) => fails("two runs of one spec and seed give different results".into()),
        (Err(text), _) | (_, Err(text)) => fails(text),
    })
}

/// Erases that fail now and then, where the layer says that it can do without a block.
fn check_failing(layer: &OwnLayer, device: &[(&str, &str)]) -> (Sets, Finding) {
    let failing = [("erase.scheme", "ispe"), ("erase.max_loops", "3"), ("erase.initial_pec", "2000")];
    let sets = settings(layer, device, &[TIMED, &failing, &[("ftl.over_provisioning", "0.6")]].concat());
    if !layer.source.retires_blocks() {
        return (sets, Finding::NotRun("the layer does not retire blocks".into()));
    }
    on_device(layer, sets, |config| holds(layer, config))
}
