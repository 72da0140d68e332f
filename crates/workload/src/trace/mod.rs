//! Recorded traces: opened by content, streamed once, put into the order of time.

pub(crate) mod bytes;
pub(crate) mod columns;
pub(crate) mod formats;
pub(crate) mod kind;
mod layout;
pub(crate) mod options;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod requests;
mod sniff;
pub(crate) mod table;
pub(crate) mod volumes;
