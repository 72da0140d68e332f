//! The server: a thread that takes connections, and one for each connection, which lets the device do what its client
//! asks for. By the wall's clock one more thread lets time pass, and one for each connection sends replies.
//!
//! The device takes operations in the order in which connections get its lock. A flush therefore covers whatever was
//! answered before it, on any connection.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use pumice_config::Config;
use pumice_engine::SimError;
use serde_json::{Value, json};
use socket2::Socket;

use crate::protocol::transmission::{ErrorCode, Reply};
use crate::recording::spec::served_config;
use crate::threads::address::{Address, Listener, connect, end};
use crate::threads::clock::ServeClock;
use crate::threads::connection::{self, ExportFacts, ReplyTo};
use crate::threads::control::{self, ControlRequest};
use crate::threads::options::ServeOptions;
use crate::threads::told::ThreadTold;
use crate::threads::work::{AskedOperation, Service};

/// Most clients of the device at a time. More are closed at once.
const CLIENTS_MAX: usize = 64;

/// Most connections of the control socket at a time. For one more, the oldest one ends that waits for no answer: who
/// connects and asks nothing keeps nobody from asking.
const CONTROLS_MAX: usize = 16;

/// How long clients may take to accept what is under way when the server ends.
const PARTING: Duration = Duration::from_secs(5);

/// Stack of each thread: what the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// What the threads of a server share.
struct ServerShared {
    facts: ExportFacts,
    clock: ServeClock,
    service: Mutex<Service>,
    /// The device may be due earlier than it was.
    due: Condvar,
    /// No more connections are taken.
    stops: AtomicBool,
    /// No more requests are taken.
    ends: AtomicBool,
    /// A control client has asked for the end.
    asked_to_stop: AtomicBool,
    /// What is told of the device.
    told: Arc<ThreadTold>,
    address: Address,
    connections: Mutex<Connections>,
    closed: Condvar,
}

/// Whom a connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// A client of the device.
    Client,
    /// Somebody at the control socket who has asked nothing, or has the answer.
    Control,
    /// Somebody at the control socket who waits for an answer.
    Asker,
}

/// Handles of the connections, by number.
#[derive(Default)]
struct Connections {
    open: BTreeMap<u64, (Socket, Peer)>,
    /// Connections so far.
    taken: u64,
}

impl Connections {
    /// Whether there is room for one more; at the control socket somebody may have to go for it.
    fn make_room(&mut self, is_client: bool) -> bool {
        let alike = self.open.values().filter(|(_, peer)| (*peer == Peer::Client) == is_client).count();
        if is_client {
            return alike < CLIENTS_MAX;
        }
        if alike < CONTROLS_MAX {
            return true;
        }
        let idle = self.open.iter().find(|(_, (_, peer))| *peer == Peer::Control).map(|(&number, _)| number);
        let ended = idle.and_then(|number| self.open.remove(&number));
        ended.iter().for_each(|(socket, _)| end(socket, Shutdown::Both));
        ended.is_some()
    }
}

/// A device that is being served.
pub struct Server {
    config: Config,
    shared: Arc<ServerShared>,
    /// The thread that lets time pass, by the wall's clock.
    keeper: Option<JoinHandle<()>>,
    /// Addresses, and the threads that take connections there.
    listening: Vec<(Address, JoinHandle<()>)>,
}

impl Server {
    /// Builds a device and begins to serve it. When this returns, clients can connect.
    ///
    /// # Errors
    /// As [`Server::start_while`].
    pub fn start(options: &ServeOptions) -> Result<Server, SimError> {
        Server::start_while(options, &mut || true)
    }

    /// Builds a device as [`Server::start`] does. While the device is aged, or brought into the state of its store,
    /// `goes_on` is asked now and then; `false` ends the work.
    ///
    /// # Errors
    /// A spec that cannot be served, an address that cannot be used, a store or record that cannot be written, or
    /// `goes_on` says no.
    pub fn start_while(options: &ServeOptions, goes_on: &mut dyn FnMut() -> bool) -> Result<Server, SimError> {
        let config = served_config(&options.source, options.record.as_deref())?;
        options.control.as_ref().map_or(Ok(()), control::check_address)?;
        let listener = Listener::bind(&options.listen)?;
        let control = options.control.as_ref().map(Listener::bind).transpose()?;
        let told = Arc::new(ThreadTold::new(options.clock)?);
        let service = Service::new(options, &config, Arc::clone(&told), &seldom(goes_on))?;
        let shared = Arc::new(ServerShared {
            facts: service.facts(),
            clock: options.clock,
            service: Mutex::new(service),
            due: Condvar::new(),
            stops: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            asked_to_stop: AtomicBool::new(false),
            told,
            address: listener.address(),
            connections: Mutex::default(),
            closed: Condvar::new(),
        });
        let mut listening = vec![listen(listener, &shared, true)?];
        if let Some(control) = control {
            listening.push(listen(control, &shared, false)?);
        }
        let keeper = match options.clock {
            ServeClock::Virtual => None,
            ServeClock::Real => {
                let shared = Arc::clone(&shared);
                Some(spawn("pumice-clock", move || shared.keep_time())?)
            }
        };
        Ok(Server { config, shared, keeper, listening })
    }

    /// Where clients connect.
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// The configuration that is served.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of the device.
    pub fn capacity(&self) -> u64 {
        self.shared.facts.capacity
    }

    /// Whether the simulation has ended in an error, or a control client has asked for the end. After an error clients
    /// get errors for whatever they ask.
    pub fn is_over(&self) -> bool {
        self.shared.told.has_failed.load(Ordering::Relaxed) || self.shared.asked_to_stop.load(Ordering::Relaxed)
    }

    /// What tells how late replies were, while the device is served and afterwards. `None`: the device has a clock of
    /// its own.
    pub fn lateness(&self) -> impl Fn() -> Option<Value> + Send + Sync + use<> {
        let told = Arc::clone(&self.shared.told);
        move || told.lateness()
    }

    /// Answers what a control client may ask.
    ///
    /// # Errors
    /// Why there is no answer, in one line.
    pub fn answer(&self, request: &ControlRequest) -> Result<Value, SimError> {
        self.shared.answer(request)
    }

    /// Ends: what clients have asked for is answered, then connections are closed, what is buffered is programmed, and
    /// the result is made.
    ///
    /// # Errors
    /// A simulation that ended in an error, or a store or record that cannot be written.
    pub fn stop(self) -> Result<Value, SimError> {
        self.shared.stops.store(true, Ordering::Relaxed);
        for (address, thread) in self.listening {
            // The listener looks up at the next connection, which is this one. If it cannot be made, it has ended.
            if connect(&address).is_ok() {
                let _ = thread.join();
            }
        }
        self.shared.close_all();
        self.shared.ends.store(true, Ordering::Relaxed);
        // Whoever lets time pass sees it at the latest when it has the lock.
        drop(self.shared.service());
        self.shared.tell_keeper();
        self.keeper.into_iter().for_each(|keeper| drop(keeper.join()));
        self.shared.service()?.finish()
    }
}

/// How often somebody who waits for the device to begin is asked whether that goes on.
const LOOK: Duration = Duration::from_millis(50);

/// How many questions are not passed on without a look at the clock.
const QUESTIONS: u32 = 1 << 10;

/// Asks no more often than that makes sense.
fn seldom(goes_on: &mut dyn FnMut() -> bool) -> impl Fn() -> bool {
    let (goes_on, asked, last) = (RefCell::new(goes_on), Cell::new(0_u32), Cell::new(Instant::now()));
    move || {
        asked.set(asked.get().wrapping_add(1));
        if !asked.get().is_multiple_of(QUESTIONS) || last.get().elapsed() < LOOK {
            return true;
        }
        last.set(Instant::now());
        (goes_on.borrow_mut())()
    }
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, SimError> {
    let thread = Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| SimError::Output(format!("no thread could be started: {error}")))
}

impl ServerShared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The device, once nobody else is at it.
    ///
    /// # Errors
    /// A thread has panicked while it was at the device.
    fn service(&self) -> Result<MutexGuard<'_, Service>, SimError> {
        self.service.lock().map_err(|_| {
            self.told.has_failed.store(true, Ordering::Relaxed);
            SimError::Simulation("the device ended in a panic".into())
        })
    }

    /// Asks the device something.
    fn ask(&self, question: &ControlRequest) -> Result<Value, SimError> {
        let answer = self.service()?.ask(question);
        self.tell_keeper();
        answer
    }

    /// Tells whoever lets time pass that the device may be due earlier. It costs a call of the system even if nobody does.
    fn tell_keeper(&self) {
        if self.clock == ServeClock::Real {
            self.due.notify_all();
        }
    }

    /// Lets time pass with the wall's clock until no more requests are taken, and none is under way.
    fn keep_time(&self) {
        // Without it the system may wake this thread 50 us late, which is as long as a page read takes.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut service = self.service();
        while let Ok(mut now) = service {
            service = match now.keep_time() {
                None if self.ends.load(Ordering::Relaxed) => return,
                None => self.due.wait(now).map_err(|_| SimError::Interrupted),
                Some(wait) => self.due.wait_timeout(now, wait).map(|(now, _)| now).map_err(|_| SimError::Interrupted),
            };
        }
    }

    /// Answers what a control client may ask.
    fn answer(&self, request: &ControlRequest) -> Result<Value, SimError> {
        if let ControlRequest::Status {} = request {
            return self.status();
        }
        if let ControlRequest::Stop {} = request {
            self.asked_to_stop.store(true, Ordering::Relaxed);
            return Ok(json!("the device is about to end"));
        }
        let answer = self.ask(request)?;
        if request.parts_clients() {
            self.part_with_clients();
        }
        Ok(answer)
    }

    fn status(&self) -> Result<Value, SimError> {
        let mut status = self.ask(&ControlRequest::Status {})?;
        let (open, taken) = {
            let connections = self.lock();
            (connections.open.len(), connections.taken)
        };
        status["address"] = json!(self.address.to_string());
        status["uri"] = json!(self.address.uri());
        status["capacity_bytes"] = json!(self.facts.capacity);
        status["connections"] = json!({ "open": open, "so_far": taken });
        status["lateness"] = json!(self.told.lateness());
        Ok(status)
    }

    /// Ends the connections of all clients of the device.
    fn part_with_clients(&self) {
        let connections = self.lock();
        let clients = connections.open.values().filter(|(_, peer)| *peer == Peer::Client);
        clients.for_each(|(socket, _)| end(socket, Shutdown::Both));
    }

    /// Talks with a client of the device, or with one of the control socket, until it leaves.
    fn talk(&self, number: u64, socket: Socket, is_client: bool) -> io::Result<()> {
        if !is_client {
            return control::converse(socket, &|request| {
                self.note_peer(number, Peer::Asker);
                let answer = self.answer(&request);
                self.note_peer(number, Peer::Control);
                answer
            });
        }
        let Ok(partings) = self.service().map(|service| service.partings()) else { return Ok(()) };
        let submit = |operation, to: ReplyTo| {
            let came = Instant::now();
            let Ok(mut service) = self.service() else {
                to.send(Reply::Failed(ErrorCode::Shutdown));
                return false;
            };
            service.perform(AskedOperation { operation, to, partings, came });
            drop(service);
            self.tell_keeper();
            true
        };
        connection::serve(socket, (self.facts, self.clock == ServeClock::Real), &submit)
    }

    fn note_peer(&self, number: u64, now: Peer) {
        self.lock().open.get_mut(&number).into_iter().for_each(|(_, peer)| *peer = now);
    }

    /// A connection has ended.
    fn leave(&self, number: u64) {
        self.lock().open.remove(&number);
        self.closed.notify_all();
    }

    /// Takes a connection in. `None`: there are too many.
    fn admit(&self, socket: &Socket, is_client: bool) -> io::Result<Option<u64>> {
        let mut connections = self.lock();
        if !connections.make_room(is_client) {
            return Ok(None);
        }
        connections.taken += 1;
        let number = connections.taken;
        let peer = if is_client { Peer::Client } else { Peer::Control };
        connections.open.insert(number, (socket.try_clone()?, peer));
        Ok(Some(number))
    }

    /// Takes no more requests, and waits until those under way are answered; not for ever.
    fn close_all(&self) {
        for direction in [Shutdown::Read, Shutdown::Both] {
            let connections = self.lock();
            connections.open.values().for_each(|(socket, _)| end(socket, direction));
            let is_open = |connections: &mut Connections| !connections.open.is_empty();
            let waited = self.closed.wait_timeout_while(connections, PARTING, is_open);
            if waited.is_ok_and(|(connections, _)| connections.open.is_empty()) {
                return;
            }
        }
    }
}

/// Begins to take connections, of clients or of the control socket, until the server stops.
fn listen(
    listener: Listener,
    shared: &Arc<ServerShared>,
    is_client: bool,
) -> Result<(Address, JoinHandle<()>), SimError> {
    let (address, shared) = (listener.address(), Arc::clone(shared));
    let accept = move || {
        loop {
            let socket = listener.accept();
            if shared.stops.load(Ordering::Relaxed) {
                return;
            }
            match socket {
                Ok(socket) => take(socket, &shared, is_client),
                // The system has no handle left, or the client has gone: the next one may fare better.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    };
    Ok((address, spawn("pumice-listen", accept)?))
}

/// Talks with whoever has connected in a thread of its own, if there is room.
fn take(socket: Socket, shared: &Arc<ServerShared>, is_client: bool) {
    let Ok(Some(number)) = shared.admit(&socket, is_client) else { return };
    let own = Arc::clone(shared);
    let talk = move || {
        // How a conversation ends is its client's matter.
        let _ = own.talk(number, socket, is_client);
        own.leave(number);
    };
    if spawn(if is_client { "pumice-client" } else { "pumice-control" }, talk).is_err() {
        shared.leave(number);
    }
}
