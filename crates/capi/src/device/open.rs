//! Opening, copying and closing a device.

use std::ffi::{c_char, c_int};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pumice_config::SpecSource;
use pumice_device::{Device, SealKey};

use super::calls::{CDeviceCompletion, CDeviceRequest};
use super::handles::{OpenDevice, admit, call, dismiss};
use super::status::{DeviceStatus, Failure, told};
use crate::InterfaceVersion;
use crate::foreign;

/// Version of the interface: `PUMICE_DEVICE_VERSION`.
pub const DEVICE_VERSION: InterfaceVersion = InterfaceVersion::new(1, 2);

/// `pumice_device_options`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CDeviceOptions {
    /// Version that the caller was built for.
    pub version: u32,
    /// Bytes of this struct as the caller knows it.
    pub size: u32,
    /// Bytes between two requests of the caller's arrays.
    pub request_bytes: u32,
    /// Bytes between two completions of the caller's arrays.
    pub completion_bytes: u32,
    /// Name of a preset, or null.
    pub preset: *const c_char,
    /// Path of a spec, or null.
    pub file: *const c_char,
    /// TOML text of a spec, or null.
    pub spec: *const c_char,
    /// Lines `key = value`, or null.
    pub settings: *const c_char,
    /// Not 0: the device keeps the bytes of its pages.
    pub data: u32,
    /// Nothing.
    pub reserved: u32,
}

/// Bytes of the options before there was `data`.
const OLDEST_OPTIONS: usize = std::mem::offset_of!(CDeviceOptions, data);

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_version() -> u32 {
    DEVICE_VERSION.code()
}

/// Opens a device.
///
/// # Safety
/// `options` is null or begins with its version and its size in bytes; its pointers are null or point to texts that
/// end with a 0. `device` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_open(options: *const CDeviceOptions, device: *mut u64) -> c_int {
    // SAFETY: the promises of this function's caller.
    unsafe {
        open_into(options, device, |source, keeps_data| {
            Ok(if keeps_data { Device::open_with_data(source)? } else { Device::open(source)? })
        })
    }
}

/// Opens a device that [`pumice_device_snapshot`] wrote.
///
/// # Safety
/// As [`pumice_device_open`]; `path` and `key` are null or point to texts that end with a 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_open_snapshot(
    options: *const CDeviceOptions,
    path: *const c_char,
    key: *const c_char,
    device: *mut u64,
) -> c_int {
    let opened = |source: &SpecSource, _| {
        // SAFETY: the promises of this function's caller.
        let (path, key) = unsafe { file_and_key(path, key) }?;
        Ok(Device::open_snapshot(source, &path, &key)?)
    };
    // SAFETY: the same.
    unsafe { open_into(options, device, opened) }
}

/// Writes a device to a file.
///
/// # Safety
/// `path` and `key` are null or point to texts that end with a 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_snapshot(device: u64, path: *const c_char, key: *const c_char) -> c_int {
    call(device, |open| {
        // SAFETY: the promise of this function's caller.
        let (path, key) = unsafe { file_and_key(path, key) }?;
        Ok(open.device.snapshot(&path, &key)?)
    })
}

/// Where a snapshot lies, and the key that it is sealed with.
///
/// # Safety
/// The pointers are null or point to texts that end with a 0.
unsafe fn file_and_key(path: *const c_char, key: *const c_char) -> Result<(PathBuf, SealKey), Failure> {
    // SAFETY: the promise of this function's caller.
    let text = |text, what| unsafe { foreign::text(text, what) };
    match (text(path, "path")?, text(key, "key")?) {
        (Some(path), Some(key)) => Ok((path.into(), SealKey::of(key.as_bytes()))),
        _ => Err(Failure::misuse("path or key is a null pointer".into())),
    }
}

/// Sets `device` to the handle of a device that is opened for these options; 0 on failure.
///
/// # Safety
/// As [`pumice_device_open`].
unsafe fn open_into(
    options: *const CDeviceOptions,
    device: *mut u64,
    opened: impl FnOnce(&SpecSource, bool) -> Result<Device, Failure>,
) -> c_int {
    // SAFETY: the promises of this function's caller.
    let opened = unsafe { foreign::put(device, 0, "device") }
        .map_err(Failure::from)
        // SAFETY: the same.
        .and_then(|()| unsafe { open(options, opened) })
        // SAFETY: the same.
        .and_then(|handle| Ok(unsafe { foreign::put(device, handle, "device") }?));
    told(opened) as c_int
}

/// Opens a device for these options, and gives it a handle.
///
/// # Safety
/// As [`pumice_device_open`].
unsafe fn open(
    options: *const CDeviceOptions,
    opened: impl FnOnce(&SpecSource, bool) -> Result<Device, Failure>,
) -> Result<u64, Failure> {
    // SAFETY: the promises of this function's caller. A null pointer is what each text can be, and 0 each number.
    let options = unsafe { foreign::options(options, "pumice_device.h", DEVICE_VERSION, OLDEST_OPTIONS) }?;
    let (request_bytes, completion_bytes) = (options.request_bytes as usize, options.completion_bytes as usize);
    if request_bytes < size_of::<CDeviceRequest>() || completion_bytes < size_of::<CDeviceCompletion>() {
        let text = format!(
            "request_bytes = {request_bytes}, completion_bytes = {completion_bytes}; allowed: the sizes of the structs, \
             as PUMICE_DEVICE_OPTIONS sets them"
        );
        return Err(Failure::misuse(text));
    }
    // SAFETY: the promises of this function's caller.
    let source = unsafe { source(&options) }?;
    match catch_unwind(AssertUnwindSafe(|| opened(&source, options.data != 0))) {
        Ok(device) => admit(OpenDevice::new(device?, request_bytes, completion_bytes)),
        Err(_) => Err(Failure::new(DeviceStatus::Internal, "a fault of the library while the device was opened")),
    }
}

/// Where the options say that the spec comes from.
///
/// # Safety
/// The pointers of the options are null or point to texts that end with a 0.
unsafe fn source(options: &CDeviceOptions) -> Result<SpecSource, Failure> {
    // SAFETY: the promise of this function's caller.
    let text = |text, what| unsafe { foreign::text(text, what) };
    let (file, mut spec) = (text(options.file, "file")?, text(options.spec, "spec")?);
    if let Some(path) = &file {
        if spec.is_some() {
            return Err(Failure::misuse("both file and spec are given; allowed: one of them".into()));
        }
        let read = fs::read_to_string(path);
        spec = Some(read.map_err(|error| Failure::new(DeviceStatus::BadSpec, format!("{path}: {error}")))?);
    }
    let settings = text(options.settings, "settings")?.unwrap_or_default();
    let lines = settings.lines().map(str::trim).filter(|line| !line.is_empty());
    let sets = lines.map(|line| {
        let (key, value) = line.split_once('=').ok_or_else(|| {
            Failure::new(DeviceStatus::BadSpec, format!("settings: '{line}' is no setting; allowed: key = value"))
        })?;
        Ok((key.trim().to_string(), value.trim().to_string()))
    });
    let sets = sets.collect::<Result<Vec<_>, Failure>>()?;
    let origins = vec!["settings".to_string(); sets.len()];
    let preset = text(options.preset, "preset")?;
    Ok(SpecSource { preset, spec_text: spec, spec_name: file, sets, origins, ..SpecSource::default() })
}

/// Closes a device.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_close(device: u64) -> c_int {
    told(dismiss(device)) as c_int
}

/// Makes an independent device in the same state.
///
/// # Safety
/// `copy` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_fork(device: u64, copy: *mut u64) -> c_int {
    // SAFETY: the promise of this function's caller.
    let emptied = unsafe { foreign::put(copy, 0, "copy") };
    call(device, |open| {
        emptied?;
        let handle = admit(OpenDevice::new(open.device.fork()?, open.request_bytes, open.completion_bytes))?;
        // SAFETY: the same.
        unsafe { foreign::put(copy, handle, "copy") }.map_err(Into::into)
    })
}
