//! Erase as a process: the words that the controller's schemes, the array's truth and the scheduler
//! share.
//!
//! An erase is a sequence of steps on the die. An *erase loop* is an erase pulse at one voltage level
//! and a verify read that counts fail bits (ISPE; AERO, ASPLOS'24, §3.2). Pulses are counted in
//! sevenths of the full pulse (0.5 ms of 3.5 ms), the grain at which that paper measures and adapts.

mod felp;
pub mod schemes;

pub use felp::Felp;
pub use schemes::{BlockMemory, EraseScheme};

use crate::key::{Field, Value, ValueKind};
use crate::{SpecError, Time, choice};

/// Unit pulses of a full erase pulse.
pub const PULSES_PER_LOOP: u8 = 7;

/// Erase loops, and so voltage levels, before a block is retired.
pub const MAX_LOOPS: u8 = 5;

/// Unit pulses of all loops together.
pub const MAX_PULSES: u8 = PULSES_PER_LOOP * MAX_LOOPS;

choice! {
    /// Where the array's erase behaviour comes from.
    pub enum EraseMode {
        /// Every scheme meets the pulse times that were measured under it.
        Table = "table",
        /// One measured need for all schemes; what a scheme does with it follows from its rules.
        Mechanism = "mechanism",
    }
}

choice! {
    /// What a controller remembers of blocks that were cycled before the run, as to shallow erases.
    pub enum InitialMemory {
        /// Nothing: a shallow erase is tried on every block once more.
        Clear = "clear",
        /// What the last erase before the run showed.
        Learned = "learned",
    }
}

choice! {
    /// What becomes of a block beyond `erase.rber_requirement`.
    pub enum WornBlockRule {
        /// A worn block is used on.
        Used = "used",
        /// A block is retired at the P/E cycles at which the mean block meets the requirement no more.
        RetiredByCycles = "retired-by-cycles",
        /// A block is retired when it meets the requirement no more itself.
        RetiredByErrors = "retired-by-errors",
    }
}

choice! {
    /// When the last loop of an erase runs.
    pub enum LastLoop {
        /// Right behind the others.
        AtOnce = "at-once",
        /// When the block is first written.
        FirstWrite = "first-write",
    }
}

/// Raw bit errors in 1 KiB that a page may show after a year; a block beyond is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RberRequirement {
    /// 40 bits in 1 KiB.
    Bits40,
    /// 50 bits in 1 KiB.
    Bits50,
    /// 63 bits in 1 KiB: the published default, for an ECC of 72.
    Bits63,
}

impl RberRequirement {
    /// All requirements, ascending.
    pub const ALL: [RberRequirement; 3] = [RberRequirement::Bits40, RberRequirement::Bits50, RberRequirement::Bits63];

    /// Bits in 1 KiB.
    pub fn bits_per_kib(self) -> u32 {
        match self {
            RberRequirement::Bits40 => 40,
            RberRequirement::Bits50 => 50,
            RberRequirement::Bits63 => 63,
        }
    }

    /// The requirement of so many bits in 1 KiB, if it was measured.
    pub fn from_bits(bits: u32) -> Option<RberRequirement> {
        RberRequirement::ALL.into_iter().find(|requirement| requirement.bits_per_kib() == bits)
    }
}

/// A whole number of bits in 1 KiB.
impl Field for RberRequirement {
    const SHAPE: ValueKind = ValueKind::Int;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        let bits = u32::read(value)?;
        RberRequirement::from_bits(bits).ok_or_else(|| "was not measured; allowed: 40, 50, 63".into())
    }

    fn write(&self) -> Option<Value> {
        self.bits_per_kib().write()
    }
}

/// Times of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseTiming {
    /// Whole block under a scheme without erase loops.
    pub fixed: Time,
    /// Unit pulse: a seventh of tEP.
    pub pulse: Time,
    /// Verify read, tVR.
    pub verify: Time,
    /// Unit pulses of a shallow erase, tSE.
    pub shallow_pulses: u8,
}

impl EraseTiming {
    /// AERO's chips: tEP 3.5 ms, tVR 0.1 ms, tSE 1 ms (ASPLOS'24, §3.2 and Table 2).
    pub fn aero(fixed: Time) -> EraseTiming {
        EraseTiming { fixed, pulse: Time(500_000), verify: Time(100_000), shallow_pulses: 2 }
    }
}

/// What a step does to the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// The whole erase in one step of fixed time.
    Fixed,
    /// Shallow erase: the first pulses at level 1, before anything is known.
    Shallow,
    /// An erase pulse.
    Pulse,
    /// A verify read.
    Verify,
}

/// One step of an erase on the die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseStep {
    /// What it does.
    pub kind: StepKind,
    /// Voltage level, 1 to [`MAX_LOOPS`]; 0 for [`StepKind::Fixed`].
    pub level: u8,
    /// Unit pulses that it applies; 0 for a verify read and for [`StepKind::Fixed`].
    pub pulses: u8,
    /// How long it holds the die.
    pub duration: Time,
}

impl EraseStep {
    /// Whether an erase loop ends with this step.
    pub fn ends_loop(&self) -> bool {
        match self.kind {
            StepKind::Fixed | StepKind::Verify => true,
            StepKind::Shallow | StepKind::Pulse => false,
        }
    }

    /// Scales the step to a partial block: every duration is taken in the proportion of the partial
    /// block's erase time to the whole block's, rounded to the nearest nanosecond.
    ///
    /// Fail bits of partial erases have not been measured, so PEN's table of partial-erase times gives the scale.
    /// `whole` is not zero.
    pub fn scaled(self, partial: Time, whole: Time) -> EraseStep {
        EraseStep { duration: self.duration.scaled(partial, whole), ..self }
    }
}

/// Time of a sequence of steps without suspension.
pub fn total_time(steps: &[EraseStep]) -> Time {
    steps.iter().map(|step| step.duration).sum()
}

/// What a verify read reports to the controller: the number of fail bits, 0 if the block passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailBits(pub u32);

impl FailBits {
    /// Every cell is erased.
    pub const PASS: FailBits = FailBits(0);

    /// Whether the block passed.
    pub fn passed(self) -> bool {
        self == FailBits::PASS
    }
}

/// The two numbers that place fail bits in ranges (AERO, §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailBitRanges {
    /// γ: most fail bits with one unit pulse to go.
    pub gamma: u32,
    /// δ: fail bits that a unit pulse takes away.
    pub delta: u32,
}

impl FailBitRanges {
    /// Number of ranges in use: up to γ, and up to δ, 2δ, … 7δ = F_HIGH.
    pub const COUNT: u8 = 8;

    /// Range of a count: 0 for up to γ, i for up to i·δ, `None` above F_HIGH.
    pub fn range(self, bits: FailBits) -> Option<u8> {
        if bits.0 <= self.gamma {
            return Some(0);
        }
        let range = bits.0.div_ceil(self.delta);
        (range < u32::from(FailBitRanges::COUNT)).then_some(range as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: FailBitRanges = FailBitRanges { gamma: 500, delta: 5_000 };

    fn step(us: u64) -> EraseStep {
        EraseStep { kind: StepKind::Pulse, level: 1, pulses: 1, duration: Time(us * 1_000) }
    }

    #[test]
    fn t030_only_measured_requirements_exist() {
        for requirement in RberRequirement::ALL {
            assert_eq!(RberRequirement::from_bits(requirement.bits_per_kib()), Some(requirement));
        }
        assert_eq!(RberRequirement::from_bits(55), None);
    }

    #[test]
    fn t031_fail_bits_fall_into_ranges() {
        for (bits, range) in [(1, Some(0)), (500, Some(0)), (501, Some(1)), (5_000, Some(1)), (5_001, Some(2))] {
            assert_eq!(RANGES.range(FailBits(bits)), range, "{bits}");
        }
        assert_eq!(RANGES.range(FailBits(35_000)), Some(7));
        assert_eq!(RANGES.range(FailBits(35_001)), None);
    }

    #[test]
    fn t361_steps_of_a_partial_block_scale_with_its_erase_time() {
        let whole = Time::from_us(10_000.0);
        let scaled = step(3_500).scaled(Time::from_us(9_270.0), whole);
        assert_eq!(scaled.duration, Time(3_244_500));
        assert_eq!(step(3_500).scaled(whole, whole), step(3_500));
        assert_eq!((scaled.pulses, scaled.level), (1, 1), "a scaled step is the same step");
    }
}
