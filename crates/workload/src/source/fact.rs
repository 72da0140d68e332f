//! Facts about workloads.

use std::fmt;

use serde::Serialize;

/// A fact about a workload, for result documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Real(f64),
}

impl Fact {
    /// Words.
    pub(crate) fn text(text: &str) -> Fact {
        Fact::Text(text.to_owned())
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Text(text) => f.write_str(text),
            Fact::Count(count) => count.fmt(f),
            Fact::Real(real) => real.fmt(f),
        }
    }
}
