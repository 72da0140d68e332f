//! Spare areas, as a controller reads them that starts anew.

use crate::Lpn;

/// What the spare area of a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpareArea {
    /// All ones: the page looks erased.
    Blank,
    /// It fails its code.
    Unreadable,
    /// A page that was programmed.
    Written(SpareEntry),
}

/// What a program stores beside the data, on devices that may lose power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareEntry {
    /// Logical page.
    pub lpn: Lpn,
    /// Number of the write that brought the data; a copy takes it along. 0 is the initial fill.
    pub written: u64,
    /// Number of the program that put it here. Programs that were decided later have larger numbers.
    pub programmed: u64,
}
