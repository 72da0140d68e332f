//! Memory of the caller: what C hands over, as Rust can use it.
//!
//! The callers of these functions are the entry points of the interface, whose own callers promise that every
//! pointer is null or points to memory of the length that comes with it, and that nothing else uses it meanwhile.

use std::ffi::{CStr, c_char, c_void};

use crate::InterfaceVersion;
use crate::bad_call::BadCall::{self, Misuse};

/// Longest text of a failure, in characters.
const FAILURE_CHARS: usize = 300;

/// The caller's bytes; none if the pointer is null and the length 0.
///
/// # Errors
/// A null pointer with a length, or a length that no memory has.
///
/// # Safety
/// `start` is null, or points to `bytes` readable bytes that do not change for `'a`.
pub unsafe fn bytes<'a>(start: *const c_void, bytes: usize, what: &str) -> Result<&'a [u8], BadCall> {
    check(start, bytes, what)?;
    if start.is_null() {
        return Ok(&[]);
    }
    // SAFETY: not null, readable for `bytes` by the caller's promise, and no longer than a slice may be.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), bytes) })
}

/// Bytes behind a pointer that are to be written. Whatever they hold before is overwritten, never read.
///
/// # Errors
/// As [`bytes`].
///
/// # Safety
/// `start` is null, or points to `bytes` writable bytes that nothing else uses for `'a`.
pub unsafe fn bytes_mut<'a>(start: *mut c_void, bytes: usize, what: &str) -> Result<&'a mut [u8], BadCall> {
    check(start, bytes, what)?;
    if start.is_null() {
        return Ok(&mut []);
    }
    // SAFETY: not null, writable for `bytes` and not shared by the caller's promise, and no longer than a slice may be.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) })
}

/// Refuses two ranges of memory that overlap.
///
/// # Errors
/// The two areas overlap.
pub fn check_apart(one: (*const c_void, usize), other: (*const c_void, usize)) -> Result<(), BadCall> {
    let (start, end) = (one.0 as usize, one.0 as usize + one.1);
    let (other_start, other_end) = (other.0 as usize, other.0 as usize + other.1);
    let is_apart = one.1 == 0 || other.1 == 0 || end <= other_start || other_end <= start;
    if is_apart { Ok(()) } else { Err(Misuse("the buffers for data and spare bytes overlap".into())) }
}

/// The options of a caller, which begin with the version of its header and their size. What an older caller does not
/// have is zero.
///
/// # Errors
/// A null pointer, a version that `serves` does not, or fewer bytes than `oldest`, those of the first version.
///
/// # Safety
/// `place` is null, or begins with two `u32`: a version, and for how many bytes it is readable. A `T` may be all zeroes.
pub unsafe fn options<T: Copy>(
    place: *const T,
    header: &str,
    serves: InterfaceVersion,
    oldest: usize,
) -> Result<T, BadCall> {
    if place.is_null() {
        return Err(Misuse("options is a null pointer".into()));
    }
    // SAFETY: not null, and both numbers are there by the caller's promise.
    let [version, size] = unsafe { place.cast::<[u32; 2]>().read_unaligned() };
    serves.check(header, InterfaceVersion::from_code(version))?;
    if (size as usize) < oldest {
        let text = format!("options has {size} bytes; version {serves} has {}", size_of::<T>());
        return Err(Misuse(text));
    }
    let mut whole = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the caller promises as many bytes as `size` says, and that the rest may be zero.
    unsafe {
        place.cast::<u8>().copy_to_nonoverlapping(whole.as_mut_ptr().cast(), (size as usize).min(size_of::<T>()));
        Ok(whole.assume_init())
    }
}

/// A text of the caller; `None` if the pointer is null.
///
/// # Errors
/// A text that is not UTF-8.
///
/// # Safety
/// `text` is null or points to bytes that end with a 0.
pub unsafe fn text(text: *const c_char, what: &str) -> Result<Option<String>, BadCall> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and ended by a 0 by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(|text| Some(text.to_string())).map_err(|_| Misuse(format!("{what} is not UTF-8")))
}

/// A text that must be there.
///
/// # Errors
/// A null pointer, or a text that is not UTF-8.
///
/// # Safety
/// As [`text`].
pub unsafe fn needed_text(text: *const c_char, what: &str) -> Result<String, BadCall> {
    // SAFETY: the caller's promise.
    unsafe { self::text(text, what) }?.ok_or_else(|| Misuse(format!("{what} is a null pointer")))
}

/// What foreign code says of its failure, in one line; `None` if it says nothing.
///
/// # Safety
/// `text` is null or points to bytes that end with a 0.
pub unsafe fn failure(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and ended by a 0 by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let plain = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    Some(plain.take(FAILURE_CHARS).collect()).filter(|said: &String| !said.is_empty())
}

/// Writes a value to where the caller wants it.
///
/// # Errors
/// A null pointer.
///
/// # Safety
/// `place` is null or writable for a `T`. It need not be aligned.
pub unsafe fn put<T>(place: *mut T, value: T, what: &str) -> Result<(), BadCall> {
    if place.is_null() {
        return Err(Misuse(format!("{what} is a null pointer")));
    }
    // SAFETY: not null, and writable by the caller's promise; an unaligned write is allowed anywhere.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Writes the first `size` bytes of a struct whose first member is its size: callers of an older header have a
/// shorter one.
///
/// # Errors
/// A null pointer, or a size that is too small for the size itself.
///
/// # Safety
/// `place` is null, or begins with a `u32` that says for how many bytes it is writable. `T` has no padding.
pub unsafe fn put_sized<T: Copy>(place: *mut T, value: T, what: &str) -> Result<(), BadCall> {
    if place.is_null() {
        return Err(Misuse(format!("{what} is a null pointer")));
    }
    // SAFETY: not null, and begins with a `u32` by the caller's promise.
    let size = unsafe { place.cast::<u32>().read_unaligned() } as usize;
    if size < size_of::<u32>() {
        return Err(Misuse(format!("{what} says that it has {size} bytes; set its member `size` first")));
    }
    let bytes = size.min(size_of::<T>()) - size_of::<u32>();
    let value = std::ptr::from_ref(&value).cast::<u8>();
    // SAFETY: both are valid for `size` bytes, the first of which hold the size and are left out; they do not overlap,
    // because `value` is a local copy.
    unsafe { value.add(size_of::<u32>()).copy_to(place.cast::<u8>().add(size_of::<u32>()), bytes) };
    Ok(())
}

/// Writes a text that ends with a 0, cut to the room that there is. Nothing is written without room.
///
/// # Safety
/// `place` is null or writable for `room` bytes.
pub unsafe fn put_text(place: *mut c_char, room: usize, text: &str) {
    if place.is_null() || room == 0 {
        return;
    }
    let cut = (0..=text.len().min(room - 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    // SAFETY: not null, and `cut` + 1 is at most `room`; the text is not in the caller's memory.
    unsafe {
        text.as_ptr().copy_to_nonoverlapping(place.cast(), cut);
        place.add(cut).write(0);
    }
}

fn check(start: *const c_void, bytes: usize, what: &str) -> Result<(), BadCall> {
    if start.is_null() && bytes > 0 {
        return Err(Misuse(format!("{what} is a null pointer with length {bytes}")));
    }
    if bytes > isize::MAX as usize {
        return Err(Misuse(format!("{what} has length {bytes}, which no memory has")));
    }
    Ok(())
}
