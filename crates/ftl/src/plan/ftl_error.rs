//! Why a translation layer cannot go on.

use thiserror::Error;

use super::zone_error::ZoneError;

/// An FTL that cannot go on. Never the spec's fault: specs that could lead here are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    /// A plane has no free block where one is needed.
    #[error("plane {plane} has no free block left")]
    NoFreeBlock {
        /// The plane.
        plane: u32,
    },
    /// A plane has no free block, because blocks of it failed their erases.
    #[error(
        "plane {plane} has no free block left: {retired} of its blocks are retired, because they failed an erase or were worn out"
    )]
    WornOut {
        /// The plane.
        plane: u32,
        /// Retired blocks of the plane.
        retired: u32,
    },
    /// The host of a zoned device has no empty zone where one is needed.
    #[error("the host has no empty zone left")]
    NoEmptyZone,
    /// A zoned device refused a command of its host.
    #[error("zone {zone} answers {command} with {}", .error.told())]
    Zone {
        /// The zone.
        zone: u32,
        /// The command, as the standard calls it.
        command: &'static str,
        /// Why the zone refused.
        error: ZoneError,
    },
    /// The log of a device that recovers holds no complete map.
    #[error("the log of the map holds no complete map")]
    NoMap,
    /// A command of the initial fill broke a rule of the chip, as the text says.
    #[error("{0}")]
    Fill(String),
    /// What is kept step by step differs from a recount, as the text says.
    #[error("{0}")]
    Recount(String),
    /// The user's own policy or translation layer failed, or did what it may not.
    #[error("{0}")]
    Own(Box<OwnFault>),
}

/// Why a policy or translation layer of the user's own ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{whose}: {text}")]
pub struct OwnFault {
    /// Owner of the fault, as errors name it: `plug-in "NAME"`; empty while only the code itself knows of it.
    pub whose: String,
    /// What the code did.
    pub text: String,
}

impl OwnFault {
    /// The fault of the code of this kind and name.
    pub fn of(self, kind: &str, name: &str) -> OwnFault {
        OwnFault { whose: format!("{kind} \"{name}\""), ..self }
    }
}

impl<T: Into<String>> From<T> for OwnFault {
    fn from(text: T) -> OwnFault {
        OwnFault { whose: String::new(), text: text.into() }
    }
}

/// Without the name of the code, which is put in front where the fault is told.
impl From<FtlError> for OwnFault {
    fn from(error: FtlError) -> OwnFault {
        if let FtlError::Own(fault) = error { fault.text.into() } else { error.to_string().into() }
    }
}

impl FtlError {
    /// The error of a plug-in, in its own words.
    pub fn of_plugin(text: impl Into<String>) -> FtlError {
        OwnFault::from(text).into()
    }
}

impl From<OwnFault> for FtlError {
    fn from(fault: OwnFault) -> FtlError {
        FtlError::Own(Box::new(fault))
    }
}
