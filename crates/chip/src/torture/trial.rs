//! A session, and what is tried at a moment of it.

use std::ops::Range;

use pumice_types::Draw;

use super::{Case, CaseFailure, Complaint, Firmware, SessionRun, Then, Torture, TortureError, TorturePhase};
use crate::session::RecordedMoment;

/// How often the range doubles from which the operation after the start is drawn that a second cut or a failure meets:
/// the first 2, 4, 8, 16 or 32, each as often (chosen: mounts repair in few operations, and steps follow).
const DOUBLINGS: u64 = 5;

/// Cuts during recoveries of one case; the plan has one.
const RESTARTS: u32 = 3;

type Broken = (TorturePhase, Complaint);

impl<F: Firmware> Torture<F> {
    /// Runs a session from the formatted chip on, and keeps the states before these operations.
    ///
    /// # Errors
    /// The chip refuses its own state.
    pub(super) fn run_session(&mut self, fails: Option<u64>, wanted: Range<u64>) -> Result<SessionRun, TortureError> {
        let (formatted, seed, until) = (&self.formatted, self.plan.seed, wanted.end);
        self.firmware.with_chip(|chip| {
            chip.restore(formatted)?;
            chip.draw_from(seed);
            fails.into_iter().for_each(|nth| chip.fail_after(nth));
            chip.begin_record(wanted);
            Ok::<_, TortureError>(())
        })?;
        let mut done = 0;
        let ended = self.run_steps(&mut done, until).err();
        self.stop();
        let (operations, moments) = self.firmware.with_chip(|chip| chip.end_record());
        Ok(SessionRun { operations, moments, done, ended })
    }

    /// Mounts and does all steps; or, if states are wanted, those up to the last of them.
    fn run_steps(&mut self, done: &mut u64, until: u64) -> Result<(), Broken> {
        self.firmware.start().map_err(|complaint| (TorturePhase::Mount, complaint))?;
        self.firmware.mount().map_err(|complaint| (TorturePhase::Mount, complaint))?;
        while *done < self.plan.steps {
            self.firmware.work(*done).map_err(|complaint| (TorturePhase::Work, complaint))?;
            *done += 1;
            let so_far = *done;
            if !self.firmware.with_chip(|chip| chip.note_done(so_far)) && until > 0 {
                return Ok(());
            }
        }
        self.firmware.check(*done).map_err(|complaint| (TorturePhase::Check, complaint))
    }

    /// Cuts the power at a moment, and lets the firmware start and go on.
    pub(super) fn attempt(&mut self, index: u64, case: Case, moment: &RecordedMoment) -> Option<CaseFailure> {
        let seed = self.plan.seed;
        let number = Draw::new(seed, "torture").bits((case.cut.unwrap_or_default() << 16) | case.with.draw);
        self.firmware.with_chip(|chip| {
            chip.go_to(moment);
            chip.draw_from(number);
            chip.cut_after(0, case.with.leaves);
            // It meets the cut, so it always fails.
            let _ = chip.perform(&moment.operation);
            chip.power_on();
            let nth = number % (2 << ((number >> 32) % DOUBLINGS));
            match case.with.then {
                Then::Settle => chip.settle(),
                Then::Later => {}
                Then::Cut => chip.cut_after(nth, case.with.leaves),
                Then::Running => chip.settle_after(nth),
                Then::Fail => chip.fail_after(nth),
            }
        });
        let ended = self.go_on_after(moment.done);
        self.stop();
        ended.err().map(|(phase, Complaint(text))| {
            let operation = moment.operation.describe();
            CaseFailure { index, case, phase, text, operation, done: moment.done }
        })
    }

    /// Starts after a cut, works on, and starts once more when all that the cut left has had its time.
    fn go_on_after(&mut self, done: u64) -> Result<(), Broken> {
        self.recover(done)?;
        let until = (done + self.plan.after).min(self.plan.steps);
        let (mut step, mut restarts) = (done, 0);
        while step < until {
            let worked = self.firmware.work(step);
            if self.gave_power_back() && restarts < RESTARTS {
                restarts += 1;
                self.recover(step)?;
                continue;
            }
            worked.map_err(|complaint| (TorturePhase::Work, complaint))?;
            step += 1;
        }
        self.firmware.with_chip(|chip| {
            chip.cancel_cut();
            chip.cancel_failure();
            chip.settle();
        });
        self.recover(step)
    }

    /// Starts with empty RAM, mounts and checks, through a cut that comes meanwhile.
    fn recover(&mut self, done: u64) -> Result<(), Broken> {
        for _ in 0..RESTARTS {
            self.stop();
            self.firmware.start().map_err(|complaint| (TorturePhase::Mount, complaint))?;
            let mounted = self.firmware.mount();
            if self.gave_power_back() {
                continue;
            }
            mounted.map_err(|complaint| (TorturePhase::Mount, complaint))?;
            let checked = self.firmware.check(done);
            if self.gave_power_back() {
                continue;
            }
            return checked.map_err(|complaint| (TorturePhase::Check, complaint));
        }
        Err((TorturePhase::Mount, Complaint("the power was cut again and again".into())))
    }

    /// What the firmware has in RAM is gone. It has no power meanwhile: what it would write at an orderly end is not.
    pub(super) fn stop(&mut self) {
        self.firmware.with_chip(|chip| chip.hold_power(false));
        self.firmware.stop();
        self.firmware.with_chip(|chip| chip.hold_power(true));
    }

    /// Whether the power was off. It is on then.
    fn gave_power_back(&mut self) -> bool {
        self.firmware.with_chip(|chip| {
            let was_off = !chip.is_powered();
            chip.power_on();
            was_off
        })
    }
}
