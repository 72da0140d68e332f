//! An aged device in a file: a line that names the format, a line of JSON that says what the device is, the device
//! compressed, a digest of all of that, and the seal of whoever wrote it.
//!
//! A device is the whole state of a controller and its chips, tens of megabytes that the engine goes on with. No check
//! that is cheaper than ageing the device anew can tell a state that somebody made up from one that was reached. So a
//! device is taken from a file only if its seal proves that it was written with the reader's own key.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version of the format.
const FORMAT: &str = "pumice.snapshot/2";

/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// The least that a file with a key has, in bytes, and the most of it that is read.
const KEY_BYTES: std::ops::RangeInclusive<u64> = 32..=4096;

/// A key with which snapshots are sealed: nobody who does not know it can make one.
#[derive(Clone)]
pub struct SealKey([u8; DIGEST_BYTES]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey")
    }
}

impl SealKey {
    /// The key in a file, which may hold any bytes.
    ///
    /// # Errors
    /// The file cannot be read, or is too short or too long to be a key; in one line.
    pub fn read(path: &Path) -> Result<SealKey, String> {
        let refuse = |what: String| format!("{}: the key of snapshots {what}", path.display());
        let mut content = Vec::new();
        let read = File::open(path).and_then(|file| file.take(KEY_BYTES.end() + 1).read_to_end(&mut content));
        read.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        if !KEY_BYTES.contains(&(content.len() as u64)) {
            let (least, most) = (KEY_BYTES.start(), KEY_BYTES.end());
            return Err(refuse(format!("has {} bytes; allowed: {least} to {most}", content.len())));
        }
        Ok(SealKey::of(&content))
    }

    /// The key that is made of these bytes.
    pub fn of(bytes: &[u8]) -> SealKey {
        SealKey(Sha256::digest(bytes).into())
    }

    /// The seal of a digest. Both parts have fixed lengths, so no seal can be made out of another.
    fn seal(&self, digest: &[u8; DIGEST_BYTES]) -> [u8; DIGEST_BYTES] {
        Sha256::new().chain_update(self.0).chain_update(digest).finalize().into()
    }
}

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
    /// Engine, identity and keys of the device.
    pub header: SnapshotHeader,
    /// The device.
    pub device: Vec<u8>,
}

impl SnapshotFile {
    /// Writes a snapshot, all of it or nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(path: &Path, header: &SnapshotHeader, device: &[u8], key: &SealKey) -> io::Result<()> {
        let mut content = format!("{FORMAT}\n{}\n", serde_json::to_string(header)?).into_bytes();
        content.extend(zstd::stream::encode_all(device, LEVEL)?);
        let digest: [u8; DIGEST_BYTES] = Sha256::digest(&content).into();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begun = path.with_file_name(format!(".{name}.{}.begun", std::process::id()));
        let written = File::create(&begun).and_then(|mut file| {
            file.write_all(&content)?;
            file.write_all(&digest)?;
            file.write_all(&key.seal(&digest))
        });
        let done = written.and_then(|()| fs::rename(&begun, path));
        if done.is_err() {
            // What is half written goes; the error of the writing is the one to tell.
            let _ = fs::remove_file(&begun);
        }
        done
    }

    /// Reads a snapshot and verifies its digest and its seal.
    ///
    /// # Errors
    /// In words that follow the file's name: it cannot be read, is not a snapshot, was changed, or was written by somebody
    /// else.
    pub fn read(path: &Path, key: &SealKey) -> Result<SnapshotFile, String> {
        let content = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
        let none = || format!("is not a snapshot; expected format {FORMAT}");
        let rest =
            content.strip_prefix(FORMAT.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n")).ok_or_else(none)?;
        let changed = || "is cut short or was changed after it was written".to_string();
        let (rest_and_digest, seal) = rest.split_last_chunk::<DIGEST_BYTES>().ok_or_else(changed)?;
        let (rest, digest) = rest_and_digest.split_last_chunk::<DIGEST_BYTES>().ok_or_else(changed)?;
        let digested = &content[..content.len() - 2 * DIGEST_BYTES];
        if Sha256::digest(digested)[..] != digest[..] {
            return Err(changed());
        }
        if key.seal(digest) != *seal {
            return Err("was not written with your key, so nothing vouches for the device in it".into());
        }
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(none)?;
        let header: SnapshotHeader = serde_json::from_slice(&rest[..end]).map_err(|_| none())?;
        let mut device = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(&rest[end + 1..]).map_err(|_| none())?;
        decoder.take(header.bytes.saturating_add(1)).read_to_end(&mut device).map_err(|_| none())?;
        if device.len() as u64 != header.bytes {
            return Err(none());
        }
        Ok(SnapshotFile { header, device })
    }
}
