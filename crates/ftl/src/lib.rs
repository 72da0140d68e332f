//! The controller's belief: what a plan is (`plan`), blocks and which are reclaimed (`blocks`), merges (`merge`), the
//! seam of a translation layer (`seam`), starts after power cuts (`recovery`), layers of the user's own (`foreign`), and
//! the layers (`layers`).
//!
//! Nothing here can see the array. A layer turns one host page access into flash commands in a reused [`Plan`]; the
//! array, which executes the plan, timed or not, checks whether the belief was true.
#![forbid(unsafe_code)]

mod blocks;
pub mod erase;
mod foreign;
mod layers;
pub mod merge;
mod plan;
mod recovery;
mod seam;

pub use blocks::reclaim_leaves::{LeafRule, choose_leaves};
pub use blocks::reclaim_lines::{LineRule, choose_on_shared_lines};
pub use blocks::reclaim_units::{JoinRule, UnitChoice, UnitId, UnitVictims, join_units};
pub use blocks::victims;
pub use blocks::victims::{GcPolicy, PolicyKeys, VictimPolicy};
pub use blocks::wear::WearLeveling;
pub use foreign::plugged::{Plugged, PluginKeys};
pub use foreign::plugin;
pub use layers::block_mapped::fast::Fast;
pub use layers::block_mapped::log_block::LogBlock;
pub use layers::block_mapped::replacement_block::ReplacementBlock;
pub use layers::block_mapped::striped::{PlaneFtl, Striped, StripedConfig};
pub use layers::block_mapped::superblock_2006::rebuild::rebuild;
pub use layers::block_mapped::superblock_2006::spare::{SpareImage, TableIndices};
pub use layers::block_mapped::superblock_2006::{SpareTables, Superblock2006, SuperblockConfig};
pub use layers::page::{
    Allocation, CachedMap, CollectedPlace, EraseGroup, EraseUnits, GcMode, GcPlanes, Handles, HotCold, Isolation,
    Leveling, OpenBlocks, PageConfig, PageFtl, PageKeys, Separation,
};
pub use layers::partial_erase::gftl::{Gftl, GftlConfig};
pub use layers::partial_erase::nftl::{Nftl, NftlConfig};
pub use layers::partial_erase::superblock_pen::{SuperblockPen, SuperblockPenConfig};
pub use layers::zns::layout::{LayoutConfig, ZoneLayout};
pub use layers::zns::state::{Written, ZoneLimits, ZoneState, ZoneTable};
pub use layers::zns::{
    CleaningPace, FinishFill, ResetTime, UnitKind, Zns, ZnsConfig, ZnsKeys, ZoneInterface, ZoneMapping, ZoneVictim,
};
pub use layers::{Ftl, FtlKeys, FtlKind, is_strict, kinds_that};
pub use plan::{
    AgedBy, COLLECTED, EraseUnit, FillTarget, FillUnit, FtlError, GcCounters, InitialBlock, InitialFill, InitialKeys,
    MergeCount, OwnFault, Payload, PlacedCount, Plan, VICTIM_FILL_BINS, ZoneError,
};
pub use seam::policy;
pub use seam::{
    BegunRequest, ChipPort, Conduct, CutProtection, DurableTrims, Facts, Faults, Figures, FinishPace, ForcedOut,
    FreshRoom, GatheredUnits, Homes, HostZones, Layer, LayerParts, LayerSpec, LogSize, LookAhead, MapLoads, MapPlace,
    MemoryUse, MergeMethod, MergePolicy, Merging, OwnCounts, Recovery, RecoveryCounts, Reports, RequestBorders,
    ResetErases, Restart, Retirement, SharedKeys, Streams, SuperblockKeys, TranslationLayer, UIndex, UPointer,
    ZoneCounters, ZoneOperation, ZoneOperations, ZoneReport, whole_share,
};
