//! 89x: random cuts of random devices, as many as `PUMICE_POWER_CUTS` says, from `PUMICE_POWER_SEED`, as in
//! [`crate::power`]. `PUMICE_POWER_LAYER` leaves only the devices of one layer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use pumice_config::TornKind;
use pumice_types::Choice;
use pumice_workload::RandomStream;

use crate::power::{Met, Sets, as_command, by, cut_as_drawn, devices, number_in, with_fault};
use crate::power_layers::{LARGER, combinations, further};
use crate::power_pairs::{PAGES_DIFFER, PROGRAMS_SUSPENDED};
use crate::support::accepts;
use crate::{
    power_blocks, power_erases, power_handles, power_host, power_map, power_pairs, power_planes, power_protection,
    power_sub_blocks, power_units, power_wear, power_zones,
};

/// Cuts without a word from the environment.
const CUTS_IN_SUITE: u64 = 4_000;

/// Cuts between two lines that tell how far the test has come.
const CUTS_BETWEEN_LINES: u64 = 100_000;

/// Runs that may fail before the test ends.
const FAILED_RUNS_SHOWN: usize = 5;

/// Keys that any of the devices may have otherwise, and what is drawn for them. The last value of a key counts.
const DRAWN: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "2", "4"]),
    ("geometry.chips_per_channel", &["1", "2"]),
    ("geometry.blocks_per_plane", &["24", "32", "48"]),
    ("workload.requests", &["5000", "10000", "20000"]),
    ("workload.kind", &["uniform", "hot-cold", "zipf", "sequential"]),
    ("workload.read_fraction", &["0.0", "0.2", "0.6"]),
    ("host.queue_depth", &["1", "4", "16", "64"]),
    ("controller.t_request_us", &["0.0", "0.0", "2.5"]),
    ("controller.t_command_us", &["0.0", "0.0", "1.25"]),
    ("controller.cores", &["1", "3"]),
    ("power.torn", TornKind::NAMES),
];

/// The map's unit is a quarter of a page.
const MAPPED_IN_UNITS: &[(&str, &str)] = &[("ftl.map_unit_bytes", "1024"), ("timing.copyback", "false")];

/// Zoned devices have zones to spare: where each of many cuts takes some, and the erases of a reset wait for idle dies,
/// few zones are used up.
const SPARE_ZONES: (&str, &str) = ("geometry.blocks_per_plane", "48");

/// Whether a device is of this layer.
fn is_of(layer: &str, device: &Sets) -> bool {
    let kind = device.iter().rev().find(|(key, _)| *key == "ftl.kind");
    kind.is_some_and(|(_, kind)| *kind == layer)
}

/// Whether a device is of the layer that the environment names, if it names one.
fn is_wanted(device: &Sets) -> bool {
    std::env::var("PUMICE_POWER_LAYER").map_or(true, |layer| is_of(&layer, device))
}

/// The devices of the other tests, of every layer.
fn kinds() -> Vec<Sets<'static>> {
    let layers = combinations();
    let methods = ["scan", "summary", "checkpoint"];
    let mut all: Vec<Sets> =
        layers.iter().flat_map(|layer| [layer.device(&[]), layer.device(&further(layer.kind))]).collect();
    all.extend(devices().flat_map(|device| methods.map(|method| by(method, device.clone()))));
    all.extend(power_blocks::full_merges().into_iter().chain(power_blocks::m_merges()));
    all.extend(power_erases::all_layers());
    all.extend(power_host::buffered(|_| true).into_iter().chain(power_host::trimming()));
    all.extend(power_protection::protected(|_| true));
    all.extend(power_sub_blocks::devices());
    all.extend(power_planes::devices().into_iter().chain(power_map::devices()).chain(power_handles::devices()));
    all.extend(power_wear::devices());
    all.extend(power_pairs::devices());
    all.extend(power_zones::devices().into_iter().chain(power_units::devices()));
    all.retain(is_wanted);
    assert!(!all.is_empty(), "PUMICE_POWER_LAYER names a layer");
    all
}

/// Random cuts, and what they met.
struct RandomCuts {
    random: RandomStream,
    kinds: Vec<Sets<'static>>,
    met: Met,
    runs: u64,
    failed: Vec<String>,
}

impl RandomCuts {
    fn new(seed: u64) -> RandomCuts {
        let random = RandomStream::new(seed, "random-cuts");
        RandomCuts { random, kinds: kinds(), met: Met::default(), runs: 0, failed: Vec::new() }
    }

    /// Cuts the power of one more device 200 times. A run that fails is kept as the line that repeats it.
    fn cut_one(&mut self) {
        let mut draw = |of: usize| self.random.below(of as u64) as usize;
        let kind = &self.kinds[draw(self.kinds.len())];
        let mut sets: Sets = kind.iter().chain(LARGER).copied().collect();
        sets.extend(DRAWN.iter().map(|(key, values)| (*key, values[draw(values.len())])));
        let has_layers = kind.iter().any(|(key, _)| *key == "geometry.layers");
        sets.extend((draw(2) == 1 && !has_layers).then_some(PAGES_DIFFER).into_iter().flatten().copied());
        sets.extend(is_of("zns", kind).then_some(SPARE_ZONES));
        let suspended = PROGRAMS_SUSPENDED.get(draw(4)).copied();
        let in_units = (draw(4) == 0).then_some(MAPPED_IN_UNITS);
        for more in suspended.into_iter().chain(in_units) {
            let with_more = [&sets[..], more].concat();
            if accepts(&with_more).is_ok() {
                sets = with_more;
            }
        }
        let seed = self.random.below(1 << 32).to_string();
        sets.push(("seed", &seed));
        let met = catch_unwind(AssertUnwindSafe(|| cut_as_drawn(&sets)));
        let met = met.unwrap_or_else(|_| Err(format!("the run panicked\n{}", as_command(&sets))));
        self.runs += 1;
        match met {
            Ok(met) => self.met = self.met.with(met),
            Err(error) => self.failed.push(error),
        }
    }

    /// Cuts the power until so many cuts have come, or a few runs have failed.
    fn cut(&mut self, cuts: u64) {
        let begun = Instant::now();
        let mut next_line = CUTS_BETWEEN_LINES;
        while self.met.cuts < cuts && self.failed.len() < FAILED_RUNS_SHOWN {
            self.cut_one();
            if self.met.cuts >= next_line.min(cuts) {
                let a_minute = self.met.cuts as f64 / begun.elapsed().as_secs_f64() * 60.0;
                println!("{} random cuts in {} runs, {a_minute:.0} a minute", self.met.cuts, self.runs);
                next_line += CUTS_BETWEEN_LINES;
            }
        }
    }
}

#[test]
fn t896_random_devices_keep_their_promises_at_random_cuts() {
    let seed = number_in("PUMICE_POWER_SEED").unwrap_or(1);
    let mut random = RandomCuts::new(seed);
    random.cut(number_in("PUMICE_POWER_CUTS").unwrap_or(CUTS_IN_SUITE));
    println!("PUMICE_POWER_SEED={seed}: {:?}, failed runs: {}", random.met, random.failed.len());
    assert!(random.failed.is_empty(), "{}", random.failed.join("\n"));
    assert!(random.met.programs > 0 && random.met.erases > 0, "{:?}", random.met);
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t897_a_run_that_fails_is_told_as_a_line_to_type() {
    let mut random = RandomCuts::new(1);
    let noticed = with_fault("old-copy-wins", || {
        random.cut(CUTS_IN_SUITE);
        random.failed.first().map_or(Ok(()), |error| Err(error.clone()))
    });
    assert!(noticed);
    let is_command = |line: &&str| line.starts_with("pumice run --preset tiny");
    let told: Vec<&str> = random.failed[0].lines().filter(is_command).collect();
    assert_eq!(told.len(), 1, "{}", random.failed[0]);
    assert!(told[0].contains("--set 'power.cuts=200'") && told[0].contains("--set 'seed="), "{}", told[0]);
}
