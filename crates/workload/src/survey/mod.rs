//! Looking at workloads without a device.

mod check;
mod footprint;
mod info;
mod shape;

pub use check::{CheckReport, DecodedLine, check, check_with};
pub use footprint::Footprint;
pub use info::{Heat, InfoReport, KindSummary, Survey, TrimSummary, info, info_with};
pub use shape::{Bin, FootprintSample, Shape};
