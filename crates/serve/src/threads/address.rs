//! Where a device is served: a socket of the file system, or a port of this machine.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;

use pumice_engine::SimError;
use pumice_types::{SpecError, refuse};
use socket2::Socket;

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket of the file system.
    Unix(PathBuf),
    /// A port of this machine; 0 takes a free one.
    Tcp(u16),
}

impl FromStr for Address {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Address, SpecError> {
        let allowed = "allowed: unix:PATH or tcp:127.0.0.1:PORT";
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(path.into())),
            Some(("tcp", rest)) => match rest.split_once(':').map(|(host, port)| (host, port.parse())) {
                Some(("127.0.0.1" | "localhost", Ok(port))) => Ok(Address::Tcp(port)),
                Some((host, Ok(_))) => {
                    Err(refuse!("{text}: {host} is not this machine; clients are not asked who they are; {allowed}"))
                }
                _ => Err(refuse!("{text} is no address; {allowed}")),
            },
            _ => Err(refuse!("{text} is no address; {allowed}")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(port) => write!(f, "tcp:127.0.0.1:{port}"),
        }
    }
}

impl Address {
    /// The address as NBD clients take it.
    pub fn uri(&self) -> String {
        match self {
            Address::Unix(path) => format!("nbd+unix:///?socket={}", escaped(&path.to_string_lossy())),
            Address::Tcp(port) => format!("nbd://127.0.0.1:{port}"),
        }
    }
}

/// A path as the query of a URI.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect()
}

/// What takes connections.
pub struct Listener {
    socket: Socket,
    address: Address,
}

impl Listener {
    /// Begins to listen. The file of a socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// An address that is in use or cannot be used, in one line.
    pub fn bind(address: &Address) -> Result<Listener, SimError> {
        let refused = |error: io::Error| SimError::Output(format!("{address}: {error}"));
        match address {
            Address::Unix(path) => {
                let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
                // Any other failure may be that of a socket somebody listens on.
                let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
                if is_socket && UnixStream::connect(path).is_err_and(is_refused) {
                    std::fs::remove_file(path).map_err(refused)?;
                }
                let socket = UnixListener::bind(path).map_err(refused)?.into();
                Ok(Listener { socket, address: address.clone() })
            }
            Address::Tcp(port) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map_err(refused)?;
                let port = listener.local_addr().map_err(refused)?.port();
                Ok(Listener { socket: listener.into(), address: Address::Tcp(port) })
            }
        }
    }

    /// Where it listens, a port that was free in place of 0.
    pub fn address(&self) -> Address {
        self.address.clone()
    }

    /// The next connection.
    ///
    /// # Errors
    /// The system's.
    pub fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        if let Address::Tcp(_) = self.address {
            socket.set_tcp_nodelay(true)?;
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // The socket's file may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Connects to an address.
///
/// # Errors
/// The system's.
pub fn connect(address: &Address) -> io::Result<Socket> {
    match address {
        Address::Unix(path) => UnixStream::connect(path).map(Socket::from),
        Address::Tcp(port) => TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).map(Socket::from),
    }
}

/// Ends one direction or both; a connection that has ended already stays so.
pub fn end(socket: &Socket, direction: Shutdown) {
    let _ = socket.shutdown(direction);
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn s031_a_socket_that_nobody_listens_on_is_replaced_and_no_other() {
        let path = std::env::temp_dir().join(format!("pumice-address-{}", std::process::id()));
        let address = Address::Unix(path.clone());
        // A socket in use that takes no streams: it cannot be connected to, and is not refused.
        let used = UnixDatagram::bind(&path).expect("a socket");
        let text = Listener::bind(&address).err().expect("in use").to_string();
        assert!(text.contains("in use") && !text.contains('\n'), "{text}");
        let client = UnixDatagram::unbound().expect("a socket");
        client.send_to(b"still here", &path).expect("its file is there");
        drop(used);
        std::fs::remove_file(&path).expect("was there");
        // What a server leaves that was killed.
        drop(UnixListener::bind(&path).expect("a socket"));
        drop(Listener::bind(&address).expect("takes its place"));
        assert!(!path.exists());
    }

    #[test]
    fn s032_replies_to_a_port_are_not_held_back_to_be_sent_together() {
        let listener = Listener::bind(&Address::Tcp(0)).expect("a free port");
        let Address::Tcp(port) = listener.address() else { panic!("a port was asked for") };
        let _client = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let socket = listener.accept().expect("a client has come");
        assert!(socket.tcp_nodelay().expect("a socket"));
    }

    #[test]
    fn s030_an_address_is_a_socket_or_a_port_of_this_machine() {
        assert_eq!("unix:/tmp/a b".parse(), Ok(Address::Unix("/tmp/a b".into())));
        assert_eq!("tcp:127.0.0.1:10809".parse(), Ok(Address::Tcp(10809)));
        assert_eq!(Address::Unix("/tmp/a b".into()).uri(), "nbd+unix:///?socket=/tmp/a%20b");
        for wrong in ["", "unix:", "tcp:10809", "tcp:127.0.0.1:99999", "tcp:0.0.0.0:1", "/tmp/a"] {
            let text = wrong.parse::<Address>().expect_err(wrong);
            assert!(text.0.contains("allowed: unix:PATH or tcp:127.0.0.1:PORT"), "{text}");
        }
    }
}
