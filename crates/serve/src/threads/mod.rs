//! The threads of a server: one owns the device, one takes connections, two serve each connection, one answers the
//! control socket.

pub(crate) mod address;
pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod options;
pub(crate) mod server;
pub(crate) mod told;
pub(crate) mod work;
