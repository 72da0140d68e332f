//! The simulated SSD as a network block device, which real programs use.
//!
//! A client's request becomes host requests of an engine's session; the bytes go where the translation layer puts its
//! pages, and come from where its map points. [`Server`] is the way in.
#![forbid(unsafe_code)]

mod address;
mod clock;
mod connection;
mod control;
pub mod crash;
mod data_path;
mod device;
mod exchange;
mod failing;
mod journal;
mod operation;
mod options;
mod pages;
pub mod protocol;
mod queued;
mod ram;
mod record;
mod recording;
mod sector;
mod server;
mod spec;
mod store;
mod store_file;
mod stored_pages;
mod submitted;
mod told;
mod transfer;
mod under_way;
mod volatile;
mod work;

pub use address::Address;
pub use clock::ServeClock;
pub use connection::EXPORT;
pub use control::{ControlRequest, ask};
pub use options::ServeOptions;
pub use recording::{RecordedSession, RecordedSpec, RecordingHeader};
pub use server::Server;
pub use spec::{served_config, without_effect_on_a_served_device};
