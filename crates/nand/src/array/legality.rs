//! Whether a command breaks a rule now. Nothing changes here.

use pumice_types::{FlashCommand, FlashOp, PageAddress, ProgramOrder, bits};

use super::NandArray;
use crate::rules::{Rule, Violation};

impl NandArray {
    /// Whether a command breaks no rule now. Nothing is executed.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, command: &FlashCommand) -> Result<(), Violation> {
        self.check_rules(command).map_err(|rule| Violation { rule, command: *command })
    }

    #[inline(always)]
    pub(super) fn check_rules(&self, command: &FlashCommand) -> Result<(), Rule> {
        let block = PageAddress::new(command.target.block, 0);
        match command.op {
            FlashOp::Read => self.check_readable(command.target),
            FlashOp::Program => {
                if self.config.geometry.page_of_unit(command.target) != command.target {
                    return Err(Rule::AddressRange);
                }
                self.check_programmable(command.target)
            }
            FlashOp::Copy => self.check_copy(command),
            FlashOp::SpareSearch => self.check_search(command),
            FlashOp::Erase => self.check_address(block),
            FlashOp::PartialErase => {
                self.check_address(block)?;
                if self.config.tree.contains(command.pb()) { Ok(()) } else { Err(Rule::PartialBlockIndex) }
            }
            FlashOp::SubBlockErase => {
                self.check_address(block)?;
                self.check_sub_blocks(command.sub_blocks())
            }
            FlashOp::Pause => Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn check_address(&self, page: PageAddress) -> Result<(), Rule> {
        let block = self.blocks.get(page.block.index()).ok_or(Rule::AddressRange)?;
        if page.page >= self.config.geometry.pages_per_block {
            return Err(Rule::AddressRange);
        }
        if block.bad { Err(Rule::BadBlock) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn check_readable(&self, page: PageAddress) -> Result<(), Rule> {
        self.check_address(page)?;
        if self.is_programmed(page) { Ok(()) } else { Err(Rule::ReadErasedPage) }
    }

    #[inline(always)]
    pub(super) fn check_copy(&self, command: &FlashCommand) -> Result<(), Rule> {
        self.check_readable(command.source)?;
        if self.config.copyback {
            self.check_address(command.target)?;
            let geometry = &self.config.geometry;
            let plane = geometry.plane_of(command.source.block);
            // One division, not two: the target is among the blocks of the source's plane.
            let first = geometry.block(plane, 0).0;
            if command.target.block.0.wrapping_sub(first) >= geometry.blocks_per_plane {
                return Err(Rule::CopybackPlane);
            }
        }
        self.check_programmable(command.target)
    }

    #[inline(always)]
    pub(super) fn check_programmable(&self, page: PageAddress) -> Result<(), Rule> {
        self.check_address(page)?;
        if self.is_programmed(page) {
            return Err(Rule::EraseBeforeProgram);
        }
        if self.power.is_some() && self.is_unreliable(page) {
            return Err(Rule::UnstableProgram);
        }
        if self.config.program_order == ProgramOrder::InOrder && !self.is_in_order(page) {
            return Err(Rule::ProgramOrder);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn is_in_order(&self, page: PageAddress) -> bool {
        let block = &self.blocks[page.block.index()];
        if block.partially_erased { self.is_in_order_in_part(page) } else { page.page >= block.next_in_order }
    }

    /// Whether a program is in order in a block that was erased in part, where the order holds in each part.
    pub(super) fn is_in_order_in_part(&self, page: PageAddress) -> bool {
        let index = page.page as usize;
        let programmed = &self.programmed[self.words(page.block)];
        if let Some(units) = &self.sub_blocks {
            return units.count(programmed, units.unit_of(page.page), page.page) == 0;
        }
        let tree = self.config.tree;
        let runs = tree.page_ranges(tree.leaf_pb(tree.leaf_of_page(index))).filter(|run| run.end > index);
        runs.map(|run| bits::count_range(programmed, run.start.max(index), run.end)).all(|later| later == 0)
    }
}
