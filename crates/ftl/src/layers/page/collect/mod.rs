//! Reclaiming in a plane: which block is next, what is copied where, and when.

pub mod decide;
pub mod neighbours;
pub mod open_blocks;
pub mod pace;
pub mod plane;
pub mod reclaim;
pub mod room;
pub mod runs;
pub mod stripe;
pub mod units;
pub mod wear_counts;
