//! The controller's belief: translation layers, block pool, merge planning, reclaiming.
//!
//! Nothing here can see the array. A layer turns one host page access into flash commands in a reused [`Plan`]; the
//! array, which executes the plan, timed or not, checks whether the belief was true.
#![forbid(unsafe_code)]

mod block_pool;
mod counters;
pub mod erase;
mod erase_units;
mod error;
mod fill;
mod layer;
mod layers;
mod lists;
pub mod merge;
mod plan;
pub mod plugin;
pub mod policy;
mod policy_fault;
mod recency;
mod reclaim_leaves;
mod reclaim_lines;
mod reclaim_units;
pub mod recovery;
mod salvage;
mod survey;
mod victim;
pub mod victims;
mod wear;

pub use counters::{COLLECTED, GcCounters, MergeCount, PlacedCount, VICTIM_FILL_BINS};
pub use erase_units::EraseUnit;
pub use error::{FtlError, PluginFault};
pub use fill::{FillTarget, FillUnit, InitialBlock, InitialFill, InitialKeys};
pub use layer::{
    Layer, LayerParts, LayerSpec, MapPlace, MergeMethod, MergePolicy, Reports, SharedKeys, SuperblockKeys,
    TranslationLayer, UIndex, whole_share,
};
pub use layers::fast::Fast;
pub use layers::gftl::{Gftl, GftlConfig};
pub use layers::log_block::LogBlock;
pub use layers::nftl::{Nftl, NftlConfig};
pub use layers::page::{
    Allocation, CachedMap, CollectedPlace, EraseGroup, EraseUnits, GcMode, GcPlanes, Handles, HotCold, Isolation,
    Leveling, OpenBlocks, PageConfig, PageFtl, PageKeys, Separation,
};
pub use layers::plugged::{Plugged, PluginKeys};
pub use layers::replacement_block::ReplacementBlock;
pub use layers::striped::{PlaneFtl, Striped, StripedConfig};
pub use layers::superblock_2006::rebuild::rebuild;
pub use layers::superblock_2006::spare::{SpareImage, TableIndices};
pub use layers::superblock_2006::{SpareTables, Superblock2006, SuperblockConfig};
pub use layers::superblock_pen::{SuperblockPen, SuperblockPenConfig};
pub use layers::zns::layout::{LayoutConfig, ZoneLayout};
pub use layers::zns::report::{ZoneCounters, ZoneOperation, ZoneReport};
pub use layers::zns::state::{Written, ZoneLimits, ZoneState, ZoneTable};
pub use layers::zns::zone_error::ZoneError;
pub use layers::zns::{
    CleaningPace, FinishFill, ResetTime, UnitKind, Zns, ZnsConfig, ZnsKeys, ZoneMapping, ZoneVictim,
};
pub use layers::{Ftl, FtlKeys, FtlKind, is_strict, kinds_that};
pub use plan::{Payload, Plan};
pub use policy_fault::PolicyFault;
pub use reclaim_leaves::{LeafRule, choose_leaves};
pub use reclaim_lines::{LineRule, choose_on_shared_lines};
pub use reclaim_units::{JoinRule, UnitChoice, UnitId, UnitVictims, join_units};
pub use victims::{GcPolicy, PolicyKeys, VictimPolicy};
pub use wear::WearLeveling;
