//! Victim order kept incrementally: the slot with the most invalid pages, ties to the oldest.
//!
//! A tournament tree of keys: an update touches log2(slots) nodes and the winner stands at the
//! root, so a decision costs the same however many blocks there are.

use serde::{Deserialize, Serialize};

/// Key of an empty slot.
const EMPTY: u64 = 0;

/// Bits that hold the age part of a key.
const AGE_BITS: u32 = 40;

/// Slots ordered by (invalid pages, age).
#[derive(Clone, Serialize, Deserialize)]
pub struct VictimTree {
    keys: Vec<u64>,
    leaves: usize,
}

impl VictimTree {
    /// A tree over `slots` empty slots.
    pub fn new(slots: usize) -> VictimTree {
        let leaves = slots.next_power_of_two().max(1);
        VictimTree { keys: vec![EMPTY; leaves * 2], leaves }
    }

    /// Bytes of the tree.
    pub fn state_bytes(&self) -> u64 {
        size_of_val(&self.keys[..]) as u64
    }

    /// Sets a slot's invalid pages; `age` is its allocation number, smaller is older.
    #[inline]
    pub fn set(&mut self, slot: usize, invalid: u32, age: u64) {
        debug_assert!(age < 1 << AGE_BITS);
        self.update(slot, (u64::from(invalid) + 1) << AGE_BITS | ((1 << AGE_BITS) - 1 - age));
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: usize) {
        self.update(slot, EMPTY);
    }

    /// The slot with the most invalid pages, the oldest among equals.
    pub fn best(&self) -> Option<usize> {
        let winner = self.keys[1];
        if winner == EMPTY {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node = if self.keys[node * 2] == winner { node * 2 } else { node * 2 + 1 };
        }
        Some(node - self.leaves)
    }

    #[inline]
    fn update(&mut self, slot: usize, key: u64) {
        let mut node = slot + self.leaves;
        self.keys[node] = key;
        while node > 1 {
            let winner = self.keys[node].max(self.keys[node ^ 1]);
            node /= 2;
            if self.keys[node] == winner {
                return;
            }
            self.keys[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn t500_most_invalid_first_then_oldest() {
        let mut tree = VictimTree::new(5);
        assert_eq!(tree.best(), None);
        tree.set(3, 0, 7);
        assert_eq!(tree.best(), Some(3));
        tree.set(1, 4, 9);
        tree.set(4, 4, 8);
        assert_eq!(tree.best(), Some(4));
        tree.remove(4);
        assert_eq!(tree.best(), Some(1));
    }

    proptest! {
        #[test]
        fn t501_the_winner_is_the_one_a_scan_finds(
            steps in proptest::collection::vec((0usize..13, proptest::option::of(0u32..5)), 1..200)
        ) {
            let mut tree = VictimTree::new(13);
            let mut slots = [None; 13];
            for (age, (slot, invalid)) in steps.into_iter().enumerate() {
                slots[slot] = invalid.map(|invalid| (invalid, std::cmp::Reverse(age), slot));
                match invalid {
                    Some(invalid) => tree.set(slot, invalid, age as u64),
                    None => tree.remove(slot),
                }
                prop_assert_eq!(tree.best(), slots.iter().flatten().max().map(|s| s.2));
            }
        }
    }
}
