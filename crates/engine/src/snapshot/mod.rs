//! Aged devices that serve many runs: a device is aged once, written down, and read again by every run that would age
//! it to the same state. Results are the same bit for bit.
//!
//! `device.rs` says what a device consists of, `file.rs` how it lies in a file, `shelf.rs` where devices are kept.

mod device;
mod file;
mod shelf;

pub use file::{SealKey, SnapshotFile, SnapshotHeader};
pub use shelf::{DeviceOrigin, DiskPlace, Memory, Places, Shelf};
