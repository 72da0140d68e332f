//! Messages as clients send them, and what the server makes of them. Numbers on the wire are written out here once more.

use pumice_serve::protocol::Malformed;
use pumice_serve::protocol::handshake::{ClientFlags, ClientOption, MetaQueries, OptionHeader};
use pumice_serve::protocol::transmission::{Command, RequestHeader};

use crate::client::send_option;

/// Commands and their numbers.
pub const COMMANDS: [(Command, u16); 7] = [
    (Command::Read, 0),
    (Command::Write, 1),
    (Command::Disconnect, 2),
    (Command::Flush, 3),
    (Command::Trim, 4),
    (Command::WriteZeroes, 6),
    (Command::BlockStatus, 7),
];

/// An option, header included.
pub fn option(option: &ClientOption) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    let meta = |asked: &MetaQueries| {
        let queries: Vec<u8> = asked.queries.iter().flat_map(|query| text(query)).collect();
        [&text(&asked.export)[..], &(asked.queries.len() as u32).to_be_bytes(), &queries].concat()
    };
    let block_size = |name: &str| [&text(name)[..], &[0, 1, 0, 3]].concat();
    let (number, payload) = match option {
        ClientOption::ExportName(name) => (1, name.as_bytes().to_vec()),
        ClientOption::Abort => (2, Vec::new()),
        ClientOption::List => (3, Vec::new()),
        ClientOption::Info(name) => (6, block_size(name)),
        ClientOption::Go(name) => (7, block_size(name)),
        ClientOption::StructuredReply => (8, Vec::new()),
        ClientOption::ListMeta(asked) => (9, meta(asked)),
        ClientOption::SetMeta(asked) => (10, meta(asked)),
        ClientOption::Unknown(number) => (*number, Vec::new()),
    };
    let mut bytes = Vec::new();
    send_option(&mut bytes, number, &payload).expect("memory");
    bytes
}

/// A request without its data.
pub fn request(header: &RequestHeader) -> [u8; RequestHeader::BYTES] {
    let number = |command| COMMANDS.iter().find(|(known, _)| *known == command).map(|&(_, number)| number);
    let number = header.command.map_or_else(|unknown| unknown, |command| number(command).expect("a command"));
    let head = [&[0x25, 0x60, 0x95, 0x13][..], &header.flags.to_be_bytes(), &number.to_be_bytes()].concat();
    let place = [&header.offset.to_be_bytes()[..], &header.length.to_be_bytes()].concat();
    [&head[..], &header.cookie.to_be_bytes(), &place].concat().try_into().expect("28 bytes")
}

#[test]
fn s001_every_option_is_understood_as_it_was_sent() {
    let asked = MetaQueries { export: "a".into(), queries: vec!["base:allocation".into(), "qemu:".into()] };
    let options = [
        ClientOption::ExportName("disk".into()),
        ClientOption::Abort,
        ClientOption::List,
        ClientOption::Info(String::new()),
        ClientOption::Go("disk".into()),
        ClientOption::StructuredReply,
        ClientOption::ListMeta(asked.clone()),
        ClientOption::SetMeta(asked),
        ClientOption::Unknown(77),
    ];
    for sent in options {
        let bytes = option(&sent);
        let (head, payload) = bytes.split_first_chunk().expect("a header");
        let header = OptionHeader::decode(head).expect("of an option");
        assert_eq!(header.length as usize, payload.len());
        assert_eq!(ClientOption::decode(header.number, payload), Ok(sent));
    }
}

#[test]
fn s002_options_of_a_wrong_length_or_text_are_refused() {
    let go = option(&ClientOption::Go("disk".into()));
    let payload = &go[OptionHeader::BYTES..];
    for cut in 0..payload.len() {
        assert_eq!(ClientOption::decode(7, &payload[..cut]), Err(Malformed::Length), "{cut}");
    }
    assert_eq!(ClientOption::decode(7, &[payload, &[0]].concat()), Err(Malformed::Length));
    assert_eq!(ClientOption::decode(7, &[0, 0, 0, 1, 0xff, 0, 0]), Err(Malformed::Field), "no UTF-8");
    assert_eq!(ClientOption::decode(7, &[0xff; 12]), Err(Malformed::Field), "a name of 4 GiB");
    assert_eq!(ClientOption::decode(8, &[0]), Err(Malformed::Length));
    assert_eq!(OptionHeader::decode(&[0; 16]), Err(Malformed::Magic));
    assert_eq!(ClientFlags::decode(4), Err(Malformed::Field));
}

#[test]
fn s010_every_request_is_understood_as_it_was_sent() {
    for (command, _) in COMMANDS {
        let sent =
            RequestHeader { command: Ok(command), cookie: u64::MAX - 5, offset: 1 << 40, length: 4096, flags: 9 };
        assert_eq!(RequestHeader::decode(&request(&sent)), Ok(sent));
    }
    let unknown = RequestHeader { command: Err(99), cookie: 1, offset: 2, length: 3, flags: 0 };
    assert_eq!(RequestHeader::decode(&request(&unknown)), Ok(unknown));
    assert_eq!(RequestHeader::decode(&[0; RequestHeader::BYTES]), Err(Malformed::Magic));
}

#[test]
fn s011_flags_are_legal_where_they_mean_something() {
    let [fua, no_hole, req_one] = [1, 2, 8];
    let is_legal = |command, flags| {
        RequestHeader { command: Ok(command), cookie: 0, offset: 0, length: 512, flags }.has_legal_flags()
    };
    assert!(COMMANDS.iter().all(|&(command, _)| is_legal(command, fua)));
    assert!(is_legal(Command::BlockStatus, req_one));
    assert!(!is_legal(Command::Read, req_one));
    assert!(is_legal(Command::WriteZeroes, no_hole));
    assert!(!is_legal(Command::Trim, no_hole));
    assert!(!is_legal(Command::Read, 1 << 15));
}
