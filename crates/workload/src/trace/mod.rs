//! Recorded traces: opened by content, streamed once, put into the order of time.

mod ahead;
mod clock;
mod column_layout;
pub(crate) mod column_request;
mod column_units;
mod columns;
pub(crate) mod content;
mod fields;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod header;
pub(crate) mod kind;
mod layout;
mod lines;
pub(crate) mod options;
pub(crate) mod record;
pub(crate) mod recorded;
pub(crate) mod records;
pub(crate) mod reorder;
pub(crate) mod requests;
mod sample;
mod sniff;
mod source;
pub(crate) mod table;
pub(crate) mod time_scale;
pub(crate) mod volumes;
