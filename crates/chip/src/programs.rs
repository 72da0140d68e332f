//! Programs and copies. Each takes the time that it takes on an idle device.

use pumice_nand::{Rule, Torn, Violation};
use pumice_types::{Cause, FlashCommand, FlashOp, PageAddress, Time};

use crate::operations::{Course, DATA, page_transfer};
use crate::session::ChipOperation;
use crate::{Chip, ChipFailure, PagePrograms};

/// A program that is not refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A program of a page that is erased.
    First,
    /// A program of a page that holds something, on chips that take that.
    Again,
    /// One that breaks a rule.
    Illegal,
}

/// What became of a program or copy.
struct Ending {
    /// The page holds the new bytes, sound or not.
    is_stored: bool,
    failure: Option<ChipFailure>,
}

impl Chip {
    /// Programs a page: the first bytes of its data and of its spare area. The others stay all ones, or as they were
    /// on chips that take several programs of a page.
    ///
    /// # Errors
    /// A broken rule, no power, or a failed program.
    pub fn program(&mut self, page: PageAddress, data: &[u8], oob: &[u8]) -> Result<(), ChipFailure> {
        self.program_part(page, 0, [data, oob])
    }

    /// Programs bytes of a page's data from an offset on.
    ///
    /// # Errors
    /// As [`Chip::program`].
    pub fn program_at(&mut self, page: PageAddress, offset: usize, data: &[u8]) -> Result<(), ChipFailure> {
        self.program_part(page, offset, [data, &[]])
    }

    fn program_part(&mut self, page: PageAddress, offset: usize, parts: [&[u8]; 2]) -> Result<(), ChipFailure> {
        let [data, oob] = parts;
        self.check_call(offset, data.len(), oob.len())?;
        let command = FlashCommand::program(Cause::Host, page, DATA.0, DATA.1, 0);
        let kind = match self.check_program(&command, offset, parts) {
            Ok(kind) => kind,
            Err(violation) => self.despite(violation, ChipFailure::ProgramFailed(page)).map(|()| Kind::Illegal)?,
        };
        self.record(|| ChipOperation::Program { page, offset, data: data.into(), oob: oob.into() });
        let ending = self.store(&command, kind)?;
        if ending.is_stored {
            match (kind, offset) {
                (Kind::First, 0) => self.state.cells.write(page, self.state.now, data, oob),
                _ => self.state.cells.overlay(page, self.state.now, offset, parts),
            }
        }
        let timing = &self.state.chips.timing;
        self.finish_program(page_transfer(timing) + timing.t_prog(page.page), FlashOp::Program, ending)
    }

    /// How a program is done, if it is legal.
    fn check_program(&self, command: &FlashCommand, offset: usize, parts: [&[u8]; 2]) -> Result<Kind, Violation> {
        let (array, page) = (&self.state.chips.checked.array, command.target);
        let most = match self.options.programs {
            PagePrograms::Times(most) => most,
            PagePrograms::Bytes => u32::MAX,
        };
        if most == 1 || !array.is_programmed(page) {
            return array.check(command).map(|()| Kind::First);
        }
        let refused = |rule| Violation { rule, command: *command };
        array.check_program_again(page).map_err(refused)?;
        let cells = &self.state.cells;
        let fits = cells.programs(page) < most && cells.takes(page, offset, parts[0], parts[1]);
        if fits { Ok(Kind::Again) } else { Err(refused(Rule::EraseBeforeProgram)) }
    }

    /// Copies a page on the die, or through the controller if the spec has no copyback. `oob`: spare bytes in place
    /// of the source's.
    ///
    /// # Errors
    /// A broken rule, no power, a failed program, or a source that fails its code on its way through the controller;
    /// then nothing is programmed. A copyback takes such a page along without a word.
    pub fn copy(&mut self, from: PageAddress, to: PageAddress, oob: Option<&[u8]>) -> Result<(), ChipFailure> {
        self.check_call(0, 0, oob.map_or(0, <[u8]>::len))?;
        let command = FlashCommand::copy(from, to, DATA.0, 0);
        let kind = match self.state.chips.checked.array.check(&command) {
            Ok(()) => Kind::First,
            Err(violation) => self.despite(violation, ChipFailure::ProgramFailed(to)).map(|()| Kind::Illegal)?,
        };
        let timing = &self.state.chips.timing;
        let read = if timing.copyback { timing.t_r(from.page) } else { page_transfer(timing) };
        let time = read + timing.t_prog(to.page);
        if !timing.copyback
            && let Some(content) = self.state.chips.checked.array.sensed(from)
            && self.sense(from, content).is_none()
        {
            return Err(ChipFailure::Uncorrectable(from));
        }
        self.record(|| ChipOperation::Copy { from, to, oob: oob.map(Vec::from) });
        let ending = self.store(&command, kind)?;
        if ending.is_stored {
            match kind {
                Kind::First | Kind::Again => self.state.cells.copy([from, to], self.state.now, oob),
                Kind::Illegal => self.overlay_copy(from, to, oob),
            }
        }
        self.finish_program(time, FlashOp::Copy, ending)
    }

    fn overlay_copy(&mut self, from: PageAddress, to: PageAddress, oob: Option<&[u8]>) {
        let mut data = vec![0; self.geometry.page_bytes as usize];
        let mut own = vec![0; self.geometry.spare_bytes as usize];
        self.state.cells.read(from, 0, &mut data, &mut own);
        self.state.cells.overlay(to, self.state.now, 0, [&data, oob.unwrap_or(&own)]);
    }

    /// Executes a program or copy, up to a cut or a failure.
    fn store(&mut self, command: &FlashCommand, kind: Kind) -> Result<Ending, ChipFailure> {
        let page = command.target;
        let (left, failure) = match self.begin(page.block) {
            Course::Ends => (None, None),
            Course::Fails => (Some(Torn::Mixed), Some(ChipFailure::ProgramFailed(page))),
            Course::IsCut(leaves) => match self.cut_now(leaves) {
                None => return Ok(Ending { is_stored: false, failure: Some(ChipFailure::PowerLost) }),
                left => (left, Some(ChipFailure::PowerLost)),
            },
        };
        match (kind, left) {
            (Kind::First, None) => self.state.chips.checked.array.execute(command).map(drop)?,
            (Kind::First, Some(left)) => self.tear(command, left)?,
            (Kind::Again, None) => {}
            (Kind::Again, Some(left)) => {
                self.state.chips.checked.array.tear_again(page, left);
                if left == Torn::Mixed {
                    self.spoil_pairs(page);
                }
            }
            (Kind::Illegal, _) => self.corrupt(command),
        }
        Ok(Ending { is_stored: kind == Kind::Illegal || left != Some(Torn::Old), failure })
    }

    /// Does a program or copy that breaks a rule. The page fails its code, and so do the earlier pages of the same
    /// cells and the next page of the block, whose word line lies beside it (chosen).
    fn corrupt(&mut self, command: &FlashCommand) {
        let array = &mut self.state.chips.checked.array;
        array.program_despite_rules(command);
        let page = command.target;
        let next = PageAddress::new(page.block, page.page + 1);
        if next.page < self.geometry.pages_per_block && array.is_programmed(next) {
            array.spoil(next);
        }
        self.spoil_pairs(page);
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
}
