//! When the power is cut in a run, and what a cut leaves of an operation.

use std::sync::Arc;

use pumice_config::{Config, Cuts, TornKind};
use pumice_nand::Torn;
use pumice_types::Time;
use pumice_workload::RandomStream;

use crate::build::Foundation;
use crate::error::SimError;
use crate::scheduler::Scheduler;

/// What a program, copy or erase leaves that a cut has interrupted, when it is drawn.
const OUTCOMES: [Torn; 3] = [Torn::Old, Torn::New, Torn::Mixed];

/// Draws what an operation leaves.
pub(super) fn drawn(random: &mut RandomStream) -> Torn {
    OUTCOMES[random.below(OUTCOMES.len() as u64) as usize]
}

/// A cut is drawn among so many commands that begin from a drawn point of the workload on.
const COMMANDS_DRAWN_FROM: u64 = 64;

/// Half of a command, in 2^-32.
const HALF: u32 = 1 << 31;

/// The cuts to come, the next one last.
#[derive(Clone)]
enum CutsToCome {
    /// At these times.
    At(Vec<Time>),
    /// In these commands that change flash.
    Within(Vec<u64>),
    /// Behind these shares of the workload, in commands that a stream draws. `armed`: the share of the next one is
    /// reached, and its command is drawn.
    Drawn { shares: Vec<f64>, random: RandomStream, armed: bool },
}

impl CutsToCome {
    /// The cuts that a configuration asks for.
    fn of(config: &Config) -> CutsToCome {
        match config.power.schedule().1 {
            Cuts::At(times) => CutsToCome::At(times.iter().rev().map(|&at| Time::from_us(at * 1e6)).collect()),
            Cuts::Within(commands) => {
                CutsToCome::Within(commands.iter().rev().map(|&command| command as u64).collect())
            }
            Cuts::Drawn(cuts) => {
                let mut random = RandomStream::new(config.seed, "power-cuts");
                let mut shares: Vec<f64> = (0..cuts).map(|_| random.unit()).collect();
                shares.sort_unstable_by(|a, b| b.total_cmp(a));
                CutsToCome::Drawn { shares, random, armed: false }
            }
        }
    }

    fn left(&self) -> usize {
        match self {
            CutsToCome::At(times) => times.len(),
            CutsToCome::Within(commands) => commands.len(),
            CutsToCome::Drawn { shares, .. } => shares.len(),
        }
    }

    /// The next one has come.
    fn pop(&mut self) {
        match self {
            CutsToCome::At(times) => drop(times.pop()),
            CutsToCome::Within(commands) => drop(commands.pop()),
            CutsToCome::Drawn { shares, armed, .. } => {
                shares.pop();
                *armed = false;
            }
        }
    }
}

/// Cuts of a run, and what the device recovers from.
#[derive(Clone)]
pub struct PowerCuts {
    pub(super) config: Arc<Config>,
    pub(super) foundation: Foundation,
    to_come: CutsToCome,
    /// Share of the workload that has been submitted.
    share: f64,
    pub(super) random: RandomStream,
}

impl PowerCuts {
    /// The cuts of a configuration at a scale.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn new(config: &Arc<Config>, scale: f64) -> Result<PowerCuts, SimError> {
        let random = RandomStream::new(config.seed, "power");
        let (foundation, to_come) = (Foundation::new(config, scale)?, CutsToCome::of(config));
        Ok(PowerCuts { config: Arc::clone(config), foundation, to_come, share: 0.0, random })
    }

    /// When the power is cut next, as far as it is known.
    #[inline]
    pub(super) fn next(&self, scheduler: &Scheduler) -> Option<Time> {
        match &self.to_come {
            CutsToCome::At(times) => times.last().copied(),
            CutsToCome::Within(_) | CutsToCome::Drawn { .. } => scheduler.cut_at(),
        }
    }

    /// The next one has come.
    pub fn pop(&mut self) {
        self.to_come.pop();
    }

    /// Cuts that are still to come.
    pub fn left(&self) -> usize {
        self.to_come.left()
    }

    /// Whether cuts wait for the workload to get to their share of it.
    #[inline]
    pub fn wait_for_share(&self) -> bool {
        matches!(&self.to_come, CutsToCome::Drawn { shares, armed: false, .. } if !shares.is_empty())
    }

    /// Tells the scheduler of the command in which the power is cut next, once that is settled. So much of the
    /// workload has been submitted.
    pub fn arm(&mut self, share: Option<f64>, scheduler: &mut Scheduler) {
        self.share = share.unwrap_or(self.share);
        match &mut self.to_come {
            CutsToCome::At(_) => {}
            CutsToCome::Within(commands) => {
                commands.last().into_iter().for_each(|&command| scheduler.cut_in(command, HALF));
            }
            CutsToCome::Drawn { shares, random, armed } => {
                if !*armed && shares.last().is_some_and(|&next| next <= self.share) {
                    *armed = true;
                    let command = scheduler.changes_begun() + 1 + random.below(COMMANDS_DRAWN_FROM);
                    scheduler.cut_in(command, random.bits() as u32);
                }
            }
        }
    }

    /// What an operation leaves.
    pub(super) fn draw(&mut self) -> Torn {
        match self.config.power.torn {
            TornKind::Old => Torn::Old,
            TornKind::New => Torn::New,
            TornKind::Mixed => Torn::Mixed,
            TornKind::Drawn => drawn(&mut self.random),
        }
    }
}
