//! Pages of several mapping units: one program stores them all.
//!
//! The columns hold units. A unit without data, which is padding, looks erased: its page can be programmed no more,
//! because programs go by pages.

use pumice_types::{FlashCommand, PageAddress, PageUnit, UnitSource, bits};

use super::NandArray;
use super::power::{MARK_AT, PADDED};

impl NandArray {
    /// Keeps what a program will put into the units of its page until it has ended, and returns the number that the
    /// program carries; `sequence`: that of the page's block.
    pub fn stage_units(&mut self, units: &[PageUnit], sequence: u32) -> u32 {
        self.staged.keep(units, sequence)
    }

    /// What a program under way puts into the unit of its page that comes `nth`.
    #[inline]
    pub fn staged_unit(&self, command: &FlashCommand, nth: usize) -> Option<PageUnit> {
        self.staged.unit(command.units(), nth)
    }

    /// Power is cut: what programs were to put into units is gone with the controller.
    pub fn forget_units(&mut self) {
        self.staged.clear();
    }

    /// The units of the page that begins with this one.
    pub(crate) fn units_of(&self, page: PageAddress) -> impl Iterator<Item = PageAddress> + use<> {
        (0..self.config.geometry.units_per_page).map(move |nth| PageAddress::new(page.block, page.page + nth))
    }

    /// Stores the units of a page. Those that are moved keep their version, and that they are corrupt.
    #[inline(never)]
    pub(super) fn program_units(&mut self, command: &FlashCommand) {
        let (list, units) = (command.units(), self.config.geometry.units_per_page);
        let first = command.target;
        let programmed = command.number() | u64::from(command.mark.0) << MARK_AT;
        let sequence = self.staged.sequence(list);
        for nth in 0..units {
            let place = PageAddress::new(first.block, first.page + nth);
            match self.staged.unit(list, usize::from(nth)) {
                Some(PageUnit { lpn, version, source: UnitSource::Host, written }) => {
                    self.store(place, lpn, version, sequence);
                    self.note_corrupt(place, false);
                    self.set_numbers(place, [written, programmed]);
                    self.store_own((command.number(), nth), place);
                }
                Some(PageUnit { source: UnitSource::Copied(from), .. }) => {
                    let content = self.page_content(from);
                    self.store(place, content.lpn, content.version, sequence);
                    self.note_corrupt(place, content.corrupt);
                    self.set_numbers(place, [self.write_number(from), programmed]);
                    self.copy_own(from, place);
                }
                Some(PageUnit { source: UnitSource::Padding, .. }) | None => self.set_numbers(place, [PADDED, 0]),
            }
        }
        debug_assert!(bits::get(&self.programmed, self.bit(first)), "the first unit of a page is no padding");
        let block = &mut self.blocks[first.block.index()];
        block.next_in_order = block.next_in_order.max(first.page + units);
        self.staged.release(list);
    }
}
