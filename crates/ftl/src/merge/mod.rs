//! Merges: pure planning ([`plan`] for switch, partial and full merges, [`restore`] for one block,
//! [`m_merge`] for a pair, [`superblock`] for the blocks of a superblock, [`budget`] for its third
//! planner, with the [`leaves`] of its blocks) and the places that turn a choice for a pair of the NFTL ([`run`])
//! or for a superblock ([`superblock_run`]) into flash commands.

pub mod budget;
pub mod leaves;
pub mod m_merge;
pub mod plan;
pub mod restore;
pub mod run;
pub mod superblock;
pub mod superblock_run;
