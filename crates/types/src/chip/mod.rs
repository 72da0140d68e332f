//! The chips of a spec: keys that controller and array both read, and what follows from them.
//!
//! One file a section of the spec: its keys, and the functions that turn them into the types of this crate.

mod erase;
mod geometry;
mod partial_erase;
mod program;
mod timing;

pub use erase::EraseKeys;
pub use geometry::GeometryKeys;
pub use partial_erase::{PartialEraseKeys, PartialEraseUnit, check_erase_table};
pub use program::ProgramKeys;
pub use timing::{MultiPlane, PlaneReads, ReadTransfer, TimingKeys};

use crate::key::{Key, Keys, Values};
use crate::{Geometry, SpecError};

/// The keys that describe a device's chips.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipKeys {
    /// `[geometry]`
    pub geometry: GeometryKeys,
    /// `[timing]`
    pub timing: TimingKeys,
    /// `[erase]`
    pub erase: EraseKeys,
    /// `[program]`
    pub program: ProgramKeys,
    /// `[partial_erase]`
    pub partial_erase: PartialEraseKeys,
    /// Units that the pages are mapped by; as the spec describes the chips, whole pages.
    pub units: PageUnits,
}

/// How many units make up a page. The geometry of chips that are mapped by units counts them as pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageUnits {
    /// Units of a page.
    pub per_page: u16,
    /// Spare bytes of a page beyond those of its units.
    spare_left: u32,
}

impl PageUnits {
    /// Pages that are mapped as they are.
    pub const WHOLE: PageUnits = PageUnits { per_page: 1, spare_left: 0 };
}

impl Keys for ChipKeys {
    fn rows() -> Vec<&'static Key> {
        [GeometryKeys::rows(), TimingKeys::rows(), EraseKeys::rows(), ProgramKeys::rows(), PartialEraseKeys::rows()]
            .concat()
    }

    fn read(values: &Values) -> Result<ChipKeys, SpecError> {
        Ok(ChipKeys {
            geometry: GeometryKeys::read(values)?,
            timing: TimingKeys::read(values)?,
            erase: EraseKeys::read(values)?,
            program: ProgramKeys::read(values)?,
            partial_erase: PartialEraseKeys::read(values)?,
            units: PageUnits::WHOLE,
        })
    }

    fn write(&self, values: &mut Values) {
        self.geometry.write(values);
        self.timing.write(values);
        self.erase.write(values);
        self.program.write(values);
        self.partial_erase.write(values);
    }
}

impl ChipKeys {
    /// Describes the chips by units, of which a page has so many: what is said of pages is said of units from now on.
    pub fn map_units(&mut self, per_page: u16) {
        let geometry = &mut self.geometry;
        self.units = PageUnits { per_page, spare_left: geometry.spare_bytes % u32::from(per_page) };
        geometry.pages_per_block *= per_page;
        geometry.page_bytes /= u32::from(per_page);
        geometry.spare_bytes /= u32::from(per_page);
    }

    /// Spare bytes of a page, whatever units it has.
    pub fn page_spare_bytes(&self) -> u32 {
        self.geometry.spare_bytes * u32::from(self.units.per_page) + self.units.spare_left
    }

    /// The device's shape at a scale: see [`GeometryKeys::scaled`].
    ///
    /// # Errors
    /// A scale that halving cannot reach.
    pub fn scaled(&self, scale: f64) -> Result<Geometry, SpecError> {
        Ok(Geometry { units_per_page: self.units.per_page, ..self.geometry.scaled(scale)? })
    }

    /// Refuses what each key alone allows but no chip can be.
    ///
    /// # Errors
    /// The first impossibility, with what would be possible.
    pub fn check(&self) -> Result<(), SpecError> {
        self.geometry.check()?;
        self.check_page_times()?;
        self.check_program_pages()?;
        self.check_page_types()?;
        self.check_codewords()?;
        self.check_partial_erase()
    }
}
