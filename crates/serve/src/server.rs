//! The server: a thread that owns the device, a thread that takes connections, and two threads a connection.
//!
//! The device does one operation after the other, in the order in which connections hand them over. A flush therefore
//! covers whatever was answered before it, on any connection.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use pumice_config::{Config, SpecSource};
use pumice_engine::{Outcome, SimError};

use crate::address::{Address, Listener, Socket};
use crate::connection::{self, ExportFacts, ReplyTo};
use crate::data_path::DataPath;
use crate::device::{Device, Parts};
use crate::operation::ClientOperation;
use crate::record::Record;
use crate::spec::served_config;

/// Most connections at a time. More are closed at once.
const CONNECTIONS_MAX: usize = 64;

/// How long clients may take to accept what is under way when the server ends.
const PARTING: Duration = Duration::from_secs(5);

/// Stack of the device's thread: what the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// What is to be served, and where.
pub struct ServeOptions {
    /// The spec.
    pub source: SpecSource,
    /// Where clients connect.
    pub listen: Address,
    /// A trace to write, which replays to the same result.
    pub record: Option<PathBuf>,
}

/// What the device is asked.
enum Message {
    /// By a client.
    Perform(ClientOperation, ReplyTo),
    /// The result so far.
    Result(Sender<Result<Outcome, SimError>>),
    /// To end.
    Finish,
}

/// What the threads of a server share.
struct ServerShared {
    facts: ExportFacts,
    messages: Sender<Message>,
    /// No more connections are taken.
    stops: AtomicBool,
    connections: Mutex<Connections>,
    closed: Condvar,
}

/// Handles of the connections, by number.
#[derive(Default)]
struct Connections {
    open: BTreeMap<u64, Socket>,
    /// Connections so far.
    taken: u64,
}

/// A device that is being served.
pub struct Server {
    address: Address,
    config: Config,
    shared: Arc<ServerShared>,
    has_failed: Arc<AtomicBool>,
    device: JoinHandle<Result<Outcome, SimError>>,
    listening: JoinHandle<()>,
}

impl Server {
    /// Builds a device and begins to serve it. When this returns, clients can connect.
    ///
    /// # Errors
    /// A spec that cannot be served, an address that cannot be used, or a record that cannot be written.
    pub fn start(options: &ServeOptions) -> Result<Server, SimError> {
        let config = served_config(&options.source, options.record.as_deref())?;
        let scale = options.source.scale.unwrap_or(1.0);
        let listener = Listener::bind(&options.listen).map_err(SimError::Output)?;
        let record = options.record.as_ref().map(|path| Record::create(path, scale)).transpose()?;
        let (messages, asked) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let work = DeviceWork { config: config.clone(), scale, record, has_failed: Arc::clone(&has_failed) };
        let device = spawn("pumice-device", move || work.run(&asked, &ready))?;
        let Ok(facts) = is_ready.recv() else {
            return Err(match device.join() {
                Ok(Err(error)) => error,
                Ok(Ok(_)) | Err(_) => SimError::Simulation("the device ended before it began".into()),
            });
        };
        let address = listener.address();
        let shared = Arc::new(ServerShared {
            facts,
            messages,
            stops: AtomicBool::new(false),
            connections: Mutex::default(),
            closed: Condvar::new(),
        });
        let listening = {
            let shared = Arc::clone(&shared);
            spawn("pumice-listen", move || listen(&listener, &shared))?
        };
        Ok(Server { address, config, shared, has_failed, device, listening })
    }

    /// Where clients connect.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The configuration that is served.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of the device.
    pub fn capacity(&self) -> u64 {
        self.shared.facts.capacity
    }

    /// Whether the simulation has ended in an error. Clients get errors for whatever they ask from then on.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The result so far. The device goes on.
    ///
    /// # Errors
    /// A simulation that ended in an error.
    pub fn result(&self) -> Result<Outcome, SimError> {
        let (reply, result) = mpsc::channel();
        let gone = || SimError::Simulation("the device has ended".into());
        self.shared.messages.send(Message::Result(reply)).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }

    /// Ends: what clients have asked for is answered, then connections are closed, what is buffered is programmed, and
    /// the result is made.
    ///
    /// # Errors
    /// A simulation that ended in an error, or a record that cannot be written.
    pub fn stop(self) -> Result<Outcome, SimError> {
        self.shared.stops.store(true, Ordering::Relaxed);
        // The listener looks up at the next connection, which is this one. If it cannot be made, it has ended.
        let wakes = Socket::connect(&self.address).is_ok();
        if wakes {
            let _ = self.listening.join();
        }
        self.shared.close_all();
        let _ = self.shared.messages.send(Message::Finish);
        self.device.join().unwrap_or_else(|_| Err(SimError::Simulation("the device's thread ended in a panic".into())))
    }
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, SimError> {
    let thread = Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| SimError::Output(format!("no thread could be started: {error}")))
}

/// What the device's thread does.
struct DeviceWork {
    config: Config,
    scale: f64,
    record: Option<Record>,
    has_failed: Arc<AtomicBool>,
}

impl DeviceWork {
    /// Serves messages until one says that this is the end.
    fn run(self, messages: &Receiver<Message>, ready: &Sender<ExportFacts>) -> Result<Outcome, SimError> {
        let page_bytes = self.config.chip.geometry.page_bytes;
        let mut path = DataPath::new(page_bytes);
        let mut parts = Parts::new(&self.config, self.scale, &mut path);
        let mut device = Device::new(&mut parts, self.record)?;
        let _ = ready.send(ExportFacts { capacity: device.capacity(), page_bytes });
        for message in messages {
            match message {
                Message::Perform(operation, to) => {
                    to.send(device.perform(operation));
                    if device.failure().is_some() {
                        self.has_failed.store(true, Ordering::Relaxed);
                    }
                }
                // Whoever asked may have gone.
                Message::Result(reply) => drop(reply.send(device.result())),
                Message::Finish => break,
            }
        }
        device.finish()
    }
}

impl ServerShared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Serves one connection to its end.
    fn serve(&self, number: u64, socket: Socket) {
        // How a connection ends is its client's matter.
        let _ = connection::serve(socket, self.facts, &|operation, to| {
            self.messages.send(Message::Perform(operation, to)).is_ok()
        });
        self.lock().open.remove(&number);
        self.closed.notify_all();
    }

    /// Takes a connection in. `None`: there are too many.
    fn admit(&self, socket: &Socket) -> io::Result<Option<u64>> {
        let mut connections = self.lock();
        if connections.open.len() >= CONNECTIONS_MAX {
            return Ok(None);
        }
        connections.taken += 1;
        let number = connections.taken;
        connections.open.insert(number, socket.another()?);
        Ok(Some(number))
    }

    /// Takes no more requests, and waits until those under way are answered; not for ever.
    fn close_all(&self) {
        for direction in [Shutdown::Read, Shutdown::Both] {
            let connections = self.lock();
            connections.open.values().for_each(|socket| socket.end(direction));
            let is_open = |connections: &mut Connections| !connections.open.is_empty();
            let waited = self.closed.wait_timeout_while(connections, PARTING, is_open);
            if waited.is_ok_and(|(connections, _)| connections.open.is_empty()) {
                return;
            }
        }
    }
}

/// Takes connections until the server stops.
fn listen(listener: &Listener, shared: &Arc<ServerShared>) {
    loop {
        let socket = listener.accept();
        if shared.stops.load(Ordering::Relaxed) {
            return;
        }
        let Ok(socket) = socket else {
            // The system has no handle left, or the client has gone: the next one may fare better.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let Ok(Some(number)) = shared.admit(&socket) else { continue };
        let client = Arc::clone(shared);
        if spawn("pumice-client", move || client.serve(number, socket)).is_err() {
            shared.lock().open.remove(&number);
        }
    }
}
