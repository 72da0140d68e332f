//! The write buffer: page-mapped blocks of each plane, filled as a log.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use pumice_types::{BlockId, Geometry, Lpn, PageAddress};

/// "No slot" in the column by block.
const NONE: u32 = u32::MAX;

/// One block of the buffer.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Slot {
    block: BlockId,
    sequence: u32,
    written: u16,
    valid: u16,
}

/// A page of the buffer to program, and the sequence number of its block.
#[derive(Clone, Copy)]
pub struct BufferTarget {
    /// The page.
    pub page: PageAddress,
    /// Sequence number for its spare area.
    pub sequence: u32,
}

/// The buffer's blocks, and which logical pages have their newest copy in them.
#[derive(Clone, Serialize, Deserialize)]
pub struct BufferBlocks {
    pages: usize,
    /// Blocks that each plane may use.
    capacity: usize,
    /// Logical to physical page: 0 not buffered, else physical page + 1.
    map: Vec<u32>,
    slots: Vec<Slot>,
    /// Logical page of each page of each slot.
    owner: Vec<u32>,
    slot_of_block: Vec<u32>,
    free: Vec<Vec<u32>>,
    /// Slots of each plane in use, oldest first; the last may be open.
    used: Vec<VecDeque<u32>>,
}

impl BufferBlocks {
    /// An empty buffer of `capacity` blocks a plane over `user_pages` logical pages.
    pub fn new(geometry: &Geometry, capacity: u32, user_pages: u32) -> BufferBlocks {
        let (pages, planes) = (usize::from(geometry.pages_per_block), geometry.planes());
        let slots = (planes * capacity) as usize;
        BufferBlocks {
            pages,
            capacity: capacity as usize,
            map: vec![0; user_pages as usize],
            slots: vec![Slot::default(); slots],
            owner: vec![0; slots * pages],
            slot_of_block: vec![NONE; geometry.blocks() as usize],
            free: (0..planes).map(|plane| (plane * capacity..(plane + 1) * capacity).rev().collect()).collect(),
            used: (0..planes).map(|_| VecDeque::with_capacity(capacity as usize)).collect(),
        }
    }

    /// Bytes of the columns, the owners as far as blocks can be in use at once.
    pub fn state_bytes(&self) -> u64 {
        (size_of_val(&self.map[..]) + size_of_val(&self.owner[..]) + size_of_val(&self.slot_of_block[..])) as u64
    }

    /// Blocks that a plane may still take.
    pub fn blocks_left(&self, plane: usize) -> usize {
        self.capacity - self.used[plane].len()
    }

    /// Where the newest copy of a logical page is, if it is here.
    #[inline]
    pub fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let physical = self.map[lpn.index()].checked_sub(1)? as usize;
        Some(PageAddress::new(BlockId((physical / self.pages) as u32), (physical % self.pages) as u16))
    }

    /// The next page of the plane's open block, if it has one.
    pub fn next_page(&self, plane: usize) -> Option<BufferTarget> {
        let slot = &self.slots[*self.used[plane].back()? as usize];
        let room = usize::from(slot.written) < self.pages;
        room.then(|| BufferTarget { page: PageAddress::new(slot.block, slot.written), sequence: slot.sequence })
    }

    /// Opens a block; the plane must have one left.
    pub fn open(&mut self, plane: usize, block: BlockId, sequence: u32) {
        if let Some(slot) = self.free[plane].pop() {
            self.slots[slot as usize] = Slot { block, sequence, ..Slot::default() };
            self.slot_of_block[block.index()] = slot;
            self.used[plane].push_back(slot);
        }
    }

    /// Notes that a logical page is programmed at the plane's next page.
    pub fn store(&mut self, lpn: Lpn, page: PageAddress) {
        let index = self.slot_of_block[page.block.index()] as usize;
        self.owner[index * self.pages + usize::from(page.page)] = lpn.0;
        self.slots[index].written += 1;
        self.slots[index].valid += 1;
        self.map[lpn.index()] = page.block.0 * self.pages as u32 + u32::from(page.page) + 1;
    }

    /// Forgets a logical page, whose newest copy is now elsewhere. Returns its block if that is full and
    /// holds nothing else any more: it has left the buffer's order and waits to be erased.
    pub fn forget(&mut self, plane: usize, lpn: Lpn) -> Option<BlockId> {
        let page = self.locate(lpn)?;
        self.map[lpn.index()] = 0;
        let index = self.slot_of_block[page.block.index()];
        let slot = &mut self.slots[index as usize];
        slot.valid -= 1;
        if slot.valid > 0 || usize::from(slot.written) < self.pages {
            return None;
        }
        self.used[plane].retain(|&used| used != index);
        self.slot_of_block[page.block.index()] = NONE;
        self.free[plane].push(index);
        Some(page.block)
    }

    /// A logical page whose newest copy is in the plane's oldest block.
    pub fn oldest(&self, plane: usize) -> Option<Lpn> {
        self.used[plane].iter().find_map(|&index| {
            let slot = &self.slots[index as usize];
            (0..slot.written).find_map(|page| {
                let lpn = Lpn(self.owner[index as usize * self.pages + usize::from(page)]);
                (self.locate(lpn) == Some(PageAddress::new(slot.block, page))).then_some(lpn)
            })
        })
    }
}
