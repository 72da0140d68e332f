//! Requests, time and completions.
//!
//! The callers of all functions promise that every pointer is null or points to as much memory as the length with it
//! says, and that nothing else uses that memory meanwhile. That is what `SAFETY` refers to.

use std::ffi::{c_int, c_void};

use pumice_device::{Device, DeviceCompletion, DeviceRequest, KINDS};

use super::handles::{OpenDevice, call};
use super::status::{DeviceStatus, Failure};
use crate::foreign;

/// `pumice_device_request`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CDeviceRequest {
    pub at_ns: u64,
    pub offset_bytes: u64,
    pub bytes: u32,
    pub kind: u8,
    pub fua: u8,
    pub stream: u8,
    pub flow: u8,
}

/// `pumice_device_completion`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CDeviceCompletion {
    pub id: u64,
    pub at_ns: u64,
    pub offset_bytes: u64,
    pub end: u32,
    pub reserved: u32,
}

/// `pumice_device_info`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CDeviceInfo {
    pub size: u32,
    pub powered: u32,
    pub capacity_bytes: u64,
    pub now_ns: u64,
    pub outstanding: u64,
    pub waiting: u64,
}

// `foreign::put_sized` copies the bytes of this struct, so there may be no padding in it.
const _: () = assert!(size_of::<CDeviceInfo>() == 2 * 4 + 4 * 8);

/// What a device is at present.
///
/// # Safety
/// See the module; `info` begins with its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_get_info(device: u64, info: *mut CDeviceInfo) -> c_int {
    call(device, |open| {
        let device = &open.device;
        let found = CDeviceInfo {
            size: 0,
            powered: device.has_power().into(),
            capacity_bytes: device.capacity(),
            now_ns: device.now(),
            outstanding: device.outstanding() as u64,
            waiting: device.waiting() as u64,
        };
        // SAFETY: the promises of this function's caller; there is no padding.
        unsafe { foreign::put_sized(info, found, "info") }.map_err(Into::into)
    })
}

/// Submits requests.
///
/// # Safety
/// See the module; the steps between requests are those that the device was opened with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_submit(
    device: u64,
    requests: *const CDeviceRequest,
    count: usize,
    first_id: *mut u64,
    taken: *mut usize,
) -> c_int {
    let mut ids = 0..0;
    let status = call(device, |open| {
        let step = open.request_bytes;
        let bytes = count.saturating_mul(step);
        // SAFETY: the promises of this function's caller.
        let array = unsafe { foreign::bytes(requests.cast(), bytes, "requests") }?;
        let nth_request = |nth: usize| {
            // SAFETY: `step` is at least the size of a request, so all of it lies in the array; it need not be aligned,
            // and any bytes are one.
            timed(unsafe { array.as_ptr().add(nth * step).cast::<CDeviceRequest>().read_unaligned() })
        };
        let ended;
        (ids, ended) = open.device.submit_many((0..count).map(nth_request));
        ended.map_err(|failure| refused(failure, (ids.end - ids.start) as usize, count))
    });
    // SAFETY: the promises of this function's caller. Both may be null.
    unsafe {
        let _ = foreign::put(taken, (ids.end - ids.start) as usize, "taken");
        if !ids.is_empty() {
            let _ = foreign::put(first_id, ids.start, "first_id");
        }
    }
    status
}

/// A request and its instant.
#[inline]
fn timed(request: CDeviceRequest) -> Result<(u64, DeviceRequest), Failure> {
    let CDeviceRequest { at_ns, offset_bytes, bytes, kind, fua, stream, flow } = request;
    let kind = *KINDS.get(usize::from(kind)).ok_or_else(|| unknown(kind))?;
    Ok((at_ns, DeviceRequest { kind, offset_bytes, bytes, fua: fua != 0, stream, flow }))
}

#[cold]
fn unknown(kind: u8) -> Failure {
    let highest = KINDS.len() - 1;
    Failure::misuse(format!("kind = {kind} is no enum pumice_device_kind; allowed: 0 to {highest}"))
}

/// What is said if one of several requests is refused.
#[cold]
fn refused(failure: Failure, nth: usize, count: usize) -> Failure {
    if count == 1 {
        return failure;
    }
    let text = format!("request {nth} of {count} (those before it are taken): {}", failure.text);
    Failure { text, ..failure }
}

/// When something happens next.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_next_event(device: u64, at_ns: *mut u64) -> c_int {
    call(device, |open| {
        let at = open.device.next_event().unwrap_or(Device::NEVER);
        // SAFETY: the promises of this function's caller.
        unsafe { foreign::put(at_ns, at, "at_ns") }.map_err(Into::into)
    })
}

/// Room of the caller for completions.
struct CompletionRoom {
    completions: *mut CDeviceCompletion,
    room: usize,
    count: *mut usize,
}

impl CompletionRoom {
    /// Refuses room that is none.
    fn check(&self, step: usize) -> Result<(), Failure> {
        let misuse = |text: String| Err(Failure::misuse(text));
        if self.room > 0 && (self.completions.is_null() || self.count.is_null()) {
            return misuse(format!("completions or count is a null pointer with room for {}", self.room));
        }
        if self.room.saturating_mul(step) > isize::MAX as usize {
            return misuse(format!("room = {}, which no memory has", self.room));
        }
        Ok(())
    }

    /// Takes completions into it.
    ///
    /// # Safety
    /// The struct was checked, and is as large as its caller promised.
    unsafe fn fill(&self, open: &mut OpenDevice) {
        let mut taken = 0;
        while taken < self.room
            && let Some(DeviceCompletion { id, at_ns, offset_bytes, status }) = open.device.take_completion()
        {
            let completion = CDeviceCompletion { id, at_ns, offset_bytes, end: status.code().into(), reserved: 0 };
            // SAFETY: `taken` is below the room, and the step at least the size of a completion; a place need not be
            // aligned.
            unsafe {
                let place = self.completions.cast::<u8>().add(taken * open.completion_bytes);
                place.cast::<CDeviceCompletion>().write_unaligned(completion);
            }
            taken += 1;
        }
        // SAFETY: null, or writable by the caller's promise.
        let _ = unsafe { foreign::put(self.count, taken, "count") };
    }
}

/// Lets time pass if it is to, and takes what is done.
///
/// # Safety
/// See the module; the steps between completions are those that the device was opened with.
unsafe fn take(device: u64, until: Option<u64>, room: &CompletionRoom) -> c_int {
    call(device, |open| {
        room.check(open.completion_bytes)?;
        if let Some(until) = until {
            let wanted = if room.room == 0 { usize::MAX } else { room.room };
            open.device.advance_for(until, wanted)?;
        }
        // SAFETY: checked, and the promises of this function's caller.
        unsafe { room.fill(open) };
        Ok(())
    })
}

/// Lets time pass, and takes what is done.
///
/// # Safety
/// See the module; the steps between completions are those that the device was opened with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_advance(
    device: u64,
    to_ns: u64,
    completions: *mut CDeviceCompletion,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: the promises of this function's caller.
    unsafe { take(device, Some(to_ns), &CompletionRoom { completions, room, count }) }
}

/// Takes what is done.
///
/// # Safety
/// As [`pumice_device_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_take(
    device: u64,
    completions: *mut CDeviceCompletion,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: the promises of this function's caller.
    unsafe { take(device, None, &CompletionRoom { completions, room, count }) }
}

/// Submits a request with the bytes that it writes.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_submit_data(
    device: u64,
    request: *const CDeviceRequest,
    data: *const c_void,
    data_bytes: usize,
    id: *mut u64,
) -> c_int {
    call(device, |open| {
        if request.is_null() {
            return Err(Failure::misuse("request is a null pointer".into()));
        }
        // SAFETY: not null, and the promises of this function's caller; any bytes are a request.
        let (at_ns, request) = timed(unsafe { request.read_unaligned() })?;
        // SAFETY: the promises of this function's caller.
        let data = unsafe { foreign::bytes(data, data_bytes, "data") }?;
        let given = open.device.submit_data(at_ns, &request, data)?;
        // SAFETY: null, or writable by the caller's promise.
        let _ = unsafe { foreign::put(id, given, "id") };
        Ok(())
    })
}

/// Takes what a read has returned.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_device_take_data(
    device: u64,
    id: u64,
    data: *mut c_void,
    room: usize,
    data_bytes: *mut usize,
) -> c_int {
    call(device, |open| {
        let none = || Failure::misuse(format!("no bytes of a read {id} wait: it is none, is not done, or was taken"));
        let read = open.device.data(id).ok_or_else(none)?;
        // SAFETY: null, or writable by the caller's promise.
        let _ = unsafe { foreign::put(data_bytes, read.len(), "data_bytes") };
        if room < read.len() {
            let text = format!("read {id} has returned {} bytes; room = {room}", read.len());
            return Err(Failure::new(DeviceStatus::NoRoom, text));
        }
        // SAFETY: the promises of this function's caller.
        unsafe { foreign::bytes_mut(data, read.len(), "data") }?.copy_from_slice(read);
        open.device.take_data(id);
        Ok(())
    })
}
