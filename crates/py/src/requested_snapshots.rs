//! Snapshots of aged devices, as a request names them.

use std::path::PathBuf;
use std::sync::Arc;

use pumice_engine::snapshot::{DiskPlace, Memory, Places, SealKey, Shelf};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::SpecError;

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
    /// The file with the key of folder or file.
    #[serde(default)]
    key: Option<PathBuf>,
}

impl RequestedSnapshots {
    /// The places that it names.
    ///
    /// # Errors
    /// The key cannot be read.
    pub fn shelf(self) -> PyResult<Arc<Shelf>> {
        let folder = self.folder.map(|(folder, mib)| DiskPlace::Folder(folder, mib << 20));
        let place = self.file.map(DiskPlace::File).or(folder);
        let key = self.key.map(|path| SealKey::read(&path)).transpose().map_err(SpecError::new_err)?;
        if place.is_some() && key.is_none() {
            return Err(PyValueError::new_err("request: snapshots on disk need a key"));
        }
        let places = Places { memory: self.memory_mib.map(|mib| (&MEMORY, mib << 20)), disk: place.zip(key) };
        Ok(Arc::new(Shelf::new(self.engine, places)))
    }
}
