//! The seam of a translation layer: what it does in a run ([`TranslationLayer`]), and how a spec asks for it
//! ([`Layer`]).
//!
//! A layer is one file or folder under `layers/` that implements both, and one line in the registry
//! (`layers/mod.rs`). Everything else that must know the layer learns it from there.

mod capabilities;
mod facts;
mod layer;
mod names;
mod parts;
pub mod policy;
mod recovery;
mod shared_keys;
mod translation_layer;
mod zones;

pub(crate) use capabilities::capabilities;
pub use facts::{Facts, Reports};
pub use layer::{CopiedLayer, Layer};
pub(crate) use names::check_name;
pub(crate) use parts::typed_share;
pub use parts::{LayerParts, LayerSpec, MergePolicy, whole_share};
pub use recovery::{ChipPort, CutProtection, LogSize, Proofs, Recovery, RecoveryCounts, Restart};
pub use shared_keys::{MapPlace, MergeMethod, SharedKeys, SuperblockKeys, UIndex, UPointer};
pub use translation_layer::{
    BegunRequest, Conduct, DurableTrims, Faults, Figures, ForcedOut, FreshRoom, GatheredUnits, Homes, HostZones,
    LookAhead, MapLoads, MemoryUse, Merging, OwnCounts, RequestBorders, Retirement, Streams, TranslationLayer,
    ZoneOperations,
};
pub use zones::{FinishPace, ResetErases, ZoneCounters, ZoneOperation, ZoneReport};
