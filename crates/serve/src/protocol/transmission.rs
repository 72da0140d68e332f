//! The transmission: requests and their replies.

use super::handshake::ALLOCATION_ID;
use super::{Malformed, MessageFields};

const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// The last chunk of a reply.
const DONE: u16 = 1;

/// Kinds of chunks.
mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = 0x8001;
}

/// Flags of requests.
mod flag {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 2;
    pub const DF: u16 = 4;
    pub const REQ_ONE: u16 = 8;
}

/// What a request is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Return data.
    Read,
    /// Store data, which follows.
    Write,
    /// End the connection.
    Disconnect,
    /// Make what was acknowledged outlast a power cut.
    Flush,
    /// Give data up.
    Trim,
    /// Let a part read as zeroes.
    WriteZeroes,
    /// Tell which parts hold data.
    BlockStatus,
}

/// A request without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// What to do; the number of a command that this server does not know.
    pub command: Result<Command, u16>,
    /// The client's name for the request.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Flags, as they are on the wire.
    pub flags: u16,
}

impl RequestHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 28;

    /// Whether it is to be done only when it outlasts a power cut.
    pub fn is_fua(&self) -> bool {
        self.flags & flag::FUA != 0
    }

    /// Whether zeroes are to be stored instead of giving the data up.
    pub fn is_without_hole(&self) -> bool {
        self.flags & flag::NO_HOLE != 0
    }

    /// Whether only the first part is asked for.
    pub fn wants_one_extent(&self) -> bool {
        self.flags & flag::REQ_ONE != 0
    }

    /// Whether its flags mean something for its command.
    pub fn has_legal_flags(&self) -> bool {
        let allowed = flag::FUA
            | match self.command {
                Ok(Command::Read) => flag::DF,
                Ok(Command::WriteZeroes) => flag::NO_HOLE,
                Ok(Command::BlockStatus) => flag::REQ_ONE,
                Ok(Command::Write | Command::Disconnect | Command::Flush | Command::Trim) | Err(_) => 0,
            };
        self.flags & !allowed == 0
    }

    /// Reads a header.
    ///
    /// # Errors
    /// Bytes that do not begin as a request does.
    pub fn decode(bytes: &[u8; RequestHeader::BYTES]) -> Result<RequestHeader, Malformed> {
        let mut fields = MessageFields(bytes);
        if fields.u32()? != REQUEST_MAGIC {
            return Err(Malformed::Magic);
        }
        let flags = fields.u16()?;
        let command = match fields.u16()? {
            0 => Ok(Command::Read),
            1 => Ok(Command::Write),
            2 => Ok(Command::Disconnect),
            3 => Ok(Command::Flush),
            4 => Ok(Command::Trim),
            6 => Ok(Command::WriteZeroes),
            7 => Ok(Command::BlockStatus),
            unknown => Err(unknown),
        };
        let (cookie, offset, length) = (fields.u64()?, fields.u64()?, fields.u32()?);
        Ok(RequestHeader { command, cookie, offset, length, flags })
    }
}

/// Why a request failed, as the protocol numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The device cannot do it.
    Io = 5,
    /// The request makes no sense.
    Invalid = 22,
    /// The request writes beyond the end.
    NoSpace = 28,
    /// The data is longer than one reply holds.
    Overflow = 75,
    /// This server does not have the operation.
    Unsupported = 95,
    /// The server is about to end.
    Shutdown = 108,
}

/// Consecutive bytes that all hold data, or all hold none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataExtent {
    /// Number of bytes.
    pub bytes: u32,
    /// Whether data was stored there. Bytes without data read as zeroes.
    pub holds_data: bool,
}

/// What comes back for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The request is done.
    Done,
    /// Data that was read, and its first byte on the device.
    Data(u64, Vec<u8>),
    /// Which parts hold data, from the first byte asked for.
    Status(Vec<DataExtent>),
    /// The request failed.
    Failed(ErrorCode),
}

impl Reply {
    /// Appends the reply to the request `cookie` to `out`; `structured`: in chunks.
    pub fn encode(&self, cookie: u64, structured: bool, out: &mut Vec<u8>) {
        if structured {
            return self.encode_chunk(cookie, out);
        }
        let (error, data): (u32, &[u8]) = match self {
            Reply::Done => (0, &[]),
            Reply::Data(_, data) => (0, data),
            // Only clients that negotiated chunks may ask; the others are refused before.
            Reply::Status(_) => (ErrorCode::Invalid as u32, &[]),
            Reply::Failed(code) => (*code as u32, &[]),
        };
        out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
        out.extend(error.to_be_bytes());
        out.extend(cookie.to_be_bytes());
        out.extend(data);
    }

    fn encode_chunk(&self, cookie: u64, out: &mut Vec<u8>) {
        let (kind, length) = match self {
            Reply::Done => (chunk::NONE, 0),
            Reply::Data(_, data) => (chunk::OFFSET_DATA, 8 + data.len()),
            Reply::Status(extents) => (chunk::BLOCK_STATUS, 4 + 8 * extents.len()),
            Reply::Failed(_) => (chunk::ERROR, 6),
        };
        out.extend(CHUNK_MAGIC.to_be_bytes());
        out.extend(DONE.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend(cookie.to_be_bytes());
        out.extend((length as u32).to_be_bytes());
        match self {
            Reply::Done => {}
            Reply::Data(offset, data) => {
                out.extend(offset.to_be_bytes());
                out.extend(data);
            }
            Reply::Status(extents) => {
                const HOLE_AND_ZERO: u32 = 3;
                out.extend(ALLOCATION_ID.to_be_bytes());
                for extent in extents {
                    out.extend(extent.bytes.to_be_bytes());
                    out.extend(if extent.holds_data { 0 } else { HOLE_AND_ZERO }.to_be_bytes());
                }
            }
            Reply::Failed(code) => {
                out.extend((*code as u32).to_be_bytes());
                out.extend(0u16.to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s012_replies_are_as_long_as_their_headers_say() {
        let extents = vec![DataExtent { bytes: 512, holds_data: true }, DataExtent { bytes: 1024, holds_data: false }];
        let replies =
            [Reply::Done, Reply::Data(512, vec![7; 512]), Reply::Status(extents), Reply::Failed(ErrorCode::Io)];
        for reply in &replies {
            let mut bytes = Vec::new();
            reply.encode(9, true, &mut bytes);
            let length = u32::from_be_bytes(bytes[16..20].try_into().expect("four bytes"));
            assert_eq!(bytes.len(), 20 + length as usize, "{reply:?}");
        }
        let mut bytes = Vec::new();
        replies[1].encode(9, false, &mut bytes);
        assert_eq!(bytes.len(), 16 + 512);
    }
}
