//! The erase models as one call: a question in JSON, numbers in JSON. For figures and studies that need
//! blocks but no device.

use pumice_config::SpecError;
use pumice_engine::chip::erase::{DistributionRequest, EraseConfig, Lifetime, distribution, felp_samples};
use pumice_nand::erase::Measurements;
use pumice_types::erase::{Felp, MAX_PULSES, PULSES_PER_LOOP};
use pumice_types::{Choice, EraseMode, EraseScheme, RberRequirement, choice, refuse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Most blocks that one question may ask for.
const BLOCKS_MAX: u32 = 10_000_000;

choice! {
    /// What can be asked.
    enum Question {
        /// Erase times of many blocks at each PEC.
        Distribution = "distribution",
        /// The measured ones.
        Measured = "measured",
        /// Stress and bit errors over a block's life.
        Lifetime = "lifetime",
        /// Fail bits before and during the last loop.
        FailBits = "fail-bits",
        /// The pulse times of AERO's Table 1.
        Table1 = "table-1",
    }
}

/// A question. `what` chooses it; what it does not use is ignored.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EraseQuery {
    /// `distribution`, `measured`, `lifetime`, `fail-bits` or `table-1`.
    pub what: String,
    /// Erase scheme.
    pub scheme: String,
    /// Scheme under which the blocks were cycled, if another; needs `mechanism`.
    pub cycled: Option<String>,
    /// `table` or `mechanism`.
    pub mode: String,
    /// Bits per KiB: 40, 50 or 63.
    pub requirement: u32,
    /// P/E cycles, one answer each.
    pub pec: Vec<u32>,
    /// Blocks at each PEC.
    pub blocks: u32,
    /// Seed of fail bits and mispredictions.
    pub seed: u64,
    /// Chance that a prediction is short.
    pub misprediction_rate: f64,
    /// Unit pulses (0.5 ms) of a shallow erase.
    pub shallow_pulses: u8,
}

impl Default for EraseQuery {
    fn default() -> EraseQuery {
        EraseQuery {
            what: "distribution".into(),
            scheme: "ispe".into(),
            cycled: None,
            mode: "table".into(),
            requirement: 63,
            pec: vec![0],
            blocks: 400,
            seed: 1,
            misprediction_rate: 0.0,
            shallow_pulses: 2,
        }
    }
}

fn refuse<T>(key: &str, found: impl std::fmt::Display, allowed: &str) -> Result<T, SpecError> {
    Err(refuse!("{key} = {found} is not allowed; allowed: {allowed}"))
}

impl EraseQuery {
    fn config(&self) -> Result<EraseConfig, SpecError> {
        let scheme = EraseScheme::from_name(&self.scheme);
        let Some(scheme) = scheme else { return refuse("scheme", &self.scheme, &EraseScheme::NAMES.join(", ")) };
        let mode = EraseMode::from_name(&self.mode);
        let Some(mode) = mode else { return refuse("mode", &self.mode, &EraseMode::NAMES.join(", ")) };
        let cycled = match &self.cycled {
            None => None,
            Some(name) if mode == EraseMode::Table => {
                return refuse("cycled", name, "only with mode = mechanism: table mode has each scheme's own blocks");
            }
            Some(name) => match EraseScheme::from_name(name) {
                None => return refuse("cycled", name, &EraseScheme::NAMES.join(", ")),
                scheme => scheme,
            },
        };
        let requirement = RberRequirement::from_bits(self.requirement);
        let Some(requirement) = requirement else { return refuse("requirement", self.requirement, "40, 50, 63") };
        if !(0.0..=1.0).contains(&self.misprediction_rate) {
            return refuse("misprediction_rate", self.misprediction_rate, "0 to 1");
        }
        if !(1..PULSES_PER_LOOP).contains(&self.shallow_pulses) {
            return refuse("shallow_pulses", self.shallow_pulses, "1 to 6");
        }
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return refuse("blocks", self.blocks, "1 to 10000000");
        }
        let mut config = EraseConfig { mode, cycled, requirement, seed: self.seed, ..EraseConfig::aero_chips(scheme) };
        config.misprediction_rate = self.misprediction_rate;
        config.timing.shallow_pulses = self.shallow_pulses;
        Ok(config)
    }

    fn measured_scheme(&self, scheme: EraseScheme) -> Result<(), SpecError> {
        let measurements = Measurements::get();
        if measurements.has(scheme) {
            return Ok(());
        }
        let measured: Vec<&str> =
            EraseScheme::ALL.iter().filter(|&&scheme| measurements.has(scheme)).map(|scheme| scheme.name()).collect();
        refuse("scheme", scheme, &format!("a measured scheme: {}", measured.join(", ")))
    }
}

/// Answers a question.
///
/// # Errors
/// A value that is not allowed, named with what is.
pub fn answer(query: &EraseQuery) -> Result<Value, SpecError> {
    let config = query.config()?;
    let Some(what) = Question::from_name(&query.what) else {
        return refuse("what", &query.what, &Question::NAMES.join(", "));
    };
    match what {
        Question::Distribution => {
            Ok(query.pec.iter().map(|&pec| distribution_at(&config, pec, query.blocks)).collect())
        }
        Question::Measured => query.measured_scheme(config.scheme).map(|()| measured(&config)),
        Question::Lifetime => Ok(lifetime(&config, &query.pec)),
        Question::FailBits => Ok(fail_bits(&config, query)),
        Question::Table1 => Ok(table_1()),
    }
}

fn distribution_at(config: &EraseConfig, pec: u32, blocks: u32) -> Value {
    let found = distribution(&DistributionRequest { config: *config, pec, blocks });
    json!({
        "pec": pec,
        "by_pulses": found.by_pulses,
        "by_loops": found.by_loops,
        "mean_pulse_ms": found.mean_pulse_ms(),
        "mean_time_us": found.mean_time_us,
        "mean_stress": found.mean_stress,
        "uses_margin": found.uses_margin,
        "mispredictions": found.mispredictions,
        "retired": found.retired,
    })
}

/// Measured shares by unit pulses at each measured PEC.
fn measured(config: &EraseConfig) -> Value {
    let rows = Measurements::get().of(config.scheme, config.requirement);
    let row = |pec: u32| {
        let mut shares = vec![0.0; usize::from(MAX_PULSES) + 1];
        for (pulses, share) in rows.shares(pec).unwrap_or_default() {
            shares[usize::from(pulses)] = share;
        }
        let mean: f64 = shares.iter().enumerate().map(|(pulses, share)| pulses as f64 * 0.5 * share).sum();
        json!({ "pec": pec, "shares": shares, "mean_pulse_ms": mean })
    };
    rows.pecs().map(row).collect()
}

fn lifetime(config: &EraseConfig, pecs: &[u32]) -> Value {
    let life = Lifetime::of(config);
    let point = |&pec: &u32| {
        let point = life.at(f64::from(pec));
        json!({ "pec": pec, "relative_stress": point.relative_stress, "m_rber": point.m_rber })
    };
    let points: Vec<Value> = pecs.iter().map(point).collect();
    json!({ "pec_at_requirement": life.pec_at_requirement(), "points": points })
}

/// Blocks that gave the same range of fail bits at the same place of their erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FailBitCount {
    last_loop: u8,
    needs: u8,
    applied: u8,
    /// 0: up to γ; i: up to i · δ; absent: above F_HIGH.
    range: Option<u8>,
    blocks: u64,
    max_bits: u32,
}

fn fail_bits(config: &EraseConfig, query: &EraseQuery) -> Value {
    let mut samples: Vec<FailBitCount> = Vec::new();
    for &pec in &query.pec {
        samples.extend(felp_samples(&DistributionRequest { config: *config, pec, blocks: query.blocks }).iter().map(
            |sample| FailBitCount {
                last_loop: sample.last_loop,
                needs: sample.needs,
                applied: sample.applied,
                range: if sample.bits.passed() { None } else { config.ranges.range(sample.bits) },
                blocks: 1,
                max_bits: sample.bits.0,
            },
        ));
    }
    samples.sort_unstable();
    let mut counts: Vec<FailBitCount> = Vec::new();
    let place = |count: &FailBitCount| (count.last_loop, count.needs, count.applied, count.range);
    for sample in samples {
        match counts.last_mut().filter(|last| place(last) == place(&sample)) {
            Some(last) => {
                last.blocks += 1;
                last.max_bits = last.max_bits.max(sample.max_bits);
            }
            None => counts.push(sample),
        }
    }
    json!({ "gamma": config.ranges.gamma, "delta": config.ranges.delta, "counts": counts })
}

fn table_1() -> Value {
    let mut tables = serde_json::Map::new();
    tables.insert("complete".into(), json!(Felp::conservative().rows_ms()));
    for requirement in RberRequirement::ALL {
        let rows = Felp::with_margin(requirement).rows_ms();
        tables.insert(requirement.bits_per_kib().to_string(), json!(rows));
    }
    Value::Object(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t389_a_question_that_cannot_be_answered_names_what_can() {
        let ask = |query: EraseQuery| answer(&query).expect_err("refused").to_string();
        let query = EraseQuery::default;
        assert!(ask(EraseQuery { scheme: "areo".into(), ..query() }).contains("aero-cons"));
        assert!(ask(EraseQuery { requirement: 64, ..query() }).contains("40, 50, 63"));
        assert!(ask(EraseQuery { what: "age".into(), ..query() }).contains("lifetime"));
        assert!(ask(EraseQuery { what: "measured".into(), scheme: "aero-fit".into(), ..query() }).contains("i-ispe"));
        assert!(ask(EraseQuery { cycled: Some("ispe".into()), ..query() }).contains("mechanism"));
        let areo = EraseQuery { cycled: Some("areo".into()), mode: "mechanism".into(), ..query() };
        assert!(ask(areo).contains("aero-cons"));
        assert!(ask(EraseQuery { shallow_pulses: 7, ..query() }).contains("1 to 6"));
        let table = answer(&EraseQuery { what: "table-1".into(), ..query() }).expect("answered");
        assert_eq!(table["63"][3][1], 0.5, "loop 4, up to δ, with the margin");
    }
}
