//! What is to be served.

use std::path::PathBuf;

use pumice_config::SpecSource;

use crate::threads::address::Address;
use crate::threads::clock::ServeClock;

/// What is to be served, and where.
pub struct ServeOptions {
    /// The spec.
    pub source: SpecSource,
    /// Where clients connect.
    pub listen: Address,
    /// Where questions about the device are answered.
    pub control: Option<Address>,
    /// The file that the device lives in; memory if absent.
    pub store: Option<PathBuf>,
    /// A trace to write, which replays to the same result.
    pub record: Option<PathBuf>,
    /// A recording to write, with the data of all writes.
    pub recording: Option<PathBuf>,
    /// What time the device goes by.
    pub clock: ServeClock,
}

impl ServeOptions {
    /// A device of a spec at an address, in memory.
    pub fn new(source: SpecSource, listen: Address) -> ServeOptions {
        ServeOptions {
            source,
            listen,
            control: None,
            store: None,
            record: None,
            recording: None,
            clock: ServeClock::Virtual,
        }
    }
}
