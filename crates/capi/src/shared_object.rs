//! Shared objects that export a table of functions by one entry.

use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use pumice_types::{SpecError, refuse};
use sha2::{Digest, Sha256};

use crate::InterfaceVersion;

/// What a shared object must have.
pub struct Interface {
    /// The header that describes it.
    pub header: &'static str,
    /// Version of the interface.
    pub version: InterfaceVersion,
    /// Bytes of the table of each minor version, from 0 on.
    pub table_bytes: &'static [usize],
    /// The function that returns the table.
    pub entry: &'static str,
    /// Words of the error if the function is missing.
    pub lacks: &'static str,
}

/// A shared object that is loaded, and its table.
pub struct Loaded<T> {
    /// The object: the table's pointers are good as long as it lives.
    pub library: Library,
    /// SHA-256 of its file, in hexadecimal.
    pub sha256: String,
    /// The table.
    pub table: T,
}

/// Loads a shared object and its table. `T` is the table as the header has it: it begins with version and size, two
/// `u32`, and any bytes that the header allows are a `T`, zeros too. What an older version does not have is zero.
///
/// # Errors
/// One line: there is no such file, it is not a shared object, or one without the entry or for another version.
pub fn load<T: Copy>(path: &Path, interface: &Interface) -> Result<Loaded<T>, SpecError> {
    let shown = path.display();
    let content = fs::read(path).map_err(|error| refuse!("{shown}: {error}"))?;
    let sha256: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    check_whole(&content).map_err(|error| refuse!("{shown}: {error}"))?;
    // Without a slash the system would search its own folders.
    let path: PathBuf = fs::canonicalize(path).map_err(|error| refuse!("{shown}: {error}"))?;
    // SAFETY: loading runs whatever code the object has for that. The user named this file to be run.
    let library = unsafe { Library::new(&path) };
    let library =
        library.map_err(|error| refuse!("{shown}: is not a shared object: {}", first_line(&error.to_string())))?;
    let table = table_of(&library, interface).map_err(|error| refuse!("{shown}: {error}"))?;
    Ok(Loaded { library, sha256, table })
}

/// First bytes of a shared object of 64 bits, its numbers with the lowest byte first.
const ELF: &[u8] = b"\x7fELF\x02\x01";

/// Where a file of this kind says where its segments are described, how long a description is, and how many there are.
const SEGMENTS_AT: (usize, usize, usize) = (32, 54, 56);

/// Where the description of a segment says where it begins in the file, and how long it is there.
const SEGMENT: (usize, usize) = (8, 32);

/// Refuses a shared object that ends before its segments do. The system's loader would map it, and whoever touches what
/// is missing is killed by a signal. What is no such file is left to the loader, which says so.
///
/// # Errors
/// Refuses a shared object that is cut short.
fn check_whole(content: &[u8]) -> Result<(), SpecError> {
    let long = |at: usize| content.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
    let short = |at: usize| content.get(at..)?.first_chunk().copied().map(u16::from_le_bytes).map(usize::from);
    if !content.starts_with(ELF) {
        return Ok(());
    }
    let end_of = |nth: usize| {
        let first = usize::try_from(long(SEGMENTS_AT.0)?).ok()?;
        let at = first.checked_add(nth.checked_mul(short(SEGMENTS_AT.1)?)?)?;
        long(at.checked_add(SEGMENT.0)?)?.checked_add(long(at.checked_add(SEGMENT.1)?)?)
    };
    let is_there = |nth| end_of(nth).is_some_and(|end| end <= content.len() as u64);
    match short(SEGMENTS_AT.2) {
        Some(segments) if (0..segments).all(is_there) => Ok(()),
        Some(_) | None => Err("is a shared object that is cut short".into()),
    }
}

/// The first line of a loader's message, without the path that it repeats.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(": ").map_or(line, |(_, rest)| rest).to_string()
}

/// The table that a shared object exports.
fn table_of<T: Copy>(library: &Library, interface: &Interface) -> Result<T, SpecError> {
    type Entry<T> = unsafe extern "C" fn() -> *const T;
    let Interface { header, version: library_version, table_bytes, entry: name, lacks } = interface;
    // SAFETY: whoever exports a function of this name promises the type that the header gives it.
    let entry = unsafe { library.get::<Entry<T>>(name.as_bytes()) };
    let entry = entry.map_err(|_| refuse!("exports no function {name}, {lacks} (see {header})"))?;
    // SAFETY: as above.
    let table = unsafe { entry() };
    if table.is_null() {
        return Err(refuse!("{name} returned a null pointer"));
    }
    // SAFETY: version and size stand first in every version of the structure, and are read before anything else.
    let (version, size) = unsafe { (ptr::read(table.cast::<u32>()), ptr::read(table.cast::<u32>().add(1))) };
    let version = InterfaceVersion::from_code(version);
    library_version.check(header, version)?;
    let bytes = table_bytes[version.minor()];
    if (size as usize) < bytes {
        return Err(refuse!("{name} has a table of {size} bytes; version {version} has {bytes}"));
    }
    let mut whole = MaybeUninit::<T>::zeroed();
    // SAFETY: the table says that it has at least these bytes, and they are no more than a `T` has, which is the table
    // of the newest version. What is left of it is zero: null functions are `None`.
    unsafe {
        ptr::copy_nonoverlapping(table.cast::<u8>(), whole.as_mut_ptr().cast::<u8>(), bytes);
        Ok(whole.assume_init())
    }
}
