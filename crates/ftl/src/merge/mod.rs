//! Merges: pure planning ([`plan`] for switch, partial and full merges, [`restore`] for one block,
//! [`m_merge`] for a pair, [`superblock`] for the blocks of a superblock, [`budget`] for its third
//! planner) and the places that turn a choice into flash commands ([`in_place`] for pages that keep their
//! offsets, [`run`] for a pair of the NFTL).

pub mod budget;
pub mod in_place;
pub mod m_merge;
pub mod plan;
pub mod restore;
pub mod run;
pub mod superblock;
