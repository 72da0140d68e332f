//! Pages that are moved between dies: a program on one die waits until another die has read its data.

use pumice_types::{AWAITED_READS, FlashCommand};

use super::Scheduler;
use super::die::WORK;

/// Reads of every die that fetch pages for programs on other dies. Those of a die are queued and end in one order, so
/// a program waits for its data by the number of the read. Nothing is counted where no page is moved.
#[derive(Clone, Debug)]
pub(super) struct MoveReads {
    dies: Vec<DieReads>,
    blocks_per_die: u32,
}

/// Reads of one die, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default)]
struct DieReads {
    queued: u32,
    ended: u32,
}

impl MoveReads {
    /// Nothing queued.
    pub(super) fn new(dies: usize, blocks_per_die: u32) -> MoveReads {
        MoveReads { dies: vec![DieReads::default(); dies], blocks_per_die }
    }

    /// Notes that a command of die `die` was queued. Returns it, with the number of the read that it waits for if it
    /// waits for one: its own or, where that was answered from the buffer, one that was decided earlier.
    pub(super) fn queued(&mut self, die: usize, command: FlashCommand) -> FlashCommand {
        if command.reads_for_move() {
            let queued = &mut self.dies[die].queued;
            *queued = queued.wrapping_add(1);
        }
        if command.is_move() { command.behind_read(self.reads_of(&command).queued) } else { command }
    }

    /// Notes that a command of die `die` has ended.
    pub(super) fn ended(&mut self, die: usize, command: &FlashCommand) {
        if command.reads_for_move() {
            let ended = &mut self.dies[die].ended;
            *ended = ended.wrapping_add(1);
        }
    }

    /// The power is cut: what was queued is gone, and nothing waits.
    pub(super) fn power_off(&mut self) {
        self.dies.fill(DieReads::default());
    }

    /// Whether the data of a page that a command programs has not been read. Numbers run in a circle, and far fewer
    /// reads than half of it wait.
    pub(super) fn are_awaited(&self, command: &FlashCommand) -> bool {
        let since = || self.reads_of(command).ended.wrapping_sub(command.awaited_read()) & AWAITED_READS;
        command.is_move() && since() > AWAITED_READS / 2
    }

    /// The reads of the die that a page comes from.
    fn reads_of(&self, moved: &FlashCommand) -> DieReads {
        self.dies[(moved.source.block.0 / self.blocks_per_die) as usize]
    }
}

impl Scheduler {
    /// Whether a die's next command programs a page that another die has not read yet.
    #[cold]
    pub(super) fn move_waits(&self, index: usize) -> bool {
        self.dies[index].lanes[WORK].commands.front().is_some_and(|next| self.moves.are_awaited(next))
    }
}
