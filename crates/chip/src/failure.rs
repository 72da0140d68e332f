//! Failures of a chip: why an operation was refused, failed or lost its power.

use std::fmt;

use pumice_nand::{ChipError, Rule, Violation};
use pumice_types::{BlockId, PageAddress};

/// Why an operation did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChipFailure {
    /// A rule of the chip. Nothing has changed.
    Rule(Violation),
    /// An address that the chip does not have. Nothing has changed.
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
    Uncorrectable(PageAddress),
    /// A program reported a failure. The page is not to be trusted.
    ProgramFailed(PageAddress),
    /// An erase reported a failure. What it was to erase is not to be trusted.
    EraseFailed(BlockId),
    /// The power was cut, now or before.
    PowerLost,
    /// A call that means nothing. Nothing has changed.
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

impl fmt::Display for ChipFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChipFailure::Rule(violation) => violation.fmt(f),
            ChipFailure::Address { block, page, blocks, pages } => write!(
                f,
                "flash rule 'address-range' refuses block {block} page {page}; there are blocks 0 to {}, pages 0 to {}",
                blocks - 1,
                pages - 1
            ),
            ChipFailure::Uncorrectable(page) => {
                write!(f, "block {} page {} fails its code", page.block.0, page.page)
            }
            ChipFailure::ProgramFailed(page) => {
                write!(f, "the program of block {} page {} failed; the block is going bad", page.block.0, page.page)
            }
            ChipFailure::EraseFailed(block) => {
                write!(f, "the erase of block {} failed; the block is going bad", block.0)
            }
            ChipFailure::PowerLost => f.write_str("the power is off"),
            ChipFailure::Usage(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ChipFailure {}

impl From<Violation> for ChipFailure {
    fn from(violation: Violation) -> ChipFailure {
        ChipFailure::Rule(violation)
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
