//! An aged device in a file: a line that names the format, a line of JSON that says what the device is, the device
//! compressed, and a digest of all of that.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version of the format.
const FORMAT: &str = "pumice.snapshot/1";

/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// Level of the compression: the fastest that shrinks devices well.
const LEVEL: i32 = 1;

/// What a snapshot is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotHeader {
    /// The engine that wrote it; no other reads it.
    pub engine: String,
    /// SHA-256 of the keys.
    pub identity: String,
    /// The keys that the device depends on, in sections, and its scale.
    pub keys: Value,
    /// Bytes of the device.
    pub bytes: u64,
}

/// A snapshot that was read and verified.
pub struct SnapshotFile {
    /// What it is of.
    pub header: SnapshotHeader,
    /// The device.
    pub device: Vec<u8>,
}

impl SnapshotFile {
    /// Writes a snapshot, all of it or nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(path: &Path, header: &SnapshotHeader, device: &[u8]) -> io::Result<()> {
        let mut content = format!("{FORMAT}\n{}\n", serde_json::to_string(header)?).into_bytes();
        content.extend(zstd::stream::encode_all(device, LEVEL)?);
        let digest = Sha256::digest(&content);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begun = path.with_file_name(format!(".{name}.{}.begun", std::process::id()));
        let written = File::create(&begun).and_then(|mut file| {
            file.write_all(&content)?;
            file.write_all(&digest)
        });
        let done = written.and_then(|()| fs::rename(&begun, path));
        if done.is_err() {
            // What is half written goes; the error of the writing is the one to tell.
            let _ = fs::remove_file(&begun);
        }
        done
    }

    /// Reads a snapshot and verifies its digest.
    ///
    /// # Errors
    /// In words that follow the file's name: it cannot be read, is no snapshot, or was changed.
    pub fn read(path: &Path) -> Result<SnapshotFile, String> {
        let content = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
        let none = || format!("is no snapshot; expected format {FORMAT}");
        let rest =
            content.strip_prefix(FORMAT.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n")).ok_or_else(none)?;
        let changed = || "is cut short or was changed after it was written".to_string();
        let signed = content.len().checked_sub(DIGEST_BYTES).ok_or_else(changed)?;
        if Sha256::digest(&content[..signed])[..] != content[signed..] {
            return Err(changed());
        }
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(none)?;
        let header: SnapshotHeader = serde_json::from_slice(&rest[..end]).map_err(|_| none())?;
        let compressed = rest[end + 1..].strip_suffix(&content[signed..]).ok_or_else(none)?;
        let device = zstd::stream::decode_all(compressed).map_err(|_| none())?;
        if device.len() as u64 != header.bytes {
            return Err(none());
        }
        Ok(SnapshotFile { header, device })
    }
}
