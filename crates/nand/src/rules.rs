//! The rules of the chip, by name.

use pumice_types::{FlashCommand, FlashOp, Geometry, choice};
use thiserror::Error;

choice! {
    /// A rule that a flash command can break, by its name in reports.
    pub enum Rule {
        /// A page must be erased before it is programmed.
        EraseBeforeProgram = "erase-before-program",
        /// A page or block whose program or erase lost its power must be erased before it is programmed.
        UnstableProgram = "unstable-program",
        /// Under in-order programming, pages of an erase unit are programmed in ascending order.
        ProgramOrder = "program-order",
        /// The data of an erased page cannot be read or copied.
        ReadErasedPage = "read-erased-page",
        /// A partial erase names a partial block of the tree.
        PartialBlockIndex = "partial-block-index",
        /// A sub-block erase names sub-blocks that the chip has, at least one.
        SubBlockSet = "sub-block-set",
        /// A block marked bad at the factory takes no command.
        BadBlock = "bad-block",
        /// Copyback cannot leave its plane.
        CopybackPlane = "copyback-plane",
        /// The address exists.
        AddressRange = "address-range",
        /// A busy die takes no command.
        DieBusy = "die-busy",
        /// A multi-plane command reads, or programs, one page number of several planes of one die, or erases
        /// blocks of several.
        MultiPlane = "multi-plane",
    }
}

/// A refused command: the rule and the command that broke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "flash rule '{}' refuses {:?} at block {} page {}",
    .rule, .command.op, .command.target.block.0, .command.target.page
)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// By which command.
    pub command: FlashCommand,
}

/// Whether a command may be part of a multi-plane command that `first` is part of, as far as the kinds of both
/// and their page numbers say: page reads, page programs, or erases of whole blocks. Mapping units have the number of
/// their page.
///
/// A copy through the controller ends in an ordinary page program, so it may program together with other copies
/// and with programs. The pages that the group copies are read before. A copyback programs what the register of
/// its plane holds, by a command of its own: copybacks go together, but not with programs of other data.
#[inline]
pub fn fits_multi_plane(geometry: &Geometry, [first, command]: [&FlashCommand; 2], copyback: bool) -> bool {
    let programs = |op| matches!(op, FlashOp::Program | FlashOp::Copy);
    let kinds_fit = match first.op {
        FlashOp::Read | FlashOp::Erase => command.op == first.op,
        FlashOp::Program | FlashOp::Copy => command.op == first.op || (!copyback && programs(command.op)),
        FlashOp::SpareSearch | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause => false,
    };
    kinds_fit && geometry.page_number(command.target.page) == geometry.page_number(first.target.page)
}

/// Whether two commands read mapping units of one page, which is sensed once for both.
#[inline]
pub fn reads_one_page(geometry: &Geometry, [first, command]: [&FlashCommand; 2]) -> bool {
    let page = |command: &FlashCommand| geometry.page_of_unit(command.target);
    geometry.units_per_page > 1
        && (first.op, command.op) == (FlashOp::Read, FlashOp::Read)
        && page(first) == page(command)
}

/// Checks commands that a die is to run as one multi-plane command: see [`fits_multi_plane`]; each is in another
/// plane of one die, or reads another mapping unit of a page that is sensed. `copyback`: copies stay in their plane.
///
/// # Errors
/// [`Rule::MultiPlane`], with the first command that does not fit those before it.
pub fn check_multi_plane(geometry: &Geometry, commands: &[FlashCommand], copyback: bool) -> Result<(), Violation> {
    let plane = |command: &FlashCommand| geometry.plane_of(command.target.block);
    let die = |command: &FlashCommand| geometry.die_of(plane(command));
    for (nth, command) in commands.iter().enumerate() {
        let first = &commands[0];
        let is_beside =
            |earlier: &FlashCommand| plane(earlier) != plane(command) || reads_one_page(geometry, [earlier, command]);
        let fits = fits_multi_plane(geometry, [first, command], copyback)
            && die(command) == die(first)
            && commands[..nth].iter().all(is_beside);
        if !fits {
            return Err(Violation { rule: Rule::MultiPlane, command: *command });
        }
    }
    Ok(())
}

/// Whether a page read can run while a copy through the controller reads its page: both have one page number, and
/// lie in different planes of one die. The read's data goes out before the copy's.
#[inline]
pub fn fits_read_beside(geometry: &Geometry, copy: &FlashCommand, read: &FlashCommand) -> bool {
    let planes = [copy.source.block, read.target.block].map(|block| geometry.plane_of(block));
    copy.op == FlashOp::Copy
        && read.op == FlashOp::Read
        && read.target.page == copy.source.page
        && planes[0] != planes[1]
        && geometry.die_of(planes[0]) == geometry.die_of(planes[1])
}

/// Checks a read that is to run beside a copy: see [`fits_read_beside`].
///
/// # Errors
/// [`Rule::MultiPlane`], with the read.
pub fn check_read_beside(geometry: &Geometry, copy: &FlashCommand, read: &FlashCommand) -> Result<(), Violation> {
    match fits_read_beside(geometry, copy, read) {
        true => Ok(()),
        false => Err(Violation { rule: Rule::MultiPlane, command: *read }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{BlockId, Cause, Lpn, PageAddress};

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
            units_per_page: 1,
        }
    }

    fn program(block: u32, page: u16) -> FlashCommand {
        FlashCommand::program(Cause::Host, PageAddress::new(BlockId(block), page), Lpn(0), 1, 1)
    }

    #[test]
    fn t120_a_multi_plane_command_is_refused_unless_it_is_one_page_number_of_several_planes_of_a_die() {
        let erase = FlashCommand::erase(BlockId(4));
        let check = |commands: &[FlashCommand]| check_multi_plane(&geometry(), commands, false).map_err(|v| v.rule);
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

    #[test]
    fn t121_copies_program_together_and_with_programs_unless_they_are_copybacks() {
        let copy = |block: u32, from: u16, to: u16| {
            let page = |page| PageAddress::new(BlockId(block), page);
            FlashCommand::copy(page(from), PageAddress::new(BlockId(block + 1), to), Lpn(0), 1)
        };
        let check = |commands: &[FlashCommand], copyback| {
            check_multi_plane(&geometry(), commands, copyback).map_err(|violation| violation.rule)
        };
        for (commands, through_controller, copyback) in [
            ([copy(0, 1, 3), copy(4, 6, 3)], true, true),
            ([copy(0, 1, 3), program(4, 3)], true, false),
            ([program(4, 3), copy(0, 1, 3)], true, false),
            ([copy(0, 1, 3), copy(4, 1, 4)], false, false),
            ([copy(0, 1, 3), copy(2, 1, 3)], false, false),
        ] {
            assert_eq!(check(&commands, false).is_ok(), through_controller, "{commands:?}");
            assert_eq!(check(&commands, true).is_ok(), copyback, "{commands:?}");
        }
        let read = |block, page| FlashCommand::read(Cause::Host, PageAddress::new(BlockId(block), page), Lpn(0), 1);
        assert_eq!(check(&[copy(0, 1, 3), read(4, 3)], false), Err(Rule::MultiPlane));
        let partial = |block| FlashCommand::partial_erase(BlockId(block), pumice_types::Pb(2));
        assert_eq!(check(&[partial(0), partial(4)], false), Err(Rule::MultiPlane));
    }
    #[test]
    fn t118_a_read_runs_beside_a_copy_of_the_same_page_number_in_another_plane_of_the_die() {
        let read = |block, page| FlashCommand::read(Cause::Host, PageAddress::new(BlockId(block), page), Lpn(0), 1);
        let page = |block, page| PageAddress::new(BlockId(block), page);
        let copy = FlashCommand::copy(page(0, 5), page(1, 3), Lpn(0), 1);
        let check = |copy, read| check_read_beside(&geometry(), &copy, &read).map_err(|violation| violation.rule);
        assert_eq!(check(copy, read(4, 5)), Ok(()));
        let mut search = read(4, 5);
        search.op = FlashOp::SpareSearch;
        for refused in [read(4, 3), read(1, 5), read(8, 5), search] {
            assert_eq!(check(copy, refused), Err(Rule::MultiPlane), "{refused:?}");
        }
        assert_eq!(check(program(0, 5), read(4, 5)), Err(Rule::MultiPlane));
    }
}
