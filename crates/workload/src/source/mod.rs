//! What a source of requests is made of: clock, addresses, draws, notes, errors.

pub(crate) mod arrival;
pub(crate) mod compression;
pub(crate) mod error;
pub(crate) mod fact;
pub(crate) mod key_group;
pub(crate) mod notes;
pub(crate) mod placement;
pub(crate) mod random;
pub(crate) mod request_source;
pub(crate) mod zone_job;
