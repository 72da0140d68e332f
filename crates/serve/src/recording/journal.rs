//! What happened to a store's device, from its first request on. Replaying it gives the device's state anew.

use std::io::{self, Read};

use pumice_types::{HostRequest, RequestKind, Time};

/// Bytes of one entry.
pub const ENTRY_BYTES: usize = 24;

/// The kind of an entry that is a power cut.
const CUT: u8 = 4;

/// The kind of an entry that is an order to fail.
const FAULT: u8 = 5;

/// The kind of an entry that is an ageing.
const AGE: u8 = 6;

/// The kind of an entry that is a commit.
const COMMIT: u8 = 7;

/// An order to age the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgeOrder {
    /// P/E cycles that every block takes.
    pub pec: u32,
    /// Random writes of whole pages, in user capacities.
    pub writes: f64,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceEvent {
    /// A request came.
    Request(HostRequest),
    /// The power was cut at this time of the workload's clock.
    Cut(Time),
    /// From this time of the workload's clock on, the next erase of a block fails.
    Fault(Time, u32),
    /// The device was aged at this time of the workload's clock, or when everything under way then had ended.
    Age(Time, AgeOrder),
    /// The device was committed at this time of the workload's clock, with so many bytes in its RAM, which lie behind the
    /// entry.
    Commit(Time, u64),
}

impl DeviceEvent {
    /// Whether a device holds something else afterwards, or is worn. Reads and flushes may change it as well, but nothing
    /// is lost if they never came.
    pub fn changes_device(&self) -> bool {
        match self {
            DeviceEvent::Request(request) => matches!(request.kind, RequestKind::Write | RequestKind::Trim),
            DeviceEvent::Cut(_) | DeviceEvent::Fault(..) | DeviceEvent::Age(..) => true,
            DeviceEvent::Commit(..) => false,
        }
    }

    /// Whether it is a flush.
    pub fn is_flush(&self) -> bool {
        matches!(self, DeviceEvent::Request(request) if request.kind == RequestKind::Flush)
    }
}

/// Number of a kind of request.
fn number_of(kind: RequestKind) -> u8 {
    match kind {
        RequestKind::Read => 0,
        RequestKind::Write => 1,
        RequestKind::Trim => 2,
        RequestKind::Flush => 3,
        RequestKind::Zone(command) => 4 + command as u8,
    }
}

/// An event as it is kept: its time, a long number, a short one, its kind, and whether a write is forced.
pub fn encode(event: &DeviceEvent) -> [u8; ENTRY_BYTES] {
    let (at, long, short, kind, fua) = match *event {
        DeviceEvent::Request(HostRequest { arrival, offset_bytes, bytes, kind, fua, .. }) => {
            (arrival, offset_bytes, bytes, number_of(kind), fua)
        }
        DeviceEvent::Cut(at) => (at, 0, 0, CUT, false),
        DeviceEvent::Fault(at, block) => (at, 0, block, FAULT, false),
        DeviceEvent::Age(at, AgeOrder { pec, writes }) => (at, writes.to_bits(), pec, AGE, false),
        DeviceEvent::Commit(at, bytes) => (at, bytes, 0, COMMIT, false),
    };
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&at.0.to_le_bytes());
    entry[8..16].copy_from_slice(&long.to_le_bytes());
    entry[16..20].copy_from_slice(&short.to_le_bytes());
    (entry[20], entry[21]) = (kind, fua.into());
    entry
}

/// The event of an entry; `None` if it is none.
pub fn decode(entry: &[u8; ENTRY_BYTES]) -> Option<DeviceEvent> {
    let (arrival, rest) = entry.split_first_chunk()?;
    let (long, rest) = rest.split_first_chunk()?;
    let (short, rest) = rest.split_first_chunk()?;
    let (at, long, short) = (Time(u64::from_le_bytes(*arrival)), u64::from_le_bytes(*long), u32::from_le_bytes(*short));
    let kind = match rest[0] {
        CUT => return Some(DeviceEvent::Cut(at)),
        FAULT => return Some(DeviceEvent::Fault(at, short)),
        AGE => return Some(DeviceEvent::Age(at, AgeOrder { pec: short, writes: f64::from_bits(long) })),
        COMMIT => return Some(DeviceEvent::Commit(at, long)),
        0 => RequestKind::Read,
        1 => RequestKind::Write,
        2 => RequestKind::Trim,
        3 => RequestKind::Flush,
        _ => return None,
    };
    let fua = match rest[1] {
        0 => false,
        1 => true,
        _ => return None,
    };
    let request = HostRequest { arrival: at, offset_bytes: long, bytes: short, kind, fua, stream: 0, flow: 0 };
    Some(DeviceEvent::Request(request))
}

/// The next event; `None` at the end.
///
/// # Errors
/// The input's, or an entry that is none.
pub fn read_next(input: &mut impl Read) -> io::Result<Option<DeviceEvent>> {
    let mut entry = [0; ENTRY_BYTES];
    match input.read_exact(&mut entry) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "its journal is damaged");
    decode(&entry).map(Some).ok_or_else(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s050_every_entry_comes_back_as_it_was_written() {
        for kind in [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush] {
            let (arrival, fua) = (Time(u64::MAX - 3), kind == RequestKind::Write);
            let request =
                HostRequest { arrival, offset_bytes: 1 << 50, bytes: u32::MAX, kind, fua, stream: 0, flow: 0 };
            let entry = encode(&DeviceEvent::Request(request));
            assert_eq!(decode(&entry), Some(DeviceEvent::Request(request)));
            let mut damaged = entry;
            damaged[20] = 9;
            assert_eq!(decode(&damaged), None);
        }
        let cut = DeviceEvent::Cut(Time(77));
        assert_eq!(decode(&encode(&cut)), Some(cut));
        let fault = DeviceEvent::Fault(Time(78), u32::MAX - 1);
        assert_eq!(decode(&encode(&fault)), Some(fault));
        let age = DeviceEvent::Age(Time(79), AgeOrder { pec: 65_535, writes: 1.5 });
        assert_eq!(decode(&encode(&age)), Some(age));
        let commit = DeviceEvent::Commit(Time(80), 1 << 40);
        assert_eq!(decode(&encode(&commit)), Some(commit));
    }
}
