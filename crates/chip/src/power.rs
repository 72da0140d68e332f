//! Cuts of the power, before a chosen operation or in the middle of it.

use pumice_nand::Torn;
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
    /// What the cut leaves of the operation that it meets.
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

    /// Takes the power away, or gives it back, as if no time passed: while what firmware has in RAM is thrown away.
    pub(crate) fn hold_power(&mut self, is_on: bool) {
        self.state.supply = if is_on { Supply::On } else { Supply::Off };
    }

    /// After `after` more programs, copies and erases, before the next one: what [`Chip::settle`] does.
    pub fn settle_after(&mut self, after: u64) {
        self.state.settling = Some(after);
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

    /// Cuts the power during an operation. Returns what is to be left of it; `None` if it had not begun.
    pub(crate) fn cut_now(&mut self, leaves: CutOutcome) -> Option<Torn> {
        self.power_off();
        Some(match leaves {
            CutOutcome::Before => return None,
            CutOutcome::Old => Torn::Old,
            CutOutcome::New => Torn::New,
            CutOutcome::Mixed => Torn::Mixed,
            CutOutcome::Drawn => DRAWN[(self.draw() % DRAWN.len() as u64) as usize],
        })
    }

    /// Leaves a legal command half done.
    ///
    /// # Errors
    /// None for a legal command.
    pub(crate) fn tear(&mut self, command: &FlashCommand, left: Torn) -> Result<(), ChipFailure> {
        let (draws, drawn) = (self.draws, &mut self.drawn);
        self.state.chips.checked.array.tear(command, left, |_| {
            *drawn = drawn.wrapping_add(1);
            DRAWN[(draws.bits(*drawn) % DRAWN.len() as u64) as usize]
        })?;
        if matches!(command.op, FlashOp::Program | FlashOp::Copy) && left == Torn::Mixed {
            self.spoil_pairs(command.target);
        }
        Ok(())
    }

    /// A program of a later bit that fails takes the earlier bits of the same cells with it.
    pub(crate) fn spoil_pairs(&mut self, page: PageAddress) {
        let (distance, bits) = (self.options.pair_distance, u16::from(self.keys.geometry.bits_per_cell));
        let nth = page.page % bits.saturating_mul(distance) / distance;
        let array = &mut self.state.chips.checked.array;
        for earlier in (1..=nth).map(|bit| PageAddress::new(page.block, page.page - bit * distance)) {
            if array.is_programmed(earlier) {
                array.spoil(earlier);
            }
        }
    }
}

/// The outcome of a name, or in one line what is allowed.
///
/// # Errors
/// Reads the name of a cut's outcome; an unknown name is an error that lists the known ones.
pub fn outcome_of(name: &str) -> Result<CutOutcome, ChipFailure> {
    CutOutcome::from_name(name).ok_or_else(|| {
        ChipFailure::Usage(format!("a cut leaves \"{name}\" is not allowed; allowed: {}", CutOutcome::NAMES.join(", ")))
    })
}
