//! Pages whose newest bytes are in the controller's RAM: writes under way, and what a write buffer holds.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::SimError;

/// One logical page in RAM.
#[derive(Clone, Serialize, Deserialize)]
struct RamPage {
    /// Bytes that are not known are zeroes.
    bytes: Arc<[u8]>,
    /// Which sectors are known; empty if all are.
    known: Vec<bool>,
    /// Writes under way.
    writes: u32,
}

impl RamPage {
    /// Notes that all bytes are known, if they are.
    fn settle(&mut self) {
        if self.known.iter().all(|&known| known) {
            self.known = Vec::new();
        }
    }
}

/// Logical pages in RAM. Only looked up, never iterated.
#[derive(Clone, Serialize, Deserialize)]
pub struct ControllerRam {
    page_bytes: usize,
    sector_bytes: usize,
    pages: HashMap<u32, RamPage>,
}

impl ControllerRam {
    /// Nothing in RAM. Pages and sectors take so many bytes in it.
    pub fn new(page_bytes: usize, sector_bytes: usize) -> ControllerRam {
        ControllerRam { page_bytes, sector_bytes, pages: HashMap::new() }
    }

    /// Sectors of a part of a page.
    fn sectors(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        from / self.sector_bytes..to / self.sector_bytes
    }

    /// Whether RAM holds anything of a page.
    pub fn holds(&self, lpn: u32) -> bool {
        self.pages.contains_key(&lpn)
    }

    /// A write of a part of a page, from byte `from` of it, has come.
    pub fn write(&mut self, lpn: u32, from: usize, data: &[u8]) {
        let (page_bytes, sector_bytes) = (self.page_bytes, self.sector_bytes);
        let to = from + data.len();
        let sectors = self.sectors(from, to);
        let is_whole = data.len() == page_bytes;
        let unknown = || RamPage {
            // Collected and not converted, which would copy the page once more.
            bytes: if is_whole { Arc::from(data) } else { std::iter::repeat_n(0, page_bytes).collect() },
            known: if is_whole { Vec::new() } else { vec![false; page_bytes / sector_bytes] },
            writes: 0,
        };
        let page = self.pages.entry(lpn).or_insert_with(unknown);
        page.writes += 1;
        if is_whole {
            page.known = Vec::new();
        }
        if !page.known.is_empty() {
            page.known[sectors].fill(true);
            page.settle();
        }
        Arc::make_mut(&mut page.bytes)[from..to].copy_from_slice(data);
    }

    /// A page is held that is whole and of which no write is under way.
    pub fn hold(&mut self, lpn: u32, bytes: Arc<[u8]>) {
        self.pages.insert(lpn, RamPage { bytes, known: Vec::new(), writes: 0 });
    }

    /// The old copy of a page is read: what was not known is now. `old` reads a part that begins at a byte of the page.
    ///
    /// # Errors
    /// The errors of `old`.
    pub fn complete(
        &mut self,
        lpn: u32,
        mut old: impl FnMut(usize, &mut [u8]) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let Some(page) = self.pages.get_mut(&lpn).filter(|page| !page.known.is_empty()) else { return Ok(()) };
        let RamPage { bytes, known, .. } = page;
        let bytes = Arc::make_mut(bytes);
        let mut from = 0;
        for part in known.chunk_by(|one, next| one == next) {
            let to = from + part.len() * self.sector_bytes;
            if !part[0] {
                old(from, &mut bytes[from..to])?;
            }
            from = to;
        }
        page.known = Vec::new();
        Ok(())
    }

    /// What a program of the page stores.
    pub fn programmed(&self, lpn: u32) -> Option<Arc<[u8]>> {
        self.pages.get(&lpn).map(|page| Arc::clone(&page.bytes))
    }

    /// Lays what is known of a page over what the flash returned of it, from byte `from` of the page.
    pub fn lay_over(&self, lpn: u32, from: usize, out: &mut [u8]) {
        let Some(page) = self.pages.get(&lpn) else { return };
        if page.known.is_empty() {
            out.copy_from_slice(&page.bytes[from..from + out.len()]);
            return;
        }
        for sector in self.sectors(from, from + out.len()).filter(|&sector| page.known[sector]) {
            let start = sector * self.sector_bytes;
            let part = start - from..start - from + self.sector_bytes;
            out[part].copy_from_slice(&page.bytes[start..start + self.sector_bytes]);
        }
    }

    /// A write of the page is done.
    pub fn write_done(&mut self, lpn: u32) {
        if let Some(page) = self.pages.get_mut(&lpn) {
            page.writes -= 1;
        }
    }

    /// Forgets a page, whatever is under way: it is trimmed.
    pub fn give_up(&mut self, lpn: u32) {
        self.pages.remove(&lpn);
    }

    /// Forgets a page if no write of it is under way.
    pub fn forget(&mut self, lpn: u32) {
        if self.pages.get(&lpn).is_some_and(|page| page.writes == 0) {
            self.pages.remove(&lpn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s020_a_partial_write_lies_over_the_old_copy() {
        let mut ram = ControllerRam::new(2048, 512);
        ram.write(3, 512, &[7; 512]);
        let mut out = [1; 2048];
        ram.lay_over(3, 0, &mut out);
        assert_eq!((out[511], out[512], out[1023], out[1024]), (1, 7, 7, 1), "only what is known");
        let old = |_, old: &mut [u8]| {
            old.fill(5);
            Ok(())
        };
        ram.complete(3, old).expect("old bytes");
        ram.write(3, 1024, &[9; 512]);
        let stored = ram.programmed(3).expect("in RAM");
        assert_eq!((stored[0], stored[512], stored[1024], stored[1536]), (5, 7, 9, 5));
        ram.write_done(3);
        ram.forget(3);
        assert!(ram.holds(3), "one of two writes is under way");
        ram.write_done(3);
        ram.forget(3);
        assert!(!ram.holds(3));
    }

    #[test]
    fn s021_parts_that_make_a_page_need_no_old_copy() {
        let mut ram = ControllerRam::new(1024, 512);
        ram.write(0, 0, &[1; 512]);
        ram.write(0, 512, &[2; 512]);
        ram.complete(0, |_, _| panic!("every byte is known")).expect("nothing to fetch");
        assert_eq!(ram.programmed(0).map(|bytes| (bytes[0], bytes[512])), Some((1, 2)));
    }
}
