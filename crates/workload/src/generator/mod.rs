//! Generators: requests drawn from stated distributions over a share of the device.

pub(crate) mod drawn;
pub(crate) mod fio_job;
pub(crate) mod hot_writes;
pub(crate) mod options;
mod pattern;
pub(crate) mod patterns;
pub(crate) mod requests;
pub(crate) mod scatter;
pub(crate) mod sizes;
