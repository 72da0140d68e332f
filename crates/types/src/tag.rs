//! The tag programmed with a page: its logical page and, in the bits that are left of 32, a version
//! that counts the host's writes of that logical page. Beyond 2^30 logical pages too few bits are left, and the
//! version takes a byte of its own beside the 32 bits.
//!
//! A real spare area has room for more; a simulator of terabytes does not. The version runs through
//! `1..=version_max` in a circle (0 is the initial fill), so a stale page is taken for the current
//! one only if exactly a multiple of `version_max` writes lie between them: 255 up to 2^24 logical
//! pages and beyond 2^30, 63 at 1 TiB of 16 KiB pages, and never fewer than 3.

use crate::Lpn;
use serde::{Deserialize, Serialize};

/// Version of the data that a page holds from the initial fill.
pub const FILL_VERSION: u8 = 0;

/// Bits that a version takes at the most.
const VERSION_BITS_MAX: u32 = 8;

/// Bits that a logical page takes at the most beside its version.
const LPN_BITS_MAX: u32 = 30;

/// How logical page and version share a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagFormat {
    lpn_bits: u32,
    lpn_mask: u32,
    version_max: u8,
}

impl TagFormat {
    /// The format for this many logical pages.
    pub fn new(logical_pages: u32) -> TagFormat {
        let lpn_bits = u32::BITS - logical_pages.saturating_sub(1).leading_zeros();
        if lpn_bits > LPN_BITS_MAX {
            return TagFormat { lpn_bits: u32::BITS, lpn_mask: u32::MAX, version_max: u8::MAX };
        }
        let version_bits = (u32::BITS - lpn_bits).min(VERSION_BITS_MAX);
        TagFormat { lpn_bits, lpn_mask: (1 << lpn_bits) - 1, version_max: ((1u32 << version_bits) - 1) as u8 }
    }

    /// Whether the version has a byte of its own, and the tag holds the logical page alone.
    #[inline]
    pub fn is_wide(self) -> bool {
        self.lpn_bits == u32::BITS
    }

    /// Bits of a logical page: two formats with as many are the same.
    pub fn lpn_bits(self) -> u32 {
        self.lpn_bits
    }

    /// The tag of a logical page in a version, and what goes into the version's own byte.
    #[inline]
    pub fn pack(self, lpn: Lpn, version: u8) -> (u32, u8) {
        if self.is_wide() { (lpn.0, version) } else { (lpn.0 | u32::from(version) << self.lpn_bits, 0) }
    }

    /// Logical page and version of a tag; `own` is the version's own byte, if it has one.
    #[inline]
    pub fn unpack(self, tag: u32, own: impl FnOnce() -> u8) -> (Lpn, u8) {
        let version = if self.is_wide() { own() } else { (tag >> self.lpn_bits) as u8 };
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
        if version >= self.version_max { 1 } else { version + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t004_tags_are_bijective_at_every_size() {
        for pages in [1, 2, 72, 1 << 24, 62_000_000, 1 << 28, 1 << 30, (1 << 30) + 1, 1 << 31, u32::MAX] {
            let format = TagFormat::new(pages);
            assert_eq!(format.is_wide(), pages > 1 << 30);
            for lpn in [0, pages / 3, pages - 1] {
                let mut version = FILL_VERSION;
                for _ in 0..300 {
                    let (tag, own) = format.pack(Lpn(lpn), version);
                    assert_eq!(format.unpack(tag, || own), (Lpn(lpn), version), "{pages} pages");
                    version = format.next(version);
                    assert!(version > 0, "a written page never looks filled");
                }
            }
        }
    }

    #[test]
    fn t005_versions_repeat_after_as_many_as_the_bits_allow() {
        for (pages, period) in [(1 << 24, 255), (62_000_000, 63), (1 << 28, 15), (1 << 30, 3), ((1 << 30) + 1, 255)] {
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
