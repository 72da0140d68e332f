//! Erases, and what all operations that change pages have in common. Each takes the time that it takes on an idle
//! device.

use pumice_nand::{Rule, Torn, Violation};
use pumice_types::erase::total_time;
use pumice_types::{BlockId, FlashCommand, FlashOp, FlashTiming, Lpn, PageAddress, Pb, Time, UnitSet};

use crate::session::ChipOperation;
use crate::{Chip, ChipFailure, CutOutcome, Illegal};

/// All data belongs to one logical page in one version: firmware keeps its own in the spare bytes.
pub(crate) const DATA: (Lpn, u8) = (Lpn(0), 1);

/// How an operation that is done goes on.
pub(crate) enum Course {
    Ends,
    Fails,
    IsCut(CutOutcome),
}

impl Chip {
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

    pub(crate) fn erase_by(&mut self, command: FlashCommand) -> Result<(), ChipFailure> {
        self.check_call(0, 0, 0)?;
        let block = command.target.block;
        if let Err(violation) = self.state.chips.checked.array.check(&command) {
            self.despite(violation, ChipFailure::EraseFailed(block))?;
        }
        self.record(|| ChipOperation::Erase(command));
        let course = self.begin(block);
        if !matches!(course, Course::IsCut(CutOutcome::Before)) {
            self.state.chips.begin_erase(&command, &mut self.state.steps);
        }
        let time = total_time(&self.state.steps);
        let result = match course {
            Course::Ends => {
                self.state.chips.execute(&command)?;
                self.state.now += time;
                let ended = self.end_of_erase(block);
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
                if let Some(left) = self.cut_now(leaves) {
                    self.tear(&command, left)?;
                }
                Err(ChipFailure::PowerLost)
            }
        };
        let array = &self.state.chips.checked.array;
        self.state.cells.erase(block, |page| array.is_programmed(page));
        result
    }

    /// Whether an erase that has ended was good. The array marks a block whose erase ran out of loops; a chip does
    /// not, and takes another try.
    fn end_of_erase(&mut self, block: BlockId) -> Result<(), ChipFailure> {
        if !self.is_bad(block) {
            return Ok(());
        }
        self.state.chips.checked.array.note_failed_erase(block);
        Err(ChipFailure::EraseFailed(block))
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

    /// Refuses a call without power, or with bytes that a page does not have.
    pub(crate) fn check_call(&self, offset: usize, data: usize, oob: usize) -> Result<(), ChipFailure> {
        if !self.is_powered() {
            return Err(ChipFailure::PowerLost);
        }
        let (page_bytes, oob_bytes) = (self.geometry.page_bytes as usize, self.geometry.spare_bytes as usize);
        if data > page_bytes {
            return Err(ChipFailure::Usage(format!("{data} bytes of data; a page has {page_bytes}")));
        }
        if offset > page_bytes - data {
            return Err(ChipFailure::Usage(format!("{data} bytes of data from {offset} on; a page has {page_bytes}")));
        }
        if oob > oob_bytes {
            return Err(ChipFailure::Usage(format!("{oob} spare bytes; a page has {oob_bytes}")));
        }
        Ok(())
    }

    /// What becomes of an operation that breaks a rule: `Ok` if it is done all the same. `failed`: what is said of one
    /// in a bad block, on a chip that refuses nothing that it could do.
    ///
    /// # Errors
    /// The operation is not done.
    pub(crate) fn despite(&mut self, violation: Violation, failed: ChipFailure) -> Result<(), ChipFailure> {
        self.state.counts.illegal += 1;
        if self.options.illegal == Illegal::Refuse {
            return Err(violation.into());
        }
        match violation.rule {
            Rule::EraseBeforeProgram | Rule::UnstableProgram | Rule::ProgramOrder => Ok(()),
            Rule::BadBlock => {
                self.state.counts.failed += 1;
                Err(failed)
            }
            Rule::ReadErasedPage
            | Rule::PartialBlockIndex
            | Rule::SubBlockSet
            | Rule::CopybackPlane
            | Rule::AddressRange
            | Rule::DieBusy
            | Rule::MultiPlane => Err(violation.into()),
        }
    }

    /// Begins an operation that changes pages of a block.
    pub(crate) fn begin(&mut self, block: BlockId) -> Course {
        let state = &mut self.state;
        state.counts.operations += 1;
        if comes_now(&mut state.settling) {
            state.chips.checked.array.fade();
        }
        if let Some(leaves) = self.meets_cut() {
            return Course::IsCut(leaves);
        }
        let state = &mut self.state;
        if comes_now(&mut state.failure) {
            state.failing.insert(block);
        }
        let fails = !state.failing.is_empty() && state.failing.contains(&block);
        if fails { Course::Fails } else { Course::Ends }
    }
}

/// Counts down to what was planned for an operation. Whether it is this one.
fn comes_now(planned: &mut Option<u64>) -> bool {
    match planned {
        None => false,
        Some(0) => planned.take().is_some(),
        Some(left) => {
            *left -= 1;
            false
        }
    }
}

/// A page over the channel, with its command.
pub(crate) fn page_transfer(timing: &FlashTiming) -> Time {
    timing.page_transfer + timing.command_overhead
}

/// A page read once.
pub(crate) fn page_read(timing: &FlashTiming, page: PageAddress) -> Time {
    timing.t_r(page.page) + page_transfer(timing)
}
