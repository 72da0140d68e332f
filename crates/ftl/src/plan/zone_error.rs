//! Why a command on a zone fails: the status values of the NVMe Zoned Namespace Command Set.

use std::fmt;

/// Why a command on a zone fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneError {
    /// The command reaches beyond the zone's capacity, or a read beyond its size.
    ZoneBoundaryError,
    /// The zone is full.
    ZoneIsFull,
    /// The zone can only be read.
    ZoneIsReadOnly,
    /// The zone can neither be read nor written.
    ZoneIsOffline,
    /// A write does not begin at the write pointer.
    ZoneInvalidWrite,
    /// No further zone can be active.
    TooManyActiveZones,
    /// No further zone can be open.
    TooManyOpenZones,
    /// The state has no such transition.
    InvalidZoneStateTransition,
}

impl ZoneError {
    /// Every error, in the order of their codes.
    pub const ALL: [ZoneError; 8] = [
        ZoneError::ZoneBoundaryError,
        ZoneError::ZoneIsFull,
        ZoneError::ZoneIsReadOnly,
        ZoneError::ZoneIsOffline,
        ZoneError::ZoneInvalidWrite,
        ZoneError::TooManyActiveZones,
        ZoneError::TooManyOpenZones,
        ZoneError::InvalidZoneStateTransition,
    ];

    /// Place of the error among all.
    pub fn place(self) -> usize {
        usize::from(self.code() - ZoneError::ZoneBoundaryError.code())
    }

    /// The name of the status, as the standard spells it.
    pub fn name(self) -> &'static str {
        match self {
            ZoneError::ZoneBoundaryError => "Zone Boundary Error",
            ZoneError::ZoneIsFull => "Zone Is Full",
            ZoneError::ZoneIsReadOnly => "Zone Is Read Only",
            ZoneError::ZoneIsOffline => "Zone Is Offline",
            ZoneError::ZoneInvalidWrite => "Zone Invalid Write",
            ZoneError::TooManyActiveZones => "Too Many Active Zones",
            ZoneError::TooManyOpenZones => "Too Many Open Zones",
            ZoneError::InvalidZoneStateTransition => "Invalid Zone State Transition",
        }
    }

    /// Whether the zone's state alone is why.
    pub fn is_of_state(self) -> bool {
        match self {
            ZoneError::ZoneIsFull
            | ZoneError::ZoneIsReadOnly
            | ZoneError::ZoneIsOffline
            | ZoneError::InvalidZoneStateTransition => true,
            ZoneError::ZoneBoundaryError
            | ZoneError::ZoneInvalidWrite
            | ZoneError::TooManyActiveZones
            | ZoneError::TooManyOpenZones => false,
        }
    }

    /// Code of the error among the command specific status values.
    pub fn code(self) -> u8 {
        match self {
            ZoneError::ZoneBoundaryError => 0xB8,
            ZoneError::ZoneIsFull => 0xB9,
            ZoneError::ZoneIsReadOnly => 0xBA,
            ZoneError::ZoneIsOffline => 0xBB,
            ZoneError::ZoneInvalidWrite => 0xBC,
            ZoneError::TooManyActiveZones => 0xBD,
            ZoneError::TooManyOpenZones => 0xBE,
            ZoneError::InvalidZoneStateTransition => 0xBF,
        }
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:02X}h)", self.name(), self.code())
    }
}

impl std::error::Error for ZoneError {}
