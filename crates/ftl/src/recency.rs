//! Keys in the order of their last use: a doubly linked list inside two columns, so that a use, a removal
//! and the look at the oldest cost the same however many keys there are, and nothing is allocated.

/// "None" in the links.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Links {
    newer: u32,
    older: u32,
    listed: bool,
}

/// Some of the keys `0..n`, by last use.
pub struct Recency {
    links: Vec<Links>,
    oldest: u32,
    newest: u32,
}

impl Recency {
    /// No key of `0..keys` is listed.
    pub fn new(keys: usize) -> Recency {
        Recency { links: vec![Links { newer: NONE, older: NONE, listed: false }; keys], oldest: NONE, newest: NONE }
    }

    /// The key that was not used for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Lists a key as the one used last.
    #[inline]
    pub fn touch(&mut self, key: u32) {
        if self.newest == key {
            return;
        }
        self.remove(key);
        self.links[key as usize] = Links { newer: NONE, older: self.newest, listed: true };
        match self.newest {
            NONE => self.oldest = key,
            newest => self.links[newest as usize].newer = key,
        }
        self.newest = key;
    }

    /// Takes a key off the list, if it is on it.
    pub fn remove(&mut self, key: u32) {
        let Links { newer, older, listed } = self.links[key as usize];
        if !listed {
            return;
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        self.links[key as usize].listed = false;
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        size_of_val(&self.links[..]) as u64
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
