//! When a die may take its next command.

use pumice_types::{FlashCommand, Time};

use crate::rules::{Rule, Violation};

/// One die's busy time: legal at `free_at`, refused one nanosecond earlier.
#[derive(Clone, Copy, Debug, Default)]
pub struct DieClock {
    free_at: Time,
}

impl DieClock {
    /// The first instant at which the die takes a command.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Occupies the die from `start` to `end` for `command`.
    ///
    /// # Errors
    /// [`Rule::DieBusy`] if an earlier command still runs at `start`.
    #[inline]
    pub fn occupy(&mut self, start: Time, end: Time, command: &FlashCommand) -> Result<(), Violation> {
        if start < self.free_at {
            return Err(Violation { rule: Rule::DieBusy, command: *command });
        }
        self.free_at = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::BlockId;

    #[test]
    fn t200_a_die_takes_a_command_when_free_and_not_a_nanosecond_earlier() {
        let command = FlashCommand::erase(BlockId(0));
        let mut clock = DieClock::default();
        clock.occupy(Time(5), Time(105), &command).expect("an idle die takes a command");
        let refused = clock.occupy(Time(104), Time(204), &command).expect_err("the die is busy until 105");
        assert_eq!(refused.rule, Rule::DieBusy);
        clock.occupy(Time(105), Time(205), &command).expect("free at 105");
    }
}
