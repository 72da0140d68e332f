//! `[power]`: when the power is cut, and what that leaves.

use pumice_ftl::{CutProtection, Recovery};
use pumice_ftl::{FtlKeys, kinds_that};
use pumice_types::key::{ANY, CHOSEN, TIMED, When, float, int};
use pumice_types::{SpecError, choice, keys, refuse};

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

choice! {
    /// What a drive does wrong when its power is cut.
    pub enum PowerFailure {
        /// Nothing.
        None = "none",
        /// One bit of a page that was programmed lately is wrong, and its code does not notice.
        BitCorruption = "bit-corruption",
        /// Only a part of the pages that were programmed lately is new.
        ShornWrites = "shorn-writes",
        /// A page that was programmed lately has gone to the place of another one.
        FlyingWrites = "flying-writes",
        /// Some of the pages that were programmed lately are gone, and later ones are not.
        UnserializableWrites = "unserializable-writes",
        /// A third of the blocks cannot be read any more.
        MetadataCorruption = "metadata-corruption",
        /// The drive may never answer again.
        DeadDevice = "dead-device",
    }
}

const RECOVERS: When = When::All(&[When::IsNot("ftl.recovery", &["off"]), TIMED]);
const TEARS: When = When::All(&[When::IsNot("ftl.recovery", &["off"]), TIMED, When::Is("power.protection", &["none"])]);

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cuts<'a> {
    /// At these times, in seconds.
    At(&'a [f64]),
    /// In the middle of these commands that change flash.
    Within(&'a [f64]),
    /// As many cuts, drawn by the seed.
    Drawn(u32),
}

impl PowerKeys {
    /// When the power is cut, and the key that says so. The first of the keys that is given: a spec has only one.
    pub fn schedule(&self) -> (&'static str, Cuts<'_>) {
        match (self.cut_at_command.is_empty(), self.cuts) {
            (false, _) => ("power.cut_at_command", Cuts::Within(&self.cut_at_command)),
            (true, 0) => ("power.cut_at_s", Cuts::At(&self.cut_at_s)),
            (true, cuts) => ("power.cuts", Cuts::Drawn(cuts)),
        }
    }

    /// The keys that ask for cuts.
    pub fn given(&self) -> Vec<&'static str> {
        let keys = [
            ("power.cut_at_s", !self.cut_at_s.is_empty()),
            ("power.cut_at_command", !self.cut_at_command.is_empty()),
            ("power.cuts", self.cuts > 0),
        ];
        keys.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
    }

    /// Refuses cuts of a device that cannot recover, cuts that two keys ask for, and lists out of order.
    ///
    /// # Errors
    /// What is impossible, and what would work.
    pub fn check(&self, ftl: &FtlKeys) -> Result<(), SpecError> {
        if self.failure != PowerFailure::None && ftl.shared.recovery == Recovery::Off {
            return Err(refuse!("power.failure = \"{}\" needs {}", self.failure, recoveries_of(ftl)));
        }
        let given = self.given();
        match given[..] {
            [] => return Ok(()),
            [key, ..] if ftl.shared.recovery == Recovery::Off => {
                return Err(refuse!("{key} needs {}", recoveries_of(ftl)));
            }
            [first, second, ..] => return Err(refuse!("{first} and {second} are both given; allowed: one of them")),
            [_] => {}
        }
        for (key, list) in [("power.cut_at_s", &self.cut_at_s), ("power.cut_at_command", &self.cut_at_command)] {
            if !list.is_sorted_by(|a, b| a < b) {
                return Err(refuse!("{key} = {list:?} is not in ascending order"));
            }
        }
        match self.cut_at_command.iter().find(|at| at.fract() != 0.0) {
            Some(at) => Err(refuse!("power.cut_at_command: {at} is not allowed; allowed: whole numbers")),
            None => Ok(()),
        }
    }
}

/// How a device with this layer can recover, or which layers can.
fn recoveries_of(ftl: &FtlKeys) -> String {
    let ways = |all: &'static [Recovery]| all.iter().filter(|&&way| way != Recovery::Off);
    let list = |names: Vec<String>| names.join(" | ");
    match list(ways(ftl.recoveries()).map(|way| format!("\"{way}\"")).collect()) {
        none if none.is_empty() => {
            let able = kinds_that(|kind| ways(kind.facts().recoveries).count() > 0);
            format!("a layer that can recover, found ftl.kind = \"{}\"; allowed: {able}", ftl.kind)
        }
        ways => format!("ftl.recovery = {ways}, found \"off\""),
    }
}

keys! {
    /// `[power]`
    pub struct PowerKeys in "power" {
        cut_at_s: Vec<f64> = "[]", float(0.0, 1e9), "s", "no cuts", TIMED,
            "When the power is cut, on the run's clock, ascending. Requests in flight fail; the device recovers by ftl.recovery, and the host continues, that much later.";
        cut_at_command: Vec<f64> = "[]", float(1.0, 9e15), "commands", "no cuts", TIMED,
            "Commands in the middle of which the power is cut, ascending: numbers from 1 of programs, copies and erases as they begin on the dies, those of a recovery included.";
        cuts: u32 = "0", int(0, 1 << 20), "cuts", "no cuts", TIMED,
            "Random cuts: the seed draws a point of the workload, one of the next 64 programs, copies or erases, and a moment in it. Points near each other cut a recovery.";
        protection: CutProtection = "\"none\"", ANY, "", CHOSEN, RECOVERS,
            "What the device's own energy completes after a cut. none: nothing. operations: what the dies have begun. full: all that is queued too, and the write buffer; flushes then wait for nothing. power.hold_up_us in the result: how long the energy must last.";
        torn: TornKind = "\"drawn\"", ANY, "", "Tseng, Grupp and Swanson, DAC'11; Zheng and others, FAST'13", TEARS,
            "What a program, copy or erase under way at a cut leaves. old: as before. new: reads well now, fails later. mixed: fails its code; of a block some pages do. drawn: one of these, by the seed.";
        failure: PowerFailure = "\"none\"", ANY, "", "Zheng, Tucek, Qin and Lillibridge, FAST'13", When::Always,
            "What a cut does to the last eight pages programmed for the host (served device and crash lab only). bit-corruption: one has a wrong bit, unnoticed. shorn-writes: of some only the first 3/8 or 7/8 of each 4 KiB are new. flying-writes: one lies in the place of another. unserializable-writes: some are gone. Or to the whole device. metadata-corruption: a third of the blocks with data cannot be read. dead-device: one cut in four is the drive's last.";
    }
}
