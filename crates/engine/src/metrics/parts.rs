//! The parts of a host access's time, from arrival to completion.

use pumice_types::Time;

use crate::scheduler::{PHASES, PageDone, Phase, PhaseTimes};

/// Where the time of one page access went. The fields sum to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyParts {
    /// Overhead of the request and its way over the link.
    pub link: Time,
    /// Waiting for a core of the controller, and its time for the request.
    pub controller: Time,
    /// Own time on the channel.
    pub transfer: Time,
    /// Own time on the die.
    pub die: Time,
    /// Own time of the read of the old copy.
    pub rmw_read: Time,
    /// Waiting by phase; [`Phase::Host`] is queueing behind host commands, for the channel and for the
    /// write buffer.
    pub waited: PhaseTimes,
}

/// What a step of an access was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Loading the map's entry.
    Map,
    /// Reading the old copy.
    Rmw,
    /// The access itself.
    Data,
}

impl LatencyParts {
    /// A wait at the host's side alone.
    pub fn waited_for_host(time: Time) -> LatencyParts {
        let mut parts = LatencyParts::default();
        parts.waited[Phase::Host as usize] = time;
        parts
    }

    /// Adds a step of the access that is done.
    pub fn add(&mut self, stage: Stage, done: &PageDone) {
        match stage {
            Stage::Map => self.waited[Phase::Map as usize] += done.transfer + done.die,
            Stage::Rmw => self.rmw_read += done.transfer + done.die,
            Stage::Data => {
                self.transfer += done.transfer;
                self.die += done.die;
            }
        }
        for phase in 0..PHASES {
            self.waited[phase] += done.waited[phase];
        }
    }
}
