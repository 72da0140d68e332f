//! The chips of a spec: keys that controller and array both read, and what follows from them.
//!
//! One file a section of the spec: its keys, and the functions that turn them into the types of this crate.

mod erase;
mod geometry;
mod partial_erase;
mod timing;

pub use erase::EraseKeys;
pub use geometry::GeometryKeys;
pub use partial_erase::{PartialEraseKeys, PartialEraseUnit, check_erase_table};
pub use timing::{MultiPlane, TimingKeys};

use crate::key::{Key, Keys, Values};

/// The keys that describe a device's chips.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipKeys {
    /// `[geometry]`
    pub geometry: GeometryKeys,
    /// `[timing]`
    pub timing: TimingKeys,
    /// `[erase]`
    pub erase: EraseKeys,
    /// `[partial_erase]`
    pub partial_erase: PartialEraseKeys,
}

impl Keys for ChipKeys {
    fn rows() -> Vec<&'static Key> {
        [GeometryKeys::rows(), TimingKeys::rows(), EraseKeys::rows(), PartialEraseKeys::rows()].concat()
    }

    fn read(values: &Values) -> Result<ChipKeys, String> {
        Ok(ChipKeys {
            geometry: GeometryKeys::read(values)?,
            timing: TimingKeys::read(values)?,
            erase: EraseKeys::read(values)?,
            partial_erase: PartialEraseKeys::read(values)?,
        })
    }

    fn write(&self, values: &mut Values) {
        self.geometry.write(values);
        self.timing.write(values);
        self.erase.write(values);
        self.partial_erase.write(values);
    }
}

impl ChipKeys {
    /// Refuses what each key alone allows but no chip can be.
    ///
    /// # Errors
    /// The first impossibility, with what would be possible.
    pub fn check(&self) -> Result<(), String> {
        self.geometry.check()?;
        self.check_codewords()?;
        self.check_partial_erase()
    }
}
