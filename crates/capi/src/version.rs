//! Versions of the C interfaces: semantic versions, as one number `major << 16 | minor`.

use std::fmt;

use crate::bad_call::BadCall;

/// Version of one C interface. A new minor version only adds; a new major version may change what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceVersion {
    major: u16,
    minor: u16,
}

impl InterfaceVersion {
    /// Version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> InterfaceVersion {
        InterfaceVersion { major, minor }
    }

    /// The version as headers have it.
    pub const fn code(self) -> u32 {
        (self.major as u32) << 16 | self.minor as u32
    }

    /// The version of a header's number.
    pub const fn from_code(code: u32) -> InterfaceVersion {
        InterfaceVersion::new((code >> 16) as u16, code as u16)
    }

    /// The minor version.
    #[cfg(feature = "host")]
    pub(crate) const fn minor(self) -> usize {
        self.minor as usize
    }

    /// Whether a program that was built for `asked` can use this version: the same major version, and no newer minor
    /// version than this.
    ///
    /// # Errors
    /// One line with both versions.
    pub fn check(self, interface: &str, asked: InterfaceVersion) -> Result<(), BadCall> {
        if asked.major == self.major && asked.minor <= self.minor {
            return Ok(());
        }
        Err(BadCall::Version(format!(
            "{interface}: version {asked} was asked for; this library has {self}, which serves {}.0 to {self}",
            self.major
        )))
    }
}

impl fmt::Display for InterfaceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
