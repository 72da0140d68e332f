//! Merges: pure planning ([`restore`] for one block, [`m_merge`] for a pair, [`superblock`] for the
//! blocks of a superblock, [`budget`] for its third planner) and the one place that turns a pair's
//! choice into flash commands ([`run`]).

pub mod budget;
pub mod m_merge;
pub mod restore;
pub mod run;
pub mod superblock;
