//! The controller's belief: mapping, block pool, merge planning, reclaiming.
//!
//! Nothing here can see the array. An FTL turns one host page access into flash commands in a
//! reused [`Plan`]; whoever executes the plan (timed or not) finds out whether the belief was true.
#![forbid(unsafe_code)]

mod block_pool;
mod counters;
mod mapping;
pub mod merge;
mod plan;
mod reclaim;
mod victim;

pub use counters::{GcCounters, MergeCount, VICTIM_FILL_BINS};
pub use mapping::gftl::{Gftl, GftlConfig};
pub use mapping::nftl::{Nftl, NftlConfig, UIndex};
pub use mapping::page::{OPEN_BLOCKS, PageConfig, PageFtl};
pub use mapping::superblock_pen::{SuperblockPen, SuperblockPenConfig};
pub use mapping::{Ftl, FtlError, InitialBlock, InitialFill, MergePolicy};
pub use plan::Plan;
pub use reclaim::VictimPolicy;
