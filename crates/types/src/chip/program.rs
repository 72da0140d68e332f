//! `[program]`: when the program of a page may be suspended.

use crate::key::{ANY, ANY_US, CHOSEN, COUNT_MAX, TIMED, When, float, int};
use crate::suspension::{Interruption, ProgramSuspension, SuspensionRule};
use crate::{ErasePiece, Time, keys};

/// Programs are suspended.
const SUSPENDED: When = When::All(&[TIMED, When::IsNot("program.suspension", &["off"])]);

/// A suspension interrupts a pulse.
const IMMEDIATE: When = When::All(&[TIMED, When::Is("program.suspension", &["immediate"])]);

keys! {
    /// `[program]`
    pub struct ProgramKeys in "program" {
        pages_per_command: u16 = "1", int(1, 65_535), "pages", "chosen: the papers program page by page", When::Always,
            "Consecutive pages of a block that one command programs: a word line, or that of several planes. All but the last only move to the chip; the last takes the time of all. A divisor of geometry.pages_per_block.";
        spread: f64 = "0.0", float(0.0, 0.9), "share of tPROG", CHOSEN, TIMED,
            "By how much the time of a page program differs from timing.t_prog_us at most, up or down: drawn by the seed for each page of each block, evenly.";
        suspension: ProgramSuspension = "\"off\"", ANY, "", CHOSEN, TIMED,
            "Where host reads suspend a page program, also of a copy (needs host.read_priority = true). pulse: after each pulse and its verify read. capped: as pulse, up to max_suspensions times. immediate: at once; the interrupted pulse begins again.";
        pulses: u8 = "10", int(1, 255), "pulses", "chosen: of tens of us each", SUSPENDED,
            "Program pulses of a page, each with its verify read: so many equal parts of tPROG.";
        protected_pulses: u8 = "0", int(0, 255), "pulses", CHOSEN, SUSPENDED,
            "Last pulses of a program that are never suspended.";
        suspension_guard_us: f64 = "0.0", ANY_US, "us", CHOSEN, IMMEDIATE,
            "A pulse with less than this left is not interrupted but goes on to its end.";
        suspension_max_restarts: u32 = "10", int(0, COUNT_MAX), "", CHOSEN, IMMEDIATE,
            "Times that one pulse begins again; then it goes on to its end, so every program ends.";
        suspend_us: f64 = "0.0", ANY_US, "us", "chosen: between pulses no voltage is to be taken down", SUSPENDED,
            "Time from the stop of the program until the die takes a read.";
        resume_us: f64 = "0.0", ANY_US, "us", "chosen, as suspend_us", SUSPENDED,
            "Time until a suspended program goes on.";
        max_suspensions: u32 = "10", int(0, COUNT_MAX), "", CHOSEN, When::All(&[TIMED, When::Is("program.suspension", &["capped"])]),
            "Suspensions of one program under suspension = \"capped\".";
    }
}

impl ProgramKeys {
    /// The pulses of a program that may be suspended, and those behind them that are not.
    pub fn pulses_of_program(&self) -> [u8; 2] {
        let protected = self.protected_pulses.min(self.pulses);
        [self.pulses - protected, protected]
    }

    /// When programs may be suspended; `None` if they are not.
    pub fn suspension_rule(&self) -> Option<SuspensionRule> {
        let after_pulses = SuspensionRule {
            suspend: Time::from_us(self.suspend_us),
            resume: Time::from_us(self.resume_us),
            // They are a loop of their own.
            protected_loops: u8::from(self.protected_pulses > 0),
            ..SuspensionRule::after_each(ErasePiece::Pulse)
        };
        match self.suspension {
            ProgramSuspension::Off => None,
            ProgramSuspension::Pulse => Some(after_pulses),
            ProgramSuspension::Capped => {
                Some(SuspensionRule { max_suspensions: Some(self.max_suspensions), ..after_pulses })
            }
            ProgramSuspension::Immediate => {
                let (guard, max_restarts) = (Time::from_us(self.suspension_guard_us), self.suspension_max_restarts);
                Some(SuspensionRule { interruption: Some(Interruption { guard, max_restarts }), ..after_pulses })
            }
        }
    }
}
