//! Looking at workloads without a device.

mod check;
mod footprint;
mod info;

pub use check::{CheckReport, DecodedLine, check};
pub use footprint::Footprint;
pub use info::{Heat, InfoReport, KindSummary, Survey, info};
