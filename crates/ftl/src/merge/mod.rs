//! Merges: pure planning ([`m_merge`]) and the one place that turns a choice into flash commands
//! ([`run`]).

pub mod m_merge;
pub mod run;
