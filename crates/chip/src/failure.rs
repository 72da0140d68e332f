//! Failures of a chip: why an operation was refused, failed or lost its power.

use pumice_nand::{ChipError, Rule, Violation};
use pumice_types::{BlockId, Choice, PageAddress};
use thiserror::Error;

/// Why an operation did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChipFailure {
    /// A rule of the chip. Nothing has changed.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// An address that the chip does not have. Nothing has changed.
    #[error(
        "flash rule 'address-range' refuses block {block} page {page}; there are blocks 0 to {}, pages 0 to \
         {}",
        .blocks - 1, .pages - 1
    )]
    Address {
        /// Block asked for.
        block: u32,
        /// Page asked for.
        page: u32,
        /// Blocks that there are.
        blocks: u32,
        /// Pages of a block.
        pages: u16,
    },
    /// The page fails its code.
    #[error("block {} page {} fails its code", .0.block.0, .0.page)]
    Uncorrectable(PageAddress),
    /// A program reported a failure. The page is not to be trusted.
    #[error("the program of block {} page {} failed; the block is going bad", .0.block.0, .0.page)]
    ProgramFailed(PageAddress),
    /// An erase reported a failure. What it was to erase is not to be trusted.
    #[error("the erase of block {} failed; the block is going bad", .0.0)]
    EraseFailed(BlockId),
    /// The power was cut, now or before.
    #[error("the power is off")]
    PowerLost,
    /// A call that means nothing. Nothing has changed.
    #[error("{0}")]
    Usage(String),
}

impl ChipFailure {
    /// The name of the rule that was broken; `None` if the failure is of another kind.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            ChipFailure::Rule(violation) => Some(violation.rule.name()),
            ChipFailure::Address { .. } => Some(Rule::AddressRange.name()),
            ChipFailure::Uncorrectable(_)
            | ChipFailure::ProgramFailed(_)
            | ChipFailure::EraseFailed(_)
            | ChipFailure::PowerLost
            | ChipFailure::Usage(_) => None,
        }
    }
}

impl From<ChipError> for ChipFailure {
    fn from(error: ChipError) -> ChipFailure {
        match error {
            ChipError::Rule(violation) => ChipFailure::Rule(violation),
            ChipError::Integrity(text) => ChipFailure::Usage(text),
        }
    }
}
