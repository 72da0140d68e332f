//! The flash commands that one host page access causes, in the order they must run.

use pumice_types::FlashCommand;

use crate::mapping::superblock_2006::spare::SpareImage;

/// A reused buffer of flash commands.
#[derive(Debug, Default)]
pub struct Plan {
    /// Commands in execution order.
    pub commands: Vec<FlashCommand>,
    /// Spare area of each page that the commands program, in their order; empty unless the FTL keeps its
    /// map there and was asked to say what it writes.
    pub spare_images: Vec<SpareImage>,
}

impl Plan {
    /// An empty plan with room for `commands`.
    pub fn with_capacity(commands: usize) -> Plan {
        Plan { commands: Vec::with_capacity(commands), spare_images: Vec::new() }
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.commands.clear();
        self.spare_images.clear();
    }

    /// Appends a command.
    #[inline]
    pub fn push(&mut self, command: FlashCommand) {
        self.commands.push(command);
    }
}
