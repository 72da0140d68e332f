//! A workload of any kind: opened by its keys, read ahead, written as a trace.

pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod registry;
pub(crate) mod write;
