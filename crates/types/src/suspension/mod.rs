//! When an erase, or the program of a page, may be suspended, as data: pure functions of its steps. The scheduler decides
//! whether it is.
//!
//! After Kim et al., "Practical Erase Suspension" (ATC'19), and AERO (ASPLOS'24), §7.3. An erase is a
//! sequence of pieces, pulses or loops. A rule either waits for the end of a piece, where a suspended
//! erase loses no work, or interrupts the piece at once, which then begins again.

use std::iter;

use crate::erase::EraseStep;
use crate::{Time, choice};

choice! {
    /// Instants at which an erase lets a read in between.
    pub enum Suspension {
        /// Never.
        Off = "off",
        /// After every verify read: the end of an erase loop, shallow erase included.
        Loop = "loop",
        /// After every unit pulse and every verify read.
        Pulse = "pulse",
        /// As `Pulse`, until the erase was suspended so often, or is urgent: then the rest is one piece.
        Capped = "capped",
        /// At once; the pulse or loop that is interrupted begins again.
        Immediate = "immediate",
        /// As the public simulator of AERO's authors does.
        AuthorsCode = "authors-code",
    }
}

choice! {
    /// Instants at which the program of a page lets a read in between.
    pub enum ProgramSuspension {
        /// Never.
        Off = "off",
        /// After every pulse.
        Pulse = "pulse",
        /// As `Pulse`, until the program was suspended so often: then the rest is one piece.
        Capped = "capped",
        /// At once; the pulse that is interrupted begins again.
        Immediate = "immediate",
    }
}

choice! {
    /// What suspends an erase.
    pub enum SuspensionFor {
        /// Host reads.
        Reads = "reads",
        /// Host reads, and host writes that wait directly behind the erase.
        ReadsAndWrites = "reads-and-writes",
    }
}

choice! {
    /// What an erase consists of between two instants at which it loses no work by stopping.
    pub enum ErasePiece {
        /// A unit pulse, or a verify read.
        Pulse = "pulse",
        /// An erase pulse and its verify read; a shallow erase and its own are one too.
        Loop = "loop",
    }
}

/// How pieces are interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// A piece with less than this left goes on to its end.
    pub guard: Time,
    /// So often a piece begins again; then it goes on to its end. So every erase ends.
    pub max_restarts: u32,
}

/// The rule of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionRule {
    /// What an erase consists of; `None`: it is never suspended.
    pub piece: Option<ErasePiece>,
    /// How a piece is interrupted; `None`: it goes on to its end.
    pub interruption: Option<Interruption>,
    /// So many last loops of an erase are never suspended. Which loops these are is unknown before they are verified,
    /// unless fail bits show it: for `ispe` this takes an oracle.
    pub protected_loops: u8,
    /// Suspensions of one erase after which the rest is one piece, as it is if a write needs the block; `None`: no
    /// limit.
    pub max_suspensions: Option<u32>,
    /// What suspends the erase.
    pub whom: SuspensionFor,
    /// Time from the stop until the die takes another command.
    pub suspend: Time,
    /// Time from the end of the other commands until the erase goes on.
    pub resume: Time,
}

/// How far an erase has come with being suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspensionState {
    /// Suspensions so far.
    pub suspensions: u32,
    /// A write needs the erased block now.
    pub urgent: bool,
}

/// How often the piece that begins at an instant of an erase has begun again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceRestarts {
    /// Start of the piece, in time of the erase itself.
    pub start: Time,
    /// How often it has begun again.
    pub count: u32,
}

impl PieceRestarts {
    /// The restarts of the piece after a stop.
    pub fn after(self, stop: Stop) -> PieceRestarts {
        match stop {
            Stop { at, keeps } if at == keeps => self,
            Stop { keeps, .. } if keeps == self.start => PieceRestarts { count: self.count + 1, ..self },
            Stop { keeps, .. } => PieceRestarts { start: keeps, count: 1 },
        }
    }
}

/// Where an erase stops, in time of the erase itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// How much of the erase has run when it stops.
    pub at: Time,
    /// How much of the erase stays done: where it goes on.
    pub keeps: Time,
}

impl Stop {
    /// A stop that loses nothing.
    pub fn after(done: Time) -> Stop {
        Stop { at: done, keeps: done }
    }
}

impl SuspensionRule {
    /// A rule that suspends after each piece, any number of times, at no cost in time.
    pub fn after_each(piece: ErasePiece) -> SuspensionRule {
        SuspensionRule { piece: Some(piece), ..SuspensionRule::NEVER }
    }

    /// A rule that never suspends.
    pub const NEVER: SuspensionRule = SuspensionRule {
        piece: None,
        interruption: None,
        protected_loops: 0,
        max_suspensions: None,
        whom: SuspensionFor::Reads,
        suspend: Time::ZERO,
        resume: Time::ZERO,
    };

    /// Whether the rule allows this erase any further suspension.
    pub fn open(&self, state: SuspensionState) -> bool {
        let within = |most: u32| !state.urgent && state.suspensions < most;
        self.piece.is_some() && self.max_suspensions.is_none_or(within)
    }

    /// Where an erase of these steps stops for an access that waits from `from` on, in time of the erase itself;
    /// `None` if it does not stop before its end. Its end is its completion and not a stop, and its start is none
    /// either.
    pub fn next_stop(
        &self,
        steps: &[EraseStep],
        from: Time,
        state: SuspensionState,
        restarts: PieceRestarts,
    ) -> Option<Stop> {
        let piece = self.piece.filter(|_| self.open(state))?;
        let loops = steps.iter().filter(|step| step.ends_loop()).count();
        let mut start = Time::ZERO;
        for of_loop in steps.split_inclusive(EraseStep::ends_loop).take(loops - loops.min(self.protected_loops.into()))
        {
            for end in piece_ends(piece, of_loop, start) {
                if end >= from {
                    let stop = self.stop_in([start, end], from.max(Time(1)), restarts);
                    return Some(stop).filter(|stop| stop.at < crate::erase::total_time(steps));
                }
                start = end;
            }
        }
        None
    }

    /// Where a piece from `start` to `end` stops for an access that waits from `from` on.
    fn stop_in(&self, [start, end]: [Time; 2], from: Time, restarts: PieceRestarts) -> Stop {
        let begun_again = if restarts.start == start { restarts.count } else { 0 };
        let interrupts = |rule: &Interruption| begun_again < rule.max_restarts && end - from >= rule.guard;
        match self.interruption.filter(interrupts) {
            Some(_) if from < end => Stop { at: from, keeps: start },
            Some(_) | None => Stop::after(end),
        }
    }

    /// Whether the sequence may be suspended exactly at `at`, if nothing of it began again so far.
    pub fn allows(&self, steps: &[EraseStep], at: Time, state: SuspensionState) -> bool {
        self.next_stop(steps, at, state, PieceRestarts::default()).is_some_and(|stop| stop.at == at)
    }

    /// What one suspension adds to the erase itself.
    pub fn overhead(&self) -> Time {
        self.suspend + self.resume
    }
}

/// Ends of the pieces of a loop that begins at `start`. The k-th of n unit pulses of a step ends at
/// ⌈k · duration / n⌉.
fn piece_ends(piece: ErasePiece, of_loop: &[EraseStep], start: Time) -> impl Iterator<Item = Time> {
    let whole = start + crate::erase::total_time(of_loop);
    let mut begin = start;
    let steps = of_loop.iter().flat_map(move |step| {
        let (from, parts) = (begin, u64::from(step.pulses.max(1)));
        begin += step.duration;
        (1..=parts).map(move |part| from + Time((step.duration.0 * part).div_ceil(parts)))
    });
    let inner = steps.filter(move |&end| piece == ErasePiece::Pulse && end < whole);
    inner.chain(iter::once(whole))
}

#[cfg(test)]
mod tests;
