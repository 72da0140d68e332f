//! Twins: synthetic stand-ins for traces that cannot be shipped.
//!
//! A twin meets the published figures of its trace (requests, bytes, coverage of reads and
//! writes). Everything else about it is a choice, stated in `docs/WORKLOADS.md`. It is not the
//! trace and is never called by the trace's bare name.

mod access;
pub(crate) mod catalogue;
mod coverage;
mod layout;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod requests;
mod runs;
mod size;
mod whole_exponentials;
