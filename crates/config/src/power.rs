//! `[power]`: when the power is cut, and what that leaves.

use pumice_types::key::{ANY, When, float};
use pumice_types::{choice, keys};

choice! {
    /// What an operation leaves that was under way when the power was cut.
    pub enum TornKind {
        /// One of the others, drawn for each operation.
        Drawn = "drawn",
        /// As if it had not begun.
        Old = "old",
        /// As if it had ended, for now.
        New = "new",
        /// Something that fails its code.
        Mixed = "mixed",
    }
}

const TIMED: When = When::On("run.timed");
const RECOVERS: When = When::All(&[When::IsNot("ftl.recovery", &["off"]), TIMED]);

keys! {
    /// `[power]`
    pub struct PowerKeys in "power" {
        cut_at_s: Vec<f64> = "[]", float(0.0, 1e9), "s", "no cuts", TIMED,
            "When the power is cut, on the run's clock, in ascending order. Requests in flight fail; the device starts anew as ftl.recovery says, and the host goes on where it was, later by that time.";
        torn: TornKind = "\"drawn\"", ANY, "", "Tseng, Grupp and Swanson, DAC'11; Zheng and others, FAST'13", RECOVERS,
            "What a program, copy or erase leaves that was under way when the power was cut. old: as before. new: it reads well now and fails later. mixed: it fails its code; of a block some pages do. drawn: one of these, by the seed.";
    }
}
