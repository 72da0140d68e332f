//! Erase times of many blocks at one wear, and what fail bits predict: the data of AERO's Figures 4,
//! 7, 8 and 9.

use pumice_ftl::erase::EraseController;
use pumice_nand::erase::EraseTruth;
use pumice_nand::reliability::stress;
use pumice_types::erase::{MAX_PULSES, PULSES_PER_LOOP, total_time};
use pumice_types::{EraseStep, FailBits};

use super::{EraseConfig, RunningErase, learn, run_to_end};

/// Which blocks are erased.
#[derive(Clone, Copy, Debug)]
pub struct DistributionRequest {
    /// Settings of the erase.
    pub config: EraseConfig,
    /// P/E cycles that each block has taken.
    pub pec: u32,
    /// Number of blocks, at evenly spread quantiles: block i of n stands at (i + 1/2) / n.
    pub blocks: u32,
}

/// Outcome of the erases, as sums from which means and shares can be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Blocks by unit pulses applied, 0 to 35.
    pub by_pulses: Vec<u64>,
    /// Blocks by erase loops, 0 to 5.
    pub by_loops: Vec<u64>,
    /// Mean time with verify reads, in microseconds.
    pub mean_time_us: f64,
    /// Mean stress of an erase, in milliseconds of a pulse at level 1.
    pub mean_stress: f64,
    /// Blocks left with fail bits to the ECC.
    pub uses_margin: u64,
    /// Predictions that were short.
    pub mispredictions: u64,
    /// Blocks that were retired.
    pub retired: u64,
}

/// Erases blocks once each: shallow erase is tried on each unless the controller has learned better, and
/// i-ISPE starts in the loop that ISPE would have ended in.
pub fn distribution(request: &DistributionRequest) -> Distribution {
    let mut sums = Distribution {
        by_pulses: vec![0; usize::from(MAX_PULSES) + 1],
        by_loops: vec![0; 6],
        mean_time_us: 0.0,
        mean_stress: 0.0,
        uses_margin: 0,
        mispredictions: 0,
        retired: 0,
    };
    erase_each(request, |erase, steps, retired| {
        sums.retired += u64::from(retired);
        sums.add(erase, steps);
    });
    let n = f64::from(request.blocks.max(1));
    sums.mean_time_us /= n;
    sums.mean_stress /= n;
    sums
}

/// The steps of the erase of each block.
pub fn sample_steps(request: &DistributionRequest) -> Vec<Vec<EraseStep>> {
    let mut sampled = Vec::new();
    erase_each(request, |_, steps, _| sampled.push(steps.to_vec()));
    sampled
}

/// Stress of the erase of each block.
pub(super) fn stresses(request: &DistributionRequest) -> Vec<f64> {
    let mut stresses = Vec::with_capacity(request.blocks as usize);
    erase_each(request, |_, steps, _| stresses.push(stress(steps)));
    stresses
}

/// Erases blocks once each; `erased` hears of the erase, its steps, and whether the block must be retired.
fn erase_each(request: &DistributionRequest, mut erased: impl FnMut(&RunningErase, &[EraseStep], bool)) {
    let (truth, mut controller, mut steps) = (request.config.truth(), request.config.controller(1), Vec::new());
    for place in 0..request.blocks {
        let mut erase = fresh(request, &truth, &mut controller, place);
        let retired = run_to_end(&mut erase, &mut steps);
        erased(&erase, &steps, retired);
    }
}

/// The erase of the block at a place; it is the controller's only one.
fn fresh(
    request: &DistributionRequest,
    truth: &EraseTruth,
    controller: &mut EraseController,
    place: u32,
) -> RunningErase {
    let quantile = (f64::from(place) + 0.5) / f64::from(request.blocks);
    controller.memories.forget(0);
    if request.config.remembers_last_loop() {
        controller.remember_loop(0, truth.ispe_loops(quantile, request.pec));
    }
    let begin = |pec: u32| truth.begin_at(quantile, pec, u64::from(place) << 32 | u64::from(pec));
    if request.config.has_learned() && request.pec > 0 {
        learn(controller, 0, begin(request.pec - 1));
    }
    let block = begin(request.pec);
    RunningErase { job: controller.begin(0), truth: block, is_verified: false }
}

impl Distribution {
    fn add(&mut self, erase: &RunningErase, steps: &[EraseStep]) {
        let report = erase.report();
        self.by_pulses[usize::from(report.pulses.min(MAX_PULSES))] += 1;
        self.by_loops[usize::from(report.loops.min(5))] += 1;
        self.mean_time_us += total_time(steps).as_us();
        self.mean_stress += stress(steps);
        self.uses_margin += u64::from(report.uses_margin);
        self.mispredictions += u64::from(report.mispredictions);
    }

    /// Mean pulse time in milliseconds at 0.5 ms a unit pulse.
    pub fn mean_pulse_ms(&self) -> f64 {
        let weighted: u64 = self.by_pulses.iter().enumerate().map(|(pulses, &blocks)| pulses as u64 * blocks).sum();
        weighted as f64 * 0.5 / self.by_pulses.iter().sum::<u64>().max(1) as f64
    }
}

/// Fail bits of one block after `applied` unit pulses, and what it still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FelpSample {
    /// Loop in which the block is erased completely.
    pub last_loop: u8,
    /// Unit pulses of that loop that it needs.
    pub needs: u8,
    /// Unit pulses applied so far in that loop; 0: after the loop before.
    pub applied: u8,
    /// Fail bits counted.
    pub bits: FailBits,
}

/// What the modified ISPE of AERO's §5.1 sees: unit pulses one by one, a verify read after each. For
/// every block the counts before and during its last loop. Mechanism mode, whatever the request says.
pub fn felp_samples(request: &DistributionRequest) -> Vec<FelpSample> {
    let (truth, mut controller) = (request.config.truth(), request.config.controller(1));
    let mut samples = Vec::new();
    for place in 0..request.blocks {
        let mut block = fresh(request, &truth, &mut controller, place).truth;
        let needed = block.needed();
        let last_loop = needed.div_ceil(PULSES_PER_LOOP);
        let before = (last_loop - 1) * PULSES_PER_LOOP;
        for applied in 1..=needed {
            block.pulse((applied - 1) / PULSES_PER_LOOP + 1, 1);
            if applied >= before.max(1) {
                let bits = block.verify();
                samples.push(FelpSample { last_loop, needs: needed - before, applied: applied - before, bits });
            }
        }
    }
    samples
}
