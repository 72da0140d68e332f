//! Operations as values, and a record of the states before them: so that one session serves for cuts at each of its
//! operations.

use std::ops::Range;

use pumice_types::{FlashCommand, FlashOp, PageAddress};

use crate::{Chip, ChipFailure, State};

/// A program, copy or erase with its bytes.
#[derive(Clone, Debug)]
pub(crate) enum ChipOperation {
    /// Data from an offset on, and spare bytes.
    Program { page: PageAddress, offset: usize, data: Vec<u8>, oob: Vec<u8> },
    /// A copy, perhaps with other spare bytes.
    Copy { from: PageAddress, to: PageAddress, oob: Option<Vec<u8>> },
    /// An erase of a block or part of one.
    Erase(FlashCommand),
}

impl ChipOperation {
    /// The operation in words, with its place.
    pub(crate) fn describe(&self) -> String {
        let at = |page: &PageAddress| format!("block {} page {}", page.block.0, page.page);
        match self {
            ChipOperation::Program { page, .. } => format!("program of {}", at(page)),
            ChipOperation::Copy { from, to, .. } => format!("copy of {} to {}", at(from), at(to)),
            ChipOperation::Erase(command) if command.op == FlashOp::Erase => {
                format!("erase of block {}", command.target.block.0)
            }
            ChipOperation::Erase(command) => format!("erase of a part of block {}", command.target.block.0),
        }
    }
}

/// A chip right before an operation.
pub(crate) struct RecordedMoment {
    /// What the chip was.
    pub state: State,
    /// The operation under way.
    pub operation: ChipOperation,
    /// Steps of the session that had ended.
    pub done: u64,
}

/// Notes the states before operations of a session.
pub(crate) struct Recorder {
    /// Which operations, counted from where the record began.
    wanted: Range<u64>,
    seen: u64,
    done: u64,
    moments: Vec<RecordedMoment>,
}

impl Chip {
    /// From now on notes the states before these operations.
    pub(crate) fn begin_record(&mut self, wanted: Range<u64>) {
        self.recorder = Some(Box::new(Recorder { wanted, seen: 0, done: 0, moments: Vec::new() }));
    }

    /// So many steps of the session have ended. Returns whether operations are still wanted.
    pub(crate) fn note_done(&mut self, done: u64) -> bool {
        let Some(recorder) = &mut self.recorder else { return true };
        recorder.done = done;
        recorder.seen < recorder.wanted.end
    }

    /// Ends the record: how many operations there were, and the states before those that were wanted.
    pub(crate) fn end_record(&mut self) -> (u64, Vec<RecordedMoment>) {
        self.recorder.take().map_or((0, Vec::new()), |recorder| (recorder.seen, recorder.moments))
    }

    /// Notes an operation that is about to begin, if it is wanted.
    pub(crate) fn record(&mut self, operation: impl FnOnce() -> ChipOperation) {
        let Some(recorder) = &mut self.recorder else { return };
        if recorder.wanted.contains(&recorder.seen) {
            let (state, done) = (self.state.clone(), recorder.done);
            recorder.moments.push(RecordedMoment { state, operation: operation(), done });
        }
        recorder.seen += 1;
    }

    /// Goes back to a recorded moment.
    pub(crate) fn go_to(&mut self, moment: &RecordedMoment) {
        self.state = moment.state.clone();
    }

    /// Does an operation again.
    pub(crate) fn perform(&mut self, operation: &ChipOperation) -> Result<(), ChipFailure> {
        match operation {
            ChipOperation::Program { page, offset: 0, data, oob } => self.program(*page, data, oob),
            ChipOperation::Program { page, offset, data, .. } => self.program_at(*page, *offset, data),
            ChipOperation::Copy { from, to, oob } => self.copy(*from, *to, oob.as_deref()),
            ChipOperation::Erase(command) => self.erase_by(*command),
        }
    }
}
