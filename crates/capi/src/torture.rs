//! `pumice_firmware.h`: firmware in a shared object, for `pumice torture`.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;
use pumice_chip::torture::{Complaint, Firmware};
use pumice_chip::{Chip, ChipChoices};
use pumice_config::{SpecError, SpecSource};
use pumice_types::refuse;

use crate::InterfaceVersion;
use crate::chip::ChipHandle;
use crate::foreign;
use crate::shared_object::{Interface, load};

/// Version of the interface: `PUMICE_FIRMWARE_VERSION`.
pub const FIRMWARE_VERSION: InterfaceVersion = InterfaceVersion::new(1, 0);

/// What a shared object with firmware must have.
const INTERFACE: Interface = Interface {
    header: "pumice_firmware.h",
    version: FIRMWARE_VERSION,
    table_bytes: &[size_of::<CFirmware>()],
    entry: "pumice_firmware_under_test",
    lacks: "so it holds no firmware",
};

/// A function that says what is wrong.
type Says = unsafe extern "C" fn(ram: *mut c_void) -> *const c_char;

/// A function that says what is wrong with a step.
type SaysOf = unsafe extern "C" fn(ram: *mut c_void, step: u64) -> *const c_char;

/// `pumice_firmware`.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CFirmware {
    pub version: u32,
    pub size: u32,
    pub name: *const c_char,
    pub steps: u64,
    pub start: Option<unsafe extern "C" fn(chip: *mut ChipHandle) -> *mut c_void>,
    pub stop: Option<unsafe extern "C" fn(ram: *mut c_void)>,
    pub format: Option<Says>,
    pub mount: Option<Says>,
    pub work: Option<SaysOf>,
    pub check: Option<SaysOf>,
}

/// Firmware of a shared object, on a chip.
pub struct ForeignFirmware {
    start: unsafe extern "C" fn(chip: *mut ChipHandle) -> *mut c_void,
    stop: unsafe extern "C" fn(ram: *mut c_void),
    says: [Says; 2],
    says_of: [SaysOf; 2],
    chip: *mut ChipHandle,
    ram: *mut c_void,
    /// Name of the firmware, if its table has one.
    pub name: Option<String>,
    /// Steps of a session.
    pub steps: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The functions are good as long as it lives.
    _library: Library,
}

impl ForeignFirmware {
    /// Loads a shared object, and opens a chip for it.
    ///
    /// # Errors
    /// One line: no shared object with firmware for this version, or a spec that is not allowed.
    pub fn open(path: &Path, source: &SpecSource, options: ChipChoices) -> Result<ForeignFirmware, SpecError> {
        let loaded = load::<CFirmware>(path, &INTERFACE)?;
        let table = loaded.table;
        let lacks = |what: &str| refuse!("{}: its firmware has no function `{what}`", path.display());
        // SAFETY: the header promises null or a text that ends with a 0.
        let name = unsafe { foreign::failure(table.name) };
        let (start, stop) = (table.start.ok_or_else(|| lacks("start"))?, table.stop.ok_or_else(|| lacks("stop"))?);
        let says = [table.format.ok_or_else(|| lacks("format"))?, table.mount.ok_or_else(|| lacks("mount"))?];
        let says_of = [table.work.ok_or_else(|| lacks("work"))?, table.check.ok_or_else(|| lacks("check"))?];
        let chip = Chip::open_with(source, options)?;
        let chip = Box::into_raw(Box::new(ChipHandle::new(chip, None, ptr::null_mut())));
        let (sha256, steps) = (loaded.sha256, table.steps);
        let ram = ptr::null_mut();
        Ok(ForeignFirmware { start, stop, says, says_of, chip, ram, name, steps, sha256, _library: loaded.library })
    }

    fn say(&self, which: usize) -> Result<(), Complaint> {
        // SAFETY: the header promises functions of these types, and the RAM is what `start` returned.
        unsafe { heard(self.says[which](self.ram)) }
    }

    fn say_of(&self, which: usize, step: u64) -> Result<(), Complaint> {
        // SAFETY: the same.
        unsafe { heard(self.says_of[which](self.ram, step)) }
    }
}

/// What a function of the firmware has said. Any text is a complaint, an empty one too.
///
/// # Safety
/// `text` is null or points to bytes that end with a 0.
unsafe fn heard(text: *const c_char) -> Result<(), Complaint> {
    if text.is_null() {
        return Ok(());
    }
    // SAFETY: the promise of this function's caller.
    let said = unsafe { foreign::failure(text) };
    Err(Complaint(said.unwrap_or_else(|| "it does not say what".into())))
}

impl Firmware for ForeignFirmware {
    fn with_chip<T>(&mut self, work: impl FnOnce(&mut Chip) -> T) -> T {
        // SAFETY: the handle lives as long as this, and the firmware, which uses it too, is not at work.
        work(unsafe { &mut *self.chip }.chip())
    }

    fn start(&mut self) -> Result<(), Complaint> {
        // SAFETY: the header promises a function of this type; the handle is open and nobody else uses it.
        self.ram = unsafe { (self.start)(self.chip) };
        if self.ram.is_null() { Err(Complaint("start returned a null pointer".into())) } else { Ok(()) }
    }

    fn stop(&mut self) {
        let ram = std::mem::replace(&mut self.ram, ptr::null_mut());
        if !ram.is_null() {
            // SAFETY: `start` returned it, and it is stopped once.
            unsafe { (self.stop)(ram) };
        }
    }

    fn format(&mut self) -> Result<(), Complaint> {
        self.say(0)
    }

    fn mount(&mut self) -> Result<(), Complaint> {
        self.say(1)
    }

    fn work(&mut self, step: u64) -> Result<(), Complaint> {
        self.say_of(0, step)
    }

    fn check(&mut self, done: u64) -> Result<(), Complaint> {
        self.say_of(1, done)
    }
}

impl Drop for ForeignFirmware {
    fn drop(&mut self) {
        self.stop();
        // SAFETY: it came from `Box::into_raw`, and nobody has freed it.
        drop(unsafe { Box::from_raw(self.chip) });
    }
}
