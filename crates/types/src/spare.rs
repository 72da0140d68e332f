//! Spare areas, as a recovering controller reads them.

use crate::Lpn;
use serde::{Deserialize, Serialize};

/// What the spare area of a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpareArea {
    /// All ones: the page looks erased.
    Blank,
    /// The spare area fails its code.
    Unreadable,
    /// A page that was programmed.
    Written(SpareEntry),
}

/// What a page is for, as its spare area says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SpareRole {
    /// A page of a D-block, or of a layer whose blocks have no roles.
    #[default]
    Home,
    /// A page of a U-block.
    Update,
    /// A page of a D-block that was copied back into a partial block erased for it.
    Restored,
}

impl SpareRole {
    /// The role that a mark stands for. Layers whose blocks have roles write no other marks.
    fn of_mark(mark: SpareMark) -> SpareRole {
        match mark.0 {
            1 => SpareRole::Update,
            2 => SpareRole::Restored,
            _ => SpareRole::Home,
        }
    }
}

/// What a layer notes of a page beside its numbers, in a byte: its role, or the open block that it was written to. Zero
/// is what the initial fill has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct SpareMark(pub u8);

impl From<SpareRole> for SpareMark {
    fn from(role: SpareRole) -> SpareMark {
        SpareMark(role as u8)
    }
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
    /// What the layer has noted beside them.
    pub mark: SpareMark,
}

impl SpareEntry {
    /// What the page is for, of a layer whose blocks have roles.
    pub fn role(&self) -> SpareRole {
        SpareRole::of_mark(self.mark)
    }
}
