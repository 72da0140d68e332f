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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t070_a_program_can_use_its_own_major_version_up_to_the_minor_one_that_is_there() {
        let library = InterfaceVersion::new(2, 3);
        for (major, minor, is_served) in [(2, 0, true), (2, 3, true), (2, 4, false), (1, 9, false), (3, 0, false)] {
            let asked = InterfaceVersion::new(major, minor);
            assert_eq!(InterfaceVersion::from_code(asked.code()), asked);
            assert_eq!(library.check("pumice_x.h", asked).is_ok(), is_served, "{asked}");
        }
        let refusal = library.check("pumice_x.h", InterfaceVersion::new(1, 9)).expect_err("too old");
        assert_eq!(
            refusal.text(),
            "pumice_x.h: version 1.9 was asked for; this library has 2.3, which serves 2.0 to 2.3"
        );
    }
}
