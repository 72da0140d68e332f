//! All kinds of workloads: their registry, and what works on any of them.

pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod registry;
pub(crate) mod write;
