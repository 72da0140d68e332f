//! The log of all flash commands, as bytes to be written out.

use pumice_nand::NandArray;
use pumice_types::{BlockId, FlashCommand, FlashOp, Geometry, PageAddress, PageUnit, Time};

use crate::header::LogHeader;
use crate::record::LogRecord;

/// Bytes that a run keeps of its command log in memory.
const CHUNK_BYTES: usize = 1 << 20;

/// A log being written: a head, the initial state, commands in the order in which they took effect, an
/// end. The order is that of each die's time; times of different dies may be out of order.
pub struct CommandLog {
    bytes: Vec<u8>,
    records: u64,
    /// What programs that have not ended put into the mapping units of their pages, by the numbers of their lists.
    staged: Vec<Vec<PageUnit>>,
}

impl CommandLog {
    /// A log that has nothing but its head.
    pub fn new(header: &LogHeader) -> CommandLog {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        bytes.extend(header.encode());
        CommandLog { bytes, records: 0, staged: Vec::new() }
    }

    /// Appends what a block holds before the first command; returns whether the bytes are to be taken.
    pub fn push_initial(&mut self, array: &NandArray, block: BlockId) -> bool {
        if array.is_bad(block) {
            return self.push(&LogRecord::BadBlock(block));
        }
        match array.initial_fill(block) {
            Some((lpns, pages, sequence)) => self.push(&LogRecord::Fill { block, lpns, pages, sequence }),
            None => self.push_own(array, block),
        }
    }

    /// Appends the pages of the layer's own with which a block begins.
    fn push_own(&mut self, array: &NandArray, block: BlockId) -> bool {
        let Geometry { pages_per_block, units_per_page, .. } = array.config().geometry;
        let places = (0..pages_per_block).step_by(units_per_page.into()).map(|page| PageAddress::new(block, page));
        let stored = places.map_while(|place| Some((place, array.peek(place).ok()?.lpn)));
        stored.fold(false, |_, (place, lpn)| self.push(&LogRecord::Own { place, lpn }))
    }

    /// Keeps what a program puts into the units of its page until it is appended; `list` is the number that it carries.
    pub fn keep_units(&mut self, list: u32, units: &[PageUnit]) {
        let list = list as usize;
        if self.staged.len() <= list {
            self.staged.resize_with(list + 1, Vec::new);
        }
        units.clone_into(&mut self.staged[list]);
    }

    /// Appends what a program puts into the units of its page.
    fn push_units(&mut self, program: &FlashCommand) {
        let PageAddress { block, page } = program.target;
        let mut units = self.staged.get_mut(program.units() as usize).map(std::mem::take).unwrap_or_default();
        for (nth, &unit) in units.iter().enumerate() {
            self.push(&LogRecord::Unit { place: PageAddress::new(block, page + nth as u16), unit });
        }
        units.clear();
        if let Some(place) = self.staged.get_mut(program.units() as usize) {
            *place = units;
        }
    }

    /// Appends a command; returns whether the bytes are to be taken.
    #[inline]
    pub fn push_command(&mut self, start: Time, end: Time, command: &FlashCommand) -> bool {
        if command.op == FlashOp::Program && !self.staged.is_empty() {
            self.push_units(command);
        }
        self.push(&LogRecord::Command { start, end, command: *command })
    }

    /// Appends the end of a complete log.
    pub fn end(&mut self) {
        self.push(&LogRecord::End { records: self.records });
    }

    /// The bytes so far, whose place is then free again once they are cleared.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    fn push(&mut self, record: &LogRecord) -> bool {
        self.bytes.extend(record.encode());
        self.records += 1;
        self.bytes.len() >= CHUNK_BYTES
    }
}
