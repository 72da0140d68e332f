//! What a die had spent its time on when an access was queued, kept until the access is done.

use pumice_types::Time;

use super::segment::PhaseTimes;

/// What a die had spent its time on at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Time of the snapshot.
    pub at: Time,
    /// Time of the die by phase until then.
    pub spent: PhaseTimes,
}

/// The snapshots of a die's queued accesses, each in a place of its own: accesses need not end in the order in
/// which they were queued.
#[derive(Clone, Debug)]
pub struct Snapshots {
    places: Vec<Snapshot>,
    free: Vec<u32>,
}

impl Snapshots {
    /// None, with room for so many.
    pub fn with_capacity(accesses: usize) -> Snapshots {
        Snapshots { places: Vec::with_capacity(accesses), free: Vec::with_capacity(accesses) }
    }

    /// Forgets all snapshots.
    pub fn clear(&mut self) {
        self.places.clear();
        self.free.clear();
    }

    /// Keeps a snapshot; returns its place.
    #[inline]
    pub fn keep(&mut self, snapshot: Snapshot) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = snapshot;
                place
            }
            None => {
                self.places.push(snapshot);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Gives a snapshot back and frees its place.
    #[inline]
    pub fn take(&mut self, place: u32) -> Snapshot {
        self.free.push(place);
        self.places[place as usize]
    }
}
