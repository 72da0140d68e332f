//! What a job of a host that knows of zones does.

use pumice_types::choice;

choice! {
    /// What a job does with zones.
    pub enum ZoneJob {
        /// The job writes zones from their start to their end.
        Write = "zone-write",
        /// The job appends to zones.
        Append = "zone-append",
        /// The job reads at random in all zones.
        Read = "zone-read",
        /// The job finishes zones one after the other.
        Finish = "zone-finish",
        /// The job resets zones one after the other.
        Reset = "zone-reset",
    }
}
