//! The devices that are open, by their handles. A handle is checked before anything is touched: it names a place, and
//! how many devices that place has had, so that the handle of a closed device never becomes that of another.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

use pumice_device::Device;

use super::status::{DeviceStatus, Failure, told};

/// A device that C has opened.
pub struct OpenDevice {
    pub device: Device,
    /// Bytes between two requests of the caller's arrays.
    pub request_bytes: usize,
    /// Bytes between two completions of the caller's arrays.
    pub completion_bytes: usize,
    /// The result document of a device whose use has ended.
    pub document: Option<String>,
    /// A call has panicked: nobody knows what state the device is in.
    is_broken: bool,
}

impl OpenDevice {
    /// A device whose caller's arrays have such steps.
    pub fn new(device: Device, request_bytes: usize, completion_bytes: usize) -> OpenDevice {
        OpenDevice { device, request_bytes, completion_bytes, document: None, is_broken: false }
    }

    /// Does the work of a call. Whatever it does, the caller gets a status.
    fn work(&mut self, work: impl FnOnce(&mut OpenDevice) -> Result<(), Failure>) -> Result<(), Failure> {
        if !self.is_broken {
            // A device that panicked is not used again, so it does not matter what it was left in.
            match catch_unwind(AssertUnwindSafe(|| work(self))) {
                Ok(ended) => return ended,
                Err(_) => self.is_broken = true,
            }
        }
        Err(Failure::new(DeviceStatus::Internal, "a fault of the library; the device can only be closed"))
    }
}

/// A place for one device at a time.
struct DevicePlace {
    /// Devices that it has had, with this one.
    generation: u32,
    device: Option<Arc<Mutex<OpenDevice>>>,
}

/// All places, of open devices and free ones.
static PLACES: RwLock<Vec<DevicePlace>> = RwLock::new(Vec::new());

/// The place that a handle names, and the generation that it is of.
fn parts(handle: u64) -> (usize, u32) {
    (handle as u32 as usize, (handle >> 32) as u32)
}

/// Gives a device its handle.
pub fn admit(device: OpenDevice) -> Result<u64, Failure> {
    let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
    // A place that has had as many devices as can be told apart stays empty.
    let free = places.iter().position(|place| place.device.is_none() && place.generation < u32::MAX);
    let index = free.unwrap_or(places.len());
    let number = u32::try_from(index).map_err(|_| Failure::misuse("too many devices are open".into()))?;
    if free.is_none() {
        places.push(DevicePlace { generation: 0, device: None });
    }
    let place = &mut places[index];
    place.generation += 1;
    place.device = Some(Arc::new(Mutex::new(device)));
    Ok(u64::from(place.generation) << 32 | u64::from(number))
}

/// The device of a handle.
fn find(handle: u64) -> Result<Arc<Mutex<OpenDevice>>, Failure> {
    let (index, generation) = parts(handle);
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let place = places.get(index).filter(|place| place.generation == generation);
    place.and_then(|place| place.device.clone()).ok_or_else(|| no_device(handle))
}

#[cold]
fn no_device(handle: u64) -> Failure {
    Failure::new(DeviceStatus::NoDevice, format!("no open device has the handle {handle:#x}"))
}

/// Closes a device. One that another thread is calling goes when that call has ended.
pub fn dismiss(handle: u64) -> Result<(), Failure> {
    let (index, generation) = parts(handle);
    let closed = {
        let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
        let place = places.get_mut(index).filter(|place| place.generation == generation);
        place.and_then(|place| place.device.take()).ok_or_else(|| no_device(handle))?
    };
    // Outside the lock, because code of the user's own may run here.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(closed)));
    dropped.map_err(|_| Failure::new(DeviceStatus::Internal, "a fault of the library while the device was closed"))
}

/// Does what an entry point is for.
pub fn call(handle: u64, work: impl FnOnce(&mut OpenDevice) -> Result<(), Failure>) -> c_int {
    let called = find(handle).and_then(|device| match device.try_lock() {
        Ok(mut open) => open.work(work),
        Err(TryLockError::Poisoned(open)) => open.into_inner().work(work),
        Err(TryLockError::WouldBlock) => Err(Failure::new(DeviceStatus::Busy, "another thread is calling the device")),
    });
    told(called) as c_int
}
