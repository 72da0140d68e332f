//! The C interface. What C, C++ or Zig exchange with pumice crosses here and nowhere else, so this is the only crate
//! with `unsafe` (beside the prefetch hint of `pumice-types`). Each block says why it is sound.
//!
//! Every interface has a version of its own from its first day ([`InterfaceVersion`]).
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

pub mod chip;
mod foreign;
pub mod policy;
mod version;

pub use version::InterfaceVersion;
