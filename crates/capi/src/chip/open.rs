//! Opening and closing a chip.

use std::ffi::{c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::ptr;

use pumice_chip::{Chip, Illegal, PagePrograms};
use pumice_config::SpecSource;
use pumice_types::Choice;

use super::handle::{ChipHandle, ChipStatus, OnRefusal};
use crate::InterfaceVersion;
use crate::bad_call::BadCall::{self, Misuse};
use crate::foreign;

/// Version of the interface: `PUMICE_CHIP_VERSION`.
pub const CHIP_VERSION: InterfaceVersion = InterfaceVersion::new(1, 1);

/// `pumice_chip_options`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ChipOptions {
    /// Version that the caller was built for.
    pub version: u32,
    /// Bytes of this struct as the caller knows it.
    pub size: u32,
    /// Name of a preset, or null.
    pub preset: *const c_char,
    /// TOML text, or null.
    pub spec: *const c_char,
    /// What messages call that text, or null.
    pub spec_name: *const c_char,
    /// Called for refusals, or null.
    pub on_refusal: Option<OnRefusal>,
    /// Handed to it.
    pub context: *mut c_void,
    /// Programs of a page between two erases; 0: one. Since 1.1, like all below.
    pub page_programs: u32,
    /// Pages between two of the same cells; 0: one.
    pub pair_distance: u32,
    /// What becomes of illegal operations.
    pub illegal: u32,
    /// Zero.
    pub reserved: u32,
}

/// Bytes of the options of version 1.0.
const OLDEST_OPTIONS: usize = std::mem::offset_of!(ChipOptions, page_programs);

/// `PUMICE_CHIP_BYTE_PROGRAMS`.
pub const BYTE_PROGRAMS: u32 = u32::MAX;

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_chip_version() -> u32 {
    CHIP_VERSION.code()
}

/// Opens a chip.
///
/// # Safety
/// `options` is null or begins with its version and its size in bytes; its pointers are null or point to texts that
/// end with a 0. `chip` is null or writable, `message` null or writable for `message_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_open(
    options: *const ChipOptions,
    chip: *mut *mut ChipHandle,
    message: *mut c_char,
    message_bytes: usize,
) -> c_int {
    // SAFETY: the promises of this function's caller.
    let opened = unsafe { foreign::put(chip, ptr::null_mut(), "chip") }
        .map_err(Into::into)
        // SAFETY: the same.
        .and_then(|()| unsafe { open(options) });
    match opened {
        Ok(handle) => {
            let handle = Box::into_raw(Box::new(handle));
            // SAFETY: not null, because the first write to it was not refused; writable by the caller's promise.
            unsafe { chip.write_unaligned(handle) };
            ChipStatus::Ok as c_int
        }
        Err((status, text)) => {
            // SAFETY: the promises of this function's caller.
            unsafe { foreign::put_text(message, message_bytes, &text) };
            status as c_int
        }
    }
}

impl From<BadCall> for (ChipStatus, String) {
    fn from(bad: BadCall) -> (ChipStatus, String) {
        (if matches!(bad, Misuse(_)) { ChipStatus::Misuse } else { ChipStatus::BadVersion }, bad.text())
    }
}

/// Opens a chip for these options.
///
/// # Safety
/// As [`pumice_chip_open`].
unsafe fn open(options: *const ChipOptions) -> Result<ChipHandle, (ChipStatus, String)> {
    // SAFETY: the promises of this function's caller; every member of the options may be zero.
    let options = unsafe { foreign::options(options, "pumice_chip.h", CHIP_VERSION, OLDEST_OPTIONS) }?;
    // SAFETY: each is null or a text that ends with a 0, by the caller's promise.
    let (preset, spec, spec_name) = unsafe {
        (
            foreign::text(options.preset, "preset")?,
            foreign::text(options.spec, "spec")?,
            foreign::text(options.spec_name, "spec_name")?,
        )
    };
    let source = SpecSource { preset, spec_text: spec, spec_name, ..SpecSource::default() };
    let own = own_options(&options)?;
    match catch_unwind(|| Chip::open_with(&source, own)) {
        Ok(Ok(chip)) => Ok(ChipHandle::new(chip, options.on_refusal, options.context)),
        Ok(Err(error)) => Err((ChipStatus::BadSpec, error.to_string())),
        Err(_) => Err((ChipStatus::Internal, "a fault of the library while the chip was opened".into())),
    }
}

/// What the options say beside the spec.
fn own_options(options: &ChipOptions) -> Result<pumice_chip::ChipChoices, BadCall> {
    let ChipOptions { page_programs, pair_distance, illegal, .. } = *options;
    let programs = match page_programs {
        BYTE_PROGRAMS => PagePrograms::Bytes,
        times => PagePrograms::Times(times.max(1)),
    };
    let distance = u16::try_from(pair_distance.max(1))
        .map_err(|_| Misuse(format!("pair_distance = {pair_distance} is too large")))?;
    let highest = Illegal::ALL.len() - 1;
    let illegal = Illegal::ALL.get(illegal as usize).ok_or_else(|| {
        Misuse(format!("illegal = {illegal} is no enum pumice_chip_illegal; allowed: 0 to {highest}"))
    })?;
    Ok(pumice_chip::ChipChoices { programs, pair_distance: distance, illegal: *illegal })
}

/// Closes a chip.
///
/// # Safety
/// `chip` is null, or points to null or to a handle of [`pumice_chip_open`] that was not closed and that no other
/// thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_close(chip: *mut *mut ChipHandle) {
    // SAFETY: the promise of this function's caller.
    unsafe { free(chip) };
}

/// Takes back what was handed out as a raw pointer, and puts null in its place.
///
/// # Safety
/// `place` is null, or points to null or to what `Box::into_raw` made and nothing has freed.
pub unsafe fn free<T>(place: *mut *mut T) {
    if place.is_null() {
        return;
    }
    // SAFETY: not null, so readable by the caller's promise.
    let owned = unsafe { place.read_unaligned() };
    if owned.is_null() {
        return;
    }
    // SAFETY: writable as it was readable.
    unsafe { place.write_unaligned(ptr::null_mut()) };
    // SAFETY: it came from `Box::into_raw`, and its only known place now holds null.
    drop(unsafe { Box::from_raw(owned) });
}
