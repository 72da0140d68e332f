//! The flash commands that one host page access causes, in the order they must run.

use pumice_types::FlashCommand;

/// A reused buffer of flash commands.
#[derive(Debug, Default)]
pub struct Plan {
    /// Commands in execution order.
    pub commands: Vec<FlashCommand>,
}

impl Plan {
    /// An empty plan with room for `commands`.
    pub fn with_capacity(commands: usize) -> Plan {
        Plan { commands: Vec::with_capacity(commands) }
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.commands.clear();
    }

    /// Appends a command.
    #[inline]
    pub fn push(&mut self, command: FlashCommand) {
        self.commands.push(command);
    }
}
