//! One client: its handshake, its requests, and the replies that go back to it.
//!
//! One thread reads what the client sends, lets the device do it, and writes what comes back; by the wall's clock replies
//! come later, and another thread writes them. Whatever a client does, it reaches no further than these two: a message
//! that makes no sense is answered with an error or ends the connection.

use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::protocol::handshake::{
    ALLOCATION, ALLOCATION_ID, ClientFlags, ClientOption, MetaQueries, OPTION_MAX, OptionHeader, OptionReply,
    export_reply,
};
use crate::protocol::transmission::{Command, ErrorCode, Reply, RequestHeader};
use crate::protocol::{FIXED_NEWSTYLE, GREETING, NO_ZEROES, PAYLOAD_MAX, SECTOR};
use crate::recording::operation::{ClientOperation, Place};
use crate::threads::address::end;

/// Name of the one export. The empty name means it too.
pub const EXPORT: &str = "pumice";

/// How long a client may take for each message of the handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// How long a client may take to accept a part of a reply.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// Most options of one handshake.
const OPTIONS_MAX: usize = 64;

/// Most requests of a connection that are not answered yet.
const REQUESTS_MAX: usize = 256;

/// Most bytes that they read and write together; one request alone may be as long as the protocol allows.
const BYTES_MAX: usize = 32 << 20;

/// Replies are collected up to so many bytes before they are sent, if more are waiting.
const SENT_TOGETHER: usize = 256 << 10;

/// What the device tells a connection.
#[derive(Clone, Copy, Debug)]
pub struct ExportFacts {
    /// Bytes of the device.
    pub capacity: u64,
    /// Bytes of a page: what clients should align their requests to.
    pub page_bytes: u32,
}

/// Where the reply to one request goes.
pub struct ReplyTo {
    replies: Arc<Replies>,
    /// The client's name for the request.
    cookie: u64,
    /// Bytes that the request holds until it is answered.
    held: usize,
}

impl ReplyTo {
    /// Gives the reply to whoever sends it. A client that has gone misses it.
    pub fn send(self, reply: Reply) {
        let mut waiting = self.replies.lock();
        reply.encode(self.cookie, self.replies.structured, &mut waiting.bytes);
        waiting.under_way -= 1;
        waiting.held -= self.held;
        drop(waiting);
        self.replies.tell();
    }
}

/// What of a connection is under way, and what waits to be sent.
#[derive(Default)]
struct WaitingReplies {
    bytes: Vec<u8>,
    /// Requests under way, and the bytes that they hold.
    under_way: usize,
    held: usize,
    /// No request will come any more.
    is_over: bool,
}

/// The replies of a connection.
struct Replies {
    structured: bool,
    /// Another thread sends them, and they may come while requests are taken.
    are_late: bool,
    waiting: Mutex<WaitingReplies>,
    changed: Condvar,
}

impl Replies {
    fn lock(&self) -> MutexGuard<'_, WaitingReplies> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for a change. Waking costs a call of the system even if nobody waits.
    fn tell(&self) {
        if self.are_late {
            self.changed.notify_all();
        }
    }

    fn wait_while(&self, is_early: impl FnMut(&mut WaitingReplies) -> bool) -> MutexGuard<'_, WaitingReplies> {
        self.changed.wait_while(self.lock(), is_early).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request of so many bytes may be under way.
    fn begin(&self, bytes: usize) {
        let is_full = |now: &mut WaitingReplies| {
            now.under_way >= REQUESTS_MAX || (now.under_way > 0 && now.held + bytes > BYTES_MAX)
        };
        let mut now = self.wait_while(is_full);
        (now.under_way, now.held) = (now.under_way + 1, now.held + bytes);
    }

    /// Sends what waits.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&self, out: &mut Socket, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        std::mem::swap(&mut self.lock().bytes, bytes);
        if bytes.is_empty() { Ok(()) } else { out.write_all(bytes) }
    }

    /// Sends replies as they come until the last one, or until the client takes none any more.
    fn send_all(&self, mut out: Socket) {
        let (mut bytes, mut is_broken) = (Vec::new(), false);
        let has_come = |now: &WaitingReplies| !now.bytes.is_empty();
        let is_last = |now: &WaitingReplies| now.is_over && now.under_way == 0;
        while has_come(&self.wait_while(|now| !has_come(now) && !is_last(now))) {
            // What is answered on a broken connection is forgotten, so that its reader ends.
            if !is_broken && self.send(&mut out, &mut bytes).is_err() {
                is_broken = true;
                end(&out, Shutdown::Both);
            } else if is_broken {
                self.lock().bytes.clear();
            }
        }
    }

    /// No request will come any more.
    fn end(&self) {
        self.lock().is_over = true;
        self.tell();
    }
}

/// What a client sends. While its time is limited, that is the time for a whole message, however many parts it comes in.
struct ClientInput {
    socket: Socket,
    /// When the message must have come.
    ends: Option<Instant>,
}

impl ClientInput {
    /// The next message begins, which may take so long.
    fn begin_message(&mut self, limit: Duration) {
        self.ends = Some(Instant::now() + limit);
    }

    /// From now on messages may take as long as they like.
    fn take_any_time(&mut self) -> io::Result<()> {
        self.ends = None;
        self.socket.set_read_timeout(None)
    }
}

impl Read for ClientInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(ends) = self.ends {
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
        }
        self.socket.read(out)
    }
}

/// What was settled in the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Settled {
    structured: bool,
    /// The client asked to be told which parts hold data.
    status: bool,
}

/// Whether the handshake goes on.
enum HandshakeCourse {
    GoesOn,
    Transmission,
    Ends,
}

/// Serves one client until it leaves. `submit` lets the device do an operation; `false` says that the device has ended.
/// `are_late`: replies come behind it, from another thread.
///
/// # Errors
/// The connection broke, or the client broke the protocol.
pub fn serve(
    socket: Socket,
    (facts, are_late): (ExportFacts, bool),
    submit: &dyn Fn(ClientOperation, ReplyTo) -> bool,
) -> io::Result<()> {
    socket.set_write_timeout(Some(WRITE_LIMIT))?;
    let mut out = socket.try_clone()?;
    let mut input = BufReader::with_capacity(1 << 16, ClientInput { socket, ends: None });
    let Some(settled) = shake_hands(&mut input, &mut out, facts)? else { return Ok(()) };
    input.get_mut().take_any_time()?;
    let structured = settled.structured;
    let replies = Arc::new(Replies { structured, are_late, waiting: Mutex::default(), changed: Condvar::new() });
    let mut requests = Requests { facts, settled, replies: Arc::clone(&replies), out: Some(out), sent: Vec::new() };
    let sender = if are_late {
        let (out, replies) = (requests.out.take(), Arc::clone(&replies));
        let send = move || out.into_iter().for_each(|out| replies.send_all(out));
        Some(std::thread::Builder::new().name("pumice-replies".into()).spawn(send)?)
    } else {
        None
    };
    let ended = take_requests(&mut input, &mut requests, submit);
    let sent = requests.send();
    // What is under way is still answered.
    end(&input.get_ref().socket, Shutdown::Read);
    replies.end();
    sender.into_iter().for_each(|sender| drop(sender.join()));
    end(&input.get_ref().socket, Shutdown::Both);
    ended.and(sent)
}

fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The data of a write, in memory that was not filled with zeroes first.
fn payload(input: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let mut data = Vec::with_capacity(length as usize);
    let read = input.take(u64::from(length)).read_to_end(&mut data)?;
    if read == length as usize { Ok(data) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The handshake. `None`: the client wants nothing more.
fn shake_hands(
    input: &mut BufReader<ClientInput>,
    out: &mut impl Write,
    facts: ExportFacts,
) -> io::Result<Option<Settled>> {
    let mut greeting = GREETING.to_vec();
    greeting.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    out.write_all(&greeting)?;
    input.get_mut().begin_message(HANDSHAKE_LIMIT);
    let flags = u32::from_be_bytes(array(input)?);
    let flags = ClientFlags::decode(flags).map_err(|_| broken("unknown flags"))?;
    let mut settled = Settled::default();
    for _ in 0..OPTIONS_MAX {
        input.get_mut().begin_message(HANDSHAKE_LIMIT);
        let header = OptionHeader::decode(&array(input)?).map_err(|_| broken("an option begins otherwise"))?;
        if header.length > OPTION_MAX {
            io::copy(&mut input.by_ref().take(u64::from(header.length)), &mut io::sink())?;
            out.write_all(&OptionReply::TooBig.encode(header.number))?;
            continue;
        }
        let mut payload = vec![0; header.length as usize];
        input.read_exact(&mut payload)?;
        let option = ClientOption::decode(header.number, &payload);
        let is_old_way = matches!(option, Ok(ClientOption::ExportName(_)));
        let (course, replies) = match option {
            Ok(option) => answer(&option, facts, &mut settled),
            Err(_) => (HandshakeCourse::GoesOn, vec![OptionReply::Invalid]),
        };
        let encoded: Vec<u8> = replies.iter().flat_map(|reply| reply.encode(header.number)).collect();
        out.write_all(&encoded)?;
        match course {
            HandshakeCourse::GoesOn => {}
            HandshakeCourse::Ends => return Ok(None),
            HandshakeCourse::Transmission => {
                if is_old_way {
                    out.write_all(&export_reply(facts.capacity, flags))?;
                }
                return Ok(Some(settled));
            }
        }
    }
    Err(broken("too many options"))
}

fn is_export(name: &str) -> bool {
    name.is_empty() || name == EXPORT
}

/// What an option gets, and whether the handshake goes on.
fn answer(option: &ClientOption, facts: ExportFacts, settled: &mut Settled) -> (HandshakeCourse, Vec<OptionReply>) {
    let described = |name: &str| match is_export(name) {
        true => vec![
            OptionReply::Export(facts.capacity),
            OptionReply::Name(EXPORT.into()),
            OptionReply::BlockSize(facts.page_bytes.max(4096)),
            OptionReply::Ack,
        ],
        false => vec![OptionReply::UnknownExport],
    };
    match option {
        ClientOption::ExportName(name) if is_export(name) => (HandshakeCourse::Transmission, Vec::new()),
        // The old way has no error: the connection ends.
        ClientOption::ExportName(_) => (HandshakeCourse::Ends, Vec::new()),
        ClientOption::Abort => (HandshakeCourse::Ends, vec![OptionReply::Ack]),
        ClientOption::List => (HandshakeCourse::GoesOn, vec![OptionReply::Server(EXPORT.into()), OptionReply::Ack]),
        ClientOption::Info(name) => (HandshakeCourse::GoesOn, described(name)),
        ClientOption::Go(name) if is_export(name) => (HandshakeCourse::Transmission, described(name)),
        ClientOption::Go(name) => (HandshakeCourse::GoesOn, described(name)),
        ClientOption::StructuredReply => {
            settled.structured = true;
            (HandshakeCourse::GoesOn, vec![OptionReply::Ack])
        }
        ClientOption::ListMeta(asked) | ClientOption::SetMeta(asked) => {
            let sets = matches!(option, ClientOption::SetMeta(_));
            (HandshakeCourse::GoesOn, meta_replies(asked, sets, settled))
        }
        ClientOption::Unknown(_) => (HandshakeCourse::GoesOn, vec![OptionReply::Unsupported]),
    }
}

/// The kinds of metadata that a query means: the one that there is, or none.
fn meta_replies(asked: &MetaQueries, sets: bool, settled: &mut Settled) -> Vec<OptionReply> {
    if !is_export(&asked.export) {
        return vec![OptionReply::UnknownExport];
    }
    if !settled.structured {
        return vec![OptionReply::Invalid];
    }
    let named = asked.queries.iter().any(|query| query == ALLOCATION);
    // A list without queries names all there is, and so does the name of the namespace.
    let listed = !sets && (asked.queries.is_empty() || asked.queries.iter().any(|query| query == "base:"));
    if sets {
        settled.status = named;
    }
    let found = (named || listed).then(|| OptionReply::Meta(if sets { ALLOCATION_ID } else { 0 }, ALLOCATION.into()));
    found.into_iter().chain([OptionReply::Ack]).collect()
}

/// What the requests of a connection share.
struct Requests {
    facts: ExportFacts,
    settled: Settled,
    replies: Arc<Replies>,
    /// Where replies are sent between requests; `None`: another thread sends them.
    out: Option<Socket>,
    /// Room for replies that are being sent.
    sent: Vec<u8>,
}

/// Takes requests until the client disconnects.
fn take_requests(
    input: &mut BufReader<ClientInput>,
    requests: &mut Requests,
    submit: &dyn Fn(ClientOperation, ReplyTo) -> bool,
) -> io::Result<()> {
    loop {
        // The client may wait for what it has asked for.
        if input.buffer().len() < RequestHeader::BYTES || requests.replies.lock().bytes.len() >= SENT_TOGETHER {
            requests.send()?;
        }
        let bytes: [u8; RequestHeader::BYTES] = array(input)?;
        let header = RequestHeader::decode(&bytes).map_err(|_| broken("a request begins otherwise"))?;
        let (is_write, moves) = match header.command {
            Ok(Command::Disconnect) => return Ok(()),
            Ok(Command::Write) => (true, true),
            Ok(Command::Read) => (false, true),
            Ok(Command::Flush | Command::Trim | Command::WriteZeroes | Command::BlockStatus) | Err(_) => (false, false),
        };
        if is_write && header.length > PAYLOAD_MAX {
            return Err(broken("a write is longer than the longest payload"));
        }
        let held = if moves { header.length.min(PAYLOAD_MAX) as usize } else { 0 };
        requests.replies.begin(held);
        let data = if is_write { payload(input, header.length)? } else { Vec::new() };
        let to = ReplyTo { replies: Arc::clone(&requests.replies), cookie: header.cookie, held };
        match requests.operation(&header, data) {
            Err(reply) => to.send(reply),
            Ok(operation) => {
                if !submit(operation, to) {
                    return Ok(());
                }
            }
        }
    }
}

impl Requests {
    /// Sends the replies that wait, if nobody else does.
    fn send(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), |out| self.replies.send(out, &mut self.sent))
    }

    /// The operation that a request asks for.
    ///
    /// # Errors
    /// The reply, where nothing is to be done.
    fn operation(&self, header: &RequestHeader, data: Vec<u8>) -> Result<ClientOperation, Reply> {
        let refused = |code| Err(Reply::Failed(code));
        let Ok(command) = header.command else { return refused(ErrorCode::Unsupported) };
        if !header.has_legal_flags() {
            return refused(ErrorCode::Invalid);
        }
        let place = Place { offset: header.offset, bytes: header.length };
        let fua = header.is_fua();
        if command == Command::Flush {
            let is_bare = place.offset == 0 && place.bytes == 0;
            return if is_bare { Ok(ClientOperation::Flush) } else { refused(ErrorCode::Invalid) };
        }
        let end = place.offset.checked_add(u64::from(place.bytes));
        if end.is_none_or(|end| end > self.facts.capacity) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes);
            return refused(if writes { ErrorCode::NoSpace } else { ErrorCode::Invalid });
        }
        let sector = u64::from(SECTOR);
        if !place.offset.is_multiple_of(sector) || !u64::from(place.bytes).is_multiple_of(sector) {
            return refused(ErrorCode::Invalid);
        }
        if place.bytes == 0 {
            return Err(if command == Command::BlockStatus { Reply::Failed(ErrorCode::Invalid) } else { Reply::Done });
        }
        match command {
            Command::Read if place.bytes > PAYLOAD_MAX => refused(ErrorCode::Overflow),
            Command::Read => Ok(ClientOperation::Read(place)),
            Command::Write => Ok(ClientOperation::Write { place, data, fua }),
            Command::Trim => Ok(ClientOperation::Trim { place, fua }),
            Command::WriteZeroes => Ok(ClientOperation::WriteZeroes { place, stored: header.is_without_hole(), fua }),
            Command::BlockStatus if !self.settled.status => refused(ErrorCode::Invalid),
            Command::BlockStatus => Ok(ClientOperation::Status { place, one: header.wants_one_extent() }),
            Command::Flush | Command::Disconnect => refused(ErrorCode::Invalid),
        }
    }
}
