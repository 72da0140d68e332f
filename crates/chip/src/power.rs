//! Cuts of the power, before a chosen operation or in the middle of it.

use pumice_nand::{NandArray, Torn};
use pumice_types::{Choice, FlashCommand, FlashOp, PageAddress, choice};

use crate::{Chip, ChipFailure};

/// What a cut leaves that is to be drawn.
const DRAWN: [Torn; 3] = [Torn::Old, Torn::New, Torn::Mixed];

choice! {
    /// What a cut leaves of the operation that it meets.
    pub enum CutOutcome {
        /// The operation has not begun: everything before it has ended, and nothing is torn.
        Before = "before",
        /// The page or block looks as if the operation had not begun.
        Old = "old",
        /// The page or block looks as if the operation had ended, for now.
        New = "new",
        /// Something that fails its code; of an erase, some pages are as before and some look erased.
        Mixed = "mixed",
        /// One of old, new and mixed, drawn by the seed.
        Drawn = "drawn",
    }
}

/// Whether the chip has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// The chip has power.
    On,
    /// The power was cut.
    Off,
}

/// A cut that is to come.
#[derive(Clone, Copy, Debug)]
pub struct PlannedCut {
    /// Operations that still end before it.
    pub after: u64,
    /// What it leaves.
    pub leaves: CutOutcome,
}

impl Chip {
    /// Plans a cut: `after` more programs, copies and erases end, and the next one meets the cut. Replaces an earlier
    /// plan. Operations that are refused do not count.
    pub fn cut_after(&mut self, after: u64, leaves: CutOutcome) {
        self.state.cut = Some(PlannedCut { after, leaves });
    }

    /// Takes back a planned cut.
    pub fn cancel_cut(&mut self) {
        self.state.cut = None;
    }

    /// Whether the chip has power.
    pub fn is_powered(&self) -> bool {
        self.state.supply == Supply::On
    }

    /// Cuts the power between two operations.
    pub fn power_off(&mut self) {
        if self.is_powered() {
            // What an earlier cut had left readable has had its time.
            self.state.chips.checked.array.fade();
            self.state.supply = Supply::Off;
            self.state.counts.cuts += 1;
        }
    }

    /// Gives the chip its power back.
    pub fn power_on(&mut self) {
        self.state.supply = Supply::On;
    }

    /// The firmware has recovered: what a cut had left readable although it is not sound fails from now on.
    pub fn settle(&mut self) {
        self.state.chips.checked.array.fade();
    }

    /// Whether the operation that begins now meets the planned cut.
    pub(crate) fn meets_cut(&mut self) -> Option<CutOutcome> {
        let cut = self.state.cut.as_mut()?;
        if cut.after > 0 {
            cut.after -= 1;
            return None;
        }
        self.state.cut.take().map(|cut| cut.leaves)
    }

    /// Cuts the power during a command that is legal. Returns what is left of it; `None` if it had not begun.
    ///
    /// # Errors
    /// None for a legal command.
    pub(crate) fn cut_during(
        &mut self,
        command: &FlashCommand,
        leaves: CutOutcome,
    ) -> Result<Option<Torn>, ChipFailure> {
        self.power_off();
        let left = match leaves {
            CutOutcome::Before => return Ok(None),
            CutOutcome::Old => Torn::Old,
            CutOutcome::New => Torn::New,
            CutOutcome::Mixed => Torn::Mixed,
            CutOutcome::Drawn => self.draw(),
        };
        self.tear(command, left)?;
        Ok(Some(left))
    }

    fn draw(&mut self) -> Torn {
        self.state.drawn += 1;
        DRAWN[(self.draws.bits(self.state.drawn) % DRAWN.len() as u64) as usize]
    }

    /// Leaves a legal command half done.
    ///
    /// # Errors
    /// None for a legal command.
    pub(crate) fn tear(&mut self, command: &FlashCommand, left: Torn) -> Result<(), ChipFailure> {
        let (draws, state) = (self.draws, &mut self.state);
        let drawn = &mut state.drawn;
        let array = &mut state.chips.checked.array;
        array.tear(command, left, |_| {
            *drawn += 1;
            DRAWN[(draws.bits(*drawn) % DRAWN.len() as u64) as usize]
        })?;
        let programs = matches!(command.op, FlashOp::Program | FlashOp::Copy);
        if programs && left == Torn::Mixed {
            let shape = self.keys.geometry.block_shape();
            shape.into_iter().for_each(|shape| spoil_cells(array, command.target, shape.bits_per_cell()));
        }
        Ok(())
    }
}

/// A program of a later bit that fails takes the earlier bits of the same cells with it.
fn spoil_cells(array: &mut NandArray, page: PageAddress, bits_per_cell: u8) {
    let first = page.page - page.page % u16::from(bits_per_cell);
    let earlier = (first..page.page).map(|index| PageAddress::new(page.block, index));
    for page in earlier {
        if array.is_programmed(page) {
            array.spoil(page);
        }
    }
}

/// The outcome of a name, or in one line what is allowed.
///
/// # Errors
/// Another name.
pub fn outcome_of(name: &str) -> Result<CutOutcome, ChipFailure> {
    CutOutcome::from_name(name).ok_or_else(|| {
        ChipFailure::Usage(format!("a cut leaves \"{name}\" is not allowed; allowed: {}", CutOutcome::NAMES.join(", ")))
    })
}
