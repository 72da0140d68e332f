//! The messages of the network block device protocol (NBD, fixed newstyle), as types. Numbers on the wire are
//! big-endian. Nothing here does input or output, so that every message can be tested against any bytes.
//!
//! Source: the protocol's own description, `doc/proto.md` of the NBD project.

pub mod handshake;
pub mod transmission;

/// First bytes of the greeting.
pub const GREETING: [u8; 16] = *b"NBDMAGICIHAVEOPT";

/// Server and client speak fixed newstyle.
pub const FIXED_NEWSTYLE: u16 = 1;

/// The 124 zeroes behind the answer to `EXPORT_NAME` are left out.
pub const NO_ZEROES: u16 = 2;

/// Smallest unit of offsets and lengths, in bytes.
pub use pumice_engine::data::SECTOR;

/// Longest read or write, in bytes.
pub const PAYLOAD_MAX: u32 = 32 << 20;

/// What this server says that a device can do: flags of the transmission phase.
pub const DEVICE_FLAGS: u16 = {
    const HAS_FLAGS: u16 = 1;
    const SEND_FLUSH: u16 = 1 << 2;
    const SEND_FUA: u16 = 1 << 3;
    const SEND_TRIM: u16 = 1 << 5;
    const SEND_WRITE_ZEROES: u16 = 1 << 6;
    const SEND_DF: u16 = 1 << 7;
    // A flush on one connection covers what was written on all of them: they share one queue.
    const CAN_MULTI_CONN: u16 = 1 << 8;
    HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | SEND_DF | CAN_MULTI_CONN
};

/// Why a message is refused. The connection can go on only where the message's end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes do not begin as a message of this protocol does.
    Magic,
    /// A field has a value that is not allowed.
    Field,
    /// The message is shorter or longer than its fields say.
    Length,
}

/// Takes fields off the front of a message.
pub(crate) struct MessageFields<'a>(pub &'a [u8]);

impl<'a> MessageFields<'a> {
    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// A text of at most so many bytes, behind its length.
    pub fn text(&mut self, longest: usize) -> Result<String, Malformed> {
        let length = self.u32()? as usize;
        if length > longest {
            return Err(Malformed::Field);
        }
        let bytes = self.bytes(length)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed::Field)
    }

    /// Refuses what is left.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Length) }
    }
}
