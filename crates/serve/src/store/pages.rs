//! The pages of a device that lives in a file.
//!
//! Every physical page has two slots. One may hold what the last commit of the store needs; it is not touched until
//! the next commit, whatever becomes of the page meanwhile. New bytes go to the other one. Which slot is which is a
//! function of the commands and commits that came, so it is written down nowhere: a replay finds it again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::file::{StoreFile, in_file};
use pumice_engine::SimError;

/// Bytes in front of the first page.
pub const HEADER_BYTES: u64 = 4096;

/// Slots of a page.
pub const SLOTS: u64 = 2;

/// Slots that nobody needs become holes when they are one for so many pages. Chosen: an eighth more room, seldom.
const LEFT_SHARE: u64 = 8;

/// Where the bytes of a page are.
#[derive(Clone, Copy, Default)]
struct PageSlots {
    /// The slot of what the page holds now; `None`: zeroes.
    now: Option<bool>,
    /// The slot of what it held at the last commit.
    committed: Option<bool>,
    /// Slots that may hold bytes.
    is_filled: [bool; 2],
    /// Something has happened since the last commit.
    is_changed: bool,
}

impl PageSlots {
    /// The page holds something else from now on.
    fn turn(&mut self, now: Option<bool>) -> bool {
        self.now = now;
        if let Some(slot) = now {
            self.is_filled[usize::from(slot)] = true;
        }
        !std::mem::replace(&mut self.is_changed, true)
    }

    /// A slot that no commit needs.
    fn free(self) -> bool {
        self.committed == Some(false)
    }
}

/// The pages of a store, and where each of them lies.
pub struct StoredPages {
    file: StoreFile,
    page_bytes: u64,
    path: PathBuf,
    slots: Vec<PageSlots>,
    /// Pages to which something has happened since the last commit.
    changed: Vec<u64>,
    /// Slots that nobody needs any more, or a few more than that, since they last became holes.
    left: u64,
}

impl StoredPages {
    /// Pages of a device that was not begun.
    pub fn new(file: StoreFile, path: &Path, pages: u64, page_bytes: u32) -> StoredPages {
        let slots = vec![PageSlots::default(); pages as usize];
        StoredPages {
            file,
            page_bytes: u64::from(page_bytes),
            path: path.to_owned(),
            slots,
            changed: Vec::new(),
            left: 0,
        }
    }

    fn at(&self, page: u64, slot: bool) -> u64 {
        HEADER_BYTES + (u64::from(slot) * self.slots.len() as u64 + page) * self.page_bytes
    }

    fn turn(&mut self, page: u64, now: Option<bool>) {
        if self.slots[page as usize].turn(now) {
            self.changed.push(page);
        }
    }

    /// Reads a part of a page.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn read(&self, page: u64, from: usize, out: &mut [u8]) -> Result<(), SimError> {
        let Some(slot) = self.slots[page as usize].now else {
            out.fill(0);
            return Ok(());
        };
        self.file.read(out, self.at(page, slot) + from as u64).map_err(in_file(&self.path))
    }

    /// The bytes of a page; `None`: all zeroes.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn bytes(&self, page: u64) -> Result<Option<Arc<[u8]>>, SimError> {
        let mut bytes = vec![0; self.page_bytes as usize];
        self.read(page, 0, &mut bytes)?;
        Ok(bytes.iter().any(|&byte| byte != 0).then(|| bytes.into()))
    }

    /// Writes a page; `None`: zeroes.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn write(&mut self, page: u64, bytes: Option<&[u8]>) -> Result<(), SimError> {
        let slot = self.slots[page as usize].free();
        match bytes {
            Some(bytes) => self.file.write(bytes, self.at(page, slot)).map_err(in_file(&self.path))?,
            None => self.make_zeroes(page, slot)?,
        }
        self.turn(page, Some(slot));
        Ok(())
    }

    /// Lets a slot read as zeroes, whatever a session has left there that broke off.
    fn make_zeroes(&self, page: u64, slot: bool) -> Result<(), SimError> {
        let mut found = vec![0; self.page_bytes as usize];
        self.file.read(&mut found, self.at(page, slot)).map_err(in_file(&self.path))?;
        if found.iter().any(|&byte| byte != 0) { self.clear(page, 1, slot) } else { Ok(()) }
    }

    /// A page was written in an earlier session.
    pub fn retrace_write(&mut self, page: u64) {
        let slot = self.slots[page as usize].free();
        self.turn(page, Some(slot));
    }

    /// Consecutive pages are erased. Their bytes stay until the next commit.
    pub fn erase(&mut self, pages: std::ops::Range<u64>) {
        pages.for_each(|page| self.turn(page, None));
    }

    /// What the pages hold is committed, in an earlier session.
    pub fn retrace_commit(&mut self) {
        for page in self.changed.drain(..) {
            let slots = &mut self.slots[page as usize];
            (slots.committed, slots.is_changed) = (slots.now, false);
            self.left += u64::from(slots.is_filled != [slots.now == Some(false), slots.now == Some(true)]);
        }
    }

    /// What the pages hold is committed. Slots that nobody needs any more become holes now and then: each time costs the
    /// next sync. `is_end`: now.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn commit(&mut self, is_end: bool) -> Result<(), SimError> {
        self.retrace_commit();
        if self.left > self.slots.len() as u64 / LEFT_SHARE || is_end {
            self.left = 0;
            self.release(false)?;
            self.release(true)?;
        }
        Ok(())
    }

    /// Makes one slot of every page a hole that does not need it.
    fn release(&mut self, slot: bool) -> Result<(), SimError> {
        let idle = |slots: &PageSlots| slots.is_filled[usize::from(slot)] && slots.now != Some(slot);
        let mut first = 0;
        while first < self.slots.len() {
            let run = self.slots[first..].iter().take_while(|slots| idle(slots)).count();
            if run > 0 {
                self.clear(first as u64, run as u64, slot)?;
                self.slots[first..first + run].iter_mut().for_each(|slots| slots.is_filled[usize::from(slot)] = false);
            }
            first += run + 1;
        }
        Ok(())
    }

    /// Makes slots of consecutive pages a hole.
    fn clear(&self, first: u64, pages: u64, slot: bool) -> Result<(), SimError> {
        if self.file.punch(self.at(first, slot), pages * self.page_bytes) {
            return Ok(());
        }
        // A file system without holes.
        let zeroes = vec![0; self.page_bytes as usize];
        (first..first + pages)
            .try_for_each(|page| self.file.write(&zeroes, self.at(page, slot)).map_err(in_file(&self.path)))
    }

    /// Copies the pages into a file without a name, which is gone when nobody uses it any more.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn copied(&self) -> Result<StoredPages, SimError> {
        let folder = self.path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let file = StoreFile::unnamed_in(folder).map_err(in_file(folder))?;
        file.set_length(self.at(0, true) + self.slots.len() as u64 * self.page_bytes).map_err(in_file(folder))?;
        let mut copy = StoredPages {
            file,
            page_bytes: self.page_bytes,
            path: folder.to_owned(),
            slots: Vec::new(),
            changed: Vec::new(),
            left: 0,
        };
        copy.take(self)?;
        Ok(copy)
    }

    /// Makes these pages what others are that were copied from them. What the last commit needs is lost.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn go_back_to(&mut self, copied: &StoredPages) -> Result<(), SimError> {
        let pages = self.slots.len() as u64;
        [false, true].into_iter().try_for_each(|slot| self.clear(0, pages, slot))?;
        self.take(copied)
    }

    /// Takes the pages of another file over holes, and leaves holes where it has nothing but zeroes.
    fn take(&mut self, other: &StoredPages) -> Result<(), SimError> {
        self.slots.clone_from(&other.slots);
        self.changed.clone_from(&other.changed);
        let mut bytes = vec![0; self.page_bytes as usize];
        for (page, slots) in (0..).zip(&self.slots) {
            let Some(slot) = slots.now else { continue };
            other.read(page, 0, &mut bytes)?;
            if bytes.iter().any(|&byte| byte != 0) {
                self.file.write(&bytes, self.at(page, slot)).map_err(in_file(&self.path))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s176_a_page_is_noted_once_between_two_commits() {
        let folder = std::env::temp_dir();
        let file = StoreFile::unnamed_in(&folder).expect("a file");
        let mut pages = StoredPages::new(file, &folder, 4, 512);
        for _ in 0..2 {
            (0..3).for_each(|_| pages.retrace_write(1));
            pages.erase(1..3);
            assert_eq!(pages.changed, [1, 2]);
            pages.retrace_commit();
        }
    }
}
