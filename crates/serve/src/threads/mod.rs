//! The threads of a server: one takes connections, one serves each of them, one answers the control socket; by the wall's
//! clock there are more (`server`).

pub(crate) mod address;
pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod options;
pub(crate) mod server;
pub(crate) mod told;
pub(crate) mod work;
