//! The cached part of a map that lies in flash: entries in order of use, and which of them are newer
//! than their translation page. Knows nothing of addresses: it says what must be read and written.
//!
//! Plain LRU over single entries. Dirty entries of a translation page are in one list, so writing the page back
//! cleans them all (batching, as DFTL does on eviction).
//!
//! State grows with the entries in the cache, not with the pages of the device: a slot is found by a
//! hash of its logical page, in chains that stay about one slot long.

use pumice_types::Lpn;
use serde::{Deserialize, Serialize};

use crate::blocks::lists::Lists;
use crate::blocks::recency::Recency;

/// What must happen to evict the least recently used entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eviction {
    /// Nothing: the entry is gone.
    Done,
    /// The entry's translation page must be written back first; the entry is still there.
    WriteBack(u32),
}

/// Entries of the map that are in RAM.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct MapCache {
    entries_max: usize,
    entries_per_page: u32,
    /// Logical page of each slot.
    slots: Vec<u32>,
    free: Vec<u32>,
    /// Slots by a hash of their logical pages. The simulator's index, not the controller's: that one
    /// searches.
    chains: Lists,
    /// Slots in the order of their use.
    recency: Recency,
    /// Dirty slots, one list for each translation page.
    dirty: Lists,
}

impl MapCache {
    /// An empty cache for `entries_max` entries of `user_pages`, of which `entries_per_page` share a
    /// translation page.
    pub(in crate::layers::page) fn new(entries_max: usize, entries_per_page: u32, user_pages: u32) -> MapCache {
        let entries_max = entries_max.clamp(1, user_pages as usize);
        MapCache {
            entries_max,
            entries_per_page,
            slots: Vec::with_capacity(entries_max),
            free: Vec::new(),
            chains: Lists::new(entries_max, entries_max.next_power_of_two()),
            recency: Recency::new(entries_max),
            dirty: Lists::new(entries_max, user_pages.div_ceil(entries_per_page) as usize),
        }
    }

    /// Entries that the budget allows.
    pub(super) fn entries_max(&self) -> usize {
        self.entries_max
    }

    /// Bytes of the simulator's state.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        let lists = self.chains.state_bytes() + self.recency.state_bytes() + self.dirty.state_bytes();
        size_of_val(&self.slots[..]) as u64 + lists
    }

    /// Entries beyond the budget once `more` are added.
    pub(super) fn excess(&self, more: usize) -> usize {
        (self.slots.len() - self.free.len() + more).saturating_sub(self.entries_max)
    }

    /// Marks the entry of `lpn` as used just now; `false` if it is not cached.
    pub(super) fn touch(&mut self, lpn: Lpn) -> bool {
        let slot = self.slot_of(lpn);
        slot.into_iter().for_each(|slot| self.recency.touch(slot));
        slot.is_some()
    }

    /// Adds the entry of `lpn`, clean, as the most recently used.
    pub(super) fn load(&mut self, lpn: Lpn) {
        let slot = self.new_slot(lpn);
        self.recency.touch(slot);
    }

    /// Records that the entry of `lpn` changed. An entry that is not cached enters as the least recently used, even
    /// beyond the budget, because the change itself supplies its value. It is the first to be evicted.
    pub(in crate::layers::page) fn change(&mut self, lpn: Lpn) {
        let slot = self.slot_of(lpn).unwrap_or_else(|| {
            let slot = self.new_slot(lpn);
            self.recency.add_oldest(slot);
            slot
        });
        if !self.dirty.is_listed(slot) {
            self.dirty.append((lpn.0 / self.entries_per_page) as usize, slot);
        }
    }

    /// Evicts the least recently used entry, if it is clean; otherwise names its translation page.
    pub(super) fn evict(&mut self) -> Eviction {
        let Some(slot) = self.recency.oldest() else { return Eviction::Done };
        if self.dirty.is_listed(slot) {
            return Eviction::WriteBack(self.slots[slot as usize] / self.entries_per_page);
        }
        self.recency.remove(slot);
        self.chains.remove(slot);
        self.free.push(slot);
        Eviction::Done
    }

    /// Notes that translation page `page` was written with all its dirty entries.
    pub(super) fn written_back(&mut self, page: u32) {
        while let Some(slot) = self.dirty.first(page as usize) {
            self.dirty.remove(slot);
        }
    }

    /// The chain of a logical page.
    #[inline]
    fn chain(&self, lpn: Lpn) -> usize {
        let hash = u64::from(lpn.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        hash as usize & (self.chains.count() - 1)
    }

    /// The slot that holds the entry of `lpn`.
    #[inline]
    fn slot_of(&self, lpn: Lpn) -> Option<u32> {
        self.chains.iter(self.chain(lpn)).find(|&slot| self.slots[slot as usize] == lpn.0)
    }

    fn new_slot(&mut self, lpn: Lpn) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(lpn.0);
            let slots = self.slots.len();
            self.recency.grow(slots);
            [&mut self.chains, &mut self.dirty].into_iter().for_each(|lists| lists.grow_members(slots));
            slots as u32 - 1
        });
        self.slots[slot as usize] = lpn.0;
        self.chains.append(self.chain(lpn), slot);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t540_the_entry_unused_longest_goes_first_and_a_write_back_cleans_its_page() {
        let mut cache = MapCache::new(4, 10, 100);
        [1, 2, 33, 34].into_iter().for_each(|lpn| cache.load(Lpn(lpn)));
        assert_eq!((cache.excess(0), cache.excess(1)), (0, 1));
        assert!(cache.touch(Lpn(1)) && !cache.touch(Lpn(3)));
        cache.change(Lpn(2));
        cache.change(Lpn(1));
        cache.change(Lpn(1));
        assert_eq!(cache.evict(), Eviction::WriteBack(0), "page 2 is unused longest, and changed");
        cache.written_back(0);
        assert_eq!((cache.evict(), cache.evict(), cache.evict()), (Eviction::Done, Eviction::Done, Eviction::Done));
        assert!(!cache.touch(Lpn(2)) && !cache.touch(Lpn(34)));
        assert!(cache.touch(Lpn(1)), "used last, and clean since");
        assert_eq!(cache.evict(), Eviction::Done);
    }

    #[test]
    fn t541_what_collection_moved_enters_last_and_goes_first() {
        let mut cache = MapCache::new(2, 10, 100);
        cache.load(Lpn(5));
        cache.load(Lpn(6));
        cache.change(Lpn(77));
        assert_eq!(cache.excess(0), 1);
        assert_eq!(cache.evict(), Eviction::WriteBack(7));
        cache.written_back(7);
        assert_eq!((cache.evict(), cache.excess(0)), (Eviction::Done, 0));
        assert!(cache.touch(Lpn(5)) && cache.touch(Lpn(6)) && !cache.touch(Lpn(77)));
    }

    #[test]
    fn t542_what_a_cache_weighs_depends_on_its_entries_not_on_the_device() {
        let bytes = |user_pages: u32| {
            let mut cache = MapCache::new(1_000, 4_096, user_pages);
            for lpn in (0..100_000u32).map(|n| n.wrapping_mul(2_654_435_761) % user_pages) {
                if !cache.touch(Lpn(lpn)) {
                    while cache.excess(1) > 0 {
                        cache.evict();
                    }
                    cache.load(Lpn(lpn));
                }
            }
            cache.state_bytes() - 8 * u64::from(user_pages.div_ceil(4_096))
        };
        assert_eq!(bytes(100_000), bytes(60_000_000));
        assert!(bytes(100_000) < 40 * 1_000);
    }
}
