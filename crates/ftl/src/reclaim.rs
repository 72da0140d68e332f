//! Which block a plane reclaims next, decided from valid counts that are kept incrementally.
//!
//! Closed blocks of a plane stand in one list per valid count, in the order in which they came to
//! that count. An invalidated page moves its block one list down, so a block at the head of a list
//! is the one that has been unchanged longest among its equals. A decision costs at most one look at
//! each list, never one at each block.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// How a victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimPolicy {
    /// Fewest valid pages, unchanged longest among equals.
    Greedy,
    /// Largest age · (1 − u) / 2u with u the valid share and the age counted in pages written to the
    /// plane since the block last changed (Rosenblum and Ousterhout's segment cleaner).
    CostBenefit,
    /// The fewest valid pages among this many closed blocks drawn at random.
    DChoices(u32),
    /// The block that was closed first.
    Fifo,
    /// Any closed block.
    Random,
}

/// End of a list.
const NONE: u32 = u32::MAX;

/// A closed block's place in its plane's lists.
#[derive(Clone, Copy, Debug)]
struct Entry {
    before: u32,
    after: u32,
    valid: u16,
    closed: bool,
    /// Place in the plane's unordered list of closed blocks.
    place: u32,
    /// The plane's clock when the block came to its valid count, and when it was closed.
    changed: u64,
    closed_at: u64,
}

/// Victim order of one plane. Blocks are named by their index in the plane.
pub struct VictimLists {
    policy: VictimPolicy,
    entries: Vec<Entry>,
    /// First and last block of each list, by valid count.
    heads: Vec<u32>,
    tails: Vec<u32>,
    /// No list below this one holds a block.
    lowest: usize,
    closed: Vec<u32>,
    /// Closed blocks with an invalid page.
    with_invalid: u32,
    /// Blocks in the order they were closed, with that time; kept for [`VictimPolicy::Fifo`] alone.
    /// An entry whose block was taken out since is passed over.
    queue: VecDeque<(u32, u64)>,
    random: Xoshiro256PlusPlus,
    /// Lists and blocks that decisions looked at so far: their cost, counted.
    looks: u64,
}

impl VictimLists {
    /// Empty lists for a plane.
    pub fn new(policy: VictimPolicy, blocks: u32, pages_per_block: u16, seed: u64) -> VictimLists {
        let entry = Entry { before: NONE, after: NONE, valid: 0, closed: false, place: 0, changed: 0, closed_at: 0 };
        let lists = usize::from(pages_per_block) + 1;
        VictimLists {
            policy,
            queue: VecDeque::new(),
            entries: vec![entry; blocks as usize],
            heads: vec![NONE; lists],
            tails: vec![NONE; lists],
            lowest: lists,
            closed: Vec::with_capacity(blocks as usize),
            with_invalid: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            looks: 0,
        }
    }

    /// Adds a block that was just closed, at the plane's time `now`.
    pub fn close(&mut self, block: u32, valid: u16, now: u64) {
        let place = self.closed.len() as u32;
        self.closed.push(block);
        let entry = &mut self.entries[block as usize];
        debug_assert!(!entry.closed, "a block is closed once");
        *entry = Entry { valid, closed: true, place, closed_at: now, changed: now, ..*entry };
        self.with_invalid += u32::from(usize::from(valid) < self.heads.len() - 1);
        self.append(block);
        if self.policy == VictimPolicy::Fifo {
            self.queue.push_back((block, now));
        }
    }

    /// Takes a block out: it is being reclaimed.
    pub fn remove(&mut self, block: u32) {
        self.unlink(block);
        let place = self.entries[block as usize].place as usize;
        self.entries[block as usize].closed = false;
        self.with_invalid -= u32::from(usize::from(self.entries[block as usize].valid) < self.heads.len() - 1);
        self.closed.swap_remove(place);
        if let Some(&moved) = self.closed.get(place) {
            self.entries[moved as usize].place = place as u32;
        }
    }

    /// Notes that a page of `block` was invalidated; nothing to do if the block is not closed.
    #[inline]
    pub fn invalidate(&mut self, block: u32, now: u64) {
        if self.entries[block as usize].closed {
            self.unlink(block);
            let full = self.heads.len() - 1;
            let entry = &mut self.entries[block as usize];
            self.with_invalid += u32::from(usize::from(entry.valid) == full);
            entry.valid -= 1;
            entry.changed = now;
            self.append(block);
        }
    }

    /// Valid pages of a closed block; `None` if it is not closed.
    #[inline]
    pub fn valid_of(&self, block: u32) -> Option<u16> {
        let entry = &self.entries[block as usize];
        entry.closed.then_some(entry.valid)
    }

    /// Whether [`VictimLists::choose`] would find a victim.
    #[inline]
    pub fn has_invalid(&self) -> bool {
        self.with_invalid > 0
    }

    /// The next victim; `None` if no closed block has an invalid page.
    pub fn choose(&mut self, now: u64) -> Option<u32> {
        let pages = self.heads.len() - 1;
        let greedy = self.fewest_valid().filter(|&block| usize::from(self.entries[block as usize].valid) < pages)?;
        let chosen = match self.policy {
            VictimPolicy::Greedy => Some(greedy),
            VictimPolicy::CostBenefit => self.best_benefit(now),
            VictimPolicy::DChoices(choices) => self.best_of(choices),
            VictimPolicy::Fifo => self.first_closed(),
            VictimPolicy::Random => self.best_of(1),
        };
        // A policy that looks at few blocks may meet only full ones; reclaiming such a block gains
        // nothing, so greedy's choice stands in.
        chosen.filter(|&block| usize::from(self.entries[block as usize].valid) < pages).or(Some(greedy))
    }

    fn fewest_valid(&mut self) -> Option<u32> {
        while self.lowest < self.heads.len() && self.heads[self.lowest] == NONE {
            self.lowest += 1;
            self.looks += 1;
        }
        self.looks += 1;
        self.heads.get(self.lowest).copied()
    }

    fn best_benefit(&mut self, now: u64) -> Option<u32> {
        self.looks += (self.heads.len() - self.lowest.min(self.heads.len())) as u64;
        let pages = (self.heads.len() - 1) as f64;
        let score = |block: u32| {
            let entry = &self.entries[block as usize];
            let used = f64::from(entry.valid) / pages;
            (now - entry.changed + 1) as f64 * (1.0 - used) / (2.0 * used)
        };
        let heads = self.heads[self.lowest.min(self.heads.len())..].iter().copied().filter(|&head| head != NONE);
        heads.max_by(|&a, &b| score(a).total_cmp(&score(b)))
    }

    fn first_closed(&mut self) -> Option<u32> {
        while let Some(&(block, closed_at)) = self.queue.front() {
            self.looks += 1;
            let entry = &self.entries[block as usize];
            if entry.closed && entry.closed_at == closed_at {
                return Some(block);
            }
            self.queue.pop_front();
        }
        None
    }

    fn best_of(&mut self, choices: u32) -> Option<u32> {
        self.looks += u64::from(choices);
        let closed = self.closed.len() as u64;
        let draws = (0..choices).map(|_| {
            let pick = (u128::from(self.random.next_u64()) * u128::from(closed)) >> 64;
            self.closed[pick as usize]
        });
        draws.min_by_key(|&block| self.entries[block as usize].valid)
    }

    fn append(&mut self, block: u32) {
        let list = usize::from(self.entries[block as usize].valid);
        let tail = std::mem::replace(&mut self.tails[list], block);
        self.entries[block as usize].before = tail;
        self.entries[block as usize].after = NONE;
        match tail {
            NONE => self.heads[list] = block,
            tail => self.entries[tail as usize].after = block,
        }
        self.lowest = self.lowest.min(list);
    }

    fn unlink(&mut self, block: u32) {
        let Entry { before, after, valid, .. } = self.entries[block as usize];
        match before {
            NONE => self.heads[usize::from(valid)] = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.tails[usize::from(valid)] = before,
            after => self.entries[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u16 = 64;

    /// Looks of the dearest decision among 3,000 on a plane of so many blocks under random writes.
    fn dearest_decision(policy: VictimPolicy, blocks: u32) -> u64 {
        let mut lists = VictimLists::new(policy, blocks, PAGES, 1);
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
    fn t510_what_a_decision_costs_does_not_depend_on_the_number_of_blocks() {
        let policies = [VictimPolicy::Greedy, VictimPolicy::CostBenefit, VictimPolicy::DChoices(8), VictimPolicy::Fifo];
        for policy in policies {
            for blocks in [50, 500, 50_000] {
                let looks = dearest_decision(policy, blocks);
                // One look at each valid count, twice for a policy that falls back on greedy's choice.
                assert!(looks <= 2 * (u64::from(PAGES) + 1) + 8, "{policy:?}, {blocks} blocks: {looks} looks");
            }
        }
    }
}
