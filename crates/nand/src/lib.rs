//! The NAND array: what is physically true, and what a chip refuses.
//!
//! The array has no clock and no idea of validity. It knows which pages are programmed, the spare
//! bytes programmed with them, how often each leaf was erased and how badly it is disturbed. Every
//! command is checked against every rule ([`Rule`]); no switch turns a check off. Time is added by
//! the scheduler, which asks [`DieClock`] whether a die may take a command.
#![forbid(unsafe_code)]

mod array;
mod checked;
mod clock;
pub mod erase;
mod last_copies;
pub mod rber_map;
pub mod reliability;
mod rules;
mod wear;

pub use array::{ArrayConfig, NandArray, PageContent, Returned, Torn};
pub use checked::{CheckedArray, ChipError};
pub use clock::DieClock;
pub use rules::{
    Rule, Violation, check_multi_plane, check_read_beside, fits_multi_plane, fits_read_beside, reads_one_page,
};
pub use wear::WearSummary;
