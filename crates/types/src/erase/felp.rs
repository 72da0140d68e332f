//! FELP: the pulse of the next loop, predicted from the fail bits of the last (AERO, ASPLOS'24, §5,
//! Table 1).

use super::{FailBitRanges, MAX_LOOPS, PULSES_PER_LOOP, RberRequirement};

/// Unit pulses by loop (rows) and range of fail bits (γ, δ, 2δ … 7δ).
type Table = [[u8; FailBitRanges::COUNT as usize]; MAX_LOOPS as usize];

/// Table 1, first values: erase completely.
const COMPLETE: Table = [
    [1, 2, 3, 4, 5, 5, 5, 5],
    [1, 2, 3, 4, 5, 6, 7, 7],
    [1, 2, 3, 4, 5, 6, 7, 7],
    [1, 2, 3, 4, 5, 6, 7, 7],
    [1, 2, 3, 4, 5, 6, 7, 7],
];

/// Table 1, second values: leave to the ECC what requirement 63 allows.
const MARGIN_63: Table = [
    [0, 0, 1, 2, 3, 4, 5, 5],
    [0, 0, 1, 2, 3, 4, 5, 6],
    [0, 0, 1, 2, 3, 4, 5, 6],
    [0, 1, 2, 3, 4, 5, 6, 7],
    [1, 2, 3, 4, 5, 6, 7, 7],
];

/// At requirement 50. The paper prints no table for it, and of Figure 10b only what holds at 63 (fail
/// bits up to δ may stay in loops 1 to 3, up to γ in loop 4) and at 40. Chosen between them: the third
/// loop takes the fourth's place, the fourth the fifth's.
const MARGIN_50: Table = [MARGIN_63[0], MARGIN_63[1], MARGIN_63[3], COMPLETE[3], COMPLETE[4]];

/// At requirement 40: only in loop 2 may up to γ fail bits stay (AERO, §7.4). A unit pulse less leaves
/// just these, so each cell of that row is one lower, as in row 4 of the printed table, where the same holds.
const MARGIN_40: Table = [COMPLETE[0], MARGIN_63[3], COMPLETE[2], COMPLETE[3], COMPLETE[4]];

/// A table of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Felp(&'static Table);

impl Felp {
    /// Table 1's first values: every block is erased completely.
    pub fn conservative() -> Felp {
        Felp(&COMPLETE)
    }

    /// Table 1's second values, or what another requirement leaves of them.
    pub fn with_margin(requirement: RberRequirement) -> Felp {
        Felp(match requirement {
            RberRequirement::Bits40 => &MARGIN_40,
            RberRequirement::Bits50 => &MARGIN_50,
            RberRequirement::Bits63 => &MARGIN_63,
        })
    }

    /// Unit pulses for loop `level` (from 1) after a count of fail bits that is no pass. 0: the fail
    /// bits may stay. Above F_HIGH = 7δ nothing can be saved: the full pulse.
    pub fn pulses(&self, level: u8, range: Option<u8>) -> u8 {
        let row = &self.0[usize::from(level - 1)];
        range.map_or(PULSES_PER_LOOP, |range| row[usize::from(range)])
    }

    /// Rows and columns in milliseconds, loop 1 and range γ first: for printing.
    pub fn rows_ms(&self) -> Vec<Vec<f64>> {
        self.0.iter().map(|row| row.iter().map(|&pulses| f64::from(pulses) * 0.5).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t382_table_1_as_printed() {
        let (complete, margin) = (Felp::conservative().rows_ms(), Felp::with_margin(RberRequirement::Bits63).rows_ms());
        let printed: [&str; 5] = [
            "0.5/0 1/0 1.5/0.5 2/1 2.5/1.5 2.5/2 2.5/2.5 2.5/2.5",
            "0.5/0 1/0 1.5/0.5 2/1 2.5/1.5 3/2 3.5/2.5 3.5/3",
            "0.5/0 1/0 1.5/0.5 2/1 2.5/1.5 3/2 3.5/2.5 3.5/3",
            "0.5/0 1/0.5 1.5/1 2/1.5 2.5/2 3/2.5 3.5/3 3.5/3.5",
            "0.5/0.5 1/1 1.5/1.5 2/2 2.5/2.5 3/3 3.5/3.5 3.5/3.5",
        ];
        for (row, text) in printed.into_iter().enumerate() {
            let cells: Vec<String> =
                (0..8).map(|cell| format!("{}/{}", complete[row][cell], margin[row][cell])).collect();
            assert_eq!(cells.join(" "), text, "loop {}", row + 1);
        }
    }

    #[test]
    fn t383_a_weaker_ecc_never_shortens_a_pulse() {
        let tables = [
            Felp::with_margin(RberRequirement::Bits63),
            Felp::with_margin(RberRequirement::Bits50),
            Felp::with_margin(RberRequirement::Bits40),
            Felp::conservative(),
        ];
        for level in 1..=MAX_LOOPS {
            for range in (0..FailBitRanges::COUNT).map(Some).chain([None]) {
                let pulses = tables.map(|table| table.pulses(level, range));
                assert!(pulses.is_sorted(), "loop {level}, {range:?}: {pulses:?}");
            }
        }
        let [at_40, complete] = [2, 3].map(|table: usize| tables[table].rows_ms());
        for (range, (&margin, &full)) in at_40[1].iter().zip(&complete[1]).enumerate() {
            let saved = if range < 7 { 0.5 } else { 0.0 };
            assert_eq!(margin, full - saved, "loop 2: one unit pulse less, but above 6δ the full one leaves γ itself");
        }
        assert_eq!([0, 2, 3, 4].map(|row| &at_40[row]), [0, 2, 3, 4].map(|row| &complete[row]));
        assert_ne!(tables[0], tables[1]);
        assert_ne!(tables[1], tables[2]);
        assert_ne!(tables[2], tables[3]);
    }
}
