//! The flash commands that one host page access causes, in the order they must run.

use pumice_types::FlashCommand;

/// A reused buffer of flash commands.
#[derive(Debug, Default)]
pub struct Plan {
    /// Commands in execution order.
    pub commands: Vec<FlashCommand>,
    /// The command whose end completes the access, if not the last.
    completing: Option<usize>,
}

impl Plan {
    /// An empty plan with room for `commands`.
    pub fn with_capacity(commands: usize) -> Plan {
        Plan { commands: Vec::with_capacity(commands), completing: None }
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.commands.clear();
        self.completing = None;
    }

    /// Says that the command appended last completes the access, whatever follows it.
    #[inline]
    pub fn mark_completing(&mut self) {
        self.completing = self.commands.len().checked_sub(1);
    }

    /// Index of the command whose end completes the access; 0 in an empty plan.
    #[inline]
    pub fn completes(&self) -> usize {
        self.completing.unwrap_or(self.commands.len().saturating_sub(1))
    }

    /// Appends a command.
    #[inline]
    pub fn push(&mut self, command: FlashCommand) {
        self.commands.push(command);
    }
}
