//! The handshake: which export, and how replies look.

use super::{DEVICE_FLAGS, GREETING, Malformed, MessageFields, PAYLOAD_MAX, SECTOR};

/// Longest name that the protocol allows, in bytes.
pub const NAME_MAX: usize = 4096;

/// Longest option that is read, in bytes: a name and many queries fit.
pub const OPTION_MAX: u32 = 1 << 14;

/// Magic of an option's reply.
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Zeroes behind the answer to `EXPORT_NAME`, unless the client wants none.
const ZEROES: usize = 124;

/// The one kind of metadata: which parts of the device hold data.
pub const ALLOCATION: &str = "base:allocation";

/// The number under which replies name [`ALLOCATION`].
pub const ALLOCATION_ID: u32 = 1;

mod number {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const INFO_EXPORT: u16 = 0;
    pub const INFO_NAME: u16 = 1;
    pub const INFO_BLOCK_SIZE: u16 = 3;
}

/// What a client says behind the greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFlags {
    /// The client wants no zeroes behind the answer to `EXPORT_NAME`.
    pub no_zeroes: bool,
}

impl ClientFlags {
    /// Reads the flags.
    ///
    /// # Errors
    /// A flag that this server has not offered, or a client that does not speak fixed newstyle.
    pub fn decode(flags: u32) -> Result<ClientFlags, Malformed> {
        match flags {
            1 => Ok(ClientFlags { no_zeroes: false }),
            3 => Ok(ClientFlags { no_zeroes: true }),
            _ => Err(Malformed::Field),
        }
    }
}

/// The fixed part of an option: what it is and how long the rest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    /// Number of the option.
    pub number: u32,
    /// Bytes that follow.
    pub length: u32,
}

impl OptionHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 16;

    /// Reads a header.
    ///
    /// # Errors
    /// Bytes that do not begin as an option does.
    pub fn decode(bytes: &[u8; OptionHeader::BYTES]) -> Result<OptionHeader, Malformed> {
        let mut fields = MessageFields(bytes);
        if fields.bytes(8)? != &GREETING[8..] {
            return Err(Malformed::Magic);
        }
        Ok(OptionHeader { number: fields.u32()?, length: fields.u32()? })
    }
}

/// Queries for metadata: of which export, and which kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaQueries {
    /// The export.
    pub export: String,
    /// Kinds of metadata, or namespaces.
    pub queries: Vec<String>,
}

/// What a client asks for during the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOption {
    /// Begin the transmission at once, the old way: no error can be answered.
    ExportName(String),
    /// End the connection.
    Abort,
    /// Name the exports.
    List,
    /// Describe an export.
    Info(String),
    /// Describe an export and begin the transmission.
    Go(String),
    /// Answer requests in chunks.
    StructuredReply,
    /// Name the kinds of metadata.
    ListMeta(MetaQueries),
    /// Choose kinds of metadata.
    SetMeta(MetaQueries),
    /// An option that this server does not know.
    Unknown(u32),
}

impl ClientOption {
    /// Reads an option.
    ///
    /// # Errors
    /// A text or length that does not fit.
    pub fn decode(option: u32, payload: &[u8]) -> Result<ClientOption, Malformed> {
        let mut fields = MessageFields(payload);
        let bare = |decoded| if payload.is_empty() { Ok(decoded) } else { Err(Malformed::Length) };
        match option {
            number::EXPORT_NAME => {
                let name = std::str::from_utf8(payload).map_err(|_| Malformed::Field)?;
                let fits = name.len() <= NAME_MAX;
                if fits { Ok(ClientOption::ExportName(name.to_owned())) } else { Err(Malformed::Field) }
            }
            number::ABORT => Ok(ClientOption::Abort),
            number::LIST => bare(ClientOption::List),
            number::STRUCTURED_REPLY => bare(ClientOption::StructuredReply),
            number::INFO | number::GO => {
                let name = fields.text(NAME_MAX)?;
                let wanted = usize::from(fields.u16()?);
                fields.bytes(2 * wanted)?;
                fields.end()?;
                Ok(if option == number::GO { ClientOption::Go(name) } else { ClientOption::Info(name) })
            }
            number::LIST_META_CONTEXT | number::SET_META_CONTEXT => {
                let export = fields.text(NAME_MAX)?;
                let count = fields.u32()?;
                let queries: Result<Vec<String>, Malformed> = (0..count).map(|_| fields.text(NAME_MAX)).collect();
                let asked = MetaQueries { export, queries: queries? };
                fields.end()?;
                let lists = option == number::LIST_META_CONTEXT;
                Ok(if lists { ClientOption::ListMeta(asked) } else { ClientOption::SetMeta(asked) })
            }
            other => Ok(ClientOption::Unknown(other)),
        }
    }
}

/// What a server answers to an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionReply {
    /// The option is done.
    Ack,
    /// An export.
    Server(String),
    /// Size and flags of the export.
    Export(u64),
    /// Name of the export.
    Name(String),
    /// Units of offsets and lengths: the preferred one; the smallest and the largest are constants.
    BlockSize(u32),
    /// A kind of metadata and its number.
    Meta(u32, String),
    /// An option that this server does not have.
    Unsupported,
    /// A message that makes no sense.
    Invalid,
    /// No such export.
    UnknownExport,
    /// The option is longer than this server reads.
    TooBig,
}

impl OptionReply {
    /// Kind of reply on the wire.
    fn kind(&self) -> u32 {
        const ERROR: u32 = 1 << 31;
        match self {
            OptionReply::Ack => 1,
            OptionReply::Server(_) => 2,
            OptionReply::Export(_) | OptionReply::Name(_) | OptionReply::BlockSize(_) => 3,
            OptionReply::Meta(..) => 4,
            OptionReply::Unsupported => ERROR + 1,
            OptionReply::Invalid => ERROR + 3,
            OptionReply::UnknownExport => ERROR + 6,
            OptionReply::TooBig => ERROR + 9,
        }
    }

    /// The reply to an option, as it is sent.
    pub fn encode(&self, option: u32) -> Vec<u8> {
        let mut payload = Vec::new();
        match self {
            OptionReply::Server(name) => {
                payload.extend((name.len() as u32).to_be_bytes());
                payload.extend(name.as_bytes());
            }
            OptionReply::Export(bytes) => {
                payload.extend(number::INFO_EXPORT.to_be_bytes());
                payload.extend(bytes.to_be_bytes());
                payload.extend(DEVICE_FLAGS.to_be_bytes());
            }
            OptionReply::Name(name) => {
                payload.extend(number::INFO_NAME.to_be_bytes());
                payload.extend(name.as_bytes());
            }
            OptionReply::BlockSize(preferred) => {
                payload.extend(number::INFO_BLOCK_SIZE.to_be_bytes());
                [SECTOR, *preferred, PAYLOAD_MAX].iter().for_each(|size| payload.extend(size.to_be_bytes()));
            }
            OptionReply::Meta(id, name) => {
                payload.extend(id.to_be_bytes());
                payload.extend(name.as_bytes());
            }
            OptionReply::Ack
            | OptionReply::Unsupported
            | OptionReply::Invalid
            | OptionReply::UnknownExport
            | OptionReply::TooBig => {}
        }
        let mut bytes = REPLY_MAGIC.to_be_bytes().to_vec();
        bytes.extend(option.to_be_bytes());
        bytes.extend(self.kind().to_be_bytes());
        bytes.extend((payload.len() as u32).to_be_bytes());
        bytes.extend(payload);
        bytes
    }
}

/// The answer to `EXPORT_NAME`.
pub fn export_reply(bytes: u64, flags: ClientFlags) -> Vec<u8> {
    let mut reply = bytes.to_be_bytes().to_vec();
    reply.extend(DEVICE_FLAGS.to_be_bytes());
    reply.resize(reply.len() + if flags.no_zeroes { 0 } else { ZEROES }, 0);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s003_replies_have_the_lengths_that_they_say() {
        let replies =
            [OptionReply::Ack, OptionReply::Server("x".into()), OptionReply::Export(9), OptionReply::BlockSize(4096)];
        for (reply, length) in replies.iter().zip([0, 5, 12, 14]) {
            let bytes = reply.encode(7);
            assert_eq!(bytes.len(), 20 + length, "{reply:?}");
            assert_eq!(bytes[16..20], (length as u32).to_be_bytes());
        }
        assert_eq!(export_reply(1, ClientFlags { no_zeroes: true }).len(), 10);
        assert_eq!(export_reply(1, ClientFlags { no_zeroes: false }).len(), 134);
    }
}
