//! Flash commands by kind and cause.

use pumice_types::partial_block::MAX_SPLITS;
use pumice_types::{Cause, FlashCommand, FlashOp, PageUnit, UnitSource};

/// Mapping units that were put into programs of pages; none where a page is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Units that the host wrote.
    pub host: u64,
    /// Units that collection moved.
    pub gc: u64,
    /// Units without data, of pages that were programmed before they were full.
    pub padding: u64,
    /// Units of pages that the layer writes for itself: its map and its journal, trims, summaries of blocks.
    pub map: u64,
}

impl UnitCounts {
    /// Counts units of every kind together.
    pub fn total(&self) -> u64 {
        self.host + self.gc + self.padding + self.map
    }

    /// Counts what a program puts into the units of its page.
    pub fn note(&mut self, program: &FlashCommand, units: &[PageUnit]) {
        if program.cause == Cause::Map {
            self.map += units.len() as u64;
            return;
        }
        for unit in units {
            match unit.source {
                UnitSource::Host => self.host += 1,
                UnitSource::Copied(_) => self.gc += 1,
                UnitSource::Padding => self.padding += 1,
            }
        }
    }
}

/// Flash commands emitted since the last reset, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Page reads for the host.
    pub host_reads: u64,
    /// Page programs for the host.
    pub host_programs: u64,
    /// Page reads of old copies, before writes of part of a page.
    pub rmw_reads: u64,
    /// Page reads of the map.
    pub map_reads: u64,
    /// Page programs of the map.
    pub map_programs: u64,
    /// Page programs of the map that wait for every program before them: its journal, and trim pages.
    pub waiting_map_programs: u64,
    /// Pages copied by garbage collection: a read and a program each.
    pub copies: u64,
    /// Page reads of pages that are moved to another die.
    pub moved_reads: u64,
    /// Page programs of the same pages there.
    pub moved_programs: u64,
    /// Page programs that fill zones which are finished.
    pub padding_programs: u64,
    /// Pages of the map copied by garbage collection.
    pub map_copies: u64,
    /// Spare searches for the host.
    pub host_searches: u64,
    /// Spare searches for garbage collection.
    pub gc_searches: u64,
    /// Spare areas read in searches for the host.
    pub host_spare_pages: u64,
    /// Spare areas read in searches for garbage collection.
    pub gc_spare_pages: u64,
    /// Spare areas read for the map, each by a command of its own.
    pub map_spare_pages: u64,
    /// Whole-block erases.
    pub block_erases: u64,
    /// Whole-block erases that only a power cut made necessary.
    pub erases_again: u64,
    /// Partial erases by level.
    pub partial_erases: [u64; MAX_SPLITS as usize + 1],
    /// Erases of a set of physical sub-blocks, one an operation.
    pub sub_block_erases: u64,
    /// Page accesses answered from a buffer, without a flash command.
    pub buffer_hits: u64,
    /// Units in programs.
    pub units: UnitCounts,
}

impl FlashCounts {
    /// Partial erases of all levels.
    pub fn partial_erases_total(&self) -> u64 {
        self.partial_erases.iter().sum()
    }

    /// Erase operations of every kind.
    pub fn erases_total(&self) -> u64 {
        self.block_erases + self.partial_erases_total() + self.sub_block_erases
    }

    /// Spare searches.
    pub fn searches(&self) -> u64 {
        self.host_searches + self.gc_searches
    }

    /// Flash commands: page reads, programs and erases; a spare search counts once.
    pub fn flash_commands(&self) -> u64 {
        self.reads() + self.programs() + self.searches() + self.map_spare_pages + self.erases_total()
    }

    /// Page reads of all causes.
    pub fn reads(&self) -> u64 {
        self.host_reads + self.rmw_reads + self.map_reads + self.map_copies + self.copies + self.moved_reads
    }

    /// Page programs of garbage collection: pages copied within a die, and pages moved to another one.
    pub fn gc_programs(&self) -> u64 {
        self.copies + self.moved_programs
    }

    /// Page programs of the map, pages of it that garbage collection copied included.
    pub fn all_map_programs(&self) -> u64 {
        self.map_programs + self.map_copies
    }

    /// Page programs of all causes.
    pub fn programs(&self) -> u64 {
        self.host_programs + self.gc_programs() + self.all_map_programs() + self.padding_programs
    }

    /// Pages that the host wrote and that were programmed; where pages have several mapping units, such units.
    pub fn host_stored(&self) -> u64 {
        if self.units.total() > 0 { self.units.host } else { self.host_programs }
    }

    /// Pages programmed, or mapping units, for whatever cause.
    pub fn stored(&self) -> u64 {
        if self.units.total() > 0 { self.units.total() } else { self.programs() }
    }

    /// Counts a command.
    #[inline]
    pub fn note(&mut self, command: &FlashCommand) {
        match command.op {
            FlashOp::Read => match command.cause {
                Cause::Map => self.map_reads += 1,
                Cause::Rmw => self.rmw_reads += 1,
                Cause::Gc => self.moved_reads += 1,
                Cause::Host | Cause::Padding => self.host_reads += 1,
            },
            FlashOp::Program => match command.cause {
                Cause::Map => {
                    self.map_programs += 1;
                    self.waiting_map_programs += u64::from(command.waits_for_programs());
                }
                Cause::Gc => self.moved_programs += 1,
                Cause::Padding => self.padding_programs += 1,
                Cause::Host | Cause::Rmw => self.host_programs += 1,
            },
            FlashOp::Copy if command.cause == Cause::Map => self.map_copies += 1,
            FlashOp::Copy => self.copies += 1,
            FlashOp::Erase => {
                self.block_erases += 1;
                self.erases_again += u64::from(command.erases_again());
            }
            FlashOp::PartialErase => self.partial_erases[command.pb().level() as usize] += 1,
            FlashOp::SubBlockErase => self.sub_block_erases += 1,
            FlashOp::Pause => {}
            FlashOp::SpareSearch if command.cause == Cause::Map => {
                self.map_spare_pages += u64::from(command.searched_pages());
            }
            FlashOp::SpareSearch => {
                let pages = u64::from(command.searched_pages());
                let (searches, spare_pages) = match command.cause {
                    Cause::Host | Cause::Map | Cause::Rmw | Cause::Padding => {
                        (&mut self.host_searches, &mut self.host_spare_pages)
                    }
                    Cause::Gc => (&mut self.gc_searches, &mut self.gc_spare_pages),
                };
                *searches += 1;
                *spare_pages += pages;
            }
        }
    }
}
