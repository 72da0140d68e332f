//! The rules of the chip, by name.

use std::fmt;

use pumice_types::{FlashCommand, FlashOp, Geometry, PageAddress};

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
    /// A multi-plane command does one thing to one page number of several planes of one die.
    MultiPlane,
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
            Rule::MultiPlane => "multi-plane",
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

/// Checks commands that a die is to run as one multi-plane command: page reads or page programs of one
/// page number, or erases of whole blocks, each in another plane of one die.
///
/// # Errors
/// [`Rule::MultiPlane`], with the first command that does not fit those before it.
pub fn check_multi_plane(geometry: &Geometry, commands: &[FlashCommand]) -> Result<(), Violation> {
    let plane = |command: &FlashCommand| geometry.plane_of(command.target.block);
    let die = |command: &FlashCommand| geometry.die_of(plane(command));
    for (nth, command) in commands.iter().enumerate() {
        let first = &commands[0];
        let fits = matches!(command.op, FlashOp::Read | FlashOp::Program | FlashOp::Erase)
            && command.op == first.op
            && command.target.page == first.target.page
            && die(command) == die(first)
            && commands[..nth].iter().all(|earlier| plane(earlier) != plane(command));
        if !fits {
            return Err(Violation { rule: Rule::MultiPlane, command: *command });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{BlockId, Cause, Lpn};

    fn geometry() -> Geometry {
        Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 64,
        }
    }

    fn program(block: u32, page: u16) -> FlashCommand {
        FlashCommand::program(Cause::Host, PageAddress::new(BlockId(block), page), Lpn(0), 1, 1)
    }

    #[test]
    fn t120_a_multi_plane_command_is_refused_unless_it_is_one_page_number_of_several_planes_of_a_die() {
        let erase = FlashCommand::erase(BlockId(4));
        let check = |commands: &[FlashCommand]| check_multi_plane(&geometry(), commands).map_err(|v| v.rule);
        assert_eq!(check(&[program(0, 3), program(4, 3)]), Ok(()));
        assert_eq!(check(&[FlashCommand::erase(BlockId(1)), erase]), Ok(()), "blocks may differ");
        for refused in [
            [program(0, 3), program(1, 3)],
            [program(0, 3), program(4, 4)],
            [program(0, 3), program(8, 3)],
            [program(0, 0), erase],
            [FlashCommand::erase(BlockId(5)), erase],
            [FlashCommand::erase(BlockId(8)), erase],
        ] {
            assert_eq!(check(&refused), Err(Rule::MultiPlane));
        }
    }
}
