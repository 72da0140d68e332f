//! Power, and the end of a device's use.

use std::ffi::{c_char, c_int};

use super::handles::call;
use super::status::{DeviceStatus, Failure};
use crate::foreign;

/// Cuts the power.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_cut(device: u64, now_ns: u64) -> c_int {
    call(device, |open| Ok(open.device.cut(now_ns)?))
}

/// Gives the power back.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_restart(device: u64, now_ns: u64) -> c_int {
    call(device, |open| Ok(open.device.restart(now_ns)?))
}

/// Ends the use of a device.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_finish(device: u64) -> c_int {
    call(device, |open| {
        open.document = Some(open.device.finish()?.to_string());
        Ok(())
    })
}

/// Writes the result document.
///
/// # Safety
/// `text` is null or writable for `room` bytes, `text_bytes` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_result(
    device: u64,
    text: *mut c_char,
    room: usize,
    text_bytes: *mut usize,
) -> c_int {
    call(device, |open| {
        let so_far = match &open.document {
            Some(_) => None,
            None => Some(open.device.result()?.to_string()),
        };
        let document = so_far.as_ref().or(open.document.as_ref()).map_or("", String::as_str);
        let bytes = document.len() + 1;
        // SAFETY: null or writable, by the promise of this function's caller.
        let _ = unsafe { foreign::put(text_bytes, bytes, "text_bytes") };
        if room < bytes || text.is_null() {
            let text = format!("the result has {bytes} bytes with its final 0; room = {room}");
            return Err(Failure::new(DeviceStatus::NoRoom, text));
        }
        // SAFETY: not null and writable for `room` bytes, by the promise of this function's caller.
        unsafe { foreign::put_text(text, room, document) };
        Ok(())
    })
}
