//! Looking at workloads without a device.

mod check;
mod footprint;
mod info;

pub use check::{CheckReport, DecodedLine, check, check_with};
pub use footprint::Footprint;
pub use info::{Heat, InfoReport, KindSummary, Survey, info, info_with};
