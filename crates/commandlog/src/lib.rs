//! The log of all flash commands of a run: what it looks like, how it is written, and how it is judged.
//!
//! Nothing here can see a translation layer. A log holds the device's shape and initial state, so a replay needs
//! no more than the chip ([`verify`]).
#![forbid(unsafe_code)]

mod header;
mod record;
mod verify;
mod writer;

pub use header::{LogHeader, LoggedRun, SubBlockShape};
pub use record::{LogRecord, RECORD_BYTES};
pub use verify::{Broken, LogError, Verification, verify, verify_file};
pub use writer::CommandLog;
