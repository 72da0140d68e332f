//! A case: which operation fails, where the power is cut, what that leaves, what follows; as text, one line.

use std::fmt;
use std::str::FromStr;

use super::{Then, TortureError, TorturePlan, named};
use crate::CutOutcome;

/// What is tried at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// What the cut leaves.
    pub leaves: CutOutcome,
    /// What follows.
    pub then: Then,
    /// Which of several draws.
    pub draw: u64,
}

impl Default for Combination {
    fn default() -> Combination {
        Combination { leaves: CutOutcome::Before, then: Then::Later, draw: 0 }
    }
}

/// Something to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The operation of the session that fails.
    pub fails: Option<u64>,
    /// The operation that meets the cut, from 0; `None`: the session alone.
    pub cut: Option<u64>,
    /// What is tried there.
    pub with: Combination,
}

/// Everything that a plan tries at one cut. What draws nothing is tried once.
pub(super) fn combinations(plan: &TorturePlan) -> Vec<Combination> {
    let mut all = Vec::new();
    for &leaves in &plan.leaves {
        for &then in &plan.then {
            let draws = matches!(leaves, CutOutcome::Mixed | CutOutcome::Drawn)
                || matches!(then, Then::Cut | Then::Running | Then::Fail);
            let times = if draws { plan.draws } else { plan.draws.min(1) };
            all.extend((0..times).map(|draw| Combination { leaves, then, draw }));
        }
    }
    all
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fails) = self.fails {
            write!(f, "fail={fails}{}", if self.cut.is_some() { " " } else { "" })?;
        }
        if let Some(cut) = self.cut {
            let Combination { leaves, then, draw } = self.with;
            write!(f, "cut={cut} leaves={leaves} then={then}")?;
            if draw > 0 {
                write!(f, " draw={draw}")?;
            }
        } else if self.fails.is_none() {
            f.write_str("session")?;
        }
        Ok(())
    }
}

impl FromStr for Case {
    type Err = TortureError;

    fn from_str(text: &str) -> Result<Case, TortureError> {
        let mut case = Case { fails: None, cut: None, with: Combination::default() };
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "session").collect();
        for word in words {
            let wrong = || {
                let allowed = "fail=N, cut=N, leaves=NAME, then=NAME, draw=N, or the word session";
                TortureError(format!("case \"{text}\": '{word}' is not allowed; allowed: {allowed}"))
            };
            let (key, value) = word.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().map_err(|_| wrong());
            match key {
                "fail" => case.fails = Some(number()?),
                "cut" => case.cut = Some(number()?),
                "leaves" => case.with.leaves = named("leaves", value)?,
                "then" => case.with.then = named("then", value)?,
                "draw" => case.with.draw = number()?,
                _ => return Err(wrong()),
            }
        }
        Ok(case)
    }
}
