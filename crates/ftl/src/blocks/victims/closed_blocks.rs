//! The closed blocks of a plane, ready for any victim policy: valid counts that are kept incrementally.
//!
//! Closed blocks of a plane stand in one list per valid count, in the order in which they came to
//! that count. An invalidated page moves its block one list down, so a block at the head of a list
//! is the one that has been unchanged longest among its equals. A decision costs at most one look at
//! each list, never one at each block.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

use pumice_types::prefetch;

use super::VictimPolicy;
use super::columns::{BlockRow, PlaneColumns};
use crate::blocks::lists::Lists;

/// The list of [`ClosedBlocks::by_age`].
const BY_AGE: usize = 0;

/// Victim order of one plane. Blocks are named by their index in the plane.
#[derive(Clone, Serialize, Deserialize)]
pub struct ClosedBlocks {
    policy: VictimPolicy,
    /// What is kept of each block; a user's own policy may hold on to it.
    entries: PlaneColumns,
    /// Place of each block in `closed`.
    places: Vec<u32>,
    /// Closed blocks, one list for each valid count.
    lists: Lists,
    /// No list below this one holds a block.
    lowest: usize,
    /// Closed blocks, those with an invalid page first.
    closed: Vec<u32>,
    /// Closed blocks with an invalid page.
    with_invalid: u32,
    /// Closed blocks in the order in which they were closed; kept for policies that ask for it.
    by_age: Option<Lists>,
    random: Xoshiro256PlusPlus,
    /// Lists and blocks that decisions looked at so far: their cost, counted.
    looks: u64,
}

impl ClosedBlocks {
    /// Empty lists for a plane.
    pub fn new(policy: VictimPolicy, blocks: u32, pages_per_block: u16, seed: u64) -> ClosedBlocks {
        let (blocks, lists) = (blocks as usize, usize::from(pages_per_block) + 1);
        ClosedBlocks {
            policy,
            entries: PlaneColumns::new(blocks),
            places: vec![0; blocks],
            lists: Lists::new(blocks, lists),
            lowest: lists,
            closed: Vec::with_capacity(blocks),
            with_invalid: 0,
            by_age: policy.orders_by_closing().then(|| Lists::new(blocks, 1)),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            looks: 0,
        }
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        self.entries.state_bytes() + self.lists.state_bytes() + size_of_val(&self.places[..]) as u64
    }

    /// Adds a block that was just closed, at the plane's time `now`.
    pub fn close(&mut self, block: u32, valid: u16, now: u64) {
        self.places[block as usize] = self.closed.len() as u32;
        self.closed.push(block);
        self.entries.close(block, valid, now);
        if usize::from(valid) < self.pages() {
            self.note_invalid(block);
        }
        self.append(block, valid);
        if let Some(by_age) = &mut self.by_age {
            by_age.append(BY_AGE, block);
        }
    }

    /// Takes a block out: it is being reclaimed.
    pub fn remove(&mut self, block: u32) {
        self.lists.remove(block);
        if let Some(by_age) = &mut self.by_age {
            by_age.remove(block);
        }
        self.row(block).open();
        if !self.is_full(block) {
            self.with_invalid -= 1;
            self.swap(self.places[block as usize], self.with_invalid);
        }
        self.swap(self.places[block as usize], self.closed.len() as u32 - 1);
        self.closed.pop();
    }

    /// Moves a block, of which the first page was invalidated, to the others with an invalid page.
    fn note_invalid(&mut self, block: u32) {
        self.swap(self.places[block as usize], self.with_invalid);
        self.with_invalid += 1;
    }

    /// Two closed blocks change places in `closed`.
    fn swap(&mut self, one: u32, other: u32) {
        self.closed.swap(one as usize, other as usize);
        for place in [one, other] {
            self.places[self.closed[place as usize] as usize] = place;
        }
    }

    /// Notes that a page of `block` was invalidated; nothing to do if the block is not closed.
    #[inline]
    pub fn invalidate(&mut self, block: u32, now: u64) {
        if self.lists.is_listed(block) {
            if self.is_full(block) {
                self.note_invalid(block);
            }
            let valid = self.row(block).valid() - 1;
            self.row(block).change(valid, now);
            self.lists.remove(block);
            self.append(block, valid);
        }
    }

    /// Prefetches the entry of `block`, of which a page will be invalidated; no effect on results.
    #[inline]
    pub fn expect(&self, block: u32) {
        prefetch(self.entries.rows().get(block as usize));
        self.lists.expect(block);
    }

    /// Valid pages of a closed block; `None` if it is not closed.
    #[inline]
    pub fn valid_of(&self, block: u32) -> Option<u16> {
        self.lists.is_listed(block).then(|| self.row(block).valid())
    }

    /// As [`ClosedBlocks::valid_of`], for a number that may be none of a block.
    pub fn valid_of_any(&self, block: u32) -> Option<u16> {
        if block < self.blocks() { self.valid_of(block) } else { None }
    }

    /// Blocks of the plane, closed or not.
    pub fn blocks(&self) -> u32 {
        self.places.len() as u32
    }

    /// Pages of a block: the last list.
    #[inline]
    pub fn pages(&self) -> usize {
        self.lists.count() - 1
    }

    /// Whether [`ClosedBlocks::choose`] would find a victim.
    #[inline]
    pub fn has_invalid(&self) -> bool {
        self.with_invalid > 0
    }

    /// The next victim; `None` if no closed block has an invalid page.
    pub fn choose(&mut self, now: u64) -> Option<u32> {
        if !self.has_invalid() {
            return None;
        }
        self.policy.choose(self, now)
    }

    /// The victim with the fewest valid pages, whatever the policy says.
    pub fn cheapest(&mut self) -> Option<u32> {
        self.fewest_valid().filter(|&block| !self.is_full(block))
    }

    /// Whether every page of a closed block is valid.
    fn is_full(&self, block: u32) -> bool {
        usize::from(self.row(block).valid()) == self.pages()
    }

    /// The closed block with the fewest valid pages, unchanged longest among equals.
    pub fn fewest_valid(&mut self) -> Option<u32> {
        while self.lowest < self.lists.count() {
            self.looks += 1;
            if let Some(first) = self.lists.first(self.lowest) {
                return Some(first);
            }
            self.lowest += 1;
        }
        None
    }

    /// The block that has been unchanged longest, for each count of valid pages, with the share of its valid
    /// pages and the plane's time when it came to that count.
    pub fn oldest_by_count(&mut self) -> impl Iterator<Item = (u32, f64, u64)> {
        let lists = self.lowest..self.lists.count();
        self.looks += lists.len() as u64;
        let pages = self.pages() as f64;
        let blocks = &*self;
        lists.filter_map(|list| blocks.lists.first(list)).map(move |block| {
            let row = blocks.row(block);
            (block, f64::from(row.valid()) / pages, row.changed())
        })
    }

    /// The block that was closed first; `None` unless the policy asks for that order.
    pub fn first_closed(&mut self) -> Option<u32> {
        self.looks += 1;
        self.by_age.as_ref()?.first(BY_AGE)
    }

    /// The block with the fewest valid pages among so many closed ones drawn at random. If nothing is to be won in any
    /// of them, they are drawn again from those with an invalid page.
    pub fn best_of_random(&mut self, choices: u32) -> Option<u32> {
        let best = self.best_of(choices, self.closed.len())?;
        if self.is_full(best) { self.best_of(choices, self.with_invalid as usize) } else { Some(best) }
    }

    /// The block with the fewest valid pages among so many drawn from the first ones of `closed`.
    fn best_of(&mut self, choices: u32, first: usize) -> Option<u32> {
        self.looks += u64::from(choices);
        let (candidates, rows) = (&self.closed[..first], self.entries.rows());
        let draws = (0..choices).map(|_| {
            let pick = (u128::from(self.random.next_u64()) * candidates.len() as u128) >> 64;
            candidates[pick as usize]
        });
        draws.min_by_key(|&block| rows[block as usize].valid())
    }

    /// Notes how often a block was erased, for policies that look at it, where that is known from elsewhere.
    pub fn note_erases(&mut self, block: u32, erases: u32) {
        self.row(block).set_erases(erases);
    }

    /// Notes that the first page of a block is written at the plane's time `now`, for policies that look at it.
    pub fn note_opened(&mut self, block: u32, now: u64) {
        self.entries.open(block, now);
    }

    /// Notes the stream of a block's pages, for policies that look at it.
    pub fn note_stream(&mut self, block: u32, stream: u8) {
        self.row(block).set_stream(stream);
    }

    /// The stream of a block's pages.
    pub fn stream_of(&self, block: u32) -> u8 {
        self.row(block).stream()
    }

    /// The columns that a user's own policy may look at, as they are at the plane's time `now`.
    pub fn columns(&mut self, now: u64) -> &PlaneColumns {
        self.fewest_valid();
        let (lists, lowest) = (&self.lists, self.lowest);
        self.entries.show_oldest(now, lowest..lists.count(), |count| lists.first(count));
        &self.entries
    }

    #[inline]
    fn row(&self, block: u32) -> &BlockRow {
        &self.entries.rows()[block as usize]
    }

    #[inline]
    fn append(&mut self, block: u32, valid: u16) {
        let list = usize::from(valid);
        self.lists.append(list, block);
        self.lowest = self.lowest.min(list);
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::Choice;

    use super::*;
    use crate::blocks::victims::{GcPolicy, PolicyKeys};

    const PAGES: u16 = 64;

    /// The largest number of lists and blocks examined by one of 3,000 decisions on a plane of so many blocks under
    /// random writes.
    fn dearest_decision(policy: VictimPolicy, blocks: u32) -> u64 {
        let mut lists = ClosedBlocks::new(policy, blocks, PAGES, 1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut valid = vec![PAGES; blocks as usize];
        (0..blocks).for_each(|block| lists.close(block, PAGES, 0));
        let mut dearest = 0;
        for now in 1..3_000u64 {
            for _ in 0..PAGES / 2 {
                let block = (random.next_u64() % u64::from(blocks)) as u32;
                if valid[block as usize] > 0 {
                    valid[block as usize] -= 1;
                    lists.invalidate(block, now);
                }
            }
            let before = lists.looks;
            let victim = lists.choose(now).expect("there are invalid pages");
            dearest = dearest.max(lists.looks - before);
            lists.remove(victim);
            valid[victim as usize] = PAGES;
            lists.close(victim, PAGES, now);
        }
        dearest
    }

    #[test]
    fn t516_a_plane_has_a_victim_while_a_closed_block_has_an_invalid_page() {
        let mut lists = ClosedBlocks::new(PolicyKeys::of_defaults().policy(), 4, PAGES, 1);
        assert!(!lists.has_invalid());
        lists.close(0, PAGES, 1);
        lists.close(1, PAGES, 2);
        assert!(!lists.has_invalid() && lists.choose(3).is_none(), "every page is valid");
        lists.invalidate(1, 3);
        lists.close(2, PAGES - 1, 4);
        assert!(lists.has_invalid());
        for victim in [1, 2] {
            assert_eq!(lists.choose(5), Some(victim));
            lists.remove(victim);
        }
        assert!(!lists.has_invalid() && lists.choose(6).is_none(), "only the block of valid pages is left");
    }

    #[test]
    fn t510_what_a_decision_costs_does_not_depend_on_the_number_of_blocks() {
        let keys = PolicyKeys::of_defaults();
        for policy in GcPolicy::ALL.iter().map(|&policy| PolicyKeys { policy, ..keys.clone() }.policy()) {
            for blocks in [50, 500, 50_000] {
                let looks = dearest_decision(policy, blocks);
                // One look at each valid count, twice for a policy that falls back on greedy's choice.
                assert!(looks <= 2 * (u64::from(PAGES) + 1) + 8, "{policy:?}, {blocks} blocks: {looks} looks");
            }
        }
    }
}
