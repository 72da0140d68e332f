//! A controller as it is at one instant.

use pumice_ftl::{Ftl, Plan};

use super::Controller;
use super::start::PLAN_COMMANDS;

impl Controller {
    /// A controller of the same state over chips of the same state; `ftl` is its translation layer.
    pub fn copied(&self, ftl: Ftl) -> Controller {
        let Controller { ftl: _, scheduler, tally, zone_times, uncounted_commands, rules, next_number, .. } = self;
        let Controller {
            plan: _,
            accesses,
            buffer,
            waiting,
            pages_done,
            held_back,
            handed_over,
            opened,
            looking_up,
            ..
        } = self;
        Controller {
            ftl,
            scheduler: scheduler.clone(),
            tally: tally.clone(),
            zone_times: zone_times.clone(),
            uncounted_commands: *uncounted_commands,
            rules: rules.clone(),
            next_number: *next_number,
            handed_over: *handed_over,
            // It is emptied before each use.
            plan: Plan::with_capacity(PLAN_COMMANDS),
            accesses: accesses.clone(),
            buffer: buffer.clone(),
            waiting: waiting.clone(),
            pages_done: pages_done.clone(),
            held_back: held_back.clone(),
            opened: opened.clone(),
            looking_up: looking_up.clone(),
            in_turn: self.in_turn.clone(),
            has_released: self.has_released,
        }
    }
}
