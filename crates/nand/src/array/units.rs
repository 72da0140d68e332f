//! Pages of several mapping units: one program stores them all.
//!
//! The columns hold units. A unit without data, which is padding, looks erased: its page can be programmed no more,
//! because programs go by pages.

use pumice_types::{FlashCommand, PageAddress, PageUnit, UnitSource, bits};

use super::NandArray;

impl NandArray {
    /// Keeps what a program will put into the units of its page until it has ended, and returns the number that the
    /// program carries.
    pub fn stage_units(&mut self, units: &[PageUnit]) -> u32 {
        self.staged.keep(units)
    }

    /// What a program under way puts into the unit of its page that comes `nth`.
    #[inline]
    pub fn staged_unit(&self, command: &FlashCommand, nth: usize) -> Option<PageUnit> {
        self.staged.unit(command.units(), nth)
    }

    /// Stores the units of a page. Those that are moved keep their version, and that they are corrupt.
    #[inline(never)]
    pub(super) fn program_units(&mut self, command: &FlashCommand) {
        let (list, units) = (command.units(), self.config.geometry.units_per_page);
        let first = command.target;
        for nth in 0..units {
            let place = PageAddress::new(first.block, first.page + nth);
            match self.staged.unit(list, usize::from(nth)) {
                Some(PageUnit { lpn, version, source: UnitSource::Host }) => {
                    self.store(place, lpn, version, command.sequence);
                    self.note_corrupt(place, false);
                }
                Some(PageUnit { source: UnitSource::Copied(from), .. }) => {
                    let content = self.page_content(from);
                    self.store(place, content.lpn, content.version, command.sequence);
                    self.note_corrupt(place, content.corrupt);
                }
                Some(PageUnit { source: UnitSource::Padding, .. }) | None => {}
            }
        }
        debug_assert!(bits::get(&self.programmed, self.bit(first)), "the first unit of a page is no padding");
        let block = &mut self.blocks[first.block.index()];
        block.next_in_order = block.next_in_order.max(first.page + units);
        self.staged.release(list);
    }
}
