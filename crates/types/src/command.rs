//! Flash commands: what the controller emits, the scheduler times and the array executes.

use crate::{BlockId, Lpn, PageAddress, Pb, SpareMark, Time, UnitSet};

/// What a command does. Command logs hold the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlashOp {
    /// Page read, data and spare area, over the channel.
    Read = 0,
    /// Spare areas of consecutive pages of one block, newest first: one command.
    SpareSearch = 1,
    /// Page program.
    Program = 2,
    /// Page copied to another page: a read and a program, on the die if copyback is on.
    Copy = 3,
    /// Whole-block erase.
    Erase = 4,
    /// Erase of one partial block.
    PartialErase = 5,
    /// Erase of a set of physical sub-blocks of one block, in one operation.
    SubBlockErase = 6,
    /// The die is kept from other work for a time: nothing reaches the chip, and it counts as no
    /// flash command.
    Pause = 7,
}

/// What a command is for. Command logs hold the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// A host request.
    Host = 0,
    /// Garbage collection: merges, reclaiming, wear levelling.
    Gc = 1,
    /// Pages of a map that is not all in RAM.
    Map = 2,
    /// The old copy of a page that a write replaces in part.
    Rmw = 3,
    /// Filling of a zone that is finished.
    Padding = 4,
}

/// The version of a journal page of the map. On a device that recovers from one, its program comes after every
/// program that was decided before it; those of the other pages of the map after every program of data.
pub const JOURNAL: u8 = 1;

/// The numbers of reads that moved pages wait for run in a circle of this size, less one.
pub const AWAITED_READS: u32 = (1 << AWAITED_READ_BITS) - 1;

const AWAITED_READ_BITS: u32 = 24;

/// The bit of the operand that says that a program waits for those before it. Below it is the number of a list of units.
const BEHIND_PROGRAMS: u32 = 1 << AWAITED_READ_BITS;

/// What the controller believes a spare search will meet. The array checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SearchExpectation {
    /// The logical page is in the last page searched and in none before it.
    Found,
    /// The logical page is in none of them.
    Absent,
    /// All spare areas are read, for whatever they hold.
    Scan,
    /// The pages are read whole, for whatever they hold.
    Pages,
}

/// One flash command. Build it with the constructors; fields a command does not use are zero. In the layout of C, which
/// plug-ins use too, so that commands cross to the engine by plain moves of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FlashCommand {
    /// Page read, programmed, copied to, or searched first; for erases the block, page 0.
    pub target: PageAddress,
    /// Page copied or moved from.
    pub source: PageAddress,
    /// Logical page that the data belongs to.
    pub lpn: Lpn,
    /// Sequence number of the block programmed (its allocation order). For a pause, its nanoseconds.
    pub sequence: u32,
    /// Pages searched, PB index or sub-blocks; see the accessors.
    operand: u32,
    /// Version of the data: the one programmed, or the one a host read must return. For a spare
    /// search, what it is expected to meet.
    pub version: u8,
    /// What to do.
    pub op: FlashOp,
    /// Cause: what the command is for.
    pub cause: Cause,
    /// What the layer notes of a page programmed or copied to. Only devices that may lose power keep it.
    pub mark: SpareMark,
}

const _: () = assert!(std::mem::size_of::<FlashCommand>() <= 32);

impl FlashCommand {
    /// Where the operand lies, for those who share the layout.
    pub const OPERAND_AT: usize = std::mem::offset_of!(FlashCommand, operand);

    fn new(op: FlashOp, cause: Cause, target: PageAddress) -> FlashCommand {
        let none = PageAddress::default();
        let mark = SpareMark::default();
        FlashCommand { target, source: none, lpn: Lpn(0), version: 0, sequence: 0, operand: 0, op, cause, mark }
    }

    /// Page read that must return `lpn` in `version`.
    #[inline]
    pub fn read(cause: Cause, target: PageAddress, lpn: Lpn, version: u8) -> FlashCommand {
        FlashCommand { lpn, version, ..FlashCommand::new(FlashOp::Read, cause, target) }
    }

    /// Page program.
    #[inline]
    pub fn program(cause: Cause, target: PageAddress, lpn: Lpn, version: u8, sequence: u32) -> FlashCommand {
        FlashCommand { lpn, version, sequence, ..FlashCommand::new(FlashOp::Program, cause, target) }
    }

    /// Program of a page that the controller writes for itself, to recover from.
    #[inline]
    pub fn own_program(target: PageAddress, lpn: Lpn, version: u8) -> FlashCommand {
        let program = FlashCommand::program(Cause::Map, target, lpn, version, 0);
        if version == JOURNAL { program.behind_programs() } else { program }
    }

    /// Lets a program of a page of the controller's own begin, on a device that may lose power, after every
    /// program that was decided before it, on whichever die.
    #[inline]
    #[must_use]
    pub fn behind_programs(self) -> FlashCommand {
        debug_assert!(self.op == FlashOp::Program && self.cause == Cause::Map);
        FlashCommand { operand: self.operand | BEHIND_PROGRAMS, ..self }
    }

    /// Whether it is such a program.
    #[inline]
    pub fn waits_for_programs(&self) -> bool {
        self.op == FlashOp::Program && self.cause == Cause::Map && self.operand & BEHIND_PROGRAMS > 0
    }

    /// Copy of `lpn` from `source` to `target`.
    #[inline]
    pub fn copy(source: PageAddress, target: PageAddress, lpn: Lpn, sequence: u32) -> FlashCommand {
        FlashCommand { source, lpn, sequence, ..FlashCommand::new(FlashOp::Copy, Cause::Gc, target) }
    }

    /// Program of a page whose data was read from `source`, which may be on another die. It begins when that read has
    /// ended.
    #[inline]
    pub fn moved(source: PageAddress, target: PageAddress, lpn: Lpn, version: u8, sequence: u32) -> FlashCommand {
        FlashCommand { source, ..FlashCommand::program(Cause::Gc, target, lpn, version, sequence) }
    }

    /// Gives the program of a moved page the number of the read that it waits for among those of its die. The command
    /// keeps the last 24 bits of that number ([`AWAITED_READS`]).
    #[inline]
    #[must_use]
    pub fn behind_read(self, read: u32) -> FlashCommand {
        debug_assert!(self.is_move());
        FlashCommand { operand: self.operand & !AWAITED_READS | read & AWAITED_READS, ..self }
    }

    /// The number of the read that a moved page waits for.
    #[inline]
    pub fn awaited_read(&self) -> u32 {
        debug_assert!(self.is_move());
        self.operand & AWAITED_READS
    }

    /// Reads a page for the mapping units that are moved out of it; the unit that the command names is one of them, in
    /// whatever version.
    #[inline]
    pub fn read_of_moved(target: PageAddress, lpn: Lpn) -> FlashCommand {
        FlashCommand { sequence: 1, ..FlashCommand::read(Cause::Gc, target, lpn, 0) }
    }

    /// Whether it is a read that any version may answer.
    #[inline]
    pub fn takes_any_version(&self) -> bool {
        self.reads_for_move() && self.sequence == 1
    }

    /// Gives a program of mapping units the number of the list that says what goes into them. Of a program of units that
    /// are all moved the command keeps 24 bits of it.
    #[inline]
    #[must_use]
    pub fn with_units(self, list: u32) -> FlashCommand {
        debug_assert!(self.op == FlashOp::Program && list <= AWAITED_READS);
        FlashCommand { operand: self.operand & !AWAITED_READS | list, ..self }
    }

    /// The number of that list.
    #[inline]
    pub fn units(&self) -> u32 {
        debug_assert_eq!(self.op, FlashOp::Program);
        self.operand & AWAITED_READS
    }

    /// Whether it programs a page whose data was read elsewhere.
    #[inline]
    pub fn is_move(&self) -> bool {
        self.op == FlashOp::Program && self.cause == Cause::Gc
    }

    /// Whether it reads a page to program it elsewhere.
    #[inline]
    pub fn reads_for_move(&self) -> bool {
        self.op == FlashOp::Read && self.cause == Cause::Gc
    }

    /// Search of `pages` spare areas from `newest` downwards.
    #[inline]
    pub fn spare_search(
        cause: Cause,
        newest: PageAddress,
        pages: u16,
        lpn: Lpn,
        expect: SearchExpectation,
    ) -> FlashCommand {
        let command = FlashCommand::new(FlashOp::SpareSearch, cause, newest);
        FlashCommand { lpn, operand: u32::from(pages), version: expect as u8, ..command }
    }

    /// Reads a page for the map, for whatever it holds: where `lpn` was believed to be, or beside it.
    #[inline]
    pub fn look(target: PageAddress, lpn: Lpn) -> FlashCommand {
        FlashCommand::spare_search(Cause::Map, target, 1, lpn, SearchExpectation::Pages)
    }

    /// Block erase.
    #[inline]
    pub fn erase(block: BlockId) -> FlashCommand {
        FlashCommand::new(FlashOp::Erase, Cause::Gc, PageAddress::new(block, 0))
    }

    /// Erase of a block that may be erased already: a power cut left no proof of that.
    #[inline]
    pub fn erase_again(block: BlockId) -> FlashCommand {
        FlashCommand { operand: 1, ..FlashCommand::erase(block) }
    }

    /// Whether it is such an erase.
    #[inline]
    pub fn erases_again(&self) -> bool {
        self.op == FlashOp::Erase && self.operand == 1
    }

    /// Partial erase of `pb` in `block`.
    #[inline]
    pub fn partial_erase(block: BlockId, pb: Pb) -> FlashCommand {
        let command = FlashCommand::new(FlashOp::PartialErase, Cause::Gc, PageAddress::new(block, 0));
        FlashCommand { operand: u32::from(pb.0), ..command }
    }

    /// Gives a program or copy the mark or role of its page.
    #[inline]
    #[must_use]
    pub fn with_mark(self, mark: impl Into<SpareMark>) -> FlashCommand {
        FlashCommand { mark: mark.into(), ..self }
    }

    /// Gives the command its number in the order in which the controller decided what changes the flash. The
    /// spare area of a page keeps 48 bits of it; a copy and the program of a moved page, whose source takes the room,
    /// carry 40. A moved page gives up its sequence number for it.
    #[inline]
    #[must_use]
    pub fn with_number(self, number: u64) -> FlashCommand {
        if self.op == FlashOp::Copy {
            return FlashCommand { operand: number as u32, version: (number >> 32) as u8, ..self };
        }
        if self.is_move() {
            let high = ((number >> 32) as u32) << AWAITED_READ_BITS;
            return FlashCommand { sequence: number as u32, operand: self.operand & AWAITED_READS | high, ..self };
        }
        FlashCommand { source: PageAddress::new(BlockId(number as u32), (number >> 32) as u16), ..self }
    }

    /// Number of the command; 0 if it was given none, which the program of a moved page may not have.
    #[inline]
    pub fn number(&self) -> u64 {
        if self.is_move() {
            return u64::from(self.sequence) | u64::from(self.operand >> AWAITED_READ_BITS) << 32;
        }
        match self.op {
            FlashOp::Copy => u64::from(self.operand) | u64::from(self.version) << 32,
            FlashOp::Read
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Erase
            | FlashOp::PartialErase
            | FlashOp::SubBlockErase
            | FlashOp::Pause => u64::from(self.source.block.0) | u64::from(self.source.page) << 32,
        }
    }

    /// Whether it changes what pages hold.
    #[inline]
    pub fn changes_pages(&self) -> bool {
        match self.op {
            FlashOp::Program | FlashOp::Copy | FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => true,
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => false,
        }
    }

    /// Erase of a set of physical sub-blocks of `block`, of which a command names the first 32.
    #[inline]
    pub fn sub_block_erase(block: BlockId, sub_blocks: UnitSet) -> FlashCommand {
        debug_assert!(sub_blocks.0 <= u64::from(u32::MAX), "a command names 32 sub-blocks");
        let command = FlashCommand::new(FlashOp::SubBlockErase, Cause::Gc, PageAddress::new(block, 0));
        FlashCommand { operand: sub_blocks.0 as u32, ..command }
    }

    /// A pause of the die of `block`, of at most 2^32 − 1 ns; longer ones take several.
    #[inline]
    pub fn pause(block: BlockId, duration: Time) -> FlashCommand {
        let nanoseconds = u32::try_from(duration.0).unwrap_or(u32::MAX);
        FlashCommand {
            sequence: nanoseconds,
            ..FlashCommand::new(FlashOp::Pause, Cause::Gc, PageAddress::new(block, 0))
        }
    }

    /// How long a pause is.
    #[inline]
    pub fn duration(&self) -> Time {
        debug_assert_eq!(self.op, FlashOp::Pause);
        Time(u64::from(self.sequence))
    }

    /// A command with only these fields set. For readers of command logs.
    pub fn raw(op: FlashOp, cause: Cause, target: PageAddress, operand: u32) -> FlashCommand {
        FlashCommand { operand, ..FlashCommand::new(op, cause, target) }
    }

    /// Pages searched, PB index or sub-blocks, whichever the command has; 0 if it has none.
    pub fn operand(&self) -> u32 {
        self.operand
    }

    /// Pages of a spare search.
    #[inline]
    pub fn searched_pages(&self) -> u16 {
        debug_assert_eq!(self.op, FlashOp::SpareSearch);
        self.operand as u16
    }

    /// What a spare search is expected to meet.
    #[inline]
    pub fn expectation(&self) -> SearchExpectation {
        debug_assert_eq!(self.op, FlashOp::SpareSearch);
        match self.version {
            0 => SearchExpectation::Found,
            1 => SearchExpectation::Absent,
            2 => SearchExpectation::Scan,
            _ => SearchExpectation::Pages,
        }
    }

    /// PB of a partial erase.
    #[inline]
    pub fn pb(&self) -> Pb {
        debug_assert_eq!(self.op, FlashOp::PartialErase);
        Pb(self.operand as u16)
    }

    /// Sub-blocks of a sub-block erase.
    #[inline]
    pub fn sub_blocks(&self) -> UnitSet {
        debug_assert_eq!(self.op, FlashOp::SubBlockErase);
        UnitSet(u64::from(self.operand))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t037_a_moved_page_keeps_its_source_its_data_the_read_it_waits_for_and_forty_bits_of_its_number() {
        let (source, target) = (PageAddress::new(BlockId(7), 3), PageAddress::new(BlockId(9), 1));
        let number = (1 << 40) - 2;
        let moved =
            FlashCommand::moved(source, target, Lpn(5), 6, 8).with_number(number).behind_read(AWAITED_READS + 4);
        assert_eq!((moved.source, moved.target, moved.lpn, moved.version), (source, target, Lpn(5), 6));
        assert_eq!((moved.number(), moved.awaited_read()), (number, 3), "reads are counted in a circle");
        assert!(moved.is_move() && moved.behind_read(1).number() == number);
        let other = FlashCommand::program(Cause::Host, target, Lpn(5), 6, 8).with_number((1 << 48) - 1);
        assert_eq!((other.number(), other.sequence), ((1 << 48) - 1, 8), "any other program keeps 48");
    }
}
