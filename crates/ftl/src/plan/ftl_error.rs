//! Why a translation layer cannot go on.

use std::fmt;

use super::policy_fault::PolicyFault;
use super::zone_error::ZoneError;

/// An FTL that cannot go on. Never the spec's fault: specs that could lead here are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// A plane has no free block where one is needed.
    NoFreeBlock {
        /// The plane.
        plane: u32,
    },
    /// A plane has no free block, because blocks of it failed their erases.
    WornOut {
        /// The plane.
        plane: u32,
        /// Retired blocks of the plane.
        retired: u32,
    },
    /// The host of a zoned device has no empty zone where one is needed.
    NoEmptyZone,
    /// A zoned device refused a command of its host.
    Zone {
        /// The zone.
        zone: u32,
        /// The command, as the standard calls it.
        command: &'static str,
        /// Why the zone refused.
        error: ZoneError,
    },
    /// The log of a device that recovers holds no complete map.
    NoMap,
    /// A user's own policy failed, or answered what it may not.
    Policy(Box<PolicyFault>),
    /// A user's own translation layer failed, or planned what it may not.
    Plugin(Box<PluginFault>),
}

/// Why a translation layer of the user's own ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFault {
    /// Name of the plug-in; empty while only itself knows of the error.
    pub plugin: &'static str,
    /// What it did.
    pub text: String,
}

impl fmt::Display for PluginFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plug-in \"{}\": {}", self.plugin, self.text)
    }
}

impl FtlError {
    /// The text, without the name of a plug-in.
    pub fn in_own_words(self) -> String {
        if let FtlError::Plugin(fault) = self { fault.text } else { self.to_string() }
    }

    /// The error of a plug-in, in its own words.
    pub fn of_plugin(text: impl Into<String>) -> FtlError {
        PluginFault { plugin: "", text: text.into() }.into()
    }
}

impl From<PolicyFault> for FtlError {
    fn from(fault: PolicyFault) -> FtlError {
        FtlError::Policy(Box::new(fault))
    }
}

impl From<PluginFault> for FtlError {
    fn from(fault: PluginFault) -> FtlError {
        FtlError::Plugin(Box::new(fault))
    }
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FtlError::NoFreeBlock { plane } => write!(f, "plane {plane} has no free block left"),
            FtlError::NoEmptyZone => f.write_str("the host has no empty zone left"),
            FtlError::Zone { zone, command, error } => write!(f, "zone {zone} answers {command} with {error}"),
            FtlError::NoMap => f.write_str("the log of the map holds no complete map"),
            FtlError::WornOut { plane, retired } => write!(
                f,
                "plane {plane} has no free block left: {retired} of its blocks are retired, because they failed an erase or were worn out"
            ),
            FtlError::Policy(fault) => fault.fmt(f),
            FtlError::Plugin(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for FtlError {}
