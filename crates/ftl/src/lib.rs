//! The controller's belief: mapping, block pool, merge planning, reclaiming.
//!
//! Nothing here can see the array. An FTL turns one host page access into flash commands in a
//! reused [`Plan`]; whoever executes the plan (timed or not) finds out whether the belief was true.
#![forbid(unsafe_code)]

mod block_pool;
mod counters;
pub mod erase;
mod lists;
mod mapping;
pub mod merge;
mod plan;
mod recency;
mod reclaim;
mod reclaim_leaves;
mod reclaim_units;
mod victim;
mod wear;

pub use counters::{GcCounters, MergeCount, VICTIM_FILL_BINS};
pub use mapping::fast::{FAST_LOG_BLOCKS_MIN, Fast};
pub use mapping::gftl::{Gftl, GftlConfig};
pub use mapping::log_block::LogBlock;
pub use mapping::nftl::{Nftl, NftlConfig, UIndex};
pub use mapping::page::{
    Allocation, CACHED_ENTRY_BYTES, CachedMap, EraseUnits, GcMode, HotCold, PageConfig, PageFtl, STORED_ENTRY_BYTES,
};
pub use mapping::replacement_block::ReplacementBlock;
pub use mapping::striped::{PlaneFtl, Striped, StripedConfig};
pub use mapping::superblock_2006::rebuild::rebuild;
pub use mapping::superblock_2006::spare::{BLOCKS_MAX, IMAGE_BYTES, PT_PAGES, PTS, SpareImage, TableIndices};
pub use mapping::superblock_2006::{MapPlace, Superblock2006, SuperblockConfig};
pub use mapping::superblock_pen::{SuperblockPen, SuperblockPenConfig};
pub use mapping::{Ftl, FtlError, InitialBlock, InitialFill, MergePolicy};
pub use plan::Plan;
pub use reclaim::VictimPolicy;
pub use reclaim_leaves::{LeafRule, choose_leaves};
pub use reclaim_units::{JoinRule, UnitChoice, UnitId, UnitVictims, join_units};
pub use wear::WearLeveling;
