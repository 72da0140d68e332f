//! Questions without a run: one block, one merge, one distribution of erase times, one lifetime.
//!
//! Each is the engine's own model, asked directly.
#![forbid(unsafe_code)]

pub mod block;
pub mod conform;
pub mod erase;
pub mod life;
pub mod merge;
pub mod updates;
