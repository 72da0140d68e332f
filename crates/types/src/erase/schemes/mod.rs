//! The erase schemes: one file each, and one line each in the registry below.
//!
//! A scheme's file implements [`SchemeRules`] for a type of the scheme's name. It holds rules without state that the
//! controller and the array read: what the controller does next and what it remembers, and in which terms of the
//! measurements the blocks follow. The erase itself is run by `pumice_ftl::erase`, the blocks are in
//! `pumice_nand::erase`, and every other place asks an [`EraseScheme`] for a fact.

use crate::choice;
use crate::static_text::{chosen, count, joined, length};

use super::{EraseMode, Felp, PULSES_PER_LOOP, RberRequirement};

/// What a scheme remembers of every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeMemory {
    /// Nothing.
    Nothing,
    /// One bit: whether a shallow erase of the block was useless. Such a scheme begins with a shallow erase.
    UselessShallow,
    /// One byte: the loop that ended the block's last erase.
    LastLoop,
}

/// What is remembered of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockMemory {
    /// Loop that ended the last erase ([`SchemeMemory::LastLoop`]); 0 before the first.
    pub last_loop: u8,
    /// Shallow erase does not pay ([`SchemeMemory::UselessShallow`]; AERO's SEF bit).
    pub skips_shallow: bool,
}

/// The first step of an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstStep {
    /// The whole erase in one step of fixed time.
    Fixed,
    /// A shallow erase at level 1.
    Shallow,
    /// A full pulse at this voltage level.
    FullPulse(u8),
}

/// How many unit pulses blocks need under a scheme, in terms of the measurements (`crates/nand/data`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulseNeed {
    /// One full pulse, whatever the block.
    OneLoop,
    /// The totals that were measured under the scheme itself.
    Measured,
    /// No more than it takes (measured under `aero-cons`), at the block's own PEC.
    Least,
    /// No more than it takes, at the later PEC whose wear full pulses cause.
    LeastAfterFullPulses,
    /// No more than it takes, at a fitted PEC.
    Fitted(&'static FittedNeed),
}

/// A need that was fitted to a scheme's measured means.
#[derive(Debug, PartialEq, Eq)]
pub struct FittedNeed {
    /// PEC at which the need is read, at the block's own PEC 0, 500, … 5000.
    pub pec: [u32; 11],
    /// Least unit pulses.
    pub least_pulses: u8,
}

/// What a scheme is. What it does follows from what it remembers and whether it predicts. Without either it is ISPE:
/// full pulses at rising levels.
pub trait SchemeRules {
    /// Name in `erase.scheme`.
    const NAME: &'static str;

    /// What the scheme does, as the explanation of `erase.scheme` says it, without a full stop.
    const ABOUT: &'static str;

    /// Whether an erase runs in loops, whose pulses wear the block. Otherwise it is one step of fixed time without wear.
    const HAS_LOOPS: bool = true;

    /// Whether pulses are predicted from fail bits.
    const PREDICTS: bool = false;

    /// What is remembered of each block.
    const MEMORY: SchemeMemory = SchemeMemory::Nothing;

    /// Factor on the stress of every erase.
    const STRESS_FACTOR: f64 = 1.0;

    /// Factor on the time of a page program in a block with so many P/E cycles.
    fn program_time_factor(_pec: u32) -> f64 {
        1.0
    }

    /// The controller's first step on a block. The highest level is `max_loops`. By default it follows from what is
    /// remembered: a shallow erase unless one was useless on this block before (AERO, §4), or the loop that ended the
    /// last erase (AERO, §3.3).
    fn first_step(memory: BlockMemory, max_loops: u8) -> FirstStep {
        if !Self::HAS_LOOPS {
            return FirstStep::Fixed;
        }
        match Self::MEMORY {
            SchemeMemory::UselessShallow if !memory.skips_shallow => FirstStep::Shallow,
            SchemeMemory::UselessShallow | SchemeMemory::Nothing => FirstStep::FullPulse(1),
            SchemeMemory::LastLoop => FirstStep::FullPulse(memory.last_loop.clamp(1, max_loops)),
        }
    }

    /// Unit pulses that the controller applies next, in loop `level`, after fail bits in this range ([`super::FailBitRanges`]).
    /// The loop's end cuts them short. 0 ends the erase and leaves the fail bits to the ECC. `felp` is the scheme's own
    /// table, or the conservative one if the chips already show what the scheme's own table saves.
    fn next_pulses(felp: Felp, level: u8, range: Option<u8>) -> u8 {
        if Self::PREDICTS { felp.pulses(level, range) } else { PULSES_PER_LOOP }
    }

    /// The table of predicted pulses. It may leave fail bits to the ECC as far as the requirement allows.
    fn felp(_requirement: RberRequirement) -> Felp {
        Felp::conservative()
    }

    /// Whether the fail bits left to the ECC raise the bit errors of fresh blocks to AERO's published value.
    fn uses_margin(_requirement: RberRequirement) -> bool {
        false
    }

    /// Unit pulses that a block needs. By default the mechanism applies no more than it takes if it predicts pulses;
    /// otherwise its full pulses wear the block.
    fn need(mode: EraseMode) -> PulseNeed {
        match mode {
            EraseMode::Table => PulseNeed::Measured,
            EraseMode::Mechanism if Self::PREDICTS => PulseNeed::Least,
            EraseMode::Mechanism => PulseNeed::LeastAfterFullPulses,
        }
    }

    /// The scheme from whose measured rows the rows of this one are read as differences. For schemes that were measured
    /// at few PECs only.
    fn measured_over(_requirement: RberRequirement) -> Option<EraseScheme> {
        None
    }
}

/// Makes [`EraseScheme`], and its facts, of a list of `file::Type`.
macro_rules! schemes {
    ($($file:ident :: $scheme:ident),+ $(,)?) => {
        $(mod $file;)+

        choice! {
            /// How the controller erases a block.
            pub enum EraseScheme {
                $(#[doc = concat!("The scheme that `erase/schemes/", stringify!($file), ".rs` describes.")]
                $scheme = <$file::$scheme as SchemeRules>::NAME),+
            }
        }

        const NAMES: &[&str] = &[$(<$file::$scheme as SchemeRules>::NAME),+];
        const HAVE_LOOPS: &[bool] = &[$(<$file::$scheme as SchemeRules>::HAS_LOOPS),+];
        const PREDICT: &[bool] = &[$(<$file::$scheme as SchemeRules>::PREDICTS),+];
        const BEGIN_SHALLOW: &[bool] = &[
            $(matches!(<$file::$scheme as SchemeRules>::MEMORY, SchemeMemory::UselessShallow)),+
        ];
        const REMEMBER: &[bool] = &[
            $(!matches!(<$file::$scheme as SchemeRules>::MEMORY, SchemeMemory::Nothing)),+
        ];
        const SENTENCES: &[&str] = &[
            $(" ", <$file::$scheme as SchemeRules>::NAME, ": ", <$file::$scheme as SchemeRules>::ABOUT, "."),+
        ];

        /// A value that the rules of a scheme give.
        macro_rules! each {
            ($self:ident, $rules:ident => $value:expr) => {
                match $self {
                    $(EraseScheme::$scheme => {
                        type $rules = $file::$scheme;
                        $value
                    })+
                }
            };
        }
    };
}

// Names are listed in this order, in errors and in help. rustfmt does not find files by this list; `make lint` does.
schemes! {
    fixed::Fixed,
    ispe::Ispe,
    i_ispe::IIspe,
    dpes::Dpes,
    aero_cons::AeroCons,
    aero::Aero,
    aero_fit::AeroFit,
}

const BYTES: [u8; length(SENTENCES)] = joined(SENTENCES);
const LOOP_NAMES: [&str; count(HAVE_LOOPS)] = chosen(NAMES, HAVE_LOOPS);
const PREDICT_NAMES: [&str; count(PREDICT)] = chosen(NAMES, PREDICT);
const SHALLOW_NAMES: [&str; count(BEGIN_SHALLOW)] = chosen(NAMES, BEGIN_SHALLOW);
const REMEMBERING_NAMES: [&str; count(REMEMBER)] = chosen(NAMES, REMEMBER);

impl EraseScheme {
    /// What every scheme does: the explanation of `erase.scheme`.
    pub const EXPLAINED: &'static str = match std::str::from_utf8(&BYTES) {
        Ok(text) => text.trim_ascii(),
        Err(_) => panic!("the names and descriptions are texts"),
    };

    /// Names of the schemes with erase loops.
    pub const WITH_LOOPS: &'static [&'static str] = &LOOP_NAMES;

    /// Names of the schemes that predict pulses from fail bits.
    pub const PREDICTING: &'static [&'static str] = &PREDICT_NAMES;

    /// Names of the schemes that begin with a shallow erase.
    pub const SHALLOW: &'static [&'static str] = &SHALLOW_NAMES;

    /// Names of the schemes that remember something of every block.
    pub const REMEMBERING: &'static [&'static str] = &REMEMBERING_NAMES;

    /// See [`SchemeRules::HAS_LOOPS`].
    pub fn has_loops(self) -> bool {
        each!(self, Rules => Rules::HAS_LOOPS)
    }

    /// Whether it predicts pulses from fail bits.
    pub fn predicts(self) -> bool {
        each!(self, Rules => Rules::PREDICTS)
    }

    /// See [`SchemeRules::MEMORY`].
    pub fn memory(self) -> SchemeMemory {
        each!(self, Rules => Rules::MEMORY)
    }

    /// See [`SchemeRules::STRESS_FACTOR`].
    pub fn stress_factor(self) -> f64 {
        each!(self, Rules => Rules::STRESS_FACTOR)
    }

    /// See [`SchemeRules::program_time_factor`].
    pub fn program_time_factor(self, pec: u32) -> f64 {
        each!(self, Rules => Rules::program_time_factor(pec))
    }

    /// See [`SchemeRules::first_step`].
    pub fn first_step(self, memory: BlockMemory, max_loops: u8) -> FirstStep {
        each!(self, Rules => Rules::first_step(memory, max_loops))
    }

    /// See [`SchemeRules::next_pulses`].
    pub fn next_pulses(self, felp: Felp, level: u8, range: Option<u8>) -> u8 {
        each!(self, Rules => Rules::next_pulses(felp, level, range))
    }

    /// See [`SchemeRules::felp`].
    pub fn felp(self, requirement: RberRequirement) -> Felp {
        each!(self, Rules => Rules::felp(requirement))
    }

    /// See [`SchemeRules::uses_margin`].
    pub fn uses_margin(self, requirement: RberRequirement) -> bool {
        each!(self, Rules => Rules::uses_margin(requirement))
    }

    /// See [`SchemeRules::need`].
    pub fn need(self, mode: EraseMode) -> PulseNeed {
        each!(self, Rules => Rules::need(mode))
    }

    /// See [`SchemeRules::measured_over`].
    pub fn measured_over(self, requirement: RberRequirement) -> Option<EraseScheme> {
        each!(self, Rules => Rules::measured_over(requirement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use std::path::Path;

    #[test]
    fn t034_every_file_of_a_scheme_is_in_the_registry() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/erase/schemes");
        let entries = std::fs::read_dir(folder).expect("part of the repository");
        let files = entries.filter(|entry| entry.as_ref().expect("readable").file_name() != "mod.rs").count();
        assert_eq!(files, EraseScheme::ALL.len());
    }

    #[test]
    fn t035_names_and_descriptions_of_schemes_are_told_apart() {
        for &scheme in EraseScheme::ALL {
            assert_eq!(EraseScheme::from_name(scheme.name()), Some(scheme), "no name is given twice");
            assert!(EraseScheme::EXPLAINED.contains(&format!("{scheme}: ")));
            assert_eq!(EraseScheme::WITH_LOOPS.contains(&scheme.name()), scheme.has_loops());
        }
        let parts = EraseScheme::EXPLAINED.split(". ").map(|part| part.split(": ").next().unwrap_or_default());
        assert_eq!(parts.collect::<Vec<_>>(), EraseScheme::NAMES, "a sentence each, in order");
    }
}
