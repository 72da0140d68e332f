//! Questions that are no run: one block, one merge, one distribution of erase times, one lifetime of a block, the life
//! of a device.
//!
//! Each is the engine's own model, asked directly.
#![forbid(unsafe_code)]

pub mod block;
pub mod conform;
pub mod erase;
pub mod life;
pub mod merge;
pub mod updates;
