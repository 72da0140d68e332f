//! The crash lab: the power of a device is cut at many instants of one recorded session, and what a host would find
//! then is compared with what the device had promised.
//!
//! The session is replayed once. At each instant the device is forked: the fork loses its power, recovers and is
//! judged, and the session goes on without having noticed. The lab's devices keep a number for each sector in place of
//! its bytes ([`SectorStamp`](pumice_engine::data::SectorStamp)): it names the write that the sector comes from, so
//! that the judge knows not only that a sector is wrong but where it comes from.

mod cut;
mod fork;
mod image;
#[cfg(test)]
mod judged_bytes;
mod lab;
mod replay;
mod subject;
mod submitted;
mod truth;
mod verdict;

pub use cut::{CrashCut, CutPlaces, TriedCut};
pub use lab::CrashLab;
pub use verdict::{CrashVerdict, WrongKind, WrongPages, WrongSector};
