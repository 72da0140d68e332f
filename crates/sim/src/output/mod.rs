//! What a run can write besides its result document, and the seam by which it is observed.

use pumice_types::{FlashCommand, HostRequest, Time};

/// A finished host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// When it arrived.
    pub arrival: Time,
    /// When it was done.
    pub done: Time,
    /// What it asked for.
    pub request: HostRequest,
}

/// Whoever wants to see a run as it happens. Everything defaults to nothing and costs nothing then.
pub trait Observer {
    /// A flash command took effect; it held its die from `start` to `end`. Without a clock both are 0.
    #[inline]
    fn command(&mut self, _start: Time, _end: Time, _command: &FlashCommand) {}

    /// A request that is measured was done.
    #[inline]
    fn request(&mut self, _record: &RequestRecord) {}
}

/// Nobody.
impl Observer for () {}
