//! What a job of a host that knows of zones does.

use pumice_types::choice;

choice! {
    /// What a job does with zones.
    pub enum ZoneJob {
        /// It writes them from their start to their end.
        Write = "zone-write",
        /// It appends to them.
        Append = "zone-append",
        /// It reads at random in all of them.
        Read = "zone-read",
        /// It finishes one after the other.
        Finish = "zone-finish",
        /// It resets one after the other.
        Reset = "zone-reset",
    }
}
