//! Pages of several mapping units: one program stores them all.
//!
//! The columns hold units. A unit without data, which is padding, looks erased: its page can be programmed no more,
//! because programs go by pages.

use pumice_types::{FlashCommand, PageAddress, PageUnit, UnitSource, bits};

use super::power::{MARK_AT, PADDED};
use super::{NandArray, PageContent};

impl NandArray {
    /// Keeps what a program will put into the units of its page until it has ended, and returns the number that the
    /// program carries; `sequence`: that of the page's block.
    pub fn stage_units(&mut self, units: &[PageUnit], sequence: u32) -> u32 {
        self.staged.keep(units, sequence)
    }

    /// What a program under way puts into the units of its page.
    #[inline]
    pub(crate) fn staged_list(&self, command: &FlashCommand) -> &[PageUnit] {
        self.staged.list(command.units())
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
        let (list, first) = (command.units(), command.target);
        if self.blocks[first.block.index()].fill_pages > 0 {
            self.write_out_fill(first.block);
        }
        // Out of the array while its columns change.
        let staged = std::mem::take(&mut self.staged);
        for (nth, unit) in (0..).zip(staged.list(list)) {
            let place = PageAddress::new(first.block, first.page + nth);
            self.program_unit(place, unit);
            if self.power.is_some() {
                self.note_unit_numbers((command, nth), place, unit);
            }
        }
        debug_assert!(bits::get(&self.programmed, self.bit(first)), "the first unit of a page is no padding");
        let block = &mut self.blocks[first.block.index()];
        block.next_in_order = block.next_in_order.max(first.page + self.config.geometry.units_per_page);
        block.sequence = staged.sequence(list);
        self.staged = staged;
        self.staged.release(list);
    }

    /// Stores one unit of a page.
    #[inline(always)]
    fn program_unit(&mut self, place: PageAddress, unit: &PageUnit) {
        let (lpn, version, corrupt) = match unit.source {
            UnitSource::Host => (unit.lpn, unit.version, false),
            UnitSource::Copied(from) => {
                let PageContent { lpn, version, corrupt } = self.page_content(from);
                (lpn, version, corrupt)
            }
            UnitSource::Padding => return,
        };
        self.put(place, lpn, version);
        self.note_corrupt(place, corrupt);
        if let Some(lines) = &mut self.word_lines {
            self.blocks[place.block.index()].over_tolerance |= lines.note_program(place);
        }
    }

    /// Notes the numbers of a unit that was just stored, the one that comes `nth` in its program.
    fn note_unit_numbers(&mut self, (command, nth): (&FlashCommand, u16), place: PageAddress, unit: &PageUnit) {
        let programmed = command.number() | u64::from(command.mark.0) << MARK_AT;
        match unit.source {
            UnitSource::Host => {
                self.set_numbers(place, [unit.written, programmed]);
                self.store_own((command.number(), nth), place);
            }
            UnitSource::Copied(from) => {
                self.set_numbers(place, [self.write_number(from), programmed]);
                self.copy_own(from, place);
            }
            UnitSource::Padding => self.set_numbers(place, [PADDED, 0]),
        }
    }
}
