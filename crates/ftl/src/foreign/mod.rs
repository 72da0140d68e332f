//! Translation layers of the user's own: what a plug-in offers ([`plugin`]), and how one runs ([`plugged`]).

pub mod plugged;
pub mod plugin;
