//! Merges: pure planning ([`plan`] for switch, partial and full merges, [`m_merge`]) and the places that
//! turn a choice into flash commands ([`gather`] for pages that keep their offsets, [`run`] for a pair of
//! the NFTL).

pub mod gather;
pub mod m_merge;
pub mod plan;
pub mod run;
