//! Where aged devices are kept: in memory for the other runs of a process, and in a folder for other processes. Both
//! are bounded; what was not used for longest goes first.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use pumice_config::aged::{AgedDevices, AgedIdentity};

use super::file::{SealKey, SnapshotFile, SnapshotHeader};

/// How the names of snapshots in a folder end.
const SUFFIX: &str = "snap";

/// Where the device of a run came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceOrigin {
    /// The run aged it.
    #[default]
    Aged,
    /// Another run of the process aged it.
    Memory,
    /// The device was in a file.
    File,
}

impl DeviceOrigin {
    /// Name of the origin in results.
    pub fn name(self) -> &'static str {
        match self {
            DeviceOrigin::Aged => "aged",
            DeviceOrigin::Memory => "memory",
            DeviceOrigin::File => "file",
        }
    }
}

/// Devices in memory, those used last at the end.
#[derive(Debug, Default)]
pub struct Memory(Mutex<VecDeque<(String, Arc<Vec<u8>>)>>);

impl Memory {
    /// Nothing kept.
    pub const fn new() -> Memory {
        Memory(Mutex::new(VecDeque::new()))
    }

    fn find(&self, identity: &str) -> Option<Arc<Vec<u8>>> {
        let mut devices = locked(&self.0);
        let at = devices.iter().position(|(kept, _)| kept == identity)?;
        let found = devices.remove(at)?;
        let device = found.1.clone();
        devices.push_back(found);
        Some(device)
    }

    /// Keeps a device, and lets go of others as far as all of them are more than `limit` bytes.
    fn keep(&self, identity: &str, device: Arc<Vec<u8>>, limit: u64) {
        let mut devices = locked(&self.0);
        devices.retain(|(kept, _)| kept != identity);
        devices.push_back((identity.to_string(), device));
        while devices.iter().map(|(_, device)| device.len() as u64).sum::<u64>() > limit {
            devices.pop_front();
        }
    }
}

/// Where devices are looked for and kept.
#[derive(Debug, Default)]
pub struct Places {
    /// In memory, with the limit in bytes.
    pub memory: Option<(&'static Memory, u64)>,
    /// On disk, sealed with this key.
    pub disk: Option<(DiskPlace, SealKey)>,
}

/// Where on disk devices are looked for.
#[derive(Debug)]
pub enum DiskPlace {
    /// In a folder, with the limit in bytes. Devices are kept there too.
    Folder(PathBuf, u64),
    /// In the one file that the device is taken from. Nothing is written.
    File(PathBuf),
}

/// What became of the device of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Report {
    origin: DeviceOrigin,
    refusals: Vec<String>,
}

/// The aged devices that one run may take and leave.
#[derive(Debug)]
pub struct Shelf {
    engine: String,
    places: Places,
    report: Mutex<Report>,
}

impl Shelf {
    /// Devices in these places that this engine wrote. `engine` tells one build of it from another.
    pub fn new(engine: String, places: Places) -> Shelf {
        Shelf { engine, places, report: Mutex::default() }
    }

    /// Where the device of the run came from.
    pub fn origin(&self) -> DeviceOrigin {
        locked(&self.report).origin
    }

    /// A line for each snapshot that was refused or could not be kept.
    pub fn refusals(&self) -> Vec<String> {
        locked(&self.report).refusals.clone()
    }

    fn note(&self, line: String) {
        locked(&self.report).refusals.push(line);
    }

    fn found(&self, origin: DeviceOrigin, device: Arc<Vec<u8>>) -> Arc<Vec<u8>> {
        locked(&self.report).origin = origin;
        device
    }

    /// The file in which a device of this identity is to be found, if there may be one, and the key that it was sealed
    /// with.
    fn path(&self, identity: &str) -> Option<(PathBuf, &SealKey)> {
        let (place, key) = self.places.disk.as_ref()?;
        let path = match place {
            DiskPlace::Folder(folder, _) => Some(name_in(folder, identity)).filter(|path| path.exists()),
            DiskPlace::File(path) => Some(path.clone()),
        };
        Some((path?, key))
    }

    /// The device in a file, if it is the one that is looked for.
    fn read(&self, path: &Path, key: &SealKey, identity: &str) -> Result<Vec<u8>, String> {
        let SnapshotFile { header, device } = SnapshotFile::read(path, key)?;
        if header.engine != self.engine {
            return Err("was written by another build of the engine".into());
        }
        if header.identity != identity {
            return Err("is the snapshot of another device".into());
        }
        Ok(device)
    }

    /// Writes a device into the folder, and removes others that were not used for longest as far as all of them are
    /// more than its limit.
    fn write(&self, identity: &AgedIdentity, device: &[u8]) -> Result<(), String> {
        let Some((DiskPlace::Folder(folder, limit), key)) = &self.places.disk else { return Ok(()) };
        let path = name_in(folder, &identity.sha256);
        let header = self.header(identity, device);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        SnapshotFile::write(&path, &header, device, key)
            .map_err(|error| format!("{}: the snapshot could not be written: {error}", path.display()))?;
        make_room(folder, *limit);
        Ok(())
    }

    /// What stands in the header of a device's snapshot.
    pub fn header(&self, identity: &AgedIdentity, device: &[u8]) -> SnapshotHeader {
        let AgedIdentity { keys, sha256 } = identity.clone();
        SnapshotHeader { engine: self.engine.clone(), identity: sha256, keys, bytes: device.len() as u64 }
    }
}

impl AgedDevices for Shelf {
    fn find(&self, identity: &AgedIdentity) -> Option<Arc<Vec<u8>>> {
        let name = &identity.sha256;
        if let Some(device) = self.places.memory.and_then(|(memory, _)| memory.find(name)) {
            return Some(self.found(DeviceOrigin::Memory, device));
        }
        let (path, key) = self.path(name)?;
        match self.read(&path, key, name) {
            Ok(device) => {
                note_use(&path);
                let device = Arc::new(device);
                if let Some((memory, limit)) = self.places.memory {
                    memory.keep(name, device.clone(), limit);
                }
                Some(self.found(DeviceOrigin::File, device))
            }
            Err(why) => {
                self.note(format!("{}: {why}; the device is aged anew", path.display()));
                None
            }
        }
    }

    fn keep(&self, identity: &AgedIdentity, device: Vec<u8>) {
        if let Err(line) = self.write(identity, &device) {
            self.note(line);
        }
        if let Some((memory, limit)) = self.places.memory {
            memory.keep(&identity.sha256, Arc::new(device), limit);
        }
    }

    fn refuse(&self, why: &str) {
        let mut report = locked(&self.report);
        report.origin = DeviceOrigin::Aged;
        report.refusals.push(format!("the snapshot {why}; the device is aged anew"));
    }
}

/// The file of a device in a folder.
fn name_in(folder: &Path, identity: &str) -> PathBuf {
    folder.join(format!("{identity}.{SUFFIX}"))
}

/// Notes on a file that it was used now: that decides which snapshot goes first. A file that can only be read stays as
/// it is.
#[allow(clippy::disallowed_methods, reason = "no result depends on when a file was used")]
fn note_use(path: &Path) {
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes the snapshots of a folder that were not used for longest until all of them are at most `limit` bytes. What
/// cannot be removed stays.
fn make_room(folder: &Path, limit: u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut snapshots: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|suffix| suffix == SUFFIX))
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        })
        .collect();
    snapshots.sort();
    let mut bytes: u64 = snapshots.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, path) in snapshots {
        if bytes <= limit {
            return;
        }
        if fs::remove_file(&path).is_ok() {
            bytes -= size;
        }
    }
}

/// What a lock holds; nothing in it is ever left half changed.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
