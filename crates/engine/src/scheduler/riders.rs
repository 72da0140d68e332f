//! How many host reads ride on the copy that runs on a die, and how long they take (`riding`).

use pumice_types::Time;

/// Reads that ride on the copy which runs on a die.
#[derive(Clone, Copy, Debug, Default)]
pub struct Riders {
    /// How many of each lane: the first of the reads with priority, and those behind the running group.
    pub count: [usize; 2],
    /// Time of their transfers.
    pub transfers: Time,
    /// When the copies end; known once the channel is granted.
    pub copies_end: Time,
}

impl Riders {
    /// Whether there are any.
    #[inline]
    pub fn are_there(&self) -> bool {
        self.count != [0, 0]
    }
}
