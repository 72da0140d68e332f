//! What a host asks of a device.

use pumice_types::{HostRequest, RequestKind, Time, ZoneCommand};

/// Kinds of request, by the numbers that they have in C and Python.
pub const KINDS: [RequestKind; 9] = [
    RequestKind::Read,
    RequestKind::Write,
    RequestKind::Trim,
    RequestKind::Flush,
    RequestKind::Zone(ZoneCommand::Append),
    RequestKind::Zone(ZoneCommand::Open),
    RequestKind::Zone(ZoneCommand::Close),
    RequestKind::Zone(ZoneCommand::Finish),
    RequestKind::Zone(ZoneCommand::Reset),
];

/// What a host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// What to do.
    pub kind: RequestKind,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Length in bytes; 0 for a flush and a command to a zone that is no append, and for nothing else.
    pub bytes: u32,
    /// A write that is to outlast a power cut once it is done (force unit access).
    pub fua: bool,
    /// The placement handle or stream that a write names; 0 if it names none.
    pub stream: u8,
    /// The flow that it belongs to, by its number among those of the spec; 0 if there are none.
    pub flow: u8,
}

impl DeviceRequest {
    /// A read of so many bytes.
    pub fn read(offset_bytes: u64, bytes: u32) -> DeviceRequest {
        DeviceRequest { kind: RequestKind::Read, offset_bytes, bytes, fua: false, stream: 0, flow: 0 }
    }

    /// A write of so many bytes.
    pub fn write(offset_bytes: u64, bytes: u32) -> DeviceRequest {
        DeviceRequest { kind: RequestKind::Write, ..DeviceRequest::read(offset_bytes, bytes) }
    }

    /// A trim of so many bytes.
    pub fn trim(offset_bytes: u64, bytes: u32) -> DeviceRequest {
        DeviceRequest { kind: RequestKind::Trim, ..DeviceRequest::read(offset_bytes, bytes) }
    }

    /// A flush: what was acknowledged before it is to outlast a power cut once it is done.
    pub fn flush() -> DeviceRequest {
        DeviceRequest { kind: RequestKind::Flush, ..DeviceRequest::read(0, 0) }
    }

    /// The request as the engine takes it, at this instant.
    #[inline]
    pub(super) fn at(&self, now: u64) -> HostRequest {
        let DeviceRequest { kind, offset_bytes, bytes, fua, stream, flow } = *self;
        HostRequest { arrival: Time(now), offset_bytes, bytes, kind, fua, stream, flow }
    }

    /// A command to the zone in which this byte lies; only an append has a length.
    pub fn zone(command: ZoneCommand, offset_bytes: u64, bytes: u32) -> DeviceRequest {
        DeviceRequest { kind: RequestKind::Zone(command), ..DeviceRequest::read(offset_bytes, bytes) }
    }
}
