//! `pumice_ftl.h`: translation layers of the user's own. The side that is linked into a plug-in
//! ([`export_ftl!`](crate::export_ftl)) and the side that loads it (`load`) speak through the same table.

mod export;
#[cfg(feature = "host")]
mod layer;
#[cfg(feature = "host")]
mod object;
mod table;

pub use export::{ExportedLayer, exported};
#[cfg(feature = "host")]
pub use object::load;
pub use table::{
    CCommand, CKey, CLayer, CLayerDevice, CPageAddress, CPlan, CValue, FTL_VERSION, FindsPage, ForDevice, PlansAccess,
    PlansStep, TakesNote, Tells,
};
