//! What only a chip without a controller does: it programs a page again that holds data, takes commands that break a
//! rule, and lets an erase fail without a mark.

use pumice_types::{BlockId, FlashCommand, PageAddress};

use super::NandArray;
use super::power::Torn;
use crate::rules::Rule;

impl NandArray {
    /// Whether a page that holds data may be programmed once more, on chips that take several programs of a page.
    ///
    /// # Errors
    /// The rule that such a program breaks.
    pub fn check_program_again(&self, page: PageAddress) -> Result<(), Rule> {
        self.check_address(page)?;
        if self.is_unreliable(page) { Err(Rule::UnstableProgram) } else { Ok(()) }
    }

    /// A further program of a page that holds data was cut, or failed.
    pub fn tear_again(&mut self, page: PageAddress, left: Torn) {
        if let Some(power) = &mut self.power {
            power.torn.insert(page);
            if left == Torn::New {
                power.fading.insert(page);
            }
        }
        if left == Torn::Mixed {
            self.spoil(page);
        }
    }

    /// Programs or copies, whatever rule it breaks. The page then fails its code.
    pub fn program_despite_rules(&mut self, command: &FlashCommand) {
        if !self.is_programmed(command.target) {
            self.perform(command);
        }
        self.spoil(command.target);
    }

    /// An erase of a block has failed. The block is not marked bad, and takes no program before an erase has ended
    /// well.
    pub fn note_failed_erase(&mut self, block: BlockId) {
        self.blocks[block.index()].bad = false;
        if let Some(power) = &mut self.power {
            power.half_erased.insert(block);
        }
    }
}
