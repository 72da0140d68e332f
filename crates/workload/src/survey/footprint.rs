//! Which bytes were touched, and how often pages were written: exact, sparse, counted on the way.

use std::collections::HashMap;

use serde::Serialize;

use crate::source::error::TraceError;

/// Grain of a footprint in bytes: a sector.
const SECTOR_BYTES: u64 = 512;
/// Sectors of a page of 16 KiB.
const PAGE_SECTORS: u64 = 32;
/// Sectors of a chunk: 1 MiB.
const CHUNK_SECTORS: u64 = 2048;
const CHUNK_PAGES: usize = (CHUNK_SECTORS / PAGE_SECTORS) as usize;

/// Bytes of the pages that footprints and heat are stated in.
pub(crate) const PAGE_BYTES: u64 = SECTOR_BYTES * PAGE_SECTORS;

/// Most chunks kept: 2 TiB of touched space, which takes 0.5 GiB of memory if it is read and 1 GiB
/// if it is written.
const CHUNKS_MAX: usize = 2 << 20;

/// Refuses a footprint whose bookkeeping would take too much memory.
pub(super) fn refuse_too_wide(chunks: usize) -> Result<(), TraceError> {
    if chunks <= CHUNKS_MAX {
        return Ok(());
    }
    Err(TraceError::capacity(format!(
        "the requests touch more than {CHUNKS_MAX} regions of 1 MiB; footprints up to 2 TiB are allowed"
    )))
}

/// Distinct bytes touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Distinct bytes, in whole sectors of 512 bytes.
    pub bytes: u64,
    /// Distinct pages of 16 KiB.
    pub pages: u64,
}

/// Chunks by number. The map is only looked up; to visit all chunks, walk the list, which is in the order of first
/// touch.
#[derive(Debug)]
struct Chunks<T> {
    index: HashMap<u64, u32>,
    list: Vec<Box<T>>,
    /// The chunk looked up last: neighbouring requests mostly share it.
    last: (u64, usize),
}

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks { index: HashMap::new(), list: Vec::new(), last: (u64::MAX, 0) }
    }
}

impl<T: Default> Chunks<T> {
    fn get(&mut self, chunk: u64) -> &mut T {
        if self.last.0 != chunk {
            let next = self.list.len() as u32;
            let at = *self.index.entry(chunk).or_insert(next) as usize;
            if at == self.list.len() {
                self.list.push(Box::default());
            }
            self.last = (chunk, at);
        }
        &mut self.list[self.last.1]
    }
}

/// A set of sectors.
#[derive(Debug, Default)]
pub(super) struct SectorSet {
    chunks: Chunks<[u64; (CHUNK_SECTORS / 64) as usize]>,
    sectors: u64,
    pages: u64,
}

impl SectorSet {
    pub fn chunks(&self) -> usize {
        self.chunks.list.len()
    }

    pub fn footprint(&self) -> Footprint {
        Footprint { bytes: self.sectors * SECTOR_BYTES, pages: self.pages }
    }

    /// Adds the sectors that hold bytes `offset..offset + bytes`.
    pub fn add(&mut self, offset: u64, bytes: u32) {
        let end = (offset + u64::from(bytes) - 1) / SECTOR_BYTES + 1;
        let mut at = offset / SECTOR_BYTES;
        while at < end {
            let bit = at % 64;
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let word = &mut self.chunks.get(at / CHUNK_SECTORS)[(at % CHUNK_SECTORS / 64) as usize];
            let before = *word;
            *word |= mask;
            self.sectors += u64::from((*word & !before).count_ones());
            // A word holds two pages, one in each half.
            self.pages += halves(*word) - halves(before);
            at += count;
        }
    }
}

fn halves(word: u64) -> u64 {
    u64::from(word as u32 != 0) + u64::from(word >> PAGE_SECTORS != 0)
}

/// How often each page was written.
#[derive(Debug, Default)]
pub(super) struct PageWrites(Chunks<PageCounts>);

#[derive(Debug)]
struct PageCounts([u32; CHUNK_PAGES]);

impl Default for PageCounts {
    fn default() -> PageCounts {
        PageCounts([0; CHUNK_PAGES])
    }
}

impl PageWrites {
    /// Counts one write for every page that `offset..offset + bytes` touches.
    pub fn add(&mut self, offset: u64, bytes: u32) {
        let last = (offset + u64::from(bytes) - 1) / PAGE_BYTES;
        for page in offset / PAGE_BYTES..=last {
            let (chunk, within) = (page / CHUNK_PAGES as u64, page as usize % CHUNK_PAGES);
            let count = &mut self.0.get(chunk).0[within];
            *count = count.saturating_add(1);
        }
    }

    /// Writes of every page written, hottest first.
    pub fn sorted(&self) -> Vec<u32> {
        let counts = self.0.list.iter().flat_map(|chunk| chunk.0).filter(|&count| count > 0);
        let mut counts: Vec<u32> = counts.collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn w130_sets_and_counts_equal_a_naive_recount(
            requests in prop::collection::vec((0u64..40_000_000, 1u32..3_000_000), 1..20)
        ) {
            let (mut set, mut writes) = (SectorSet::default(), PageWrites::default());
            let (mut sectors, mut pages) = (BTreeSet::new(), BTreeMap::new());
            for (offset, bytes) in requests {
                set.add(offset, bytes);
                writes.add(offset, bytes);
                let last = offset + u64::from(bytes) - 1;
                sectors.extend(offset / 512..=last / 512);
                for page in offset / 16_384..=last / 16_384 {
                    *pages.entry(page).or_insert(0u32) += 1;
                }
            }
            let expected = Footprint { bytes: sectors.len() as u64 * 512, pages: pages.len() as u64 };
            prop_assert_eq!(set.footprint(), expected);
            let mut counts: Vec<u32> = pages.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(writes.sorted(), counts);
        }
    }
}
