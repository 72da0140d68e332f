//! Why a command on a zone fails: the status values of the NVMe Zoned Namespace Command Set.

use pumice_types::{Choice, choice};

choice! {
    /// Why a command on a zone fails, in the order of the codes, with the standard's names.
    pub enum ZoneError {
        /// The command reaches beyond the zone's capacity, or a read beyond its size.
        ZoneBoundaryError = "Zone Boundary Error",
        /// The zone is full.
        ZoneIsFull = "Zone Is Full",
        /// The zone can only be read.
        ZoneIsReadOnly = "Zone Is Read Only",
        /// The zone can neither be read nor written.
        ZoneIsOffline = "Zone Is Offline",
        /// A write does not begin at the write pointer.
        ZoneInvalidWrite = "Zone Invalid Write",
        /// No further zone can be active.
        TooManyActiveZones = "Too Many Active Zones",
        /// No further zone can be open.
        TooManyOpenZones = "Too Many Open Zones",
        /// The state has no such transition.
        InvalidZoneStateTransition = "Invalid Zone State Transition",
    }
}

impl ZoneError {
    /// Every error.
    pub const ALL: &[ZoneError] = <ZoneError as Choice>::ALL;

    /// Place of the error among all.
    pub fn place(self) -> usize {
        self as usize
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
        0xB8 + self as u8
    }

    /// Name and code, as messages have them.
    pub fn told(self) -> String {
        format!("{self} ({:02X}h)", self.code())
    }
}
