//! What a layer says: the commands of one access ([`Plan`]), what it has counted, what is stored at the start, and why
//! it cannot go on.

mod commands;
mod counters;
mod erase_unit;
mod ftl_error;
mod initial_fill;
mod merge_kind;
mod zone_error;

pub use commands::{Payload, Plan};
pub use counters::{COLLECTED, GcCounters, MergeCount, PlacedCount, STREAMS_MAX, VICTIM_FILL_BINS};
pub use erase_unit::EraseUnit;
pub use ftl_error::{FtlError, OwnFault};
pub(crate) use initial_fill::program_and_note;
pub use initial_fill::{AgedBy, FillTarget, FillUnit, InitialBlock, InitialFill, InitialKeys};
pub use merge_kind::MergeKind;
pub use zone_error::ZoneError;
