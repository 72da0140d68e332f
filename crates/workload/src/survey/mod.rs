//! Looking at workloads without a device.

pub(crate) mod check;
pub(crate) mod footprint;
pub(crate) mod info;
pub(crate) mod shape;
