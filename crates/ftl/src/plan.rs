//! The flash commands that one host page access causes, in the order they must run, and which of
//! them the host waits for.

use pumice_types::{BlockId, FlashCommand, bits};

use crate::mapping::superblock_2006::spare::SpareImage;

/// Which command's end completes the access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Completion {
    /// The last one.
    #[default]
    Last,
    /// This one; the commands behind it are the controller's own.
    At(usize),
    /// None: every command is the controller's own.
    Nobody,
}

/// A reused buffer of flash commands.
#[derive(Debug, Default)]
pub struct Plan {
    /// Commands in execution order.
    pub commands: Vec<FlashCommand>,
    completion: Completion,
    /// Spare area of each page that the commands program, in their order; empty unless the FTL keeps its
    /// map there and was asked to say what it writes.
    pub spare_images: Vec<SpareImage>,
    /// A bit a block: its next erase fails. Empty if none ever does.
    failing: Vec<u64>,
}

impl Plan {
    /// An empty plan with room for `commands`.
    pub fn with_capacity(commands: usize) -> Plan {
        Plan { commands: Vec::with_capacity(commands), ..Plan::default() }
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.commands.clear();
        self.completion = Completion::Last;
        self.spare_images.clear();
    }

    /// Appends a command.
    #[inline]
    pub fn push(&mut self, command: FlashCommand) {
        self.commands.push(command);
    }

    /// The status that the chip will report of an erase of `block`, for whoever appends that erase: a block
    /// that fails must not be used again. It is known when the erase is decided, as nothing else touches
    /// the block before it ends.
    #[inline]
    pub fn erase_fails(&self, block: BlockId) -> bool {
        !self.failing.is_empty() && bits::get(&self.failing, block.index())
    }

    /// Says what [`Plan::erase_fails`] answers for each of a device's blocks, none of which failed before.
    pub fn set_failing(&mut self, blocks: usize, failing: impl Iterator<Item = BlockId>) {
        self.failing = vec![0; bits::words_for(blocks)];
        failing.for_each(|block| bits::set(&mut self.failing, block.index()));
    }

    /// Says that the next erase of `block` fails, after one that does not.
    pub fn note_failing(&mut self, block: BlockId) {
        bits::set(&mut self.failing, block.index());
    }

    /// The access is complete when the command appended last has ended, whatever is appended later.
    #[inline]
    pub fn complete_here(&mut self) {
        self.completion = match self.commands.len() {
            0 => Completion::Nobody,
            commands => Completion::At(commands - 1),
        };
    }

    /// Index of the command whose end completes the access: the last one unless
    /// [`Plan::complete_here`] said otherwise, and `None` if the host waits for no command.
    #[inline]
    pub fn completes(&self) -> Option<usize> {
        match self.completion {
            Completion::Last => self.commands.len().checked_sub(1),
            Completion::At(index) => Some(index),
            Completion::Nobody => None,
        }
    }
}
