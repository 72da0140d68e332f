//! `pumice_ftl.h`: translation layers of the user's own. The side that is linked into a plug-in
//! ([`export_ftl!`](crate::export_ftl)) and the side that loads it (`load`) speak through the same table.

mod export;
#[cfg(feature = "host")]
mod layer;
#[cfg(feature = "host")]
mod object;
#[cfg(feature = "host")]
mod spare_areas;
mod table;

pub use export::exported;
#[cfg(feature = "host")]
pub use object::{from_table, load};
pub use table::{
    CChips, CCommand, CCounter, CKey, CLayer, CLayerDevice, CPageAddress, CPlan, CRequest, CSpareArea, CValue,
    FTL_VERSION, FindsPage, ForDevice, HearsRequest, PlansAccess, PlansStep, PlansStreamWrite, Recovers, TakesNote,
    Tells, TellsCounts, TellsOwnPages,
};
#[cfg(feature = "host")]
pub(crate) use table::{CHOICE, NUMBER, SWITCH, WHOLE_NUMBER};
