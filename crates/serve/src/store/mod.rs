//! The file that keeps a device from one session to the next: its pages, and behind them the requests that led to its
//! state. The state is not written down: the simulation is a function of spec and requests, so replaying them gives it
//! anew, to the last counter.
//!
//! What is kept is what was *committed*: the device at one instant. A commit is made when something was promised to a
//! client (a flush or a write with force unit access is done), for orders, and at the end. It is a number of bytes of the
//! journal, which the header names, and ends with an entry for itself; behind that entry lies what was in the device's RAM.
//! Whatever process or machine comes to an end, and whenever, the file holds the last commit whole:
//!
//! 1. Nothing is written over that the last commit needs. Pages go to slots that it does not use
//!    ([`crate::store::pages`]), erased pages keep their bytes, entries of the journal go behind its end.
//! 2. Pages, journal and RAM are synced before the header names them, and the header before anybody is told.
//! 3. Slots and RAM of the commit before become holes only after that.
//!
//! A session in which nothing is written commits nothing. A return to a snapshot breaks the first rule, and says so in the
//! header while it lasts.

pub(crate) mod file;
pub(crate) mod pages;

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use pumice_engine::SimError;
use pumice_types::{Geometry, Time};
use serde::{Deserialize, Serialize};

use crate::recording::journal::{self, DeviceEvent};
use crate::store::file::{StoreFile, in_file};
use crate::store::pages::{HEADER_BYTES, SLOTS, StoredPages};

/// Entries of the journal are written when they take so many bytes, or by a commit.
const WRITTEN_TOGETHER: usize = 1 << 20;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

const FORMAT: &str = "pumice.store/2";

/// How the last session has left a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LastEnd {
    /// The session ended: nothing was under way, and RAM was empty.
    Well,
    /// The session went on behind its last commit.
    BrokenOff,
    /// Pages and journal need not fit: the session was going back to a snapshot.
    GoingBack,
}

/// What the file says of itself, as JSON in its first bytes: fewer than a disk writes at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoreHeader {
    format: String,
    /// Digest of the spec that is served.
    config_sha256: String,
    scale: f64,
    pages: u64,
    page_bytes: u32,
    /// Bytes of the journal up to the last commit.
    journal_bytes: u64,
    last_end: LastEnd,
}

/// An open store.
pub struct Store {
    header: StoreHeader,
    path: PathBuf,
    file: StoreFile,
    /// Entries behind the last commit that are in the file.
    journal_bytes: u64,
    /// Entries that are not.
    pending: Vec<u8>,
    /// Bytes of the device's RAM behind the last commit.
    ram_bytes: u64,
    /// A commit would keep something that the last one does not.
    is_changed: bool,
    /// A flush has come since something was changed.
    is_flushed: bool,
}

impl Store {
    /// Opens a store, or makes one if there is no such file.
    ///
    /// # Errors
    /// A file that is no store, that holds a device of another spec, or that was going back to a snapshot; in one line.
    pub fn open(path: &Path, config_sha256: &str, scale: f64, geometry: &Geometry) -> Result<Store, SimError> {
        let wanted = StoreHeader {
            format: FORMAT.into(),
            config_sha256: config_sha256.into(),
            scale,
            pages: geometry.pages(),
            page_bytes: geometry.page_bytes,
            journal_bytes: 0,
            last_end: LastEnd::Well,
        };
        let opened = StoreFile::open(path).map_err(in_file(path))?;
        let file = opened.ok_or_else(|| in_file(path)("another process uses it"))?;
        let is_new = file.length().map_err(in_file(path))? == 0;
        let header = if is_new { wanted } else { wanted.found_in(&file, path)? };
        let journal_bytes = header.journal_bytes;
        let (pending, path) = (Vec::new(), path.to_owned());
        let (ram_bytes, is_changed, is_flushed) = (0, false, false);
        let mut store = Store { header, path, file, journal_bytes, pending, ram_bytes, is_changed, is_flushed };
        if is_new {
            store.made().map_err(in_file(&store.path))?;
        }
        Ok(store)
    }

    /// A file that was just made gets its length and its header.
    fn made(&mut self) -> io::Result<()> {
        self.file.set_length(self.header.journal_at())?;
        self.write_header()
    }

    fn write_header(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.header)?;
        debug_assert!(text.len() <= SECTOR_BYTES, "a disk writes it whole or not at all");
        text.resize(HEADER_BYTES as usize, b' ');
        self.file.write(&text, 0)?;
        self.file.sync()
    }

    /// Pages of the store.
    ///
    /// # Errors
    /// The system has no handle left.
    pub fn pages(&self) -> io::Result<StoredPages> {
        let StoreHeader { pages, page_bytes, .. } = self.header;
        Ok(StoredPages::new(self.file.another()?, &self.path, pages, page_bytes))
    }

    /// Whether the device must go on where it was in the middle of something.
    pub fn has_broken_off(&self) -> bool {
        self.header.last_end == LastEnd::BrokenOff
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What happened in earlier sessions up to the last commit, oldest first, given to `each`. Returns what was in the
    /// device's RAM then.
    ///
    /// # Errors
    /// The file's, or what `each` says; in one line.
    pub fn replay(&mut self, mut each: impl FnMut(&DeviceEvent) -> Result<(), SimError>) -> Result<Vec<u8>, SimError> {
        let journal = self.file.reader_at(self.header.journal_at()).map_err(in_file(&self.path))?;
        let mut input = BufReader::with_capacity(1 << 16, journal);
        let (mut left, mut ram) = (self.header.journal_bytes, Vec::new());
        let damaged = || in_file(&self.path)("its journal is damaged");
        while left > 0 {
            let event = journal::read_next(&mut input).map_err(in_file(&self.path))?.ok_or_else(damaged)?;
            each(&event)?;
            left = left.checked_sub(journal::ENTRY_BYTES as u64).ok_or_else(damaged)?;
            if let DeviceEvent::Commit(_, bytes) = event {
                left = left.checked_sub(bytes).ok_or_else(damaged)?;
                ram.resize(if left == 0 { bytes as usize } else { 0 }, 0);
                let passed = if left == 0 { input.read_exact(&mut ram) } else { input.seek_relative(bytes as i64) };
                passed.map_err(in_file(&self.path))?;
                self.ram_bytes = bytes;
            }
        }
        Ok(ram)
    }

    /// Adds what is about to happen in this session.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn add(&mut self, event: &DeviceEvent) -> Result<(), SimError> {
        let changes = event.changes_device();
        self.is_changed |= changes;
        self.is_flushed = event.is_flush() || (self.is_flushed && !changes);
        self.pending.extend(journal::encode(event));
        if self.pending.len() >= WRITTEN_TOGETHER { self.write_pending() } else { Ok(()) }
    }

    fn write_pending(&mut self) -> Result<(), SimError> {
        let at = self.header.journal_at() + self.journal_bytes;
        self.file.write(&self.pending, at).map_err(in_file(&self.path))?;
        self.journal_bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Whether a flush has come behind all that changes the device.
    pub fn is_flushed(&self) -> bool {
        self.is_flushed
    }

    /// Whether a commit would keep anything that the last one does not.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Commits the device as it is at this instant of the workload's clock, with this in its RAM. `is_all`: nothing that
    /// came before it is lost in a session that breaks off.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn commit(&mut self, at: Time, ram: &[u8], is_all: bool) -> Result<(), SimError> {
        self.commit_as(LastEnd::BrokenOff, at, ram)?;
        self.is_changed = !is_all;
        Ok(())
    }

    fn commit_as(&mut self, end: LastEnd, at: Time, ram: &[u8]) -> Result<(), SimError> {
        let before = self.header.journal_at() + self.header.journal_bytes;
        self.pending.extend(journal::encode(&DeviceEvent::Commit(at, ram.len() as u64)));
        self.pending.extend_from_slice(ram);
        self.write_pending()?;
        self.file.sync().map_err(in_file(&self.path))?;
        (self.header.journal_bytes, self.header.last_end) = (self.journal_bytes, end);
        self.write_header().map_err(in_file(&self.path))?;
        self.is_changed = false;
        let old = std::mem::replace(&mut self.ram_bytes, ram.len() as u64);
        // The file need not have holes.
        let _ = old > 0 && self.file.punch(before - old, old);
        Ok(())
    }

    /// Bytes of the journal so far.
    pub fn journal_bytes(&self) -> u64 {
        self.journal_bytes + self.pending.len() as u64
    }

    /// The device is about to go back. Until the next commit, pages and journal need not fit.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn begin_going_back(&mut self) -> Result<(), SimError> {
        self.header.last_end = LastEnd::GoingBack;
        self.write_header().map_err(in_file(&self.path))
    }

    /// Takes back what has happened since the journal had so many bytes.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn go_back_to(&mut self, journal_bytes: u64) -> Result<(), SimError> {
        self.write_pending()?;
        (self.journal_bytes, self.ram_bytes, self.is_changed) = (journal_bytes, 0, true);
        self.file.set_length(self.header.journal_at() + journal_bytes).map_err(in_file(&self.path))
    }

    /// Ends the session well, at this instant of the workload's clock. Returns whether that was a commit: if nothing was
    /// written in the session, the file stays as it was.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn close(mut self, at: Time) -> Result<bool, SimError> {
        if self.is_changed || self.has_broken_off() {
            return self.commit_as(LastEnd::Well, at, &[]).map(|()| true);
        }
        if self.journal_bytes > self.header.journal_bytes {
            let end = self.header.journal_at() + self.header.journal_bytes;
            self.file.set_length(end).map_err(in_file(&self.path))?;
        }
        Ok(false)
    }
}

impl StoreHeader {
    /// First byte of the journal.
    fn journal_at(&self) -> u64 {
        HEADER_BYTES + SLOTS * self.pages * u64::from(self.page_bytes)
    }

    /// The header of a file, which must be that of a device of this spec.
    fn found_in(&self, file: &StoreFile, path: &Path) -> Result<StoreHeader, SimError> {
        let refuse = |what: String| Err(in_file(path)(what));
        let mut bytes = Vec::new();
        let start = file.reader_at(0).map_err(in_file(path))?;
        start.take(HEADER_BYTES).read_to_end(&mut bytes).map_err(in_file(path))?;
        let Ok(found) = serde_json::from_slice::<StoreHeader>(&bytes) else {
            return refuse(format!("no store of a device; allowed: a file of format {FORMAT}, or none"));
        };
        let of = |header: &StoreHeader| {
            let StoreHeader { format, config_sha256, scale, pages, page_bytes, .. } = header;
            (format.clone(), config_sha256.clone(), scale.to_bits(), *pages, *page_bytes)
        };
        if of(&found) != of(self) {
            return refuse(format!(
                "holds a device of another spec (config_sha256 {:.12}…, scale {}), this one is {:.12}…, scale {}; \
                 serve it with its own spec, or name another file",
                found.config_sha256, found.scale, self.config_sha256, self.scale
            ));
        }
        let length = file.length().map_err(in_file(path))?;
        if found.journal_at().checked_add(found.journal_bytes).is_none_or(|end| end > length) {
            return refuse(format!("is cut short: it has {length} bytes, and its journal ends behind them"));
        }
        if found.last_end == LastEnd::GoingBack {
            let what = "its last session ended while it went back to a snapshot, so pages and state need not fit; name \
                        another file";
            return refuse(what.into());
        }
        Ok(found)
    }
}
