//! Reads. Each takes the time that it takes on an idle device.

use pumice_nand::{PageContent, Rule, Violation};
use pumice_types::{Cause, FlashCommand, PageAddress, SearchExpectation, SpareArea};

use crate::bit_errors::Aged;
use crate::cells::blank;
use crate::operations::{DATA, page_read};
use crate::{Chip, ChipFailure, Illegal, PagePrograms};

/// Retries of a read that fails in the end.
const RETRIES_OF_A_FAILURE: u32 = 16;

/// Where the bytes of a read go: data from an offset in the page on, and the first spare bytes.
pub(crate) struct ReadRoom<'a> {
    pub offset: usize,
    pub data: &'a mut [u8],
    pub oob: &'a mut [u8],
}

impl Chip {
    /// Reads a page through the chip's code: the first bytes of its data and of its spare area, as many as there is
    /// room for. Returns how often it had to be read again.
    ///
    /// # Errors
    /// A broken rule, no power, or [`ChipFailure::Uncorrectable`]: then `data` holds what was sensed, and `oob` holds
    /// the spare area if that has its own code right, which [`Chip::read_oob`] tells.
    pub fn read(&mut self, page: PageAddress, data: &mut [u8], oob: &mut [u8]) -> Result<u32, ChipFailure> {
        self.read_into(page, ReadRoom { offset: 0, data, oob })
    }

    /// Reads bytes of a page's data from an offset on. Costs the time of the whole page.
    ///
    /// # Errors
    /// As [`Chip::read`].
    pub fn read_at(&mut self, page: PageAddress, offset: usize, data: &mut [u8]) -> Result<u32, ChipFailure> {
        self.read_into(page, ReadRoom { offset, data, oob: &mut [] })
    }

    fn read_into(&mut self, page: PageAddress, to: ReadRoom<'_>) -> Result<u32, ChipFailure> {
        self.check_call(to.offset, to.data.len(), to.oob.len())?;
        match self.state.chips.checked.array.peek(page) {
            Ok(content) => self.read_content(page, content, to),
            Err(rule) => self.read_otherwise(page, rule, to),
        }
    }

    /// Reads a page whose cells hold something.
    fn read_content(&mut self, page: PageAddress, content: PageContent, to: ReadRoom<'_>) -> Result<u32, ChipFailure> {
        let sensed = self.sense(page, content);
        self.state.counts.reads += 1;
        self.state.cells.read(page, to.offset, to.data, to.oob);
        if let Some(retries) = sensed {
            return Ok(retries);
        }
        self.spoil_bytes(page, to.offset, to.data);
        if self.state.chips.checked.array.spare_area(page) == SpareArea::Unreadable {
            self.spoil_bytes(page, 0, to.oob);
        }
        Err(ChipFailure::Uncorrectable(page))
    }

    /// Reads a page that a controller would not read: of a bad block, or an erased one.
    #[cold]
    fn read_otherwise(&mut self, page: PageAddress, rule: Rule, to: ReadRoom<'_>) -> Result<u32, ChipFailure> {
        let content = match rule {
            Rule::BadBlock if self.is_from_factory(page) => {
                zero(to.data, to.oob);
                self.pay_read(page);
                self.state.counts.uncorrectable += 1;
                return Err(ChipFailure::Uncorrectable(page));
            }
            Rule::BadBlock => self.state.chips.checked.array.sensed(page),
            Rule::ReadErasedPage => None,
            Rule::EraseBeforeProgram
            | Rule::UnstableProgram
            | Rule::ProgramOrder
            | Rule::PartialBlockIndex
            | Rule::SubBlockSet
            | Rule::CopybackPlane
            | Rule::AddressRange
            | Rule::DieBusy
            | Rule::MultiPlane => return Err(refused_read(rule, page)),
        };
        if let Some(content) = content {
            return self.read_content(page, content, to);
        }
        let bytes_are_programmed = self.options.programs == PagePrograms::Bytes;
        if !bytes_are_programmed && self.options.illegal == Illegal::Refuse {
            return Err(refused_read(Rule::ReadErasedPage, page));
        }
        blank(to.data, to.oob);
        self.pay_read(page);
        if bytes_are_programmed {
            return Ok(0);
        }
        self.state.counts.uncorrectable += 1;
        Err(ChipFailure::Uncorrectable(page))
    }

    /// Reads a page as the cells are sensed, without any code: with its bit errors if the spec asks for them. A blank
    /// page is all ones; a block that the factory marked bad is all zeroes.
    ///
    /// # Errors
    /// No power.
    pub fn read_raw(&mut self, page: PageAddress, data: &mut [u8], oob: &mut [u8]) -> Result<(), ChipFailure> {
        self.check_call(0, data.len(), oob.len())?;
        let area = self.look(page)?;
        self.pay_read(page);
        if self.is_from_factory(page) {
            zero(data, oob);
            return Ok(());
        }
        if area == SpareArea::Blank {
            blank(data, oob);
            return Ok(());
        }
        let state = &mut self.state;
        state.cells.read(page, 0, data, oob);
        if state.chips.checked.array.sensed(page).is_some_and(|content| content.corrupt) {
            self.spoil_bytes(page, 0, data);
        } else if let Some(errors) = &self.errors {
            errors.flip(&self.aged(page), data);
        }
        if area == SpareArea::Unreadable {
            self.spoil_bytes(page, 0, oob);
        }
        Ok(())
    }

    /// Reads the first bytes of a spare area, which has a code of its own. That of a blank page is all ones, and that
    /// of a block which the factory marked bad is all zeroes.
    ///
    /// # Errors
    /// No power, or a spare area that fails its code.
    pub fn read_oob(&mut self, page: PageAddress, oob: &mut [u8]) -> Result<(), ChipFailure> {
        self.check_call(0, 0, oob.len())?;
        let area = self.look(page)?;
        self.pay_oob_read(page);
        match area {
            _ if self.is_from_factory(page) => zero(&mut [], oob),
            SpareArea::Blank => blank(&mut [], oob),
            SpareArea::Written(_) => self.state.cells.read(page, 0, &mut [], oob),
            SpareArea::Unreadable => {
                self.state.counts.uncorrectable += 1;
                self.state.cells.read(page, 0, &mut [], oob);
                self.spoil_bytes(page, 0, oob);
                return Err(ChipFailure::Uncorrectable(page));
            }
        }
        Ok(())
    }

    /// Whether a page looks erased. Costs a read of its spare area. After a cut a page that looks erased need not be.
    ///
    /// # Errors
    /// No power.
    pub fn is_blank(&mut self, page: PageAddress) -> Result<bool, ChipFailure> {
        self.check_call(0, 0, 0)?;
        let area = self.look(page)?;
        self.pay_oob_read(page);
        Ok(area == SpareArea::Blank && !self.is_from_factory(page))
    }

    /// Whether a page lies in a block that the factory marked bad.
    fn is_from_factory(&self, page: PageAddress) -> bool {
        self.is_bad(page.block) && self.from_factory.contains(&page.block)
    }

    /// Senses a page until its code has it right: how often again; `None` if it never has. Costs the time of that.
    pub(crate) fn sense(&mut self, page: PageAddress, content: PageContent) -> Option<u32> {
        let retries = match (&self.errors, content.corrupt) {
            (Some(errors), false) => errors.retries(&self.aged(page)),
            (None, false) => Some(0),
            (_, true) => None,
        };
        let state = &mut self.state;
        let again = if self.errors.is_some() { retries.unwrap_or(RETRIES_OF_A_FAILURE) } else { 0 };
        state.now += page_read(&state.chips.timing, page) * u64::from(1 + again);
        state.counts.read_retries += u64::from(again);
        state.counts.uncorrectable += u64::from(retries.is_none());
        retries
    }

    /// What a page's spare area says. Legal on blank pages too, and in bad blocks.
    ///
    /// # Errors
    /// The page does not exist.
    fn look(&self, page: PageAddress) -> Result<SpareArea, ChipFailure> {
        let array = &self.state.chips.checked.array;
        match array.check(&FlashCommand::spare_search(Cause::Host, page, 1, DATA.0, SearchExpectation::Scan)) {
            Err(violation) if violation.rule != Rule::BadBlock => Err(violation.into()),
            _ => Ok(array.spare_area(page)),
        }
    }

    fn pay_read(&mut self, page: PageAddress) {
        self.state.now += page_read(&self.state.chips.timing, page);
        self.state.counts.reads += 1;
    }

    fn pay_oob_read(&mut self, page: PageAddress) {
        let timing = &self.state.chips.timing;
        self.state.now += timing.t_r(page.page) + timing.spare_transfer + timing.command_overhead;
        self.state.counts.oob_reads += 1;
    }

    /// What the bit errors of a programmed page depend on.
    fn aged(&self, page: PageAddress) -> Aged {
        let state = &self.state;
        let leaf = state.chips.checked.array.leaf_of(page.page);
        let programmed = state.cells.programmed(page);
        Aged {
            page: page.page,
            pec: state.chips.eraser.as_ref().map_or(0, |eraser| eraser.leaf_pec(page.block.0, leaf)),
            age: state.now.saturating_sub(programmed),
            program: self.place(page) ^ programmed.0.rotate_left(32),
        }
    }

    /// A page's number among all.
    fn place(&self, page: PageAddress) -> u64 {
        u64::from(page.block.0) * u64::from(self.geometry.pages_per_block) + u64::from(page.page)
    }

    /// Makes bytes from an offset on what a page with cells neither erased nor programmed gives back.
    fn spoil_bytes(&self, page: PageAddress, offset: usize, bytes: &mut [u8]) {
        let start = self.draws.bits(self.place(page));
        for (nth, byte) in bytes.iter_mut().enumerate().map(|(nth, byte)| (offset + nth, byte)) {
            let noise = self.draws.bits(start.wrapping_add((nth / size_of::<u64>()) as u64)).to_le_bytes();
            *byte ^= noise[nth % size_of::<u64>()];
        }
    }
}

/// A read that a rule refuses.
fn refused_read(rule: Rule, page: PageAddress) -> ChipFailure {
    Violation { rule, command: FlashCommand::read(Cause::Host, page, DATA.0, DATA.1) }.into()
}

/// Fills data and spare area with what a block of the factory reads as that is bad.
fn zero(data: &mut [u8], oob: &mut [u8]) {
    [data, oob].into_iter().for_each(|part| part.fill(0));
}
