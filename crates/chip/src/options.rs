//! What a chip of firmware's tests is told beside its spec, because no run reads it.

use pumice_types::choice;
use serde::{Deserialize, Serialize};

use crate::ChipFailure;

choice! {
    /// What becomes of an operation that breaks a rule of the chip.
    pub enum Illegal {
        /// The operation is refused, and nothing changes.
        Refuse = "refuse",
        /// The operation is done as a real chip would do it, and what it touched is not to be trusted.
        Corrupt = "corrupt",
    }
}

/// How often a page is programmed between two erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PagePrograms {
    /// So many times, at least once; a data sheet's NOP.
    Times(u32),
    /// Any number of times, byte by byte, as NOR flash is; erased bytes can be read.
    Bytes,
}

/// Options of a chip. The default is a chip as a run has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChipChoices {
    /// How often a page is programmed.
    pub programs: PagePrograms,
    /// Pages from one page of a cell to the next; counts where `geometry.bits_per_cell` is above 1.
    pub pair_distance: u16,
    /// What becomes of illegal operations.
    pub illegal: Illegal,
}

impl Default for ChipChoices {
    fn default() -> ChipChoices {
        ChipChoices { programs: PagePrograms::Times(1), pair_distance: 1, illegal: Illegal::Refuse }
    }
}

impl ChipChoices {
    /// Refuses options that mean nothing.
    ///
    /// # Errors
    /// One line with what is allowed.
    pub fn check(&self, pages_per_block: u16) -> Result<(), ChipFailure> {
        if self.programs == PagePrograms::Times(0) {
            return Err(ChipFailure::Usage("page_programs = 0 is not allowed; allowed: at least 1".into()));
        }
        if !(1..=pages_per_block).contains(&self.pair_distance) {
            return Err(ChipFailure::Usage(format!(
                "pair_distance = {} is not allowed; allowed: 1 to {pages_per_block}, the pages of a block",
                self.pair_distance
            )));
        }
        Ok(())
    }
}
