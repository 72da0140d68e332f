//! The file that keeps a device from one session to the next: its pages, each at the place of its physical page, and
//! behind them the requests that led to its state.
//!
//! Erased pages are holes, so the file takes as much room as the flash holds data. The state is not written down:
//! the simulation is a function of spec and requests, so replaying them gives it anew, to the last counter.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pumice_types::Geometry;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::journal::{self, DeviceEvent};

/// Bytes in front of the first page.
const HEADER_BYTES: u64 = 4096;

/// Bytes that are copied at once.
const COPIED_BYTES: u64 = 1 << 18;

const FORMAT: &str = "pumice.store/1";

/// What the file says of itself, as JSON in its first bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoreHeader {
    format: String,
    /// Digest of the spec that is served.
    config_sha256: String,
    scale: f64,
    pages: u64,
    page_bytes: u32,
    /// Bytes of the journal.
    journal_bytes: u64,
    /// The last session ended well.
    is_closed: bool,
}

/// The pages of a store.
pub struct StoredPages {
    file: File,
    page_bytes: u64,
    /// Pages of the device.
    pages: u64,
    path: PathBuf,
}

/// An open store.
pub struct Store {
    header: StoreHeader,
    path: PathBuf,
    file: File,
    /// Takes new requests behind those that are there.
    journal: BufWriter<File>,
}

impl Store {
    /// Opens a store, or makes one if there is no such file.
    ///
    /// # Errors
    /// A file that is no store, that holds a device of another spec, or whose last session did not end well; in one
    /// line.
    pub fn open(path: &Path, config_sha256: &str, scale: f64, geometry: &Geometry) -> Result<Store, String> {
        let wanted = StoreHeader {
            format: FORMAT.into(),
            config_sha256: config_sha256.into(),
            scale,
            pages: geometry.pages(),
            page_bytes: geometry.page_bytes,
            journal_bytes: 0,
            is_closed: true,
        };
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(in_file(path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| format!("{}: another process uses it", path.display()))?;
        let is_new = file.metadata().map_err(in_file(path))?.len() == 0;
        let header = if is_new { wanted } else { wanted.found_in(&mut file, path)? };
        let mut store = Store::with(header, path, file).map_err(in_file(path))?;
        if is_new {
            store.write_header(true).map_err(in_file(path))?;
        }
        Ok(store)
    }

    fn with(header: StoreHeader, path: &Path, file: File) -> io::Result<Store> {
        let mut end = file.try_clone()?;
        let journal_end = header.journal_at() + header.journal_bytes;
        file.set_len(journal_end)?;
        end.seek(SeekFrom::Start(journal_end))?;
        Ok(Store { header, path: path.to_owned(), file, journal: BufWriter::with_capacity(1 << 16, end) })
    }

    fn write_header(&mut self, is_closed: bool) -> io::Result<()> {
        self.header.is_closed = is_closed;
        let mut text = serde_json::to_vec(&self.header)?;
        text.resize(HEADER_BYTES as usize, b' ');
        self.file.write_all_at(&text, 0)?;
        self.file.sync_data()
    }

    /// Its pages.
    ///
    /// # Errors
    /// The system has no handle left.
    pub fn pages(&self) -> io::Result<StoredPages> {
        let page_bytes = u64::from(self.header.page_bytes);
        Ok(StoredPages { file: self.file.try_clone()?, page_bytes, pages: self.header.pages, path: self.path.clone() })
    }

    /// What happened in earlier sessions, oldest first, given to `each`.
    ///
    /// # Errors
    /// The file's, or what `each` says; in one line.
    pub fn replay(&self, mut each: impl FnMut(&DeviceEvent) -> Result<(), String>) -> Result<(), String> {
        // A handle of its own: this one's place in the file is not the writer's.
        let mut file = File::open(&self.path).map_err(in_file(&self.path))?;
        file.seek(SeekFrom::Start(self.header.journal_at())).map_err(in_file(&self.path))?;
        let mut input = BufReader::with_capacity(1 << 16, file.take(self.header.journal_bytes));
        while let Some(event) = journal::read_next(&mut input).map_err(in_file(&self.path))? {
            each(&event)?;
        }
        Ok(())
    }

    /// Adds what is about to happen in this session. Pages change by such events alone, so the first one of a session
    /// marks the store as one whose session must end well.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn add(&mut self, event: &DeviceEvent) -> Result<(), String> {
        let mark = if self.header.is_closed { self.write_header(false) } else { Ok(()) };
        self.header.journal_bytes += journal::ENTRY_BYTES as u64;
        mark.and_then(|()| self.journal.write_all(&journal::encode(event))).map_err(in_file(&self.path))
    }

    /// Bytes of the journal so far.
    pub fn journal_bytes(&self) -> u64 {
        self.header.journal_bytes
    }

    /// Takes back what has happened since the journal had so many bytes. Until the session ends well, pages and journal
    /// need not fit.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn go_back_to(&mut self, journal_bytes: u64) -> Result<(), String> {
        let end = self.header.journal_at() + journal_bytes;
        self.header.journal_bytes = journal_bytes;
        let marked = self.write_header(false).and_then(|()| self.journal.flush());
        let cut = marked.and_then(|()| self.file.set_len(end));
        cut.and_then(|()| self.journal.get_mut().seek(SeekFrom::Start(end))).map(drop).map_err(in_file(&self.path))
    }

    /// Ends the session well.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn close(mut self) -> Result<(), String> {
        let ended = self.journal.flush().and_then(|()| self.file.sync_data());
        ended.and_then(|()| self.write_header(true)).map_err(in_file(&self.path))
    }
}

/// An error of a file, with the file's name.
fn in_file(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}

impl StoreHeader {
    /// First byte of the journal.
    fn journal_at(&self) -> u64 {
        HEADER_BYTES + self.pages * u64::from(self.page_bytes)
    }

    /// The header of a file, which must be that of a device of this spec that was closed.
    fn found_in(&self, file: &mut File, path: &Path) -> Result<StoreHeader, String> {
        let refuse = |what: String| Err(format!("{}: {what}", path.display()));
        let mut bytes = Vec::new();
        file.take(HEADER_BYTES).read_to_end(&mut bytes).map_err(in_file(path))?;
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
        if !found.is_closed {
            return refuse(
                "its last session did not end well, so pages and state need not fit; name another file".into(),
            );
        }
        Ok(found)
    }
}

impl StoredPages {
    /// Reads a part of a page.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn read(&self, page: u64, from: usize, out: &mut [u8]) -> Result<(), String> {
        self.file.read_exact_at(out, self.at(page) + from as u64).map_err(in_file(&self.path))
    }

    /// Writes a page.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn write(&self, page: u64, bytes: &[u8]) -> Result<(), String> {
        self.file.write_all_at(bytes, self.at(page)).map_err(in_file(&self.path))
    }

    /// Makes consecutive pages a hole.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn clear(&self, first: u64, pages: u64) -> Result<(), String> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if fallocate(&self.file, flags, self.at(first), pages * self.page_bytes).is_ok() {
                return Ok(());
            }
        }
        // A file system without holes.
        let zeroes = vec![0; self.page_bytes as usize];
        (first..first + pages).try_for_each(|page| self.write(page, &zeroes))
    }

    /// Copies the pages into a file without a name, which is gone when nobody uses it any more.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn copied(&self) -> Result<StoredPages, String> {
        let folder = self.path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let file = tempfile::tempfile_in(folder).map_err(in_file(folder))?;
        let copy = StoredPages { file, page_bytes: self.page_bytes, pages: self.pages, path: folder.to_owned() };
        copy.file.set_len(copy.at(copy.pages)).map_err(in_file(folder))?;
        copy.take(self)?;
        Ok(copy)
    }

    /// Makes these pages what others are that were copied from them.
    ///
    /// # Errors
    /// The file's, in one line.
    pub fn go_back_to(&self, copied: &StoredPages) -> Result<(), String> {
        self.clear(0, self.pages)?;
        self.take(copied)
    }

    /// Takes the pages of another file over holes, and leaves holes where it has nothing but zeroes.
    fn take(&self, other: &StoredPages) -> Result<(), String> {
        let at_once = (COPIED_BYTES / self.page_bytes).max(1);
        let mut bytes = Vec::new();
        for first in (0..self.pages).step_by(at_once as usize) {
            let pages = at_once.min(self.pages - first);
            bytes.resize((pages * self.page_bytes) as usize, 0);
            other.read(first, 0, &mut bytes)?;
            if bytes.iter().any(|&byte| byte != 0) {
                self.write(first, &bytes)?;
            }
        }
        Ok(())
    }

    fn at(&self, page: u64) -> u64 {
        HEADER_BYTES + page * self.page_bytes
    }
}
