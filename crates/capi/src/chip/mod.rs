//! `pumice_chip.h`: the chip as a library for people who write firmware.

use crate::InterfaceVersion;

/// Version of the interface.
pub const CHIP_VERSION: InterfaceVersion = InterfaceVersion::new(1, 0);

/// Version of the chip interface of this library, `major << 16 | minor`.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_chip_version() -> u32 {
    CHIP_VERSION.code()
}
