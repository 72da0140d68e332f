//! The simulated SSD as a network block device, which real programs use.
//!
//! A client's request becomes host requests of an engine's session; the bytes go where the translation layer puts its
//! pages, and come from where its map points. [`Server`] is the way in.
#![forbid(unsafe_code)]

pub mod crash;
mod device;
pub mod protocol;
mod recording;
mod store;
mod threads;

pub use recording::spec::{served_config, without_effect_on_a_served_device};
pub use recording::{RecordedSession, RecordedSpec, RecordingHeader};
pub use threads::address::Address;
pub use threads::clock::ServeClock;
pub use threads::connection::EXPORT;
pub use threads::control::{ControlRequest, ask};
pub use threads::options::ServeOptions;
pub use threads::server::Server;
