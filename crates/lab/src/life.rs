//! The life of a device: its workload is written over and over until no block is left to write to.
//!
//! A life takes thousands of writes of every page, and nothing changes for most of them. So it is fast-forwarded: the
//! device is simulated for a few windows, then all blocks are worn by the cycles of many such windows at once. A jump
//! ends when the next few blocks are due to be retired, each of them before its own last erase; the windows behind it
//! retire some of them and show what the lost spare does to write amplification. What the host wrote in the jumps follows
//! at the end: when each block was due is known, and so is write amplification by the blocks lost.
//! Jumps wear all blocks alike, so they need a device that does: [`Life::wear_spread`] tells whether its windows did.

use pumice_config::{Config, SpecError};
use pumice_engine::metrics::FlashCounts;
use pumice_engine::observe::ObserverRef;
use pumice_engine::{AgeingRequests, Session, SimError};
use pumice_types::{BlockId, refuse};
use serde::{Deserialize, Serialize};

/// Difference of write amplification between the last three quarters of the windows below which the device counts as
/// settled.
const SETTLED: f64 = 0.003;

/// Share of the P/E cycles of the middle block after which it counts as settled in any case: with the windows between the
/// jumps less than a hundredth of a life.
const SETTLING_MAX: f64 = 1.0 / 250.0;

/// Share of the good blocks that may be due at once, times write amplification. Collection erases about as many blocks as
/// that is to win one: with more of them due it loses what it wins.
const DUE_MAX: f64 = 0.25;

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
        LifeQuery { window_cycles: 0.5, steps: 8, whole: false }
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

/// Cycles that were jumped over.
struct Jump {
    /// By how much the blocks were worn.
    cycles: u32,
    /// What blocks due by then had left to take, the fewest first. They were worn by one less.
    due: Vec<u32>,
    /// Good blocks that were not due.
    others: usize,
    /// Blocks retired before it.
    retired: u64,
    /// Windows before it.
    windows: usize,
}

impl Jump {
    /// The cycles of it after which so many blocks in all are due.
    fn until(&self, retired: u64) -> u32 {
        let Some(last) = retired.checked_sub(self.retired + 1) else { return 0 };
        self.due.get(last as usize).map_or(self.cycles, |&left| left.min(self.cycles))
    }

    /// P/E cycles of all blocks together until then, piece by piece, with the blocks that were lost in each.
    fn pieces(&self, until: u32) -> impl Iterator<Item = (f64, f64)> {
        let ends = self.due.iter().map(move |&left| left.saturating_sub(1).min(until)).chain([until]);
        ends.enumerate().scan(0, |from, (lost, end)| {
            let cycles = f64::from(end - *from) * (self.due.len() - lost + self.others) as f64;
            *from = end;
            Some((cycles, self.retired as f64 + lost as f64))
        })
    }
}

/// Pages of all programs and of the host in a window, or several, and blocks retired by the middle of it.
#[derive(Clone, Copy)]
struct WindowPages {
    programs: f64,
    host: f64,
    retired: f64,
}

impl WindowPages {
    /// All of some windows; `None` without a page of the host.
    fn of(windows: &[WindowPages]) -> Option<WindowPages> {
        let sum = |of: fn(&WindowPages) -> f64| windows.iter().map(of).sum::<f64>();
        let (programs, host) = (sum(|window| window.programs), sum(|window| window.host));
        let retired = sum(|window| window.retired) / windows.len() as f64;
        (host > 0.0).then_some(WindowPages { programs, host, retired })
    }

    fn amplification(&self) -> f64 {
        self.programs / self.host
    }
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
    /// Pages of the host and of all programs: in all, and simulated.
    host: f64,
    programs: f64,
    simulated: f64,
    jumps: Vec<Jump>,
    /// Windows since the last jump.
    recent: Vec<WindowPages>,
    /// Windows between jumps taken together, those that the device took to settle left out.
    measured: Vec<WindowPages>,
    /// P/E cycles after which the device counts as settled.
    settled_at: f64,
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
    run.end_measuring();
    run.count_jumps();
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
        let initial_pec = session.mean_pec().unwrap_or_default();
        let left = cycles_left(&session);
        let of_middle = left.get(left.len() / 2).copied().unwrap_or_default();
        Ok(LifeRun {
            requests: session.endless_writes()?,
            page_bytes: f64::from(geometry.page_bytes),
            pages_per_block: f64::from(geometry.pages_per_block),
            spare_blocks: u64::from(geometry.blocks() - user_blocks) - bad_at_start,
            bad_at_start,
            initial_pec,
            settled_at: initial_pec + f64::from(of_middle) * SETTLING_MAX,
            session,
            query,
            host: 0.0,
            programs: 0.0,
            simulated: 0.0,
            jumps: Vec::new(),
            recent: Vec::new(),
            measured: Vec::new(),
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
        self.blocks() - array(&self.session).bad_blocks() as f64
    }

    /// Write amplification of the last window.
    fn amplification(&self) -> f64 {
        self.course.last().map_or(1.0, |point| point.write_amplification)
    }

    /// Windows of a quarter of those that the device took to settle, a P/E cycle at least.
    fn quarter(&self) -> usize {
        ((1.0 / self.query.window_cycles).ceil() as usize).max(self.recent.len() / 4)
    }

    /// Write amplification in each of the last three quarters of the windows, a P/E cycle or more each. Several windows,
    /// because blocks that were filled together are collected together.
    fn by_quarter(&self) -> Option<[f64; 3]> {
        let (all, quarter) = (self.recent.len(), self.quarter());
        let of = |ago: usize| {
            let end = all - ago * quarter;
            WindowPages::of(&self.recent[end - quarter..end]).map(|written| written.amplification())
        };
        if all >= 3 * quarter { Some([of(2)?, of(1)?, of(0)?]) } else { None }
    }

    /// Write amplification was the same in each of them.
    fn is_steady(&self) -> bool {
        let Some([first, then, now]) = self.by_quarter() else { return false };
        let is_like = |then: f64| (now / then - 1.0).abs() < SETTLED;
        self.recent.len() >= 4 * self.quarter() && is_like(then) && is_like(first)
    }

    /// Simulates a window. `false` if the device is read-only now.
    fn window(&mut self) -> Result<bool, SimError> {
        let (before, last, retired) = (self.counts(), self.amplification(), self.retired());
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
        // Collection wins anew what a retired block had free, as if the host had written that much.
        let lost = (self.retired() - retired) as f64 * self.pages_per_block;
        let retired = (retired + self.retired()) as f64 / 2.0;
        self.recent.push(WindowPages { programs: programs + lost, host: host + lost, retired });
        self.is_settled |= pec >= self.settled_at || self.is_steady();
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
        if !self.is_settled {
            return Ok(());
        }
        let mut left = cycles_left(&self.session);
        let due = left.partition_point(|&left| left <= 1);
        // Blocks that are never erased do not retire, however long they are waited for.
        let retires = matches!(&self.course[..], [.., before, last] if last.retired_blocks > before.retired_blocks);
        let most = ((left.len() as f64 / self.amplification() * DUE_MAX) as usize).max(1);
        let room = if retires { most.saturating_sub(due) } else { most };
        let step = (self.spare_blocks / u64::from(self.query.steps)).max(1).min(room as u64) as usize;
        let is_first = due == 0 && self.retired() == 0;
        let last = if is_first { 1 } else { due + step };
        let Some(&until) = left.iter().take(last).next_back().filter(|&&until| until > 1) else { return Ok(()) };
        self.session.wear(until - 1)?;
        left.truncate(left.partition_point(|&left| left <= until));
        self.end_measuring();
        let others = self.good_blocks() as usize - left.len();
        let (retired, windows) = (self.retired(), self.course.len());
        self.jumps.push(Jump { cycles: until - 1, due: left, others, retired, windows });
        Ok(())
    }

    /// Takes the windows since the last jump together; of those before the first one the last quarter. Where write
    /// amplification still changes there, and by less each quarter, it goes on by at most as much as in the last one.
    fn end_measuring(&mut self) {
        let is_first = self.measured.is_empty();
        let most = if is_first { self.quarter() } else { self.recent.len() };
        if let Some(mut written) = WindowPages::of(&self.recent[self.recent.len().saturating_sub(most)..]) {
            if let Some([first, then, now]) = self.by_quarter().filter(|_| is_first) {
                let slower = (now - then) / (then - first);
                let slower = if (0.0..1.0).contains(&slower) { slower.min(0.5) } else { 0.0 };
                let going_on = slower / (1.0 - slower);
                written.host = written.programs / (now + (now - then) * going_on);
            }
            self.measured.push(written);
        }
        self.recent.clear();
    }

    /// Pages of the host for each that was programmed when so many blocks were lost.
    fn host_share(&self, retired: f64) -> f64 {
        let behind = self.measured.partition_point(|written| written.retired < retired);
        let share = |nth: usize| self.measured.get(nth).map(|written| 1.0 / written.amplification());
        match (behind.checked_sub(1).and_then(share), share(behind)) {
            (Some(below), Some(above)) => {
                let [from, to] = [behind - 1, behind].map(|nth| self.measured[nth].retired);
                below + (above - below) * (retired - from) / (to - from)
            }
            (below, above) => below.or(above).unwrap_or(1.0),
        }
    }

    /// Counts what was written in the jumps. The device ended when so many blocks were due as it has lost.
    fn count_jumps(&mut self) {
        let (jumps, retired, blocks) = (std::mem::take(&mut self.jumps), self.retired(), self.blocks());
        for jump in &jumps {
            let (mut cycles, mut host) = (0.0, 0.0);
            for (worn, lost) in jump.pieces(jump.until(retired)) {
                cycles += worn;
                host += worn * self.pages_per_block * self.host_share(lost);
            }
            let unlived = (jump.pieces(jump.cycles).map(|(worn, _)| worn).sum::<f64>() - cycles) / blocks;
            self.host += host;
            self.programs += cycles * self.pages_per_block;
            for point in &mut self.course[jump.windows..] {
                point.host_bytes += host * self.page_bytes;
                point.pec -= unlived;
            }
        }
    }

    fn blocks(&self) -> f64 {
        self.session.ssd.controller.scheduler.chips.eraser.as_ref().map_or(0.0, |eraser| eraser.blocks() as f64)
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

/// What each good block has left to take, the fewest first.
fn cycles_left(session: &Session<ObserverRef>) -> Vec<u32> {
    let Some(eraser) = &session.ssd.controller.scheduler.chips.eraser else { return Vec::new() };
    let good = (0..eraser.blocks() as u32).filter(|&block| !array(session).is_bad(BlockId(block)));
    let mut left: Vec<u32> = good.filter_map(|block| eraser.cycles_left(block)).collect();
    left.sort_unstable();
    left
}

fn array<'a>(session: &'a Session<ObserverRef>) -> &'a pumice_nand::NandArray {
    &session.ssd.controller.scheduler.chips.checked.array
}
