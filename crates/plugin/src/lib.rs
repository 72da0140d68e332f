//! What a translation layer of your own in Rust is written with: implement [`TranslationLayer`] and [`PluginLayer`],
//! and export the type by [`export_ftl!`] from a `cdylib`. `docs/OWN-FTL.md` leads through an example.
//!
//! [`TranslationLayer`] is the trait of the layers that pumice has itself: `write`, `read`, `locate`, and where it has
//! them `trim` and `step`. What else a plug-in offers it returns: [`Conduct`] says whether it has steps, [`MemoryUse`] what
//! its map needs, [`Retirement`] that it retires blocks. [`Offers`] names the rest: [`MapLoads`], [`GatheredUnits`],
//! [`Streams`], [`RequestBorders`], moves between dies. It is asked for nothing that it does not offer. How many logical
//! pages there are, [`PluginLayer::capacity`] says. A plan may hold reads and programs for the host, copies, and erases
//! of blocks, partial blocks and sub-blocks. A layer that can recover after a power cut has [`PluginLayer::recover`].
#![forbid(unsafe_code)]

pub use pumice_capi::export_ftl;
pub use pumice_ftl::plugin::{Offers, PluginDevice, PluginLayer, SpareAreas};
pub use pumice_ftl::{
    BegunRequest, Conduct, ForcedOut, FtlError, GatheredUnits, MapLoads, MemoryUse, OwnCounts, Plan, RequestBorders,
    Retirement, Streams, TranslationLayer,
};
pub use pumice_types::key::{ANY, When, float, int};
pub use pumice_types::{
    BlockId, Cause, DieId, FlashCommand, Geometry, Lpn, PageAddress, PlaneId, ProgramOrder, RequestKind,
    SearchExpectation, SpareArea, SpareEntry, SpecError, Time, choice, keys, refuse,
};
