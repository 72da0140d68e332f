//! What a command changes that breaks no rule.

use pumice_types::{BlockId, FILL_VERSION, FlashCommand, FlashOp, Lpn, PageAddress, Pb, bits, disturb};

use super::{BlockState, NandArray, PageContent, Returned};

impl NandArray {
    /// Changes what a command changes that breaks no rule.
    #[inline(always)]
    pub(super) fn perform(&mut self, command: &FlashCommand) -> Returned {
        match command.op {
            FlashOp::Read => return Returned::Page(self.page_content(command.target)),
            FlashOp::Copy => return Returned::Page(self.copy(command)),
            FlashOp::SpareSearch if self.search(command) => return Returned::Expected,
            FlashOp::SpareSearch => return Returned::Unexpected,
            FlashOp::Program if self.config.geometry.units_per_page > 1 => self.program_units(command),
            FlashOp::Program => self.program(command),
            FlashOp::Erase => self.erase(command.target.block),
            FlashOp::PartialErase => self.partial_erase(command.target.block, command.pb()),
            FlashOp::SubBlockErase => self.sub_block_erase(command.target.block, command.sub_blocks()),
            FlashOp::Pause => {}
        }
        Returned::Done
    }

    #[inline]
    pub(super) fn program(&mut self, command: &FlashCommand) {
        self.store(command.target, command.lpn, command.version, command.sequence);
        self.note_corrupt(command.target, false);
        if self.power.is_some() {
            self.note_numbers(command.target, command);
        }
    }

    #[inline(always)]
    pub(super) fn copy(&mut self, command: &FlashCommand) -> PageContent {
        let content = self.page_content(command.source);
        self.store(command.target, content.lpn, content.version, command.sequence);
        self.note_corrupt(command.target, content.corrupt);
        if self.power.is_some() {
            self.note_numbers(command.target, command);
        }
        content
    }

    #[inline(always)]
    pub(super) fn store(&mut self, page: PageAddress, lpn: Lpn, version: u8, sequence: u32) {
        if self.blocks[page.block.index()].fill_pages > 0 {
            self.write_out_fill(page.block);
        }
        self.put(page, lpn, version);
        let block = &mut self.blocks[page.block.index()];
        block.next_in_order = block.next_in_order.max(page.page + 1);
        block.sequence = sequence;
        if let Some(lines) = &mut self.word_lines {
            block.over_tolerance |= lines.note_program(page);
        }
    }

    /// Notes in the columns what a page holds from now on.
    #[inline(always)]
    pub(super) fn put(&mut self, page: PageAddress, lpn: Lpn, version: u8) {
        let (bit, column) = (self.bit(page), self.column(page));
        bits::set(&mut self.programmed, bit);
        self.set_content(column, lpn, version);
    }

    /// Writes the initial fill into the columns, so that single pages can change.
    #[cold]
    pub(super) fn write_out_fill(&mut self, block: BlockId) {
        let filled = self.blocks[block.index()];
        let units = self.config.geometry.units_per_page;
        let start = self.column(PageAddress::new(block, 0));
        for page in 0..filled.fill_pages {
            self.set_content(start + usize::from(page), filled.filled_with(page, units), FILL_VERSION);
            if let Some(lines) = &mut self.word_lines {
                // A block that is written once exceeds no bound, so nothing of it is over it.
                lines.note_program(PageAddress::new(block, page));
            }
        }
        self.blocks[block.index()].fill_pages = 0;
    }

    /// Notes whether the data just programmed is corrupt.
    #[inline(always)]
    pub(super) fn note_corrupt(&mut self, page: PageAddress, corrupt: bool) {
        if corrupt || !self.corrupt.is_empty() {
            self.set_corrupt(page, corrupt);
        }
    }

    /// Marks a page corrupt or sound, where something is or was corrupt. The column is made when it is first needed.
    #[cold]
    fn set_corrupt(&mut self, page: PageAddress, corrupt: bool) {
        if self.corrupt.is_empty() {
            self.corrupt = vec![0; self.programmed.len()];
        }
        let bit = self.bit(page);
        let change = if corrupt { bits::set } else { bits::clear };
        change(&mut self.corrupt, bit);
    }

    pub(super) fn erase(&mut self, block: BlockId) {
        let (words, leaves) = (self.words(block), self.leaves(block));
        self.programmed[words].fill(0);
        self.disturb[leaves].fill(0);
        if let Some(lines) = &mut self.word_lines {
            lines.note_erase(block);
        }
        let truth = &mut self.blocks[block.index()];
        truth.erases += 1;
        *truth = BlockState { erases: truth.erases, ..BlockState::default() };
        self.forget_cuts(block);
    }

    pub(super) fn partial_erase(&mut self, block: BlockId, pb: Pb) {
        let tree = self.config.tree;
        if self.blocks[block.index()].fill_pages > 0 {
            self.write_out_fill(block);
        }
        let erased = tree.leaf_range(pb);
        let (words, leaves) = (self.words(block), self.leaves(block));
        let programmed = &mut self.programmed[words];
        tree.page_ranges(pb).for_each(|run| bits::clear_range(programmed, run.start, run.end));
        let counters = &mut self.disturb[leaves.clone()];
        disturb::partial_erase(counters, &erased, |leaf| {
            tree.page_ranges(tree.leaf_pb(leaf)).any(|run| bits::count_range(programmed, run.start, run.end) > 0)
        });
        let tolerance = self.config.disturb_tolerance;
        let truth = &mut self.blocks[block.index()];
        truth.partially_erased = true;
        truth.over_tolerance = counters.iter().any(|&count| count > tolerance);
        self.leaf_erases[leaves][erased.clone()].iter_mut().for_each(|count| *count += 1);
        self.forget_cuts_in(block, |page| erased.contains(&tree.leaf_of_page(usize::from(page))));
    }
}
