//! How calls end: a status, and for each thread the text of its last failure.

use std::cell::RefCell;
use std::ffi::c_char;

use pumice_device::DeviceError;

use crate::bad_call::BadCall;

/// What every call returns: `enum pumice_device_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum DeviceStatus {
    /// Done.
    Ok = 0,
    /// An instant that is past, or too late.
    Time = 1,
    /// Bytes that the device does not have.
    Range = 2,
    /// The device is off.
    NoPower = 3,
    /// The device is on.
    HasPower = 4,
    /// The use of the device has ended.
    Ended = 5,
    /// The device cannot be copied.
    NoFork = 6,
    /// The simulation has ended in an error.
    Simulation = 7,
    /// A spec that is not allowed.
    BadSpec = 8,
    /// Another version is needed.
    BadVersion = 9,
    /// No open device has this handle.
    NoDevice = 10,
    /// Another thread is calling the device.
    Busy = 11,
    /// A call that means nothing.
    Misuse = 12,
    /// A text is longer than its room.
    NoRoom = 13,
    /// A fault of the library.
    Internal = 14,
    /// A snapshot cannot be written or read.
    Snapshot = 15,
}

impl DeviceStatus {
    /// Every status, in the order of the numbers.
    pub const ALL: [DeviceStatus; 16] = {
        use DeviceStatus::*;
        [
            Ok, Time, Range, NoPower, HasPower, Ended, NoFork, Simulation, BadSpec, BadVersion, NoDevice, Busy, Misuse,
            NoRoom, Internal, Snapshot,
        ]
    };
}

/// Why a call did nothing.
pub struct Failure {
    pub status: DeviceStatus,
    pub text: String,
}

impl Failure {
    /// A failure with its text.
    #[cold]
    pub fn new(status: DeviceStatus, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    /// A call that means nothing.
    #[cold]
    pub fn misuse(text: String) -> Failure {
        Failure { status: DeviceStatus::Misuse, text }
    }
}

impl From<BadCall> for Failure {
    #[cold]
    fn from(bad: BadCall) -> Failure {
        let status = if matches!(bad, BadCall::Misuse(_)) { DeviceStatus::Misuse } else { DeviceStatus::BadVersion };
        Failure { status, text: bad.text() }
    }
}

impl From<DeviceError> for Failure {
    #[cold]
    fn from(error: DeviceError) -> Failure {
        let status = match &error {
            DeviceError::Spec(_) => DeviceStatus::BadSpec,
            DeviceError::Past { .. } | DeviceError::TooLate { .. } => DeviceStatus::Time,
            DeviceError::Range { .. } | DeviceError::Units { .. } | DeviceError::NoZones | DeviceError::Flow { .. } => {
                DeviceStatus::Range
            }
            DeviceError::NoData | DeviceError::Data { .. } => DeviceStatus::Misuse,
            DeviceError::NoPower => DeviceStatus::NoPower,
            DeviceError::HasPower => DeviceStatus::HasPower,
            DeviceError::Ended => DeviceStatus::Ended,
            DeviceError::Fork(_) => DeviceStatus::NoFork,
            DeviceError::Snapshot(_) => DeviceStatus::Snapshot,
            DeviceError::Simulation(_) => DeviceStatus::Simulation,
        };
        Failure { status, text: error.to_string() }
    }
}

thread_local! {
    /// Why the last call of this thread that failed did; ended by a 0.
    static MESSAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The status of a call, whose text the thread can ask for.
pub fn told(ended: Result<(), Failure>) -> DeviceStatus {
    match ended {
        Ok(()) => DeviceStatus::Ok,
        Err(failure) => note(&failure),
    }
}

#[cold]
fn note(failure: &Failure) -> DeviceStatus {
    let text = failure.text.bytes().filter(|&byte| byte != 0).chain([0]);
    // A thread that is ending has no place for the text any more.
    let _ = MESSAGE.try_with(|message| {
        let mut message = message.borrow_mut();
        message.clear();
        message.extend(text);
    });
    failure.status
}

/// Why the last call of this thread that failed did.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_device_message() -> *const c_char {
    let text = MESSAGE.try_with(|message| {
        let message = message.borrow();
        // The bytes stay where they are until the next failure of this thread.
        if message.is_empty() { c"".as_ptr() } else { message.as_ptr().cast() }
    });
    text.unwrap_or(c"".as_ptr())
}
