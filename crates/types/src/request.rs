//! What a host asks of the device.

use crate::Time;

/// Direction of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Data is returned.
    Read,
    /// Data is stored.
    Write,
    /// Data is given up: the pages that lie wholly inside read as never written.
    Trim,
}

impl RequestKind {
    /// Its name in the field.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Trim => "trim",
        }
    }
}

/// One host request, as a workload yields it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// Arrival since the first request of the workload.
    pub arrival: Time,
    /// First byte.
    pub offset_bytes: u64,
    /// Length in bytes, never 0.
    pub bytes: u32,
    /// What to do.
    pub kind: RequestKind,
}
