//! The rules of the chip, by name.

use std::fmt;

use pumice_types::{FlashCommand, PageAddress};

/// A rule that a flash command can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A page must be erased before it is programmed.
    EraseBeforeProgram,
    /// Under in-order programming, pages of an erase unit are programmed in ascending order.
    ProgramOrder,
    /// The data of an erased page cannot be read or copied.
    ReadErasedPage,
    /// A partial erase names a partial block of the tree.
    PartialBlockIndex,
    /// A sub-block erase names sub-blocks that the chip has, at least one.
    SubBlockSet,
    /// A block marked bad at the factory takes no command.
    BadBlock,
    /// Copyback cannot leave its plane.
    CopybackPlane,
    /// The address exists.
    AddressRange,
    /// A busy die takes no command.
    DieBusy,
}

impl Rule {
    /// The rule's name as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::EraseBeforeProgram => "erase-before-program",
            Rule::ProgramOrder => "program-order",
            Rule::ReadErasedPage => "read-erased-page",
            Rule::PartialBlockIndex => "partial-block-index",
            Rule::SubBlockSet => "sub-block-set",
            Rule::BadBlock => "bad-block",
            Rule::CopybackPlane => "copyback-plane",
            Rule::AddressRange => "address-range",
            Rule::DieBusy => "die-busy",
        }
    }
}

/// A refused command: the rule and the command that broke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// By which command.
    pub command: FlashCommand,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PageAddress { block, page } = self.command.target;
        let (rule, op) = (self.rule.name(), self.command.op);
        write!(f, "flash rule '{rule}' refuses {op:?} at block {} page {page}", block.0)
    }
}

impl std::error::Error for Violation {}
