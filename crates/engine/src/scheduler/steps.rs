//! What runs on a die in steps, as far as it has come: operations of its array, and reads of single planes.

use pumice_types::suspension::{PieceRestarts, Stop, SuspensionRule, SuspensionState};
use pumice_types::{EraseStep, FlashCommand, PlaneId, Time, erase};

use super::segment::{Phase, Resources, Segment, Usage};

/// An operation of the array that runs in steps: an erase, or the program of a page, in one plane or in several.
///
/// Each plane runs its own steps and is then inhibited; the die is busy until the last one is done. When the operation
/// is suspended, each plane continues to its own next stop and waits there for the others.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    /// Shape of its segments.
    pub shape: Resources,
    /// Planes of the die, those of this operation first; the others are kept for their memory.
    pub planes: Vec<PlaneSteps>,
    /// Planes of this operation.
    pub together: usize,
    /// Time at which it began.
    pub begun: Time,
    /// Time at which it last started or resumed.
    pub since: Time,
    /// A read waits: it is suspended as soon as every plane has reached its stop.
    pub stops: bool,
    /// The operation is what the die does.
    pub is_running: bool,
    /// The operation is suspended.
    pub is_suspended: bool,
    /// Number of suspensions so far, and whether the erased block is needed urgently.
    pub state: SuspensionState,
    /// What it uses when it goes on.
    pub rest: Usage,
    /// What its first part was charged to.
    pub phase: Phase,
}

/// One plane's share of an operation.
#[derive(Clone, Debug, Default)]
pub struct PlaneSteps {
    /// Steps of the operation on this plane.
    pub steps: Vec<EraseStep>,
    /// Time of all steps.
    pub total: Time,
    /// How much of that was over when the operation last started or resumed.
    pub done: Time,
    /// Where in its steps it stops, if the operation does, and what that keeps; or its end.
    pub stop: Stop,
    /// How often the piece has begun again that was interrupted last.
    pub restarts: PieceRestarts,
}

impl PlaneSteps {
    /// Begins new steps: nothing of them is over.
    pub fn begin(&mut self) {
        (self.total, self.done) = (erase::total_time(&self.steps), Time::ZERO);
        self.restarts = PieceRestarts::default();
    }
}

impl Operation {
    /// Begins it on so many planes at `since`.
    pub fn begin(&mut self, shape: Resources, together: usize, since: Time) {
        (self.shape, self.together) = (shape, together);
        (self.begun, self.since) = (since, since);
        (self.stops, self.is_running, self.is_suspended) = (false, true, false);
        self.state = SuspensionState::default();
        if self.planes.len() < together {
            self.planes.resize_with(together, PlaneSteps::default);
        }
    }

    /// Whether it goes on after a suspension.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.is_running && self.state.suspensions > 0
    }

    /// The planes of this operation.
    pub fn running(&mut self) -> &mut [PlaneSteps] {
        &mut self.planes[..self.together]
    }

    /// Time from where it last started or resumed until its slowest plane is done.
    pub fn left(&mut self) -> Time {
        self.running().iter().map(|plane| plane.total - plane.done).max().unwrap_or_default()
    }

    /// Sets where the planes stop for a read that waits at `now`. Returns the time, from where the operation
    /// last went on, until the last of them has; `None` if it is over by then, or has no stop left.
    pub fn stop_planes(&mut self, rule: &SuspensionRule, now: Time) -> Option<Time> {
        let (since, state, left) = (self.since, self.state, self.left());
        let mut last = Time::ZERO;
        for plane in self.running() {
            // What was reached before the last suspension is no new stop.
            let elapsed = (plane.done + now.saturating_sub(since)).max(plane.done + Time(1));
            let stop = rule.next_stop(&plane.steps, elapsed, state, plane.restarts);
            plane.stop = stop.unwrap_or(Stop::after(plane.total));
            last = last.max(plane.stop.at - plane.done);
        }
        self.stops = last < left;
        self.stops.then_some(last)
    }
}

/// A read that one plane of a die runs by itself.
#[derive(Clone, Debug)]
pub struct PlaneRead {
    /// The plane.
    pub plane: PlaneId,
    /// Segment of the read.
    pub segment: Segment,
    /// Command of the read.
    pub command: FlashCommand,
    /// What it uses.
    pub usage: Usage,
    /// When it started.
    pub started: Time,
    /// End of its sensing, or of its transfer.
    pub due: Time,
    /// Retries left.
    pub left: u8,
    /// Time of its transfer once it has asked for the channel; none while it is sensed.
    pub moves: Option<Time>,
}
