//! What happened to zones, for the results.

use serde::{Deserialize, Serialize};

use pumice_types::choice;

choice! {
    /// How the erases of a zone that the host resets follow one another.
    pub enum ResetErases {
        /// On all dies at once.
        Together = "together",
        /// One after the other.
        InTurn = "in-turn",
        /// One after the other, while the write buffer sends no page to a die.
        Alone = "alone",
    }
}

choice! {
    /// How fast a zone that the host finishes is filled.
    pub enum FinishPace {
        /// All pages are queued at once.
        AtOnce = "at-once",
        /// Through the write buffer, of which the zone has as large a part as each open one.
        Shared = "shared",
    }
}

/// A zone command of the host that makes the device program or erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneOperation {
    /// Reset Zone, where it erases at once.
    Reset,
    /// Finish Zone, where it fills what was not written.
    Finish,
}

/// Zone commands since the last reset of the counters, and what they made the device do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneCounters {
    /// Zones written for the first time after they were empty.
    pub opened: u64,
    /// Implicitly opened zones that the controller closed to open another one.
    pub closed_by_controller: u64,
    /// Zones finished before they were written up to their capacity.
    pub finishes: u64,
    /// Pages of zones that were not written when they were finished.
    pub unwritten_pages: u64,
    /// Zones reset.
    pub resets: u64,
    /// Pages that the device moved to save them from disturb.
    pub relocated_pages: u64,
    /// Erase units erased on idle dies.
    pub erased_when_idle: u64,
    /// Times that the host had to clean a zone before it could write, because no empty one was left to spare.
    pub urgent: u64,
    /// Pages that the host wrote for its users.
    pub user_pages: u64,
    /// Pages that the host moved from one zone to another.
    pub moved_pages: u64,
}

/// Zones as they are now, and what happened to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneReport {
    /// Zones of the device.
    pub zones: u32,
    /// Pages of a zone that can be written.
    pub capacity: u32,
    /// Pages from the start of a zone to that of the next.
    pub size: u32,
    /// Zones in each state, in the order of [`crate::layers::zns::state::ZoneState`].
    pub states: [u32; 7],
    /// Counts.
    pub counters: ZoneCounters,
}
