//! The bytes of a trace: read, decompressed and hashed, on the spot or ahead on a thread, or held in memory.

pub(crate) mod ahead;
pub(crate) mod content;
pub(crate) mod recorded;
pub(crate) mod source;
