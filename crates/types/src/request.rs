//! What a host asks of the device.

use crate::{Choice, Lpn, Time, choice};

choice! {
    /// A command of a host to a zone (NVMe Zoned Namespace Command Set).
    pub enum ZoneCommand {
        /// Data is stored at the zone's write pointer, wherever that is (Zone Append).
        Append = "append",
        /// The zone is opened (Open Zone).
        Open = "open",
        /// The zone is closed (Close Zone).
        Close = "close",
        /// The zone takes no more writes (Finish Zone).
        Finish = "finish",
        /// The zone is emptied (Reset Zone).
        Reset = "reset",
    }
}

/// What a host request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Data is returned.
    Read,
    /// Data is stored.
    Write,
    /// Data is given up: the pages that lie wholly inside read as never written.
    Trim,
    /// Whatever was acknowledged before is to outlast a power cut once this is done; it has no address and no data.
    Flush,
    /// A command to the zone in which the first byte lies. Only an append has data.
    Zone(ZoneCommand),
}

impl RequestKind {
    /// Name of the kind in the field.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Trim => "trim",
            RequestKind::Flush => "flush",
            RequestKind::Zone(command) => command.name(),
        }
    }
}

/// One host request, as a workload yields it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// Arrival since the first request of the workload.
    pub arrival: Time,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Length in bytes: 0 for a flush and for a command to a zone that is no append, and for nothing else.
    pub bytes: u32,
    /// What to do.
    pub kind: RequestKind,
    /// A write that is to outlast a power cut once it is done (force unit access).
    pub fua: bool,
    /// The stream that the host says the data of a write belongs to, its placement hint; 0 if it says nothing.
    pub stream: u8,
    /// The flow of its workload that it belongs to; 0 where there is but one.
    pub flow: u8,
}

impl AsRef<HostRequest> for HostRequest {
    fn as_ref(&self) -> &HostRequest {
        self
    }
}

impl HostRequest {
    /// The write of a whole logical page of so many bytes, into a stream.
    pub fn page_write(lpn: Lpn, bytes: u32, stream: u8) -> HostRequest {
        let (arrival, offset_bytes) = (Time::ZERO, u64::from(lpn.0) * u64::from(bytes));
        HostRequest { arrival, offset_bytes, bytes, kind: RequestKind::Write, fua: false, stream, flow: 0 }
    }

    /// A flush.
    pub const fn flush(arrival: Time) -> HostRequest {
        HostRequest { arrival, offset_bytes: 0, bytes: 0, kind: RequestKind::Flush, fua: false, stream: 0, flow: 0 }
    }
}
