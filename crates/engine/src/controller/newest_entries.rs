//! Which entry of the write buffer holds the newest data of a page: chains of entries, by a hash of their page.

use serde::{Deserialize, Serialize};

use pumice_types::Lpn;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// The fewest chains; a power of two, as every number of them.
const CHAINS_MIN: usize = 64;

/// An entry in its chain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ChainLink {
    lpn: Lpn,
    next: u32,
}

/// The entry with the newest data of each page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NewestEntries {
    /// The first entry of each chain.
    first: Vec<u32>,
    /// A link for each entry, whether it is in a chain or not.
    links: Vec<ChainLink>,
}

impl NewestEntries {
    /// No entry yet, and room for so many.
    pub(super) fn new(entries: usize) -> NewestEntries {
        let chains = entries.next_power_of_two().max(CHAINS_MIN);
        NewestEntries { first: vec![NONE; chains], links: Vec::with_capacity(entries) }
    }

    #[inline]
    fn chain(&self, lpn: Lpn) -> usize {
        // Fibonacci hashing: the high bits of the product are the well mixed ones.
        let product = u64::from(lpn.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (product >> (u64::BITS - self.first.len().trailing_zeros())) as usize
    }

    /// The entry of a page, if it has one.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.first[self.chain(lpn)];
        while at != NONE {
            let link = self.links[at as usize];
            if link.lpn == lpn {
                return Some(at);
            }
            at = link.next;
        }
        None
    }

    /// Makes an entry that of a page, which has none.
    pub(super) fn insert(&mut self, lpn: Lpn, entry: u32) {
        debug_assert!(self.get(lpn).is_none(), "a page has one newest entry");
        if self.links.len() <= entry as usize {
            self.links.resize(entry as usize + 1, ChainLink { lpn, next: NONE });
            self.lengthen();
        }
        self.link(lpn, entry);
    }

    /// Takes the entry of a page out, if it has one.
    pub(super) fn remove(&mut self, lpn: Lpn) -> Option<u32> {
        let chain = self.chain(lpn);
        let (mut before, mut at) = (NONE, self.first[chain]);
        while at != NONE {
            let link = self.links[at as usize];
            if link.lpn == lpn {
                match before {
                    NONE => self.first[chain] = link.next,
                    before => self.links[before as usize].next = link.next,
                }
                return Some(at);
            }
            (before, at) = (at, link.next);
        }
        None
    }

    fn link(&mut self, lpn: Lpn, entry: u32) {
        let chain = self.chain(lpn);
        self.links[entry as usize] = ChainLink { lpn, next: self.first[chain] };
        self.first[chain] = entry;
    }

    /// Makes more chains once there are fewer than entries.
    fn lengthen(&mut self) {
        let chains = self.first.len();
        if self.links.len() <= chains {
            return;
        }
        for mut at in std::mem::replace(&mut self.first, vec![NONE; 2 * chains]) {
            while at != NONE {
                let ChainLink { lpn, next } = self.links[at as usize];
                self.link(lpn, at);
                at = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn t996_entries_are_found_as_in_a_map_however_many_there_are() {
        let (mut entries, mut map) = (NewestEntries::new(4), BTreeMap::new());
        let mut free: Vec<u32> = (0..1_000).rev().collect();
        let mut drawn = 1u32;
        for nth in 0..20_000u32 {
            drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let lpn = Lpn(drawn >> 21);
            assert_eq!(entries.get(lpn), map.get(&lpn.0).copied());
            let fills = (nth / 2_500).is_multiple_of(2);
            if fills && !map.contains_key(&lpn.0) {
                let Some(entry) = free.pop() else { continue };
                entries.insert(lpn, entry);
                map.insert(lpn.0, entry);
            } else if !fills {
                let removed = entries.remove(lpn);
                assert_eq!(removed, map.remove(&lpn.0));
                free.extend(removed);
            }
        }
        assert!(entries.first.len() > CHAINS_MIN, "chains were added");
    }
}
