//! The map in flash of a device that may lose power (`ftl.recovery = "checkpoint"`): pages of the map, written one
//! after the other in a round, and between them a journal of what has changed.
//!
//! The log takes the first good blocks of every plane. A *row* is one block of each plane; its pages are written in
//! turn over the planes, and rows one after the other in a ring. It holds two kinds of pages:
//!
//! - *Items*: pages of the map (the place of each logical page), and of the table of open blocks. Each journal page
//!   is followed by as many items as keep the round within `ftl.checkpoint_interval`. The latest copy of every item
//!   is needed, so the log is as long as a round, and a bit more; what is older is dead, and its row is erased.
//! - *Journal pages*: the logical pages that have changed since the last one, with their places, and open blocks.
//!
//! Order makes it safe, whatever a cut leaves:
//!
//! 1. A journal page is programmed after every program that was decided before it, on whichever die. Its entries
//!    are therefore true: these programs have ended.
//! 2. An item is programmed after every program of data that was decided before it.
//! 3. A block of data is erased only after a journal page that says that nothing in it is needed. So what the log
//!    says up to its last journal page still lies where it says.
//!
//! Where mapping units are smaller than pages, a page of the log is a whole page of flash, and tells of units that are
//! programmed: what gathers of the host is forced out before a journal page, and a unit that is being moved still lies where
//! it comes from.
//!
//! A device that recovers knows from the log everything up to the last journal page. What is younger lies in
//! blocks that were open then, or free then (`recover_log`).

use pumice_types::{BlockId, FlashCommand, Geometry, JOURNAL, Lpn, PageAddress, PlaneId};
use serde::{Deserialize, Serialize};

use super::page_maps::PageMaps;
use crate::blocks::block_pool::BlockPool;
use crate::layers::page::collect::plane::{Plane, WriteStream};
use crate::layers::page::{HotCold, PageFtl};
use crate::plan::{FillTarget, Payload, Plan};
use crate::seam::LogSize;

/// Bytes of a word: the place of a page, or a block.
const WORD_BYTES: u32 = 4;

/// First word of a journal record about an open block; below are logical pages.
pub(in crate::layers::page) const SLOT_RECORD: u32 = 1 << 31;

/// First word of a journal record about a page of which nothing proves that its program had ended.
pub(in crate::layers::page) const SUSPECT_RECORD: u32 = u32::MAX;

/// Words before the records of a journal page: the horizon plus one, or 0 for the page's own number.
pub(in crate::layers::page) const JOURNAL_HEADER: usize = 2;

/// Words before the entries of a map page: how many pages the initial fill has stored.
pub(in crate::layers::page) const MAP_HEADER: usize = 1;

/// Changes for which a journal page keeps room, so that it is full only between two pages written.
const ROOM_KEPT: usize = 8;

/// Changes that come before a journal page is written, because it forces out what gathers of the host, at most two pages of
/// each plane, and the page that filled it: none where a page is one unit.
fn changes_of_open_pages(planes: u32, units: u16) -> u32 {
    if units == 1 { 0 } else { u32::from(units) * (2 * planes + 1) }
}

/// Pages and blocks of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogShape {
    /// Places of a map page.
    pub(in crate::layers::page) entries: u32,
    /// Pages of the map.
    pub(in crate::layers::page) map_pages: u32,
    /// Pages of the map, and of the table of open blocks.
    pub(in crate::layers::page) items: u32,
    /// Changes of a journal page.
    pub(super) records: usize,
    /// Pages programmed in a round.
    interval: u64,
    /// Journal pages in a round at the most.
    journals_max: u64,
    /// Rows of the ring.
    pub rows: u32,
    /// Streams of a plane that may keep a block open: the first one, and how many there are.
    streams: [u32; 2],
    /// Mapping units of a page of flash.
    units: u16,
}

impl LogShape {
    /// The log of so many logical pages, of which every item is written once while `interval` pages are programmed.
    /// Its rows are as many as a device of one die needs, because they are fewer in larger ones.
    pub fn new(geometry: &Geometry, user_pages: u32, interval: f64, hot_cold: HotCold) -> LogShape {
        let streams = WriteStream::logged(hot_cold);
        let of_dies = |dies: u32| {
            let planes = geometry.planes_per_die * dies;
            let user_pages = (u64::from(user_pages) * u64::from(dies)).div_ceil(u64::from(geometry.dies())) as u32;
            LogShape::of_planes(geometry, [planes, user_pages], (f64::from(user_pages) * interval) as u64, streams)
        };
        LogShape { rows: of_dies(1).rows, ..of_dies(geometry.dies()) }
    }

    fn of_planes(geometry: &Geometry, [planes, user_pages]: [u32; 2], interval: u64, streams: [u32; 2]) -> LogShape {
        let units = geometry.units_per_page;
        let words = geometry.page_bytes * u32::from(units) / WORD_BYTES;
        let entries = words - MAP_HEADER as u32;
        let map_pages = user_pages.div_ceil(entries);
        let items = map_pages + (planes * streams[1]).div_ceil(words);
        let records = (words as usize - JOURNAL_HEADER) / 2;
        let (interval, pages) = (interval.max(1), u64::from(geometry.pages_per_block / units));
        // A page full of changes, and one before each erase; twice that, because some are not full.
        let journals_max = 2 * (interval / records as u64 + interval / pages) + 8;
        let behind_journal = (records as u64 * u64::from(items) / interval + 1).min(u64::from(items)) + 1;
        let live = u64::from(items) + journals_max + 2 * behind_journal + 2;
        let row = u64::from(planes) * pages;
        let rows = live.div_ceil(row) + 1 + (u64::from(items) + 2).div_ceil(row) + 1;
        LogShape { entries, map_pages, items, records, interval, journals_max, rows: rows as u32, streams, units }
    }

    /// The slot of the table of open blocks that tells of a stream of a plane.
    fn slot(&self, plane: PlaneId, stream: WriteStream) -> u32 {
        let [first, count] = self.streams;
        debug_assert!((first..first + count).contains(&(stream.index() as u32)), "a stream of the log");
        plane.0 * count + stream.index() as u32 - first
    }

    /// Slots of the table of open blocks.
    pub(in crate::layers::page) fn slots(&self, planes: usize) -> u32 {
        planes as u32 * self.streams[1]
    }

    /// The block that a slot tells of, plus one; 0: none.
    fn open_in(&self, planes: &[Plane], slot: u32) -> u32 {
        let [first, count] = self.streams;
        let open = planes[(slot / count) as usize].open[(first + slot % count) as usize];
        open.map_or(0, |open| open.block.0 + 1)
    }

    /// The smallest page in which a recovery can name two pages of each plane that are not proven.
    pub(in crate::layers::page) fn page_bytes_min(planes: u32, units: u16) -> u32 {
        (JOURNAL_HEADER as u32 + 2 * (changes_of_open_pages(planes, units).max(2 * planes) + ROOM_KEPT as u32))
            * WORD_BYTES
    }

    /// Logical pages that the log writes for itself.
    pub(in crate::layers::page) fn own_pages(&self) -> u32 {
        self.items + 1
    }
}

/// The log of a device.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct MapLog {
    pub(in crate::layers::page) shape: LogShape,
    /// The logical page of item 0.
    pub(in crate::layers::page) first: u32,
    /// Blocks of the log, row by row, in the order of the planes.
    pub(in crate::layers::page) blocks: Vec<BlockId>,
    planes: usize,
    changes_of_open_pages: usize,
    pages: u64,
    /// Where the next page goes, in pages since the log began.
    next: u64,
    /// Where each item was written last.
    positions: Vec<u64>,
    next_item: u32,
    credit: u64,
    changed: Vec<Lpn>,
    changed_slots: Vec<u32>,
    /// The host gave a page up since it flushed last.
    trims: bool,
    /// A trim came before that flush, which has written the journal for it.
    flushed_trims: bool,
    /// Rows that hold something.
    used: Vec<bool>,
}

impl MapLog {
    /// A log of which nothing is written.
    pub(in crate::layers::page) fn new(
        shape: LogShape,
        geometry: &Geometry,
        user_pages: u32,
        pool: &BlockPool,
        order: &[PlaneId],
    ) -> MapLog {
        let row = |row| order.iter().map(move |&plane| pool.good_block(plane, row));
        MapLog {
            first: user_pages,
            blocks: (0..shape.rows).flat_map(row).collect(),
            planes: order.len(),
            changes_of_open_pages: changes_of_open_pages(order.len() as u32, shape.units) as usize,
            pages: u64::from(geometry.pages_per_block / shape.units),
            next: 0,
            positions: vec![0; shape.items as usize],
            next_item: 0,
            credit: 0,
            changed: Vec::with_capacity(shape.records),
            changed_slots: Vec::new(),
            trims: false,
            flushed_trims: false,
            used: vec![false; shape.rows as usize],
            shape,
        }
    }

    /// Notes that the place of a logical page has changed.
    #[inline]
    pub(in crate::layers::page) fn note_change(&mut self, lpn: Lpn) {
        self.changed.push(lpn);
    }

    /// Notes that the last change is a page that the host gave up.
    pub(in crate::layers::page) fn note_trim(&mut self) {
        self.trims = true;
    }

    /// Notes that a stream of a plane has opened or closed a block.
    pub(in crate::layers::page) fn note_open(&mut self, plane: PlaneId, stream: WriteStream) {
        self.changed_slots.push(self.shape.slot(plane, stream));
    }

    fn changes(&self) -> usize {
        self.changed.len() + self.changed_slots.len()
    }

    /// Whether the next change might not find room in the journal page.
    #[inline]
    pub(in crate::layers::page) fn is_full(&self) -> bool {
        self.changes() + ROOM_KEPT + self.changes_of_open_pages > self.shape.records
    }

    /// Blocks and RAM that it takes.
    pub(in crate::layers::page) fn size(&self) -> LogSize {
        let words = self.shape.records * 2 + self.positions.len();
        let (ram_bytes, blocks_per_plane) = (words as u64 * u64::from(WORD_BYTES), u64::from(self.shape.rows));
        LogSize { blocks_per_plane, ram_bytes }
    }

    /// Bytes of the simulator's state.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        size_of_val(&self.positions[..]) as u64
    }

    fn row_of(&self, position: u64) -> usize {
        (position / (self.planes as u64 * self.pages)) as usize % self.used.len()
    }

    /// Goes on at the first page of a row.
    pub(in crate::layers::page) fn begin_at(&mut self, row: u32) {
        self.next = u64::from(row) * self.planes as u64 * self.pages;
        self.used.fill(true);
    }

    /// Appends a page; before the first page of a block that was used, the erase of that block.
    fn append(&mut self, own: u32, version: u8, content: Payload, plan: &mut Plan) {
        let planes = self.planes as u64;
        let (row, turn) = (self.row_of(self.next), (self.next % planes) as usize);
        let page = (self.next / planes % self.pages) as u16 * self.shape.units;
        let page = PageAddress::new(self.blocks[row * self.planes + turn], page);
        if page.page == 0 {
            let all = self.pages * planes * self.used.len() as u64;
            debug_assert!(
                self.positions.iter().all(|&at| at + all >= self.next + planes * self.pages || at == 0),
                "a row that is erased holds nothing that is needed"
            );
            if self.used[row] {
                plan.push(FlashCommand::erase(page.block));
            }
        }
        if turn + 1 == self.planes && page.page == 0 {
            self.used[row] = true;
        }
        plan.note_content(content);
        plan.push_whole_page(FlashCommand::own_program(page, Lpn(self.first + own), version), self.shape.units);
        self.next += 1;
    }

    /// Appends an item.
    fn append_item(&mut self, item: u32, maps: &PageMaps, planes: &[Plane], plan: &mut Plan) {
        self.positions[item as usize] = self.next;
        let content = self.item(item, maps, planes);
        self.append(item, 0, content, plan);
    }

    /// Content of an item.
    fn item(&self, item: u32, maps: &PageMaps, planes: &[Plane]) -> Payload {
        if item < self.shape.map_pages {
            return maps.page_of_map(item, self.shape.entries);
        }
        let words = self.shape.entries + MAP_HEADER as u32;
        let slots = (item - self.shape.map_pages) * words..self.shape.slots(planes.len());
        slots.take(words as usize).map(|slot| self.shape.open_in(planes, slot)).collect()
    }

    /// Appends a journal page of all changes since the last one.
    fn append_journal(&mut self, maps: &PageMaps, planes: &[Plane], suspects: &Suspects, plan: &mut Plan) {
        let Suspects { horizon, pages } = suspects;
        let horizon = horizon.map_or(0, |horizon| horizon + 1);
        let header = [horizon as u32, (horizon >> 32) as u32];
        let places = self.changed.iter().flat_map(|&lpn| [lpn.0, maps.entry(lpn)]);
        let slots = self.changed_slots.iter().flat_map(|&slot| [SLOT_RECORD | slot, self.shape.open_in(planes, slot)]);
        let pages = pages.iter().flat_map(|&page| [SUSPECT_RECORD, maps.physical(page)]);
        let content: Payload = header.into_iter().chain(places).chain(slots).chain(pages).collect();
        debug_assert!(content.len() <= JOURNAL_HEADER + 2 * self.shape.records, "a journal page is a page");
        self.changed.clear();
        self.changed_slots.clear();
        self.append(self.shape.items, JOURNAL, content, plan);
    }

    /// Writes down all changes, and the items that are due with that.
    fn write_down(&mut self, maps: &PageMaps, planes: &[Plane], plan: &mut Plan) {
        // The unit whose write is planned may be placed behind this.
        let horizon = plan.write_number.checked_sub(1);
        let LogShape { interval, journals_max, items, .. } = self.shape;
        self.credit += (self.changed.len() as u64 * journals_max).max(interval) * u64::from(items);
        self.append_journal(maps, planes, &Suspects { horizon, pages: Vec::new() }, plan);
        let price = interval * journals_max;
        let due = (self.credit / price).min(u64::from(items));
        self.credit %= price;
        for _ in 0..due {
            self.append_item(self.next_item, maps, planes, plan);
            self.next_item = (self.next_item + 1) % items;
        }
    }
}

/// Pages that a recovery found and could not prove.
#[derive(Debug, Default)]
pub(in crate::layers::page) struct Suspects {
    /// Younger pages count only if their data was written later than this; `None` stands for the journal page's own
    /// number.
    pub(in crate::layers::page) horizon: Option<u64>,
    pub(in crate::layers::page) pages: Vec<PageAddress>,
}

impl PageFtl {
    /// Writes down the changes of the map, if there are any and the map is logged.
    pub(in crate::layers::page) fn write_down(&mut self, plan: &mut Plan) {
        if self.log.as_ref().is_some_and(|log| log.changes() > 0) {
            self.close_host_pages(plan);
            self.with_log(|log, maps, planes| log.write_down(maps, planes, plan));
        }
    }

    /// Lets the log write down where units lie on the chips.
    fn with_log(&mut self, write: impl FnOnce(&mut MapLog, &PageMaps, &[Plane])) {
        let moving = self.units_that_move();
        let PageFtl { log: Some(log), maps, planes, .. } = self else { return };
        moving.iter().for_each(|&(lpn, [source, _])| maps.set_entry(lpn, source));
        write(log, maps, planes);
        moving.iter().for_each(|&(lpn, [_, place])| maps.set_entry(lpn, place));
    }

    /// Writes the journal because the host flushes, if it gave up pages since it flushed last: also if an earlier page of
    /// the journal tells so, because that may still wait for its program. `again`: also what the last flush has written.
    pub(in crate::layers::page) fn write_down_trims(&mut self, again: bool, plan: &mut Plan) {
        let Some(log) = &mut self.log else { return };
        let again = again && log.flushed_trims;
        log.flushed_trims = log.trims || again;
        if std::mem::take(&mut log.trims) || again {
            self.close_host_pages(plan);
            self.with_log(|log, maps, planes| log.write_down(maps, planes, plan));
        }
    }

    /// Writes the journal down before an erase, which takes away what the log may still point to.
    #[inline]
    pub(in crate::layers::page) fn write_down_before_erase(&mut self, plan: &mut Plan) {
        if self.log.is_some() {
            self.write_down(plan);
        }
    }

    /// Writes the journal down if its page is full.
    #[inline]
    pub(in crate::layers::page) fn write_down_if_full(&mut self, plan: &mut Plan) {
        if self.log.as_ref().is_some_and(|log| log.is_full()) {
            self.write_down(plan);
        }
    }

    /// Writes the map of a device that was just filled.
    pub(in crate::layers::page) fn begin_log(&mut self, target: &mut dyn FillTarget) {
        let mut plan = Plan::default();
        self.write_round(&Suspects::default(), &mut plan);
        for (at, _, content) in plan.contents.drain(..) {
            target.program_own(plan.commands[at].target, plan.commands[at].lpn, content);
        }
    }

    /// Writes all items and a journal page: a whole round.
    pub(in crate::layers::page) fn write_round(&mut self, suspects: &Suspects, plan: &mut Plan) {
        debug_assert!(self.units_that_move().is_empty(), "nothing gathers before the host is served");
        let PageFtl { log: Some(log), maps, planes, .. } = self else { return };
        log.changed.clear();
        log.changed_slots.clear();
        (0..log.shape.items).for_each(|item| log.append_item(item, maps, planes, plan));
        log.append_journal(maps, planes, suspects, plan);
    }
}
