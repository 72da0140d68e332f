//! Vocabulary shared by every engine crate: addresses, geometry, time, flash commands, host
//! requests, partial-block arithmetic, write sequences and erase units, the disturb rule and the timing
//! table.
//!
//! Nothing here has state. The array and the planners share these pure functions so that a rule
//! is written once and neither side can see into the other.
#![deny(unsafe_code)]

// What the macros below make names this crate, here as in any other.
extern crate self as pumice_types;
/// For the macros: what [`choice!`](crate::choice) derives.
#[doc(hidden)]
pub use serde;

pub mod address;
pub mod bits;
pub mod chip;
pub mod choice;
pub mod column;
pub mod command;
pub mod disturb;
pub mod draw;
pub mod erase;
pub mod erase_unit;
#[cfg(feature = "recovery-faults")]
pub mod fault;
pub mod geometry;
pub mod interned;
pub mod key;
pub mod page_times;
mod page_unit;
pub mod partial_block;
pub mod prefetch;
pub mod refusal;
pub mod request;
mod spare;
mod static_text;
pub mod suspension;
pub mod tag;
mod time;
pub mod timing;
pub mod write_sequence;

pub use address::{BlockId, ChannelId, DieId, Lpn, PageAddress, PlaneId};
pub use chip::{
    ChipKeys, EraseKeys, GeometryKeys, MultiPlane, PageUnits, PartialEraseKeys, PartialEraseUnit, PlaneReads,
    ProgramKeys, ReadTransfer, TimingKeys,
};
pub use choice::Choice;
pub use column::PageColumn;
pub use command::{AWAITED_READS, Cause, FlashCommand, FlashOp, JOURNAL, SearchExpectation};
pub use draw::Draw;
pub use erase::{
    EraseMode, EraseScheme, EraseStep, EraseTiming, FailBitRanges, FailBits, InitialMemory, LastLoop, RberRequirement,
    StepKind, WornBlockRule,
};
pub use erase_unit::{UnitPages, UnitSet};
pub use geometry::{Geometry, PlaneOrder, ProgramOrder};
pub use page_times::{PageTimes, PageTypeOrder};
pub use page_unit::{PageUnit, StagedUnits, UnitSource};
pub use partial_block::{Pb, PbTree};
pub use prefetch::prefetch;
pub use refusal::SpecError;
pub use request::{HostRequest, RequestKind, ZoneCommand};
pub use spare::{SpareArea, SpareEntry, SpareMark, SpareRole};
pub use suspension::{
    ErasePiece, Interruption, ProgramSuspension, Suspension, SuspensionFor, SuspensionRule, SuspensionState,
};
pub use tag::{FILL_VERSION, TagFormat};
pub use time::Time;
pub use timing::{FlashTiming, PAGE_PARTS};
pub use write_sequence::{BlockShape, CellPosition, WriteSequence};

/// Adds the fields of one struct of counts to those of another; behind the semicolon stand those that are left out.
#[macro_export]
macro_rules! add_fields {
    ($sum:expr, $other:expr, $counts:ident { $($field:ident),+ $(; $($left_out:ident),+)? }) => {
        let $counts { $($field,)+ $($($left_out: _,)+)? } = $other;
        $($sum.$field += $field;)+
    };
}
