//! Firmware under torture: its power is cut at every operation of a session, and after each cut it must mount, find
//! what it has promised, and go on.
//!
//! The session runs once. The chip is kept as it was right before each operation, and every cut begins there: what
//! firmware had in RAM is gone with the power, so nothing of the session has to be done again.

mod case;
mod trial;

use std::ops::Range;

use pumice_types::{Choice, choice};
use thiserror::Error;

use crate::{Chip, ChipFailure, ChipSnapshot, CutOutcome};
pub use case::{Case, Combination};

/// Operations of a session whose states are kept at a time.
const KEPT: u64 = 512;

/// What firmware, or a check of it, complains of, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint(pub String);

/// Firmware on a chip, and the user's check of it.
pub trait Firmware {
    /// Does something with the chip while the firmware is not at work.
    fn with_chip<T>(&mut self, work: impl FnOnce(&mut Chip) -> T) -> T;
    /// Makes the firmware anew, with empty RAM.
    ///
    /// # Errors
    /// The firmware cannot be made.
    fn start(&mut self) -> Result<(), Complaint>;
    /// The firmware loses its RAM.
    fn stop(&mut self);
    /// Formats the chip.
    ///
    /// # Errors
    /// What the firmware says.
    fn format(&mut self) -> Result<(), Complaint>;
    /// Finds again what the chip holds.
    ///
    /// # Errors
    /// What the firmware says.
    fn mount(&mut self) -> Result<(), Complaint>;
    /// Does a step of the session; after a cut the step under way is asked for again.
    ///
    /// # Errors
    /// What the firmware says.
    fn work(&mut self, step: u64) -> Result<(), Complaint>;
    /// Looks whether the first `done` steps have their effect. The next one may have it, or a part of it.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&mut self, done: u64) -> Result<(), Complaint>;
}

choice! {
    /// What follows a cut.
    pub enum Then {
        /// What the cut left readable fails before the firmware starts.
        Settle = "settle",
        /// The firmware starts and works on; then what the cut left readable fails, and it starts again.
        Later = "later",
        /// A second cut meets one of its next operations.
        Cut = "cut",
        /// What the cut left readable fails while it works on.
        Running = "running",
        /// One of its next programs and erases fails, and the block has gone bad.
        Fail = "fail",
    }
}

choice! {
    /// Where something went wrong.
    pub enum TorturePhase {
        /// In the session, before any cut.
        Session = "session",
        /// The firmware did not start.
        Mount = "mount",
        /// Something was not as promised.
        Check = "check",
        /// The firmware did not go on.
        Work = "work",
    }
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct TorturePlan {
    /// Where random outcomes come from.
    pub seed: u64,
    /// Steps of the session.
    pub steps: u64,
    /// Steps after a cut.
    pub after: u64,
    /// What cuts leave.
    pub leaves: Vec<CutOutcome>,
    /// What follows.
    pub then: Vec<Then>,
    /// How often a case is tried in which something is drawn.
    pub draws: u64,
    /// Sessions in which one program or erase fails, beside the one in which none does.
    pub fails: u64,
}

/// Something that went wrong.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// Number of the case; that of the session's first one if no power was cut.
    pub index: u64,
    /// What was done.
    pub case: Case,
    /// Where it went wrong.
    pub phase: TorturePhase,
    /// What was complained of.
    pub text: String,
    /// The operation that the cut met; empty without a cut.
    pub operation: String,
    /// Steps of the session that had ended.
    pub done: u64,
}

/// Why nothing can be tried.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct TortureError(pub String);

impl From<ChipFailure> for TortureError {
    fn from(failure: ChipFailure) -> TortureError {
        TortureError(failure.to_string())
    }
}

/// One session: which of its operations fails, and how many there are.
#[derive(Clone, Copy, Debug)]
pub struct TortureSession {
    /// The operation that fails.
    pub fails: Option<u64>,
    /// Programs, copies and erases from the first mount on.
    pub operations: u64,
}

/// Firmware that is put to the torture.
pub struct Torture<F: Firmware> {
    firmware: F,
    plan: TorturePlan,
    combinations: Vec<Combination>,
    /// The chip after the format.
    formatted: ChipSnapshot,
    sessions: Vec<TortureSession>,
}

impl<F: Firmware> Torture<F> {
    /// Formats the chip and runs the sessions once without a cut. What goes wrong in them is told to `found`.
    ///
    /// # Errors
    /// A plan of nothing, a format that fails, or a session without an operation.
    pub fn new(
        mut firmware: F,
        plan: TorturePlan,
        mut found: impl FnMut(CaseFailure),
    ) -> Result<Torture<F>, TortureError> {
        let combinations = case::combinations(&plan);
        if combinations.is_empty() || plan.steps == 0 {
            return Err(TortureError("nothing is to be tried: no steps, no leftovers, or nothing that follows".into()));
        }
        let said = |what: &str, complaint: Complaint| TortureError(format!("{what}: {}", complaint.0));
        firmware.with_chip(|chip| chip.draw_from(plan.seed));
        firmware.start().map_err(|complaint| said("start", complaint))?;
        firmware.format().map_err(|complaint| said("format", complaint))?;
        firmware.stop();
        let formatted = firmware.with_chip(|chip| chip.snapshot());
        let mut torture = Torture { firmware, plan, combinations, formatted, sessions: Vec::new() };
        let whole = torture.run_session(None, 0..0)?;
        if whole.operations == 0 {
            let why = whole.ended.map_or_else(String::new, |(phase, complaint)| format!(": {phase}: {}", complaint.0));
            return Err(TortureError(format!("the session programs and erases nothing{why}")));
        }
        torture.note_session(None, whole, &mut found);
        let (operations, fails) = (torture.sessions[0].operations, torture.plan.fails);
        for nth in 0..fails.min(operations) {
            let fails = Some(nth * operations / fails.min(operations));
            let run = torture.run_session(fails, 0..0)?;
            torture.note_session(fails, run, &mut found);
        }
        Ok(torture)
    }

    /// The sessions, in the order in which their cases are numbered.
    pub fn sessions(&self) -> &[TortureSession] {
        &self.sessions
    }

    /// What is tried at each cut, in the order in which cases are numbered.
    pub fn combinations(&self) -> &[Combination] {
        &self.combinations
    }

    /// All cases.
    pub fn cases(&self) -> u64 {
        self.sessions.iter().map(|session| session.operations).sum::<u64>() * self.combinations.len() as u64
    }

    fn note_session(&mut self, fails: Option<u64>, run: SessionRun, found: &mut impl FnMut(CaseFailure)) {
        let index = self.cases();
        self.sessions.push(TortureSession { fails, operations: run.operations });
        if let Some((phase, Complaint(text))) = run.ended {
            let case = Case { fails, cut: None, with: Combination::default() };
            let text = format!("{phase}: {text}");
            let (phase, operation) = (TorturePhase::Session, String::new());
            found(CaseFailure { index, case, phase, text, operation, done: run.done });
        }
    }

    /// Tries the cases of these numbers, in order. `begins` is told each number first, and ends the work by `false`.
    ///
    /// # Errors
    /// The session differs from its first run.
    pub fn try_cases(
        &mut self,
        numbers: Range<u64>,
        begins: &mut impl FnMut(u64) -> bool,
        found: &mut impl FnMut(CaseFailure),
    ) -> Result<(), TortureError> {
        let each = self.combinations.len() as u64;
        let mut number = numbers.start;
        while number < numbers.end.min(self.cases()) {
            let (session, first) = self.place_of(number);
            let cut = (number - first) / each;
            let last = (cut + KEPT).min(session.operations).min((numbers.end - first).div_ceil(each));
            let moments = self.run_session(session.fails, cut..last)?.moments;
            if moments.len() as u64 != last - cut {
                return Err(TortureError(format!(
                    "a session of {} operations had {} of operations {cut} to {last} the next time: the firmware must \
                     do the same in the same session",
                    session.operations,
                    moments.len()
                )));
            }
            for (cut, moment) in (cut..last).zip(&moments) {
                while number < numbers.end && (number - first) / each == cut {
                    if !begins(number) {
                        return Ok(());
                    }
                    let with = self.combinations[((number - first) % each) as usize];
                    let case = Case { fails: session.fails, cut: Some(cut), with };
                    if let Some(finding) = self.attempt(number, case, moment) {
                        found(finding);
                    }
                    number += 1;
                }
            }
        }
        Ok(())
    }

    /// Tries one case, planned or not.
    ///
    /// # Errors
    /// The session has no operation of this number.
    pub fn try_case(&mut self, case: Case) -> Result<Option<CaseFailure>, TortureError> {
        let Some(cut) = case.cut else {
            let run = self.run_session(case.fails, 0..0)?;
            let finding = run.ended.map(|(phase, Complaint(text))| {
                let (text, operation) = (format!("{phase}: {text}"), String::new());
                CaseFailure { index: 0, case, phase: TorturePhase::Session, text, operation, done: run.done }
            });
            return Ok(finding);
        };
        let run = self.run_session(case.fails, cut..cut + 1)?;
        let Some(moment) = run.moments.first() else {
            return Err(TortureError(format!("cut={cut}: the session has {} operations", run.operations)));
        };
        Ok(self.attempt(0, case, moment))
    }

    /// The session of a case's number, and the number of its first case.
    fn place_of(&self, number: u64) -> (TortureSession, u64) {
        let each = self.combinations.len() as u64;
        let mut first = 0;
        for session in &self.sessions {
            let next = first + session.operations * each;
            if number < next {
                return (*session, first);
            }
            first = next;
        }
        (TortureSession { fails: None, operations: 0 }, first)
    }
}

/// What a session was.
struct SessionRun {
    /// Operations seen.
    operations: u64,
    moments: Vec<crate::session::RecordedMoment>,
    /// Steps that ended.
    done: u64,
    /// What went wrong.
    ended: Option<(TorturePhase, Complaint)>,
}

/// Where in a plan a name is not allowed.
///
/// # Errors
/// One line with the names that are.
pub fn named<T: Choice>(what: &str, name: &str) -> Result<T, TortureError> {
    T::from_name(name)
        .ok_or_else(|| TortureError(format!("{what} = \"{name}\" is not allowed; allowed: {}", T::NAMES.join(", "))))
}
