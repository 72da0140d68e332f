//! The page-level FTL recovers from its log (`map_log`): it reads the newest round of the map and the journal, and
//! looks for what is younger than the last journal page in blocks that were open then, and in blocks that were free.
//!
//! Of the younger pages the newest of each logical page counts. One that nothing proves is a *suspect*: the last page
//! that its plane has programmed. Before the host is served,
//!
//! 1. a new round is written into a fresh row: the map without suspects, and a journal page that names them;
//! 2. suspects that count are copied into free blocks;
//! 3. a journal page tells of the copies, and blocks are reclaimed until every plane has room.
//!
//! Whenever that is cut, the next start finds either the old journal page or the new one, and all pages that the
//! state up to it names. A suspect that the new journal page names has then outlived a cut: if it can be read, it is
//! proven. So a recovery has at most one suspect in each plane, however many cuts came before.

use std::collections::BTreeMap;

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, PlaneId, SpareArea, UnitSet};

use super::spare_survey::ReadPage;
use crate::layers::page::collect::plane::WriteStream;
use crate::layers::page::map::map_log::{JOURNAL_HEADER, MAP_HEADER, MapLog, SLOT_RECORD, SUSPECT_RECORD, Suspects};
use crate::layers::page::{PageConfig, PageFtl};
use crate::plan::{FtlError, Payload, Plan};
use crate::seam::{ChipPort, Proofs, RecoveryCounts, Restart};

/// What the log says.
struct LogRead {
    /// Newest page of each item up to the last journal page, with its number.
    items: Vec<Option<(u64, Payload)>>,
    /// Journal pages, the newest first, with their numbers.
    journal: Vec<(u64, Payload)>,
    /// The row to go on in: it holds nothing that is needed.
    fresh_row: u32,
    /// The largest number in the log, by plane.
    last_of_plane: Vec<u64>,
}

/// A page of the log.
struct LogPage {
    number: u64,
    lpn: Lpn,
    content: Payload,
}

/// One block of the log, read from its end.
struct BlockOfLog {
    row: u32,
    /// Place of the block in the row.
    turn: u32,
    block: BlockId,
    /// Pages before the next one to read.
    left: u16,
    /// Mapping units of a page.
    units: u16,
}

impl LogRead {
    /// Reads the log backwards until every item has been met.
    fn read(log: &MapLog, config: &PageConfig, chips: &mut dyn ChipPort) -> Result<LogRead, FtlError> {
        let geometry = &config.geometry;
        let mut read = LogRead {
            items: vec![None; log.shape.items as usize],
            journal: Vec::new(),
            fresh_row: 0,
            last_of_plane: vec![0; geometry.planes() as usize],
        };
        // The newest page of each block that is not read yet, by number; those of the initial fill have none, so by
        // their places.
        let mut heads = BTreeMap::new();
        let planes = log.blocks.len() as u32 / log.shape.rows;
        for (nth, &block) in (0..).zip(&log.blocks) {
            let units = geometry.units_per_page;
            let left = written_pages(block, [geometry.pages_per_block, units], chips) / units;
            let mut of = BlockOfLog { row: nth / planes, turn: nth % planes, block, left, units };
            if let Some(page) = of.next(chips) {
                let last = &mut read.last_of_plane[geometry.plane_of(block).index()];
                *last = page.number.max(*last);
                heads.insert(of.order(page.number), (page, of));
            }
        }
        let (mut missing, mut needed) = (read.items.len(), vec![false; log.shape.rows as usize]);
        while let Some((_, (page, mut of))) = heads.pop_last() {
            if read.note(page, log, &mut missing) {
                if read.journal.len() == 1 && !needed.contains(&true) {
                    read.fresh_row = (of.row + 1) % log.shape.rows;
                }
                needed[of.row as usize] = true;
            }
            if missing == 0 {
                debug_assert!(!needed[read.fresh_row as usize], "the row behind the newest one holds nothing needed");
                return Ok(read);
            }
            if let Some(page) = of.next(chips) {
                heads.insert(of.order(page.number), (page, of));
            }
        }
        Err(FtlError::NoMap)
    }

    /// Takes a page of the log, from the newest to the oldest. Whether it is needed.
    fn note(&mut self, page: LogPage, log: &MapLog, missing: &mut usize) -> bool {
        let LogPage { number, lpn, content } = page;
        let Some(item) = lpn.0.checked_sub(log.first) else { return false };
        if item >= log.shape.items {
            self.journal.push((number, content));
            return true;
        }
        // What is younger than the last journal page may belong to a round that was cut.
        let known = &mut self.items[item as usize];
        if self.journal.is_empty() || known.is_some() {
            return false;
        }
        *missing -= 1;
        *known = Some((number, content));
        true
    }

    /// The number of the last journal page.
    fn end(&self) -> u64 {
        self.journal.first().map_or(0, |&(number, _)| number)
    }

    /// Younger pages count if their data was written later than this.
    fn horizon(&self) -> u64 {
        let word = |nth: usize| self.journal.first().map_or(0, |(_, content)| u64::from(content[nth]));
        match word(0) | word(1) << 32 {
            0 => self.end(),
            above => above - 1,
        }
    }

    /// The pages that the last journal page names as not proven.
    fn suspects(&self) -> impl Iterator<Item = u32> {
        let content = self.journal.first().map_or(&[][..], |(_, content)| &content[JOURNAL_HEADER..]);
        content.chunks_exact(2).filter(|record| record[0] == SUSPECT_RECORD).map(|record| record[1])
    }

    /// Brings the map to the state of the last journal page; returns the blocks that were open then.
    fn apply(&self, ftl: &mut PageFtl, log: &MapLog) -> Vec<BlockId> {
        let shape = &log.shape;
        let words = shape.entries + MAP_HEADER as u32;
        let mut open = vec![0u32; shape.slots(ftl.planes.len()) as usize];
        let mut numbers = Vec::with_capacity(self.items.len());
        for (item, (number, content)) in (0..).zip(self.items.iter().flatten()) {
            numbers.push(*number);
            if item < shape.map_pages {
                ftl.maps.set_page_of_map(item, shape.entries, content);
            } else {
                let first = ((item - shape.map_pages) * words) as usize;
                open[first..first + content.len()].copy_from_slice(content);
            }
        }
        for (number, content) in self.journal.iter().rev() {
            for record in content[JOURNAL_HEADER..].chunks_exact(2) {
                let [what, value] = [record[0], record[1]];
                let is_younger = |item: u32| *number > numbers[item as usize];
                if what == SUSPECT_RECORD {
                    continue;
                } else if what & SLOT_RECORD == 0 {
                    if is_younger(what / shape.entries) {
                        ftl.maps.set_entry(Lpn(what), value);
                    }
                } else if is_younger(shape.map_pages + (what & !SLOT_RECORD) / words) {
                    open[(what & !SLOT_RECORD) as usize] = value;
                }
            }
        }
        open.into_iter().filter(|&block| block > 0).map(|block| BlockId(block - 1)).collect()
    }
}

impl BlockOfLog {
    /// Where the page read last, which has this number, stands among all pages of the log.
    fn order(&self, number: u64) -> (u64, u32, u16, u32) {
        (number, self.row, self.left, self.turn)
    }

    /// The next page that can be read, from the end.
    fn next(&mut self, chips: &mut dyn ChipPort) -> Option<LogPage> {
        while self.left > 0 {
            self.left -= 1;
            if let Some((entry, content)) = chips.page(PageAddress::new(self.block, self.left * self.units)) {
                return Some(LogPage { number: entry.programmed, lpn: entry.lpn, content });
            }
        }
        None
    }
}

/// Pages of a block before the blank ones at its end. Pages are programmed in order, and of the mapping units of a page the
/// first is no padding.
fn written_pages(block: BlockId, [pages, units]: [u16; 2], chips: &mut dyn ChipPort) -> u16 {
    let mut is_blank = |page: u16| chips.spare(PageAddress::new(block, page * units)) == SpareArea::Blank;
    let pages = pages / units;
    if is_blank(0) {
        return 0;
    }
    if !is_blank(pages - 1) {
        return pages * units;
    }
    // The first is written, the last is blank.
    let (mut written, mut blank) = (0, pages - 1);
    while blank - written > 1 {
        let middle = written + (blank - written) / 2;
        if is_blank(middle) { blank = middle } else { written = middle }
    }
    blank * units
}

/// What is younger than the last journal page.
struct Tail {
    /// Pages of which the spare area can be read.
    found: Vec<ReadPage>,
    /// Free blocks that hold something.
    stale: Vec<BlockId>,
    unreadable: u64,
}

impl Tail {
    /// Looks for pages programmed after `end`: in the blocks open then, and in all without a page that counts.
    fn read(ftl: &PageFtl, open: &[BlockId], end: u64, bad: &[BlockId], chips: &mut dyn ChipPort) -> Tail {
        let mut tail = Tail { found: Vec::new(), stale: Vec::new(), unreadable: 0 };
        let geometry = &ftl.config.geometry;
        let pages = [ftl.config.data_pages(), geometry.units_per_page];
        open.iter().for_each(|&block| tail.read_block(block, pages, end, chips));
        for block in (0..geometry.blocks()).map(BlockId) {
            let is_needed = ftl.maps.valid_pages(block) > 0 || open.contains(&block) || bad.contains(&block);
            if is_needed || ftl.is_of_log(block) {
                continue;
            }
            match chips.spare(PageAddress::new(block, 0)) {
                SpareArea::Blank => {}
                SpareArea::Unreadable => tail.stale.push(block),
                SpareArea::Written(entry) => {
                    tail.stale.push(block);
                    if entry.programmed > end {
                        tail.read_block(block, pages, end, chips);
                    }
                }
            }
        }
        tail
    }

    /// Reads a block from its end back to the last journal page.
    fn read_block(&mut self, block: BlockId, pages: [u16; 2], end: u64, chips: &mut dyn ChipPort) {
        for page in (0..written_pages(block, pages, chips)).rev().map(|page| PageAddress::new(block, page)) {
            match chips.spare(page) {
                SpareArea::Blank => {}
                SpareArea::Unreadable => self.unreadable += 1,
                SpareArea::Written(entry) if entry.programmed <= end => return,
                SpareArea::Written(entry) => self.found.push(ReadPage { page, entry }),
            }
        }
    }

    /// The last page of each plane that nothing proves, or its mapping units: none behind it in the plane can be read.
    fn unproven(&self, ftl: &PageFtl, last_in_log: &[u64]) -> Vec<PageAddress> {
        let mut last = last_in_log.to_vec();
        let plane = |found: &ReadPage| ftl.config.geometry.plane_of(found.page.block).index();
        for found in &self.found {
            last[plane(found)] = last[plane(found)].max(found.entry.programmed);
        }
        let is_last = |found: &&ReadPage| {
            let number = found.entry.programmed;
            number == last[plane(found)] && number > last_in_log[plane(found)]
        };
        self.found.iter().filter(is_last).map(|found| found.page).collect()
    }
}

impl PageFtl {
    /// A layer that knows what its log and the younger pages say.
    ///
    /// # Errors
    /// No room for the copies of suspects, or no complete map in the log.
    pub(in crate::layers::page) fn from_log(
        config: PageConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(PageFtl, RecoveryCounts), FtlError> {
        let mut ftl = PageFtl::new(config, bad);
        ftl.counters = restart.counters;
        let Some(log) = ftl.log.take() else { return Err(FtlError::NoMap) };
        let read = LogRead::read(&log, &ftl.config, restart.chips)?;
        let open = read.apply(&mut ftl, &log);
        ftl.log = Some(log);
        ftl.maps.count_anew(&ftl.pool);
        let mut tail = Tail::read(&ftl, &open, read.end(), bad, restart.chips);
        let unproven = tail.unproven(&ftl, &read.last_of_plane);
        for page in read.suspects().map(|page| ftl.maps.address_of(page)) {
            if let SpareArea::Written(entry) = restart.chips.spare(page) {
                tail.found.push(ReadPage { page, entry });
            }
        }
        let (moves, suspects) = ftl.take_over(&tail, &unproven, read.horizon());
        ftl.proofs = Proofs::lost(ftl.config.geometry.blocks());
        ftl.adopt_blocks(&suspects.pages);
        if let Some(log) = &mut ftl.log {
            log.begin_at(read.fresh_row);
        }
        ftl.make_durable(&moves, &suspects, restart)?;
        ftl.finish_start(&tail.stale, restart.plan)?;
        let counts = RecoveryCounts {
            unreadable_pages: tail.unreadable,
            abandoned_blocks: open.len() as u64,
            moved_pages: moves.len() as u64,
        };
        Ok((ftl, counts))
    }

    /// Writes a new round, copies the suspects that count, and writes that down.
    fn make_durable(&mut self, moves: &[ReadPage], suspects: &Suspects, restart: &mut Restart) -> Result<(), FtlError> {
        self.write_round(suspects, restart.first);
        for suspect in moves {
            self.move_suspect(*suspect, restart.plan)?;
        }
        self.close_pages(restart.plan);
        self.write_down(restart.plan);
        Ok(())
    }

    /// Enters the younger pages that count and are proven. Returns the suspects that count before those, and all
    /// that might.
    fn take_over(&mut self, tail: &Tail, unproven: &[PageAddress], horizon: u64) -> (Vec<ReadPage>, Suspects) {
        let mut newest: BTreeMap<u32, Vec<ReadPage>> = BTreeMap::new();
        let is_young = |found: &&ReadPage| found.entry.written > horizon;
        for found in tail.found.iter().filter(is_young) {
            newest.entry(found.entry.lpn.0).or_default().push(*found);
        }
        let (mut moves, mut suspects) = (Vec::new(), Suspects { horizon: Some(horizon), pages: Vec::new() });
        for (lpn, mut pages) in newest {
            pages.sort_unstable_by_key(|found| std::cmp::Reverse((found.entry.written, found.entry.programmed)));
            let proven = pages.iter().position(|found| !unproven.contains(&found.page));
            if let Some(proven) = proven {
                self.maps.replace(Lpn(lpn), pages[proven].page, &self.pool);
            }
            let before = &pages[..proven.unwrap_or(pages.len())];
            moves.extend(before.first());
            suspects.pages.extend(before.iter().map(|found| found.page));
        }
        (moves, suspects)
    }

    /// Closes the blocks that hold pages that count, or suspects; the others are free, to be erased before they are
    /// written.
    fn adopt_blocks(&mut self, suspects: &[PageAddress]) {
        let geometry = self.config.geometry;
        for block in (0..geometry.blocks()).map(BlockId) {
            let valid = self.maps.valid_pages(block);
            if valid == 0 && !suspects.iter().any(|page| page.block == block) {
                continue;
            }
            self.proofs.note_in_use(block);
            self.free.withdraw(block, &mut self.pool);
            self.planes[geometry.plane_of(block).index()].valid_pages += u64::from(valid);
            self.close(WriteStream::HOST, block, 0);
        }
    }

    /// Copies a suspect into a free block.
    fn move_suspect(&mut self, suspect: ReadPage, plan: &mut Plan) -> Result<(), FtlError> {
        let ReadPage { page: source, entry } = suspect;
        let plane = self.config.geometry.plane_of(source.block);
        let stream = self.stream_of_move(source);
        let (target, sequence) = self.next_page(plane, stream, plan)?;
        self.proofs.prove(target.block, plan);
        if let Some(old) = self.find(entry.lpn) {
            self.invalidate(old);
        }
        self.place(entry.lpn, target, plane);
        self.planes[plane.index()].valid_pages += 1;
        self.note_change(entry.lpn);
        let first = plan.commands.len();
        plan.push(FlashCommand::copy(source, target, entry.lpn, sequence));
        self.gather(plane, first, plan);
        self.end_page(plane, stream, target.page, plan);
        Ok(())
    }

    /// Erases the free blocks that hold something, and reclaims until every plane has room.
    fn finish_start(&mut self, stale: &[BlockId], plan: &mut Plan) -> Result<(), FtlError> {
        for &block in stale {
            if self.free.of(block) == UnitSet::first(1) {
                self.proofs.prove(block, plan);
            }
        }
        (0..self.config.geometry.planes()).try_for_each(|plane| self.restore_room(PlaneId(plane), plan))?;
        self.close_pages(plan);
        Ok(())
    }

    /// Whether a block belongs to the log.
    pub(super) fn is_of_log(&self, block: BlockId) -> bool {
        let rows = self.config.log.map_or(0, |log| log.rows);
        rows > 0 && self.pool.good_index(block) < rows
    }
}
