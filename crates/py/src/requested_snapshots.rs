//! Snapshots of aged devices, as a request names them.

use std::path::PathBuf;
use std::sync::Arc;

use pumice_engine::snapshot::{DiskPlace, Memory, Places, Shelf};
use serde::Deserialize;

/// Devices in memory, for all runs of this process.
static MEMORY: Memory = Memory::new();

/// Snapshots as a request names them; sizes in MiB.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedSnapshots {
    /// What tells one build of the engine from another.
    engine: String,
    /// Keeps devices in memory up to this size.
    #[serde(default)]
    memory_mib: Option<u64>,
    /// Keeps them in a folder up to this size.
    #[serde(default)]
    folder: Option<(PathBuf, u64)>,
    /// Takes the device from this file.
    #[serde(default)]
    file: Option<PathBuf>,
}

impl RequestedSnapshots {
    /// The places that it names.
    pub fn shelf(self) -> Arc<Shelf> {
        let folder = self.folder.map(|(folder, mib)| DiskPlace::Folder(folder, mib << 20));
        let places = Places {
            memory: self.memory_mib.map(|mib| (&MEMORY, mib << 20)),
            disk: self.file.map(DiskPlace::File).or(folder),
        };
        Arc::new(Shelf::new(self.engine, places))
    }
}
