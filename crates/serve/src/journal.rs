//! The requests of a store's device, from its first on. Replaying them gives the device's state anew.

use std::io::{self, Read, Write};

use pumice_types::{HostRequest, RequestKind, Time};

/// Bytes of one entry.
pub const ENTRY_BYTES: usize = 24;

/// One request as it is kept.
pub fn encode(request: &HostRequest) -> [u8; ENTRY_BYTES] {
    let kind = match request.kind {
        RequestKind::Read => 0,
        RequestKind::Write => 1,
        RequestKind::Trim => 2,
        RequestKind::Flush => 3,
    };
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&request.arrival.0.to_le_bytes());
    entry[8..16].copy_from_slice(&request.offset_bytes.to_le_bytes());
    entry[16..20].copy_from_slice(&request.bytes.to_le_bytes());
    (entry[20], entry[21]) = (kind, u8::from(request.fua));
    entry
}

/// The request of an entry; `None` if it is none.
pub fn decode(entry: &[u8; ENTRY_BYTES]) -> Option<HostRequest> {
    let (arrival, rest) = entry.split_first_chunk::<8>()?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (bytes, rest) = rest.split_first_chunk::<4>()?;
    let kind = match rest[0] {
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
    let (arrival, offset_bytes) = (Time(u64::from_le_bytes(*arrival)), u64::from_le_bytes(*offset));
    Some(HostRequest { arrival, offset_bytes, bytes: u32::from_le_bytes(*bytes), kind, fua, stream: 0 })
}

/// The next request; `None` at the end.
///
/// # Errors
/// The input's, or an entry that is none.
pub fn read_next(input: &mut impl Read) -> io::Result<Option<HostRequest>> {
    let mut entry = [0; ENTRY_BYTES];
    match input.read_exact(&mut entry) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "its journal is damaged");
    decode(&entry).map(Some).ok_or_else(broken)
}

/// Adds a request.
///
/// # Errors
/// The output's.
pub fn write(out: &mut impl Write, request: &HostRequest) -> io::Result<()> {
    out.write_all(&encode(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s050_every_entry_comes_back_as_it_was_written() {
        for kind in [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush] {
            let (arrival, fua) = (Time(u64::MAX - 3), kind == RequestKind::Write);
            let request = HostRequest { arrival, offset_bytes: 1 << 50, bytes: u32::MAX, kind, fua, stream: 0 };
            let entry = encode(&request);
            assert_eq!(decode(&entry), Some(request));
            let mut damaged = entry;
            damaged[20] = 9;
            assert_eq!(decode(&damaged), None);
        }
    }
}
