//! Keys in the order of their last use.

use super::lists::Lists;
use serde::{Deserialize, Serialize};

/// The only list.
const BY_USE: usize = 0;

/// Some of the keys `0..n`, by last use.
#[derive(Clone, Serialize, Deserialize)]
pub struct Recency {
    /// The key used last stands last.
    lists: Lists,
}

impl Recency {
    /// No key of `0..keys` is listed.
    pub fn new(keys: usize) -> Recency {
        Recency { lists: Lists::new(keys, 1) }
    }

    /// Grows to at least `keys` keys.
    pub fn grow(&mut self, keys: usize) {
        self.lists.grow_members(keys);
    }

    /// The key that was not used for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        self.lists.first(BY_USE)
    }

    /// Lists a key as the one used last.
    #[inline]
    pub fn touch(&mut self, key: u32) {
        if self.lists.last(BY_USE) != Some(key) {
            self.lists.remove(key);
            self.lists.append(BY_USE, key);
        }
    }

    /// Lists a key that is not listed as the one not used for the longest time.
    pub fn add_oldest(&mut self, key: u32) {
        self.lists.prepend(BY_USE, key);
    }

    /// Takes a key off the list, if it is on it.
    pub fn remove(&mut self, key: u32) {
        self.lists.remove(key);
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        self.lists.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn t502_the_oldest_is_the_one_a_list_of_uses_gives(steps in proptest::collection::vec((0u32..6, prop::bool::weighted(0.7)), 1..200)) {
            let (mut recency, mut order) = (Recency::new(6), Vec::new());
            for (key, used) in steps {
                order.retain(|&listed| listed != key);
                if used {
                    recency.touch(key);
                    order.push(key);
                } else {
                    recency.remove(key);
                }
                prop_assert_eq!(recency.oldest(), order.first().copied());
            }
        }
    }
}
