//! The C interface. What C, C++ or Zig exchange with pumice crosses here and nowhere else, so this is the only crate
//! with `unsafe` (beside the prefetch hint of `pumice-types`). Each block says why it is sound.
//!
//! Without the feature `host` only that is left which is linked into a plug-in in Rust ([`export_ftl!`]); `playground`
//! adds what the page of the playground calls.
//!
//! Every interface has a version of its own from its first day ([`InterfaceVersion`]).
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod bad_call;
#[cfg(feature = "host")]
pub mod chip;
#[cfg(feature = "host")]
mod declared_keys;
#[cfg(feature = "host")]
pub mod device;
#[cfg(feature = "host")]
mod foreign;
pub mod ftl;
#[cfg(feature = "playground")]
pub mod playground;
#[cfg(feature = "host")]
pub mod policy;
#[cfg(feature = "host")]
mod shared_object;
#[cfg(feature = "host")]
pub mod torture;
mod version;

pub use version::InterfaceVersion;
