//! Merges: pure planning ([`plan`] for switch, partial and full merges, [`restore`] for one block,
//! [`m_merge`] for a pair, [`superblock`] for the blocks of a superblock, [`budget`] for its third
//! planner) and the place that turns a choice for a pair of the NFTL into flash commands
//! ([`run`]).

pub mod budget;
pub mod m_merge;
pub mod plan;
pub mod restore;
pub mod run;
pub mod superblock;
