//! Wear levelling: blocks in order of their erases, kept incrementally.
//!
//! Dynamic levelling takes the free block with the fewest erases for new data. Static levelling moves
//! data that stays: when the most erased block of a plane is too far ahead of the least erased closed
//! one, that one's pages are moved and it joins the free blocks. Erases are counted from the start of
//! the run; after a power cut they go on from what spare areas say, or from nothing.

use pumice_types::{BlockId, Geometry, PlaneId};
use serde::{Deserialize, Serialize};

use super::lists::Lists;

/// What is done about uneven wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WearLeveling {
    /// Free blocks are taken least erased first; in the order in which they were freed otherwise.
    pub dynamic: bool,
    /// Erases between the most erased block of a plane and its least erased closed one beyond which
    /// the latter's data is moved; `None`: never.
    pub static_threshold: Option<u32>,
    /// A user's own policy names blocks whose data is moved.
    pub asks_policy: bool,
    /// The spare areas of a block say how often it was erased.
    pub in_spare: bool,
}

impl WearLeveling {
    /// No levelling.
    pub const NONE: WearLeveling =
        WearLeveling { dynamic: false, static_threshold: None, asks_policy: false, in_spare: false };

    /// Whether data is moved to level wear.
    pub fn moves_data(&self) -> bool {
        self.static_threshold.is_some() || self.asks_policy
    }
}

/// Some blocks of one plane by their erases, in one list per count, oldest member first. Blocks are
/// named by their index in the plane. Finding the next list costs at most the spread of the counts,
/// whatever the number of blocks.
#[derive(Clone, Serialize, Deserialize)]
pub struct EraseLists {
    /// One list for each number of erases.
    lists: Lists,
    /// Lists that hold the fewest and the most erases; meaningless while there is no block.
    lowest: usize,
    highest: usize,
    blocks: usize,
}

impl EraseLists {
    /// Empty lists for a plane of `blocks` blocks.
    pub fn new(blocks: u32) -> EraseLists {
        EraseLists { lists: Lists::new(blocks as usize, 1), lowest: 0, highest: 0, blocks: 0 }
    }

    /// Number of blocks in the lists.
    pub fn len(&self) -> usize {
        self.blocks
    }

    /// Adds a block that is in no list.
    pub fn insert(&mut self, block: u32, erases: u32) {
        let list = erases as usize;
        self.lists.grow_lists(list + 1);
        self.lists.append(list, block);
        let first = self.blocks == 0;
        self.lowest = if first { list } else { self.lowest.min(list) };
        self.highest = if first { list } else { self.highest.max(list) };
        self.blocks += 1;
    }

    /// Takes a block out that is in a list.
    pub fn remove(&mut self, block: u32) {
        self.lists.remove(block);
        self.blocks -= 1;
        if self.blocks > 0 {
            while self.lists.first(self.lowest).is_none() {
                self.lowest += 1;
            }
            while self.lists.first(self.highest).is_none() {
                self.highest -= 1;
            }
        }
    }

    /// The block with the fewest erases, among equals the one that has been here longest, and its
    /// erases.
    #[inline]
    pub fn least(&self) -> Option<(u32, u32)> {
        Some((self.lists.first(self.lowest)?, self.lowest as u32))
    }

    /// The block with the most erases, chosen and named likewise.
    #[inline]
    pub fn most(&self) -> Option<(u32, u32)> {
        Some((self.lists.first(self.highest)?, self.highest as u32))
    }
}

/// Erases of all blocks, and which closed block static levelling would move.
#[derive(Clone, Serialize, Deserialize)]
pub struct Wear {
    geometry: Geometry,
    static_threshold: Option<u32>,
    erases: Vec<u32>,
    /// Most erases of a block of each plane.
    most: Vec<u32>,
    /// Closed blocks of each plane; empty without static levelling.
    closed: Vec<EraseLists>,
}

impl Wear {
    /// Nothing erased yet; `None` if there is nothing to level.
    pub fn new(geometry: &Geometry, leveling: WearLeveling) -> Option<Wear> {
        let planes = if leveling.static_threshold.is_some() { geometry.planes() } else { 0 };
        (leveling.dynamic || leveling.static_threshold.is_some() || leveling.in_spare).then(|| Wear {
            geometry: *geometry,
            static_threshold: leveling.static_threshold,
            erases: vec![0; geometry.blocks() as usize],
            most: vec![0; geometry.planes() as usize],
            closed: (0..planes).map(|_| EraseLists::new(geometry.blocks_per_plane)).collect(),
        })
    }

    /// Erases of a block.
    pub fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }

    /// Goes on from what is known of a block that is in no list.
    pub fn set_erases(&mut self, block: BlockId, erases: u32) {
        self.erases[block.index()] = erases;
        let most = &mut self.most[self.geometry.plane_of(block).index()];
        *most = (*most).max(erases);
    }

    /// Counts an erase; returns the block's erases.
    pub fn note_erase(&mut self, block: BlockId) -> u32 {
        let erases = &mut self.erases[block.index()];
        *erases += 1;
        let most = &mut self.most[self.geometry.plane_of(block).index()];
        *most = (*most).max(*erases);
        *erases
    }

    /// Notes that a block of data is closed.
    pub fn close(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of(block).index();
        if let Some(closed) = self.closed.get_mut(plane) {
            closed.insert(self.geometry.index_in_plane(block), self.erases[block.index()]);
        }
    }

    /// Notes that a closed block is being emptied.
    pub fn open(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of(block).index();
        if let Some(closed) = self.closed.get_mut(plane) {
            closed.remove(self.geometry.index_in_plane(block));
        }
    }

    /// The closed block of `plane` whose data should be moved now, if one should.
    #[inline]
    pub fn overdue(&self, plane: PlaneId) -> Option<BlockId> {
        let (index, fewest) = self.closed.get(plane.index())?.least()?;
        let spread = self.most[plane.index()] - fewest;
        (spread > self.static_threshold?).then(|| self.geometry.block(plane, index))
    }

    /// Bytes of the simulator's state.
    pub fn state_bytes(&self) -> u64 {
        self.erases.len() as u64 * 4 + self.closed.iter().map(|closed| closed.lists.state_bytes()).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t550_the_lists_name_the_least_and_the_most_erased_block() {
        let mut lists = EraseLists::new(50);
        let mut erases = [0u32; 50];
        let mut inside = [false; 50];
        for step in 0u32..20_000 {
            let block = step.wrapping_mul(2_654_435_761) >> 7;
            let index = (block % 50) as usize;
            if inside[index] {
                lists.remove(index as u32);
                erases[index] += step % 4;
            } else {
                lists.insert(index as u32, erases[index]);
            }
            inside[index] = !inside[index];
            let counts = || (0..50).filter(|&i| inside[i]).map(|i| erases[i]);
            assert_eq!(lists.least().map(|(_, erases)| erases), counts().min());
            assert_eq!(lists.most().map(|(_, erases)| erases), counts().max());
            assert_eq!(lists.len(), counts().count());
        }
    }

    /// One plane of three blocks; the blocks of these numbers have been erased so often and are closed.
    fn worn(threshold: u32, erases: [u32; 3], closed: &[u32]) -> Wear {
        let geometry = Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 3,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            units_per_page: 1,
        };
        let leveling = WearLeveling { static_threshold: Some(threshold), ..WearLeveling::NONE };
        let mut wear = Wear::new(&geometry, leveling).expect("there is something to level");
        for (block, &times) in (0..).map(BlockId).zip(&erases) {
            (1..=times).for_each(|nth| assert_eq!(wear.note_erase(block), nth));
        }
        closed.iter().for_each(|&block| wear.close(BlockId(block)));
        wear
    }

    #[test]
    fn t559_data_is_moved_when_the_spread_is_more_than_the_threshold_not_when_it_is_equal() {
        let overdue = |threshold, closed: &[u32]| worn(threshold, [7, 2, 4], closed).overdue(PlaneId(0));
        assert_eq!(overdue(5, &[1, 2]), None, "7 - 2 is not more than 5");
        assert_eq!(overdue(4, &[1, 2]), Some(BlockId(1)));
        // Only closed blocks are moved; the most erased block counts wherever it is.
        assert_eq!(overdue(2, &[2]), Some(BlockId(2)));
        assert_eq!(overdue(3, &[2]), None);
        assert_eq!(overdue(1, &[]), None);
        let mut wear = worn(4, [7, 2, 4], &[1, 2]);
        wear.open(BlockId(1));
        assert_eq!(wear.overdue(PlaneId(0)), None, "the block is being emptied, and the next one is not due");
    }

    #[test]
    fn t551_equally_worn_blocks_go_in_the_order_in_which_they_came() {
        let mut lists = EraseLists::new(9);
        [(4, 1), (2, 1), (7, 0), (3, 1)].into_iter().for_each(|(block, erases)| lists.insert(block, erases));
        let mut order = Vec::new();
        while let Some((block, _)) = lists.least() {
            lists.remove(block);
            order.push(block);
        }
        assert_eq!(order, [7, 4, 2, 3]);
    }
}
