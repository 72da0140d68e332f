//! The power is cut at a layer of the user's own, as at those that are built in: in the middle of its commands, with
//! everything that a cut may leave, again while it recovers, and at moments that a seed draws. What the host was
//! promised must still be there, and no erase may take the last copy of anything.

use pumice_config::TornKind;
use pumice_ftl::plugin::OwnLayer;
use pumice_types::Choice;

use super::setup::{Finding, Sets, config_of, fails, outcome_of, settings};
use super::shrink::shortest;

/// Cuts of one device that are tried alone, and rows of cuts.
const CUTS: usize = 100;
const ROWS: usize = 20;

/// Cuts of a row. Each comes so many commands behind the one before, mostly while the device still recovers.
const ROW: usize = 8;
const APART: [usize; 4] = [1, 2, 4, 9];

/// Seeds whose cuts are tried.
const SEEDS: u64 = 8;

/// Runs that are spent on making a failure smaller.
const SHRINK_TRIES: usize = 200;

/// A full device that is overwritten, mostly in a fifth of it.
const LOAD: &[(&str, &str)] = &[
    ("ftl.recovery", "scan"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("workload.kind", "hot-cold"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.2"),
    ("workload.request_bytes", "8192"),
    ("workload.requests", REQUESTS),
    ("initial.fill", "1.0"),
];
const REQUESTS: &str = "160";

/// Where cuts come.
#[derive(Clone, Debug)]
enum CutsToTry {
    /// In the middle of these commands.
    In(Vec<usize>),
    /// Cuts drawn with this seed.
    Drawn(u64),
}

/// A run with cuts.
#[derive(Clone, Debug)]
struct CutRun {
    cuts: CutsToTry,
    torn: &'static str,
    requests: u32,
}

impl CutRun {
    /// What it sets beside the device and its load.
    fn sets(&self) -> Sets {
        let cuts = match &self.cuts {
            CutsToTry::In(commands) => ("power.cut_at_command", format!("{commands:?}")),
            CutsToTry::Drawn(_) => ("power.cuts", "100".to_string()),
        };
        let seed = match self.cuts {
            CutsToTry::In(_) => None,
            CutsToTry::Drawn(seed) => Some(("seed", seed.to_string())),
        };
        let others = [cuts, ("power.torn", self.torn.to_string()), ("workload.requests", self.requests.to_string())];
        others.into_iter().chain(seed).map(|(key, value)| (key.to_string(), value)).collect()
    }

    /// All settings of it on a device.
    fn on(&self, device: &[(String, String)]) -> Sets {
        let own = self.sets();
        let is_other = |key: &str| own.iter().all(|(set, _)| set != key);
        device.iter().filter(|(key, _)| is_other(key)).cloned().chain(own.iter().cloned()).collect()
    }
}

/// Runs with single cuts, with rows of them, and with cuts that are drawn, on a device whose load takes so many commands.
fn runs(commands: usize) -> Vec<CutRun> {
    let every = |step: usize| (1..=commands).step_by(step.max(1));
    let single = every(commands / CUTS).map(|command| vec![command]);
    let row = |(first, apart): (usize, usize)| (0..ROW).map(|nth| first + nth * apart).collect();
    let rows = every(commands / ROWS).flat_map(|first| APART.map(|apart| (first, apart))).map(row);
    let requests = REQUESTS.parse().unwrap_or_default();
    let with = |cuts: CutsToTry| TornKind::NAMES.iter().map(move |&torn| CutRun { cuts: cuts.clone(), torn, requests });
    let drawn =
        (1..=SEEDS).map(CutsToTry::Drawn).map(|cuts| CutRun { cuts, torn: TornKind::Drawn.name(), requests: 4000 });
    single.chain(rows).map(CutsToTry::In).flat_map(with).chain(drawn).collect()
}

/// What is wrong with a run, if anything is.
fn fault_of(layer: &OwnLayer, sets: &[(String, String)]) -> Option<String> {
    config_of(layer, sets).and_then(|config| outcome_of(&config)).err()
}

/// Cuts the power of a layer that says that it recovers. A failure comes with the settings that repeat it.
pub fn check_cuts(layer: &OwnLayer, device: &[(&str, &str)]) -> (Sets, Finding) {
    if !layer.source.recovers() {
        return (Sets::new(), Finding::NotRun("the layer declares no recovery".into()));
    }
    let sets = settings(layer, device, LOAD);
    let whole = match config_of(layer, &sets) {
        // A layer may refuse a device that is too small for it.
        Err(text) => return (sets, Finding::NotRun(text)),
        Ok(config) => outcome_of(&config),
    };
    let whole = match whole {
        Err(text) => return (sets, fails(text)),
        Ok(document) => document,
    };
    let count = |path: &str| whole.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or(0) as usize;
    let commands = ["/flash/programs/host", "/flash/programs/gc", "/flash/erases/block"].map(count).iter().sum();
    for cut in runs(commands) {
        if fault_of(layer, &cut.on(&sets)).is_some() {
            return smaller(layer, &sets, cut);
        }
    }
    (sets, Finding::Holds)
}

/// Finds the failure with fewer cuts and fewer requests.
fn smaller(layer: &OwnLayer, device: &[(String, String)], mut cut: CutRun) -> (Sets, Finding) {
    let still_fails = |cut: &CutRun| fault_of(layer, &cut.on(device)).is_some();
    if let CutsToTry::In(commands) = &cut.cuts {
        let left = shortest(commands, SHRINK_TRIES, |left| {
            !left.is_empty() && still_fails(&CutRun { cuts: CutsToTry::In(left.to_vec()), ..cut.clone() })
        });
        cut.cuts = CutsToTry::In(left);
    }
    let mut less = cut.requests / 2;
    while less > 0 {
        let with_less = CutRun { requests: cut.requests - less, ..cut.clone() };
        if still_fails(&with_less) {
            cut = with_less;
            less = less.min(cut.requests / 2);
        } else {
            less /= 2;
        }
    }
    let sets = cut.on(device);
    let text = fault_of(layer, &sets).unwrap_or_else(|| "fails only now and then".into());
    (sets, fails(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn t324_a_run_with_cuts_sets_each_key_once() {
        let device = [("power.torn", "old"), ("workload.requests", "1"), ("seed", "7"), ("ftl.kind", "page")];
        let device: Sets = device.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
        for run in runs(300) {
            let sets = run.on(&device);
            let keys: BTreeSet<&str> = sets.iter().map(|(key, _)| &**key).collect();
            assert_eq!(keys.len(), sets.len(), "{sets:?}");
            assert!(sets.contains(&("power.torn".into(), run.torn.into())), "{sets:?}");
        }
    }

    #[test]
    fn t327_the_cuts_of_a_row_come_at_each_of_the_distances() {
        let rows = runs(300).into_iter().filter_map(|run| match run.cuts {
            CutsToTry::In(cuts) if cuts.len() == ROW => Some(cuts),
            CutsToTry::In(_) | CutsToTry::Drawn(_) => None,
        });
        let apart: BTreeSet<usize> = rows.flat_map(|cuts| [cuts[1] - cuts[0], cuts[7] - cuts[6]]).collect();
        assert_eq!(apart, APART.into());
    }
}
