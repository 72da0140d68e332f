//! Measured erase-pulse times as functions of a block's quantile and wear.
//!
//! AERO (ASPLOS'24) publishes, for a scheme and a number of P/E cycles (PEC), the shares of blocks by
//! total pulse time. A block keeps its quantile for life: the same block is the easy or the hard one
//! at every PEC and under every scheme. Between measured PECs its pulse time is interpolated.

use std::sync::OnceLock;

use pumice_types::{Choice, EraseScheme, RberRequirement};

/// The measured shares, with their source.
const DATA: &str = include_str!("../../data/erase_pulse_time.csv");

/// PEC up to which anything was measured; wear beyond it changes distributions no more.
pub const LAST_MEASURED_PEC: u32 = 5_000;

/// Guards rounding up against what interpolation adds in the last digits.
const ROUNDING: f64 = 1e-9;

/// One distribution at one PEC.
#[derive(Clone, Debug)]
struct Row {
    pec: u32,
    /// Grains (unit pulses or loops) of the first share.
    first: u32,
    /// Cumulative shares, ascending to 1.
    cumulative: Vec<f64>,
}

impl Row {
    /// Grains at a quantile as a real number: linear inside each share, so that rounding it up gives
    /// the measured distribution back.
    fn at(&self, quantile: f64) -> f64 {
        let last = self.cumulative.len() - 1;
        let index = self.cumulative.partition_point(|&share| share < quantile).min(last);
        let below = if index == 0 { 0.0 } else { self.cumulative[index - 1] };
        let share = self.cumulative[index] - below;
        f64::from(self.first) + index as f64 - 1.0 + ((quantile - below) / share).clamp(0.0, 1.0)
    }
}

/// Total pulse time of one scheme at one requirement, over PEC and quantile.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Unit pulses of a grain: 7 for schemes of whole loops.
    grain: u8,
    rows: Vec<Row>,
}

impl Measured {
    /// PECs at which the scheme was measured, ascending.
    pub fn pecs(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().map(|row| row.pec)
    }

    /// Shares of blocks by unit pulses at a measured PEC; `None` at any other.
    pub fn shares(&self, pec: u32) -> Option<Vec<(u8, f64)>> {
        let row = self.rows.iter().find(|row| row.pec == pec)?;
        let mut below = 0.0;
        let share = |(index, &cumulative): (usize, &f64)| {
            let grains = row.first + index as u32;
            let share = cumulative - std::mem::replace(&mut below, cumulative);
            ((grains * u32::from(self.grain)) as u8, share)
        };
        Some(row.cumulative.iter().enumerate().map(share).collect())
    }

    /// Grains as a real number at any PEC: linear between neighbouring rows at the same quantile,
    /// continued beyond the last two, the first row before it.
    fn continued(&self, quantile: f64, pec: f64) -> f64 {
        let first = &self.rows[0];
        if pec <= f64::from(first.pec) || self.rows.len() == 1 {
            return first.at(quantile);
        }
        let above = self.rows.partition_point(|row| f64::from(row.pec) < pec).clamp(1, self.rows.len() - 1);
        let (a, b) = (&self.rows[above - 1], &self.rows[above]);
        let weight = (pec - f64::from(a.pec)) / f64::from(b.pec - a.pec);
        (1.0 - weight) * a.at(quantile) + weight * b.at(quantile)
    }

    /// Grains as a real number, the last row beyond it.
    fn held(&self, quantile: f64, pec: f64) -> f64 {
        let last = self.rows.last().map_or(0.0, |row| f64::from(row.pec));
        self.continued(quantile, pec.min(last))
    }

    /// Grains read as differences from `base` at the rows, interpolated between them and held outside:
    /// for schemes measured at few PECs, between which the base bends.
    fn over(&self, base: &Measured, quantile: f64, pec: f64) -> f64 {
        let ratio = f64::from(base.grain) / f64::from(self.grain);
        let difference = |row: &Row| row.at(quantile) - ratio * base.held(quantile, f64::from(row.pec));
        let (first, last) = (&self.rows[0], &self.rows[self.rows.len() - 1]);
        let inside = pec.clamp(f64::from(first.pec), f64::from(last.pec));
        let above = self.rows.partition_point(|row| f64::from(row.pec) < inside).clamp(1, self.rows.len() - 1);
        let (a, b) = (&self.rows[above - 1], &self.rows[above]);
        let weight = (inside - f64::from(a.pec)) / f64::from(b.pec - a.pec);
        ratio * base.held(quantile, pec) + (1.0 - weight) * difference(a) + weight * difference(b)
    }

    /// Grains rounded up to whole ones, as unit pulses.
    fn pulses(&self, grains: f64, most: u8) -> u8 {
        let whole = (grains - ROUNDING).ceil().clamp(1.0, f64::from(most / self.grain));
        whole as u8 * self.grain
    }
}

/// Everything measured.
#[derive(Debug)]
pub struct Measurements {
    /// In the order of the data.
    sets: Vec<(EraseScheme, RberRequirement, Measured)>,
}

/// The panic of a request for rows of a scheme that was never measured.
const UNMEASURED: &str = "a scheme whose rows are read was measured at requirement 63";

impl Measurements {
    /// The measurements, read once.
    pub fn get() -> &'static Measurements {
        static READ: OnceLock<Measurements> = OnceLock::new();
        READ.get_or_init(|| Measurements::parse(DATA).expect("the embedded measurements are well formed"))
    }

    /// Whether the scheme was measured.
    pub fn has(&self, scheme: EraseScheme) -> bool {
        self.sets.iter().any(|set| set.0 == scheme)
    }

    /// Rows of a scheme at a requirement; at 63 where the scheme does not depend on it.
    ///
    /// # Panics
    /// For a scheme that was not measured ([`Measurements::has`]).
    pub fn of(&self, scheme: EraseScheme, requirement: RberRequirement) -> &Measured {
        let find = |bits| self.sets.iter().find(|set| set.0 == scheme && set.1 == bits);
        &find(requirement).or_else(|| find(RberRequirement::Bits63)).expect(UNMEASURED).2
    }

    /// Total unit pulses of a block under a scheme: its own rows at its PEC.
    ///
    /// `ispe`, `aero-cons` and `aero` at 63 have a row every 500 PEC and are interpolated. `aero` at 40
    /// and 50 and `dpes` have three rows and are read as differences from `aero-cons` and `ispe`
    /// ([`EraseScheme::measured_over`]). `i-ispe` holds its last usable row.
    pub fn total_pulses(&self, scheme: EraseScheme, requirement: RberRequirement, quantile: f64, pec: u32) -> u8 {
        let pec = f64::from(pec.min(LAST_MEASURED_PEC));
        let rows = self.of(scheme, requirement);
        let grains = match scheme.measured_over(requirement) {
            Some(base) => rows.over(self.of(base, RberRequirement::Bits63), quantile, pec),
            None => rows.held(quantile, pec),
        };
        rows.pulses(grains, pumice_types::erase::MAX_PULSES)
    }

    /// Unit pulses that a block needs, read off `aero-cons`, which applies no more than needed. PEC
    /// beyond the last row is continued: only the shift of [`super::EraseTruth`] asks for it.
    pub fn needed_pulses(&self, quantile: f64, pec: f64) -> u8 {
        let rows = self.of(EraseScheme::AeroCons, RberRequirement::Bits63);
        rows.pulses(rows.continued(quantile, pec), pumice_types::erase::MAX_PULSES)
    }

    fn parse(text: &str) -> Option<Measurements> {
        let mut sets: Vec<(EraseScheme, RberRequirement, Measured)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split(',');
            let scheme = EraseScheme::from_name(fields.next()?)?;
            let mut number = || fields.next()?.parse::<u32>().ok();
            let requirement = RberRequirement::from_bits(number()?)?;
            let (pec, first, grain) = (number()?, number()?, number()?);
            let shares: Vec<f64> = fields.map(|share| share.parse().ok()).collect::<Option<_>>()?;
            let row = Row { pec, first: first / grain, cumulative: cumulative(&shares)? };
            match sets.last_mut().filter(|set| set.0 == scheme && set.1 == requirement) {
                Some(set) => set.2.rows.push(row),
                None => sets.push((scheme, requirement, Measured { grain: grain as u8, rows: vec![row] })),
            }
        }
        Some(Measurements { sets })
    }
}

/// Cumulative shares of percentages, normalised to their sum.
fn cumulative(percentages: &[f64]) -> Option<Vec<f64>> {
    let whole: f64 = percentages.iter().sum();
    let mut below = 0.0;
    let mut shares: Vec<f64> = Vec::with_capacity(percentages.len());
    for percentage in percentages {
        below += percentage;
        shares.push(below / whole);
    }
    *shares.last_mut()? = 1.0;
    (whole > 0.0).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t370_every_row_is_given_back_at_its_own_pec() {
        let measured = Measurements::get();
        for (scheme, requirement, set) in &measured.sets {
            assert!(set.rows.windows(2).all(|pair| pair[0].pec < pair[1].pec), "{scheme} {requirement:?}");
            for pec in set.pecs() {
                let shares = set.shares(pec).expect("measured");
                let n = 96 * 200;
                let mut counts = [0u32; 36];
                for place in 0..n {
                    let quantile = (f64::from(place) + 0.5) / f64::from(n);
                    counts[measured.total_pulses(*scheme, *requirement, quantile, pec) as usize] += 1;
                }
                for (pulses, share) in shares {
                    let found = f64::from(counts[pulses as usize]) / f64::from(n);
                    assert!((found - share).abs() < 1e-9, "{scheme} {requirement:?} {pec}: {pulses}: {found} {share}");
                }
            }
        }
    }

    #[test]
    fn t371_wear_lengthens_erases_until_it_is_frozen() {
        let measured = Measurements::get();
        let mean = |scheme, pec| -> f64 {
            let quantile = |place| (f64::from(place) + 0.5) / 500.0;
            (0..500)
                .map(|place| f64::from(measured.total_pulses(scheme, RberRequirement::Bits63, quantile(place), pec)))
                .sum()
        };
        for scheme in [EraseScheme::Ispe, EraseScheme::AeroCons, EraseScheme::Aero, EraseScheme::Dpes] {
            assert_eq!(mean(scheme, 5_000), mean(scheme, 60_000));
            let by_pec: Vec<f64> = (0..=5_000).step_by(250).map(|pec| mean(scheme, pec)).collect();
            assert!(by_pec.windows(2).all(|pair| pair[0] <= pair[1]), "{scheme}: {by_pec:?}");
        }
    }

    #[test]
    fn t372_an_incomplete_row_is_refused() {
        assert!(Measurements::parse("aero,63,0,3").is_none());
        assert!(Measurements::parse("aero,63,0,3,1,5").is_some());
        assert!(Measurements::parse("aero,62,0,3,1,5").is_none());
        assert!(Measurements::parse("areo,63,0,3,1,5").is_none());
        assert!(Measurements::parse("aero,63,0,3,1,five").is_none());
    }
}
