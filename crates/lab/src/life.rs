//! The life of a device: its workload is written over and over until no block is left to write to.
//!
//! A life takes thousands of writes of every page, and nothing changes for most of them. So it is fast-forwarded: the
//! device is simulated for a few windows, then all blocks are worn by the cycles of many such windows at once. A jump
//! ends when the next few blocks are due to be retired, each of them before its own last erase; the windows behind it
//! retire most of them and show what the lost spare does to write amplification. Jumps wear all blocks alike, so they
//! need a device that does: [`Life::wear_spread`] tells whether its windows did.

use pumice_config::{Config, SpecError};
use pumice_engine::metrics::FlashCounts;
use pumice_engine::observe::ObserverRef;
use pumice_engine::{AgeingRequests, Session, SimError};
use pumice_types::{BlockId, refuse};
use serde::{Deserialize, Serialize};

/// Difference of write amplification between the last three quarters of the windows below which the device counts as
/// settled.
const SETTLED: f64 = 0.003;

/// P/E cycles after which it counts as settled in any case.
const SETTLING_MAX: f64 = 20.0;

/// How a life is simulated.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LifeQuery {
    /// P/E cycles of a window.
    pub window_cycles: f64,
    /// Jumps in which the spare blocks are used up.
    pub steps: u32,
    /// Every write is simulated.
    pub whole: bool,
}

impl Default for LifeQuery {
    fn default() -> LifeQuery {
        LifeQuery { window_cycles: 0.5, steps: 16, whole: false }
    }
}

impl LifeQuery {
    fn check(&self) -> Result<(), SpecError> {
        if !(0.01..=100.0).contains(&self.window_cycles) {
            return Err(refuse!("window_cycles = {} is not allowed; allowed: 0.01 to 100", self.window_cycles));
        }
        if !(1..=10_000).contains(&self.steps) {
            return Err(refuse!("steps = {} is not allowed; allowed: 1 to 10000", self.steps));
        }
        Ok(())
    }
}

/// A device at some time of its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LifePoint {
    /// Mean P/E cycles of all blocks; retired ones keep theirs.
    pub pec: f64,
    /// Bytes that the host has written.
    pub host_bytes: f64,
    /// Write amplification of the window before; what the device did not survive of the last one counts as the one before.
    pub write_amplification: f64,
    /// Blocks retired so far.
    pub retired_blocks: u64,
}

/// A life from the first write to the last.
#[derive(Clone, Debug, Serialize)]
pub struct Life {
    /// The device when it took its last write.
    pub end: LifePoint,
    /// P/E cycles of the blocks before the first write.
    pub initial_pec: f64,
    /// The P/E cycles at which a block of mean stress meets the requirement no more; `None`: never.
    pub block_pec: Option<f64>,
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Bytes programmed for each byte of the host, over the whole life.
    pub write_amplification: f64,
    /// All blocks, and those of them that the spare was.
    pub blocks: [u64; 2],
    /// Bytes of the host that were simulated.
    pub simulated_bytes: f64,
    /// Variance of the erases of a page in the windows, over their mean: at most about 1 where wear is even.
    pub wear_spread: f64,
    /// The device behind each window.
    pub course: Vec<LifePoint>,
}

/// Cycles that were jumped over, until the write amplification behind them is known.
struct Jump {
    /// Pages programmed.
    programs: f64,
    /// Write amplification before.
    before: f64,
    /// Blocks were due to be retired on the way, and not only at its end.
    loses_blocks: bool,
    /// Windows before it.
    windows: usize,
    /// Blocks due behind it.
    due: usize,
}

/// A life under way.
struct LifeRun {
    session: Session<ObserverRef<'static>>,
    requests: AgeingRequests,
    query: LifeQuery,
    page_bytes: f64,
    pages_per_block: f64,
    /// Blocks beyond those that the host's pages fill.
    spare_blocks: u64,
    bad_at_start: u64,
    /// Retired before the last window.
    retired_before: u64,
    /// Pages of the host and of all programs: in all, and simulated.
    host: f64,
    programs: f64,
    simulated: f64,
    jump: Option<Jump>,
    /// Pages of all programs and of the host in each window since the last jump.
    recent: Vec<[f64; 2]>,
    /// P/E cycles of the blocks before the first write.
    initial_pec: f64,
    is_settled: bool,
    course: Vec<LifePoint>,
}

/// Lives the life of a device. `goes_on` is asked between two windows, with the share of the spare that is used up.
///
/// # Errors
/// A spec without an end of life, a workload that writes nothing, a broken rule or belief; [`SimError::Interrupted`] if
/// the life is not to go on.
pub fn life(
    config: &Config,
    scale: f64,
    query: LifeQuery,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Life, SimError> {
    query.check()?;
    let mut run = LifeRun::begin(config, scale, query)?;
    while run.window()? {
        if !goes_on(run.retired() as f64 / run.spare_blocks as f64) {
            return Err(SimError::Interrupted);
        }
        if !query.whole {
            run.jump().map_err(SimError::Simulation)?;
        }
    }
    run.end_jump();
    Ok(run.end())
}

impl LifeRun {
    fn begin(config: &Config, scale: f64, query: LifeQuery) -> Result<LifeRun, SimError> {
        let mut session = Session::new(config, scale, ObserverRef::nobody())?;
        if !session.retires_worn_blocks() {
            let text = "a life needs blocks that wear out: erase.worn_blocks = \"retired-by-errors\" or \
                        \"retired-by-cycles\", and an erase scheme with loops";
            return Err(SpecError(text.into()).into());
        }
        if let Some(mut ageing) = session.ageing()? {
            while session.age(&mut ageing)? {}
        }
        let geometry = config.device_geometry(scale)?;
        let user_blocks = session.ssd.ftl().user_pages().div_ceil(u32::from(geometry.pages_per_block));
        let bad_at_start = array(&session).bad_blocks();
        Ok(LifeRun {
            requests: session.endless_writes()?,
            page_bytes: f64::from(geometry.page_bytes),
            pages_per_block: f64::from(geometry.pages_per_block),
            spare_blocks: u64::from(geometry.blocks() - user_blocks) - bad_at_start,
            bad_at_start,
            retired_before: 0,
            initial_pec: session.mean_pec().unwrap_or_default(),
            session,
            query,
            host: 0.0,
            programs: 0.0,
            simulated: 0.0,
            jump: None,
            recent: Vec::new(),
            is_settled: false,
            course: Vec::new(),
        })
    }

    fn counts(&self) -> FlashCounts {
        self.session.ssd.controller.tally.counts
    }

    fn retired(&self) -> u64 {
        array(&self.session).bad_blocks() - self.bad_at_start
    }

    fn good_blocks(&self) -> f64 {
        let blocks = self.session.ssd.controller.scheduler.chips.eraser.as_ref().map_or(0, |eraser| eraser.blocks());
        blocks as f64 - array(&self.session).bad_blocks() as f64
    }

    /// Write amplification of the last window.
    fn amplification(&self) -> f64 {
        self.course.last().map_or(1.0, |point| point.write_amplification)
    }

    /// Write amplification of the last windows, at most so many and none before the last jump. Several, because blocks
    /// that were filled together are collected together.
    fn amplification_of(windows: &[[f64; 2]], most: usize) -> Option<f64> {
        let last = &windows[windows.len().saturating_sub(most)..];
        let [programs, host] = [0, 1].map(|which| last.iter().map(|window| window[which]).sum::<f64>());
        (host > 0.0).then(|| programs / host)
    }

    /// Windows over which write amplification is averaged: a P/E cycle, and a quarter of those that a device took to
    /// settle.
    fn averaged(&self) -> usize {
        ((1.0 / self.query.window_cycles).ceil() as usize).max(self.recent.len() / 4)
    }

    /// Write amplification was the same in each of the last three quarters of the windows, a P/E cycle or more each.
    fn is_steady(&self) -> bool {
        let (all, averaged) = (self.recent.len(), self.averaged());
        let of = |ago: usize| LifeRun::amplification_of(&self.recent[..all - ago * averaged], averaged);
        let is_like = |ago| of(0).zip(of(ago)).is_some_and(|(now, then)| (now / then - 1.0).abs() < SETTLED);
        all >= 4 * averaged && is_like(1) && is_like(2)
    }

    /// Simulates a window. `false` if the device is read-only now.
    fn window(&mut self) -> Result<bool, SimError> {
        let (before, last) = (self.counts(), self.amplification());
        self.retired_before = self.retired();
        let pages = self.query.window_cycles * self.good_blocks() * self.pages_per_block / last;
        let goes_on = match self.session.write_on(&mut self.requests, (pages * self.page_bytes) as u64) {
            Err(SimError::WornOut(_)) => false,
            written => written.map(|()| true)?,
        };
        let counts = self.counts();
        let host = (counts.host_stored() - before.host_stored()) as f64;
        let programs = (counts.stored() - before.stored()) as f64;
        // The device may not have survived the first few pages of a window; the rest counts as the window before.
        let missed = if goes_on { 0.0 } else { (pages - host).max(0.0) };
        let amplification = if host + missed > 0.0 { (programs + last * missed) / (host + missed) } else { last };
        self.host += host;
        self.simulated += host;
        self.programs += programs;
        let pec = self.session.mean_pec().unwrap_or_default();
        self.recent.push([programs, host]);
        self.is_settled |= pec >= self.initial_pec + SETTLING_MAX || self.is_steady();
        self.course.push(LifePoint {
            pec,
            host_bytes: self.host * self.page_bytes,
            write_amplification: amplification,
            retired_blocks: self.retired(),
        });
        Ok(goes_on)
    }

    /// Wears all blocks until some more are due to be retired.
    fn jump(&mut self) -> Result<(), String> {
        let chips = &self.session.ssd.controller.scheduler.chips;
        let Some(eraser) = chips.eraser.as_ref().filter(|_| self.is_settled) else { return Ok(()) };
        let good = (0..eraser.blocks() as u32).filter(|&block| !chips.checked.array.is_bad(BlockId(block)));
        let mut left: Vec<u32> = good.filter_map(|block| eraser.cycles_left(block)).collect();
        left.sort_unstable();
        let due = left.partition_point(|&cycles| cycles <= 1);
        let retires = self.retired() > self.retired_before;
        if retires && self.jump.as_ref().is_some_and(|jump| due > jump.due / 2) {
            return Ok(());
        }
        self.end_jump();
        let step = ((self.spare_blocks / u64::from(self.query.steps)).max(1) as usize).min(left.len() - due);
        if step == 0 {
            return Ok(());
        }
        let is_first = due == 0 && self.retired() == 0;
        let until = left[due + if is_first { 0 } else { step - 1 }];
        let cycles = until - 1;
        if cycles == 0 {
            return Ok(());
        }
        let due = left.partition_point(|&left| left <= until);
        let before = self.cycles();
        self.session.wear(cycles)?;
        let programs = (self.cycles() - before) * self.pages_per_block;
        let windows = self.course.len();
        let before = LifeRun::amplification_of(&self.recent, self.averaged()).unwrap_or(1.0);
        self.recent.clear();
        self.jump = Some(Jump { programs, before, loses_blocks: !is_first, windows, due });
        Ok(())
    }

    /// Counts what the host wrote in the last jump, now that most of the blocks due behind it are retired.
    fn end_jump(&mut self) {
        let Some(Jump { programs, before, loses_blocks, windows, .. }) = self.jump.take() else { return };
        let after = LifeRun::amplification_of(&self.recent, self.averaged()).filter(|_| loses_blocks);
        let after = after.unwrap_or(before);
        let host = programs * (1.0 / before + 1.0 / after) / 2.0;
        self.host += host;
        self.programs += programs;
        self.course[windows..].iter_mut().for_each(|point| point.host_bytes += host * self.page_bytes);
    }

    /// P/E cycles of all blocks together.
    fn cycles(&self) -> f64 {
        let eraser = self.session.ssd.controller.scheduler.chips.eraser.as_ref();
        eraser.map_or(0.0, |eraser| eraser.mean_pec() * eraser.blocks() as f64)
    }

    fn end(self) -> Life {
        let wear = array(&self.session).wear();
        let eraser = self.session.ssd.controller.scheduler.chips.eraser.as_ref();
        Life {
            end: self.course.last().copied().unwrap_or_default(),
            initial_pec: self.initial_pec,
            block_pec: eraser.and_then(|eraser| eraser.lifetime().pec_at_requirement()),
            capacity_bytes: self.session.capacity(),
            write_amplification: if self.host > 0.0 { self.programs / self.host } else { 0.0 },
            blocks: [eraser.map_or(0, |eraser| eraser.blocks() as u64), self.spare_blocks],
            simulated_bytes: self.simulated * self.page_bytes,
            wear_spread: if wear.aep > 0.0 { wear.vep / wear.aep } else { 0.0 },
            course: self.course,
        }
    }
}

fn array<'a>(session: &'a Session<ObserverRef>) -> &'a pumice_nand::NandArray {
    &session.ssd.controller.scheduler.chips.checked.array
}
