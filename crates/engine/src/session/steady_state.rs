//! The steady state of random writes, drawn in place of being written for.
//!
//! Writes fall on all stored pages alike, and collection takes the block with the fewest valid pages. Then a block loses
//! its valid pages one by one, each as fast as any other, until so few are left that it is taken: it has k valid pages
//! for a time in proportion to 1/k. So of many blocks, a share in proportion to 1/k has k, from that few up to all of its
//! pages; how few follows from the pages that are stored.
//!
//! Where writes go to the planes in turn, wherever their pages lay before, planes hold more or less by chance. Of a page's
//! latest write and those before it, each at some plane, one is valid: the number of a plane's n pages varies by n/2 (the
//! sum over all writes of the variance of "still valid"). So each plane has its own fewest.
//!
//! The device is brought there by ordinary writes, about as many as it has pages, and collects nothing meanwhile: each
//! page is stored once, in random order, and written again where a block is still to lose valid pages. Blocks lose the
//! more the earlier they were written.

use std::collections::VecDeque;

use pumice_ftl::FreshRoom;
use pumice_types::{Geometry, Lpn, PageAddress};
use pumice_workload::{RandomStream, Scatter};

/// Writes that bring a device without data into the steady state.
pub struct SteadyState {
    random: RandomStream,
    /// The order in which pages are first stored.
    order: Scatter,
    stored: u64,
    /// Writes done and to do.
    written: u64,
    writes: u64,
    /// Blocks of a plane, or of planes that are written as one, and about how many of them will be begun.
    blocks_of_plane: u32,
    begun_of_plane: f64,
    pages_per_block: u32,
    planes: Vec<PlaneDraw>,
    /// Each block's part, by its number.
    blocks: Vec<BlockDraw>,
    /// Pages that are to be written again.
    doomed: Vec<Lpn>,
    /// Writes that were not yet seen in flash, each with where its page lay before.
    on_their_way: VecDeque<(Lpn, Option<PageAddress>)>,
}

/// The blocks of a plane.
struct PlaneDraw {
    counts: ValidCounts,
    /// Blocks that were begun.
    begun: f64,
}

/// What is still to come to a block.
#[derive(Clone, Copy)]
struct BlockDraw {
    pages: u32,
    /// How many of these pages are to be written again.
    doomed: u32,
}

impl SteadyState {
    /// The steady state of so many stored pages, at least one, on a device with such room. `is_dealt`: writes go to the
    /// planes in turn.
    pub fn new(
        stored: u64,
        room: FreshRoom,
        geometry: &Geometry,
        (is_dealt, mut random): (bool, RandomStream),
    ) -> SteadyState {
        let writes = room.pages.max(stored);
        let planes = geometry.planes() / room.joined_planes;
        let begun_of_plane = writes as f64 / f64::from(room.pages_per_block) / f64::from(planes);
        let valid = stored as f64 / f64::from(planes);
        let spread = if is_dealt { (valid / 2.0).sqrt() } else { 0.0 };
        let mut plane = |_| {
            let counts = ValidCounts::new(room.pages_per_block, (valid + spread * random.normal()) / begun_of_plane);
            PlaneDraw { counts, begun: 0.0 }
        };
        SteadyState {
            planes: (0..planes).map(&mut plane).collect(),
            blocks_of_plane: geometry.blocks_per_plane * room.joined_planes,
            begun_of_plane,
            pages_per_block: room.pages_per_block,
            blocks: vec![BlockDraw { pages: room.pages_per_block, doomed: 0 }; geometry.blocks() as usize],
            order: Scatter::new(stored, &mut random),
            random,
            stored,
            written: 0,
            writes,
            doomed: Vec::new(),
            on_their_way: VecDeque::new(),
        }
    }

    /// The page that is written next; `None` when the device is in the steady state.
    pub fn next_page(&mut self) -> Option<Lpn> {
        if self.written == self.writes {
            return None;
        }
        let next = match self.written < self.stored {
            true => Some(Lpn(self.order.place(self.written) as u32)),
            false if self.doomed.is_empty() => None,
            false => Some(self.doomed.swap_remove(self.random.below(self.doomed.len() as u64) as usize)),
        };
        self.written += 1;
        next
    }

    /// A page was written that lay at `before`; `locate` finds where pages lie now, which may be later.
    pub fn note_written(&mut self, lpn: Lpn, before: Option<PageAddress>, locate: impl Fn(Lpn) -> Option<PageAddress>) {
        self.on_their_way.push_back((lpn, before));
        while let Some(&(lpn, before)) = self.on_their_way.front()
            && let Some(place) = locate(lpn)
            && before != Some(place)
        {
            self.on_their_way.pop_front();
            self.note_place(lpn, place);
        }
    }

    /// Decides whether a page stays, now that its block is known.
    fn note_place(&mut self, lpn: Lpn, place: PageAddress) {
        let plane = &mut self.planes[(place.block.0 / self.blocks_of_plane) as usize];
        let block = &mut self.blocks[place.block.index()];
        if block.pages == self.pages_per_block {
            block.doomed = block.pages - plane.counts.at((plane.begun + 0.5) / self.begun_of_plane);
            plane.begun += 1.0;
        }
        let Some(left) = block.pages.checked_sub(1) else { return };
        if self.random.below(u64::from(block.pages)) < u64::from(block.doomed) {
            block.doomed -= 1;
            self.doomed.push(lpn);
        }
        block.pages = left;
    }
}

/// How many valid pages blocks have in the steady state.
struct ValidCounts {
    /// The fewest valid ones.
    fewest: u32,
    /// Shares of the blocks that have at most so many, from the fewest on.
    shares: Vec<f64>,
}

impl ValidCounts {
    /// Counts of blocks of so many pages with such a mean, of which all counts from some k on have a weight of 1/k, and
    /// the one below a part of it.
    fn new(pages: u32, mean: f64) -> ValidCounts {
        let (mut fewest, mut weights, mut sum) = (pages, 0.0, 0.0);
        // Counts above `fewest` are taken with all their weight.
        while fewest > 1 && sum + 1.0 > mean * (weights + 1.0 / f64::from(fewest)) {
            weights += 1.0 / f64::from(fewest);
            sum += 1.0;
            fewest -= 1;
        }
        // Its part p of the weight makes the mean: (sum + p) / (weights + p / fewest) = mean.
        let part = ((mean * weights - sum) / (1.0 - mean / f64::from(fewest))).clamp(0.0, 1.0);
        let mut shares = Vec::new();
        let mut below = 0.0;
        for count in fewest..=pages {
            below += if count == fewest { part } else { 1.0 } / f64::from(count);
            shares.push(below);
        }
        shares.iter_mut().for_each(|share| *share /= below);
        ValidCounts { fewest, shares }
    }

    /// The count that such a share of the blocks does not exceed.
    fn at(&self, share: f64) -> u32 {
        let index = self.shares.partition_point(|&below| below < share).min(self.shares.len() - 1);
        self.fewest + index as u32
    }
}
