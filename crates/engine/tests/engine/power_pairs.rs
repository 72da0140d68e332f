//! 86x: the power is cut on devices that together have every pair of values of the keys of host and power, of requests that
//! make promises, and of layers, as in [`crate::power`]. The keys come from their registry: a new one fails these tests
//! until it is said what is drawn for it. Page types, the suspension of programs, mapping units, and what the page-level
//! layer keeps for them are drawn as one each.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pumice_config::table::rows;
use pumice_types::key::{Key, ValueKind};

use crate::power::{Met, Sets, cut_as_drawn, with_fault};
use crate::power_layers::{LARGER, combinations};
use crate::support::accepts;

/// Sections of which every key is drawn.
const SECTIONS: &[&str] = &["host.", "controller.", "power."];

/// Keys of other sections that are drawn too.
const FURTHER: &[&str] = &[
    "ftl.open_block",
    "workload.trim_fraction",
    "workload.flush_every",
    "workload.fua_fraction",
    "workload.request_sizes",
    "workload.mean_interarrival_us",
];

/// What is drawn of keys that are no closed sets. Nothing: the key is not given.
const VALUES: &[(&str, &[&str])] = &[
    ("host.queue_depth", &["1", "8", "48"]),
    ("host.queues", &["1", "3"]),
    ("host.write_buffer_kib", &["0", "16", "64", "512"]),
    ("host.read_tokens", &["0", "2"]),
    ("host.link_mb_per_s", &["", "200"]),
    ("host.overhead_us", &["0.0", "3.25"]),
    ("controller.t_request_us", &["0.0", "2.5"]),
    ("controller.t_command_us", &["0.0", "1.25"]),
    ("controller.cores", &["1", "3"]),
    ("workload.trim_fraction", &["0.0", "0.2"]),
    ("workload.flush_every", &["", "7", "70"]),
    ("workload.fua_fraction", &["0.0", "0.2"]),
    ("workload.request_sizes", &["", "[700, 2048, 4096, 12288]"]),
    ("workload.mean_interarrival_us", &["100.0", "4000.0"]),
];

/// Keys that are not drawn, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("host.speedup", "divides arrivals, as another mean interarrival time does"),
    ("power.cut_at_s", "these devices have power.cuts"),
    ("power.cut_at_command", "these devices have power.cuts"),
    ("power.cuts", "the same for all"),
    ("power.failure", "breaks promises, and is refused by a run"),
];

/// Pages of one cell take different times.
pub const PAGES_DIFFER: &[(&str, &str)] =
    &[("geometry.bits_per_cell", "2"), ("timing.t_r_us", "[50, 90]"), ("timing.t_prog_us", "[400, 1500]")];

/// Reads suspend programs.
pub const PROGRAMS_SUSPENDED: [&[(&str, &str)]; 2] = [
    &[
        ("host.read_priority", "true"),
        ("program.suspension", "pulse"),
        ("program.suspend_us", "20"),
        ("timing.multi_plane", "off"),
    ],
    &[
        ("host.read_priority", "true"),
        ("program.suspension", "immediate"),
        ("timing.plane_reads", "plane"),
        ("timing.multi_plane", "off"),
    ],
];

/// Blocks for what the page-level layer keeps beside the host's data.
const ROOM: [(&str, &str); 2] = [("geometry.blocks_per_plane", "24"), ("ftl.over_provisioning", "0.8")];

/// The map's unit is a quarter of a page.
const IN_UNITS: &[(&str, &str)] =
    &[("geometry.page_bytes", "2048"), ("ftl.map_unit_bytes", "512"), ("timing.copyback", "false"), ROOM[0], ROOM[1]];

/// What only some layers have.
const OF_LAYERS: [&[(&str, &str)]; 3] = [
    &[("workload.kind", "streams"), ("ftl.handles", "2"), ROOM[0], ROOM[1]],
    &[("ftl.wear_leveling", "both"), ("ftl.wear_threshold", "2"), ROOM[0], ROOM[1]],
    &[("ftl.map_place", "cached"), ("ftl.map_cache_entries", "64"), ROOM[0], ROOM[1]],
];

/// Values that are not drawn: with them a device breaks promises.
const LIES: &[(&str, &str)] = &[("host.flush", "ignored")];

/// The size of these devices: many cuts in few requests.
const SIZE: &[(&str, &str)] = &[("workload.requests", "1500"), ("power.cuts", "40")];

/// What differs between devices, and all that it may be.
type Axis = Vec<Sets<'static>>;

/// The values of a key that is drawn.
fn values(key: &Key) -> Axis {
    let given = VALUES.iter().find(|(path, _)| *path == key.path).map(|(_, values)| *values);
    let values: Vec<&'static str> = match (key.shape, given) {
        (_, Some(values)) => values.to_vec(),
        (ValueKind::Choice(names), None) => names.to_vec(),
        (ValueKind::Bool, None) => vec!["false", "true"],
        _ => panic!("{}: VALUES says what is drawn for it, or LEFT_OUT why nothing is", key.path),
    };
    let true_ones = values.into_iter().filter(|value| !LIES.contains(&(key.path, value)));
    true_ones.map(|value| if value.is_empty() { vec![] } else { vec![(key.path, value)] }).collect()
}

/// The layers with their ways of recovery first, and then every key that is drawn.
fn axes() -> Vec<Axis> {
    let is_drawn = |key: &&Key| {
        let is_wanted = SECTIONS.iter().any(|section| key.path.starts_with(section)) || FURTHER.contains(&key.path);
        is_wanted && LEFT_OUT.iter().all(|(path, _)| *path != key.path)
    };
    let layers = combinations().iter().map(|layer| layer.device(&[])).collect();
    let page_types = vec![vec![], PAGES_DIFFER.to_vec()];
    let suspended = vec![vec![], PROGRAMS_SUSPENDED[0].to_vec(), PROGRAMS_SUSPENDED[1].to_vec()];
    let in_units = vec![vec![], IN_UNITS.to_vec()];
    let of_layers = OF_LAYERS.map(|sets| vec![vec![], sets.to_vec()]);
    let keys = rows().iter().filter(is_drawn).map(values);
    std::iter::once(layers).chain(keys).chain([page_types, suspended, in_units]).chain(of_layers).collect()
}

/// A value of an axis, by their numbers.
type Choice = (usize, usize);

/// Two values, that of the earlier axis first.
type Pair = (Choice, Choice);

/// The pairs that a device has.
fn pairs_of(choices: &[Choice]) -> impl Iterator<Item = Pair> + '_ {
    let ordered = |one: Choice, other: Choice| if one < other { (one, other) } else { (other, one) };
    choices.iter().enumerate().flat_map(move |(nth, &one)| choices[..nth].iter().map(move |&other| ordered(one, other)))
}

/// Devices that have every pair which is allowed.
struct Covering {
    axes: Vec<Axis>,
    /// Pairs that no device has yet.
    missing: BTreeSet<Pair>,
    /// How many pairs no layer allows.
    refused: usize,
    /// Choices that are refused together, each time with a layer.
    forbidden: Vec<Vec<Choice>>,
}

impl Covering {
    fn new() -> Covering {
        let axes = axes();
        let all: Vec<Choice> = axes
            .iter()
            .enumerate()
            .flat_map(|(axis, values)| (0..values.len()).map(move |value| (axis, value)))
            .collect();
        let missing = pairs_of(&all).filter(|(one, other)| one.0 != other.0).collect();
        Covering { axes, missing, refused: 0, forbidden: Vec::new() }
    }

    fn sets(&self, choices: &[Choice]) -> Sets<'static> {
        let mut choices = choices.to_vec();
        choices.sort_unstable();
        choices.iter().flat_map(|&(axis, value)| self.axes[axis][value].clone()).collect()
    }

    /// Whether these choices hold some that are refused together.
    fn is_forbidden(&self, chosen: &[Choice], more: Choice) -> bool {
        let has = |choice: &Choice| *choice == more || chosen.contains(choice);
        self.forbidden.iter().any(|set| set.iter().all(has))
    }

    /// The value of an axis that brings most of the missing pairs, beside what was chosen; those that come later count
    /// first in every other device.
    fn best(&self, axis: usize, chosen: &[Choice], nth: usize) -> Option<Choice> {
        let values = self.axes[axis].len();
        let candidates = (0..values).map(|value| (axis, (value + nth) % values));
        let pairs = |choice: Choice| {
            chosen.iter().map(move |&other| if choice < other { (choice, other) } else { (other, choice) })
        };
        let allowed = candidates.filter(|&choice| !self.is_forbidden(chosen, choice));
        allowed.max_by_key(|&choice| pairs(choice).filter(|pair| self.missing.contains(pair)).count())
    }

    /// A device with this pair, unless no layer has both.
    fn with(&self, pair: Pair, nth: usize) -> Option<Vec<Choice>> {
        if self.is_forbidden(&[pair.0], pair.1) {
            return None;
        }
        let mut chosen = vec![pair.0, pair.1];
        if pair.0.0 != 0 {
            chosen.push(self.best(0, &chosen, nth)?);
        }
        for axis in (1..self.axes.len()).filter(|&axis| axis != pair.0.0 && axis != pair.1.0) {
            chosen.extend(self.best(axis, &chosen, nth));
        }
        Some(chosen)
    }

    /// Notes the few choices of a refused device that are refused by themselves, on its layer.
    fn learn(&mut self, mut chosen: Vec<Choice>) {
        chosen.sort_unstable();
        let is_allowed = |choices: &[Choice]| accepts(&self.sets(choices)).is_ok();
        let mut needed = vec![chosen[0]];
        while is_allowed(&needed) {
            // Behind how many of the rest the device is refused: the last of them has to do with it.
            let counts: Vec<usize> = (1..chosen.len()).collect();
            let enough = counts.partition_point(|&count| is_allowed(&[&needed, &chosen[1..=count]].concat()));
            needed.push(chosen[1 + enough]);
        }
        assert!(needed.len() > 1, "a layer is refused by itself: {:?}", self.sets(&needed));
        self.forbidden.push(needed);
    }

    /// Devices that cover every pair.
    fn devices(&mut self) -> Vec<Sets<'static>> {
        let mut devices = Vec::new();
        while let Some(&pair) = self.missing.first() {
            let Some(chosen) = self.with(pair, devices.len()) else {
                self.missing.remove(&pair);
                self.refused += 1;
                continue;
            };
            let sets = self.sets(&chosen);
            if accepts(&sets).is_ok() {
                for pair in pairs_of(&chosen) {
                    self.missing.remove(&pair);
                }
                devices.push(sets);
            } else {
                self.learn(chosen);
            }
        }
        devices
    }
}

/// Devices, and how many pairs are refused.
static COVERED: LazyLock<(Vec<Sets<'static>>, usize)> = LazyLock::new(|| {
    let mut covering = Covering::new();
    (covering.devices(), covering.refused)
});

/// Every device; each has seeds of its own.
pub fn devices() -> Vec<Sets<'static>> {
    COVERED.0.clone()
}

/// Cuts a device often.
fn cut(device: &Sets, nth: usize) -> Result<Met, String> {
    let seed = nth.to_string();
    cut_as_drawn(&device.iter().chain(LARGER).chain(SIZE).copied().chain([("seed", &*seed)]).collect())
}

#[test]
fn t866_devices_with_every_pair_of_values_keep_their_promises() {
    let (devices, refused) = &*COVERED;
    let is_allowed = |first: &str, second: &str| {
        devices
            .iter()
            .any(|device| [first, second].iter().all(|wanted| device.iter().any(|(_, value)| value == wanted)))
    };
    assert!(is_allowed("full", "lru") && is_allowed("full", "0.2") && is_allowed("summary", "reuse"));
    let (mut met, mut failed) = (Met::default(), Vec::new());
    for (nth, device) in devices.iter().enumerate() {
        match cut(device, nth) {
            Ok(more) => met = met.with(more),
            Err(error) => failed.push(error),
        }
    }
    println!("{} devices, {refused} pairs refused: {met:?}", devices.len());
    assert!(failed.is_empty(), "{} devices failed\n{}", failed.len(), failed.join("\n"));
    assert!(met.cuts > 1_000 && met.programs > 300 && met.erases > 50, "{met:?}");
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t867_a_fault_that_needs_two_values_together_is_noticed() {
    let devices = devices();
    for fault in ["buffer-not-saved", "trims-not-kept", "unit-access-ignored"] {
        let noticed = devices.iter().enumerate().any(|(nth, device)| with_fault(fault, || cut(device, nth)));
        assert!(noticed, "{fault}");
    }
}
