//! Reads, programs, copies and erases. Each takes the time that it takes on an idle device.

use pumice_nand::{Rule, Torn, Violation};
use pumice_types::erase::total_time;
use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, FlashTiming, Lpn, PageAddress, Pb, SearchExpectation, SpareArea, Time,
    UnitSet,
};

use crate::bit_errors::Aged;
use crate::cells::blank;
use crate::{Chip, ChipFailure, CutOutcome};

/// All data belongs to one logical page in one version: firmware keeps its own in the spare bytes.
const DATA: (Lpn, u8) = (Lpn(0), 1);

/// Retries of a read that fails in the end.
const RETRIES_OF_A_FAILURE: u32 = 16;

/// How an operation that is legal goes on.
enum Course {
    Ends,
    Fails,
    IsCut(CutOutcome),
}

/// What became of a program or copy.
struct Ending {
    /// The page holds the new bytes, sound or not.
    is_stored: bool,
    failure: Option<ChipFailure>,
}

impl Chip {
    /// Reads a page through the chip's code: the first bytes of its data and of its spare area, as many as there is
    /// room for. Returns how often it had to be read again.
    ///
    /// # Errors
    /// A broken rule, no power, or [`ChipFailure::Uncorrectable`]: then `data` holds what was sensed, and `oob` holds
    /// the spare area if that has its own code right, which [`Chip::read_oob`] tells.
    pub fn read(&mut self, page: PageAddress, data: &mut [u8], oob: &mut [u8]) -> Result<u32, ChipFailure> {
        self.check_call(data.len(), oob.len())?;
        let sensed = self.sense(page)?;
        self.state.counts.reads += 1;
        self.state.cells.read(page, data, oob);
        if let Some(retries) = sensed {
            return Ok(retries);
        }
        self.spoil_bytes(page, data);
        if self.state.chips.checked.array.spare_area(page) == SpareArea::Unreadable {
            self.spoil_bytes(page, oob);
        }
        Err(ChipFailure::Uncorrectable(page))
    }

    /// Reads a page as the cells are sensed, without any code: with its bit errors if the spec asks for them. A blank
    /// page is all ones.
    ///
    /// # Errors
    /// A broken rule, or no power.
    pub fn read_raw(&mut self, page: PageAddress, data: &mut [u8], oob: &mut [u8]) -> Result<(), ChipFailure> {
        self.check_call(data.len(), oob.len())?;
        let area = self.look(page)?;
        let state = &mut self.state;
        state.now += page_read(&state.chips.timing);
        state.counts.reads += 1;
        if area == SpareArea::Blank {
            blank(data, oob);
            return Ok(());
        }
        state.cells.read(page, data, oob);
        if state.chips.checked.array.peek(page).is_ok_and(|content| content.corrupt) {
            self.spoil_bytes(page, data);
        } else if let Some(errors) = &self.errors {
            errors.flip(&self.aged(page), data);
        }
        if area == SpareArea::Unreadable {
            self.spoil_bytes(page, oob);
        }
        Ok(())
    }

    /// Reads the first bytes of a spare area, which has a code of its own. That of a blank page is all ones.
    ///
    /// # Errors
    /// A broken rule, no power, or a spare area that fails its code.
    pub fn read_oob(&mut self, page: PageAddress, oob: &mut [u8]) -> Result<(), ChipFailure> {
        self.check_call(0, oob.len())?;
        let area = self.look(page)?;
        self.pay_oob_read();
        match area {
            SpareArea::Blank => blank(&mut [], oob),
            SpareArea::Written(_) => self.state.cells.read(page, &mut [], oob),
            SpareArea::Unreadable => {
                self.state.counts.uncorrectable += 1;
                self.state.cells.read(page, &mut [], oob);
                self.spoil_bytes(page, oob);
                return Err(ChipFailure::Uncorrectable(page));
            }
        }
        Ok(())
    }

    /// Whether a page looks erased. Costs a read of its spare area. After a cut a page that looks erased need not be.
    ///
    /// # Errors
    /// A broken rule, or no power.
    pub fn is_blank(&mut self, page: PageAddress) -> Result<bool, ChipFailure> {
        self.check_call(0, 0)?;
        let area = self.look(page)?;
        self.pay_oob_read();
        Ok(area == SpareArea::Blank)
    }

    /// Programs a page: the first bytes of its data and of its spare area. The others stay all ones.
    ///
    /// # Errors
    /// A broken rule, no power, or a failed program.
    pub fn program(&mut self, page: PageAddress, data: &[u8], oob: &[u8]) -> Result<(), ChipFailure> {
        self.check_call(data.len(), oob.len())?;
        let command = FlashCommand::program(Cause::Host, page, DATA.0, DATA.1, 0);
        let ending = self.store(&command)?;
        if ending.is_stored {
            self.state.cells.write(page, self.state.now, data, oob);
        }
        let timing = &self.state.chips.timing;
        self.finish_program(page_transfer(timing) + timing.t_prog, FlashOp::Program, ending)
    }

    /// Copies a page on the die, or through the controller if the spec has no copyback. `oob`: spare bytes in place
    /// of the source's.
    ///
    /// # Errors
    /// A broken rule, no power, a failed program, or a source that fails its code on its way through the controller;
    /// then nothing is programmed. A copyback takes such a page along without a word.
    pub fn copy(&mut self, from: PageAddress, to: PageAddress, oob: Option<&[u8]>) -> Result<(), ChipFailure> {
        self.check_call(0, oob.map_or(0, <[u8]>::len))?;
        let command = FlashCommand::copy(from, to, DATA.0, 0);
        self.state.chips.checked.array.check(&command)?;
        let timing = &self.state.chips.timing;
        let time = if timing.copyback { timing.copy() } else { page_transfer(timing) + timing.t_prog };
        if !timing.copyback && self.sense(from)?.is_none() {
            return Err(ChipFailure::Uncorrectable(from));
        }
        let ending = self.store(&command)?;
        if ending.is_stored {
            self.state.cells.copy([from, to], self.state.now, oob);
        }
        self.finish_program(time, FlashOp::Copy, ending)
    }

    /// Erases a block.
    ///
    /// # Errors
    /// A broken rule, no power, or a failed erase.
    pub fn erase(&mut self, block: BlockId) -> Result<(), ChipFailure> {
        self.erase_by(FlashCommand::erase(block))
    }

    /// Erases a partial block: 1 is the whole block, and the halves of `p` are `2p` and `2p + 1`.
    ///
    /// # Errors
    /// As [`Chip::erase`].
    pub fn erase_partial(&mut self, block: BlockId, pb: Pb) -> Result<(), ChipFailure> {
        self.erase_by(FlashCommand::partial_erase(block, pb))
    }

    /// Erases a set of physical sub-blocks, bit 0 for the first, in one operation.
    ///
    /// # Errors
    /// As [`Chip::erase`].
    pub fn erase_sub_blocks(&mut self, block: BlockId, sub_blocks: u32) -> Result<(), ChipFailure> {
        self.erase_by(FlashCommand::sub_block_erase(block, UnitSet(u64::from(sub_blocks))))
    }

    fn erase_by(&mut self, command: FlashCommand) -> Result<(), ChipFailure> {
        self.check_call(0, 0)?;
        let course = self.begin(&command)?;
        let block = command.target.block;
        if !matches!(course, Course::IsCut(CutOutcome::Before)) {
            self.state.chips.begin_erase(&command, &mut self.state.steps);
        }
        let time = total_time(&self.state.steps);
        let result = match course {
            Course::Ends => {
                self.state.chips.execute(&command)?;
                self.state.now += time;
                let ended = if self.is_bad(block) { Err(ChipFailure::EraseFailed(block)) } else { Ok(()) };
                self.count_erase(command.op, ended.is_ok());
                ended
            }
            Course::Fails => {
                self.tear(&command, Torn::Mixed)?;
                self.state.now += time;
                self.count_erase(command.op, false);
                Err(ChipFailure::EraseFailed(block))
            }
            Course::IsCut(leaves) => {
                self.cut_during(&command, leaves)?;
                Err(ChipFailure::PowerLost)
            }
        };
        let array = &self.state.chips.checked.array;
        self.state.cells.erase(block, |page| array.is_programmed(page));
        result
    }

    fn count_erase(&mut self, op: FlashOp, is_good: bool) {
        let counts = &mut self.state.counts;
        let kind = match op {
            _ if !is_good => &mut counts.failed,
            FlashOp::PartialErase => &mut counts.partial_erases,
            FlashOp::SubBlockErase => &mut counts.sub_block_erases,
            FlashOp::Erase
            | FlashOp::Read
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Copy
            | FlashOp::Pause => &mut counts.block_erases,
        };
        *kind += 1;
    }

    /// Refuses a call without power, or with more bytes than a page has.
    fn check_call(&self, data: usize, oob: usize) -> Result<(), ChipFailure> {
        if !self.is_powered() {
            return Err(ChipFailure::PowerLost);
        }
        let (page_bytes, oob_bytes) = (self.geometry.page_bytes as usize, self.geometry.spare_bytes as usize);
        if data > page_bytes {
            return Err(ChipFailure::Usage(format!("{data} bytes of data; a page has {page_bytes}")));
        }
        if oob > oob_bytes {
            return Err(ChipFailure::Usage(format!("{oob} spare bytes; a page has {oob_bytes}")));
        }
        Ok(())
    }

    /// Begins an operation that changes pages, if it is legal.
    fn begin(&mut self, command: &FlashCommand) -> Result<Course, ChipFailure> {
        self.state.chips.checked.array.check(command)?;
        self.state.counts.operations += 1;
        if let Some(leaves) = self.meets_cut() {
            return Ok(Course::IsCut(leaves));
        }
        let fails = !self.state.failing.is_empty() && self.state.failing.contains(&command.target.block);
        Ok(if fails { Course::Fails } else { Course::Ends })
    }

    /// Executes a program or copy, as far as it comes.
    fn store(&mut self, command: &FlashCommand) -> Result<Ending, ChipFailure> {
        Ok(match self.begin(command)? {
            Course::Ends => {
                self.state.chips.checked.array.execute(command)?;
                Ending { is_stored: true, failure: None }
            }
            Course::Fails => {
                self.tear(command, Torn::Mixed)?;
                Ending { is_stored: true, failure: Some(ChipFailure::ProgramFailed(command.target)) }
            }
            Course::IsCut(leaves) => {
                let left = self.cut_during(command, leaves)?;
                Ending { is_stored: left.is_some_and(|left| left != Torn::Old), failure: Some(ChipFailure::PowerLost) }
            }
        })
    }

    /// Counts a program or copy and its time. One that was cut takes none.
    fn finish_program(&mut self, time: Time, op: FlashOp, ending: Ending) -> Result<(), ChipFailure> {
        let state = &mut self.state;
        match &ending.failure {
            Some(ChipFailure::PowerLost) => {}
            Some(_) => {
                state.now += time;
                state.counts.failed += 1;
            }
            None => {
                state.now += time;
                let count = if op == FlashOp::Copy { &mut state.counts.copies } else { &mut state.counts.programs };
                *count += 1;
            }
        }
        ending.failure.map_or(Ok(()), Err)
    }

    /// Senses a page until its code has it right: how often again; `None` if it never has. Costs the time of that.
    ///
    /// # Errors
    /// A broken rule.
    fn sense(&mut self, page: PageAddress) -> Result<Option<u32>, ChipFailure> {
        let content = self.state.chips.checked.array.peek(page).map_err(|rule| refused_read(rule, page))?;
        let retries = match (&self.errors, content.corrupt) {
            (Some(errors), false) => errors.retries(&self.aged(page)),
            (None, false) => Some(0),
            (_, true) => None,
        };
        let state = &mut self.state;
        let again = if self.errors.is_some() { retries.unwrap_or(RETRIES_OF_A_FAILURE) } else { 0 };
        state.now += page_read(&state.chips.timing) * u64::from(1 + again);
        state.counts.read_retries += u64::from(again);
        state.counts.uncorrectable += u64::from(retries.is_none());
        Ok(retries)
    }

    /// What a page's spare area says. Legal on blank pages too.
    ///
    /// # Errors
    /// A broken rule.
    fn look(&self, page: PageAddress) -> Result<SpareArea, ChipFailure> {
        let array = &self.state.chips.checked.array;
        array.check(&FlashCommand::spare_search(Cause::Host, page, 1, DATA.0, SearchExpectation::Scan))?;
        Ok(array.spare_area(page))
    }

    fn pay_oob_read(&mut self) {
        let timing = &self.state.chips.timing;
        self.state.now += timing.t_r + timing.spare_transfer + timing.command_overhead;
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

    /// Makes bytes what a page gives back whose cells are neither erased nor programmed.
    fn spoil_bytes(&self, page: PageAddress, bytes: &mut [u8]) {
        let start = self.draws.bits(self.place(page));
        for (nth, piece) in bytes.chunks_mut(size_of::<u64>()).enumerate() {
            let noise = self.draws.bits(start.wrapping_add(nth as u64)).to_le_bytes();
            piece.iter_mut().zip(noise).for_each(|(byte, noise)| *byte ^= noise);
        }
    }
}

/// A read that a rule refuses.
fn refused_read(rule: Rule, page: PageAddress) -> ChipFailure {
    Violation { rule, command: FlashCommand::read(Cause::Host, page, DATA.0, DATA.1) }.into()
}

/// A page over the channel, with its command.
fn page_transfer(timing: &FlashTiming) -> Time {
    timing.page_transfer + timing.command_overhead
}

/// A page read once.
fn page_read(timing: &FlashTiming) -> Time {
    timing.t_r + page_transfer(timing)
}
