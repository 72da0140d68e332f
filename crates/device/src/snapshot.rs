//! A device in a file: what its flash and its controller hold, at an instant at which nothing happens.

use std::path::Path;
use std::sync::Arc;

use pumice_config::SpecSource;
use pumice_engine::snapshot::{SealKey, SnapshotFile, SnapshotHeader};
use serde_json::Value;

use crate::{Device, DeviceError};

/// The build that wrote a device; no other reads it.
fn engine() -> String {
    format!("pumice-device {} {}", env!("CARGO_PKG_VERSION"), option_env!("PUMICE_COMMIT").unwrap_or_default())
}

impl Device {
    /// Writes the device to a file, sealed with a key: only who has the key can make such a file. What the device holds
    /// is in it, with its bytes if it keeps them, and its wear; not its clock, and nothing that was measured.
    ///
    /// # Errors
    /// A device without power, or in which something is under way; one with code of its user's own, whose state is its
    /// own affair; a file that cannot be written.
    pub fn snapshot(&self, path: &Path, key: &SealKey) -> Result<(), DeviceError> {
        self.check_is_on()?;
        if self.outstanding() > 0 || self.session.ssd.next_event().is_some() {
            return Err(DeviceError::Snapshot(
                "something is under way; a snapshot is of a device in which nothing happens (advance it first)".into(),
            ));
        }
        let mut device = self.session.ssd.written_down().map_err(DeviceError::Snapshot)?;
        let data = self.session.ssd.observer.data.as_ref().map(|data| data.path.written_down()).transpose();
        let data = data.map_err(DeviceError::Snapshot)?;
        device.extend(data.iter().flatten());
        let header = SnapshotHeader {
            engine: engine(),
            identity: self.config.digest(),
            keys: data.map_or(Value::Null, |data| data.len().into()),
            bytes: device.len() as u64,
        };
        let refuse = |error| DeviceError::Snapshot(format!("{}: {error}", path.display()));
        SnapshotFile::write(path, &header, &device, key).map_err(refuse)
    }

    /// A drive of a spec as it was when [`Device::snapshot`] wrote it: it keeps bytes if that one did. Its clock begins at
    /// 0, and so does its result.
    ///
    /// # Errors
    /// As [`Device::open`]; a file that is no snapshot, is damaged, was sealed with another key, or is of a drive of
    /// another spec or build.
    pub fn open_snapshot(spec: &SpecSource, path: &Path, key: &SealKey) -> Result<Device, DeviceError> {
        let refuse = |why: &str| DeviceError::Snapshot(format!("{}: {why}", path.display()));
        let SnapshotFile { header, device: kept } = SnapshotFile::read(path, key).map_err(|why| refuse(&why))?;
        let data_bytes = header.keys.as_u64();
        let mut device = Device::fresh(spec, data_bytes.is_some())?;
        if header.engine != engine() {
            return Err(refuse("was written by another build"));
        }
        if header.identity != device.config.digest() {
            return Err(refuse("is of a device of another spec"));
        }
        let config = Arc::clone(&device.config);
        let (kept, data) = kept
            .split_at_checked(kept.len().saturating_sub(data_bytes.unwrap_or(0) as usize))
            .ok_or_else(|| refuse("holds no device"))?;
        device.session.ssd.restore(&config, kept).map_err(|why| refuse(&why))?;
        device.leave_copies_unguarded();
        device.keep_data(spec, data_bytes.is_some());
        if let Some(own) = &mut device.session.ssd.observer.data {
            own.path.restore(data).map_err(|why| refuse(&why))?;
        }
        Ok(device)
    }
}
