//! The file of a store, and everything that is done to it.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use pumice_engine::SimError;
use rustix::fs::{FlockOperation, flock};

/// An error of a file, with the file's name.
pub fn in_file<E: Display>(path: &Path) -> impl Fn(E) -> SimError + '_ {
    move |error| SimError::Output(format!("{}: {error}", path.display()))
}

/// A change of a file, as tests see it.
#[cfg(test)]
#[derive(Clone, Debug)]
pub enum FileChange {
    /// Bytes are written at a place.
    Write(u64, Vec<u8>),
    /// A place becomes a hole: where, and how long.
    Punch(u64, u64),
    /// The file gets a length.
    Length(u64),
    /// All that came before outlasts the machine.
    Sync,
}

#[cfg(test)]
thread_local! {
    /// What this thread has done to files, if that is noted.
    pub static CHANGES: std::cell::RefCell<Option<Vec<FileChange>>> = const { std::cell::RefCell::new(None) };
}

/// A handle of the file.
pub struct StoreFile(File);

impl StoreFile {
    /// Opens a file, or makes one. `None`: another process uses it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Option<StoreFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(StoreFile(file)))
    }

    /// A file without a name in a folder, which is gone when nobody uses it any more.
    ///
    /// # Errors
    /// The system's.
    pub fn unnamed_in(folder: &Path) -> io::Result<StoreFile> {
        tempfile::tempfile_in(folder).map(StoreFile)
    }

    /// Returns another handle of the file.
    ///
    /// # Errors
    /// The system has none left.
    pub fn another(&self) -> io::Result<StoreFile> {
        self.0.try_clone().map(StoreFile)
    }

    /// Returns a reader of the file's bytes from a place on.
    ///
    /// # Errors
    /// The system's.
    pub fn reader_at(&self, at: u64) -> io::Result<impl Read + Seek + use<>> {
        let mut file = self.0.try_clone()?;
        file.seek(SeekFrom::Start(at))?;
        Ok(file)
    }

    /// Returns how many bytes the file has.
    ///
    /// # Errors
    /// The system's.
    pub fn length(&self) -> io::Result<u64> {
        self.0.metadata().map(|found| found.len())
    }

    /// Fills `out` from a place on.
    ///
    /// # Errors
    /// The system's, or the file ends before.
    pub fn read(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(out, at)
    }

    /// Writes bytes at a place.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        #[cfg(test)]
        note(|| FileChange::Write(at, bytes.to_vec()));
        self.0.write_all_at(bytes, at)
    }

    /// Gives the file a length.
    ///
    /// # Errors
    /// The system's.
    pub fn set_length(&self, bytes: u64) -> io::Result<()> {
        #[cfg(test)]
        note(|| FileChange::Length(bytes));
        self.0.set_len(bytes)
    }

    /// All that was done so far outlasts the machine.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()?;
        #[cfg(test)]
        note(|| FileChange::Sync);
        Ok(())
    }

    /// Makes a place a hole, which reads as zeroes. `false`: the system or the file's file system knows none.
    pub fn punch(&self, at: u64, bytes: u64) -> bool {
        #[cfg(test)]
        note(|| FileChange::Punch(at, bytes));
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&self.0, flags, at, bytes).is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        false
    }
}

#[cfg(test)]
fn note(change: impl FnOnce() -> FileChange) {
    CHANGES.with_borrow_mut(|changes| {
        if let Some(changes) = changes {
            changes.push(change());
        }
    });
}
