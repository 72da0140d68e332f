//! The tag programmed with a page: its logical page and, in the bits that are left of 32, a version
//! that counts the host's writes of that logical page.
//!
//! A real spare area has room for more; a simulator of terabytes does not. The version runs through
//! `1..=version_max` in a circle (0 is the initial fill), so a stale page is taken for the current
//! one only if exactly a multiple of `version_max` writes lie between them: 255 up to 2^24 logical
//! pages, 63 at 1 TiB of 16 KiB pages.

use crate::Lpn;
use serde::{Deserialize, Serialize};

/// Version of the data that a page holds from the initial fill.
pub const FILL_VERSION: u8 = 0;

/// Bits that a version takes at the most.
const VERSION_BITS_MAX: u32 = 8;

/// How logical page and version share a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagFormat {
    lpn_bits: u32,
    lpn_mask: u32,
    version_max: u8,
}

impl TagFormat {
    /// The format for this many logical pages. With more than 2^31 of them no bit is left for a
    /// version, and only the logical page is checked.
    pub fn new(logical_pages: u32) -> TagFormat {
        let lpn_bits = u32::BITS - logical_pages.saturating_sub(1).leading_zeros();
        let version_bits = (u32::BITS - lpn_bits).min(VERSION_BITS_MAX);
        let lpn_mask = if lpn_bits == u32::BITS { u32::MAX } else { (1 << lpn_bits) - 1 };
        TagFormat { lpn_bits, lpn_mask, version_max: ((1u32 << version_bits) - 1) as u8 }
    }

    /// Bits of a logical page: two formats with as many are the same.
    pub fn lpn_bits(self) -> u32 {
        self.lpn_bits
    }

    /// The tag of a logical page in a version.
    #[inline]
    pub fn pack(self, lpn: Lpn, version: u8) -> u32 {
        let version = if self.version_max == 0 { 0 } else { u32::from(version) << self.lpn_bits };
        lpn.0 | version
    }

    /// Logical page and version of a tag.
    #[inline]
    pub fn unpack(self, tag: u32) -> (Lpn, u8) {
        let version = if self.version_max == 0 { 0 } else { (tag >> self.lpn_bits) as u8 };
        (self.lpn(tag), version)
    }

    /// Logical page of a tag.
    #[inline]
    pub fn lpn(self, tag: u32) -> Lpn {
        Lpn(tag & self.lpn_mask)
    }

    /// The version after `version`.
    #[inline]
    pub fn next(self, version: u8) -> u8 {
        if version >= self.version_max { 1.min(self.version_max) } else { version + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t004_tags_are_bijective_at_every_size() {
        for pages in [1, 2, 72, 1 << 24, 62_000_000, 1 << 28, 1 << 31, u32::MAX] {
            let format = TagFormat::new(pages);
            for lpn in [0, pages / 3, pages - 1] {
                let mut version = FILL_VERSION;
                for _ in 0..300 {
                    assert_eq!(format.unpack(format.pack(Lpn(lpn), version)), (Lpn(lpn), version), "{pages} pages");
                    version = format.next(version);
                    assert!(version > 0 || format.version_max == 0, "a written page never looks filled");
                }
            }
        }
    }

    #[test]
    fn t005_versions_repeat_after_as_many_as_the_bits_allow() {
        for (pages, period) in [(1 << 24, 255), (62_000_000, 63), (1 << 28, 15)] {
            let format = TagFormat::new(pages);
            let mut version = format.next(FILL_VERSION);
            let first = version;
            let mut steps = 0;
            loop {
                version = format.next(version);
                steps += 1;
                if version == first {
                    break;
                }
            }
            assert_eq!(steps, period);
        }
    }
}
