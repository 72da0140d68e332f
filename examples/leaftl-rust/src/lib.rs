//! A learned map, after LeaFTL (Sun et al., ASPLOS'23): what the host writes gathers in RAM, is sorted and programmed; lines
//! through logical page and place stand for the entries of a map. A line may miss by `gamma` pages: the page that it names
//! is then read for nothing, and its spare area, which lists its neighbours, says where the right one is.
//!
//! Deviations: a line holds the set of its pages where the paper has levels and a conflict buffer, which answers alike; each
//! logical page has a plane of its own; and where the old copy of an overwritten page is, is learned without a read.

mod segments;

use std::collections::BTreeMap;

use pumice_plugin::{
    BlockId, Cause, FlashCommand, ForcedOut, FtlError, GatheredUnits, Lpn, MapLoads, MemoryUse, Offers, OwnCounts,
    PageAddress, Plan, PluginDevice, PluginLayer, RequestKind, SpecError, Time, TranslationLayer, When, export_ftl,
    int, keys, refuse,
};
use segments::Segments;

keys! {
    /// `[ftl.leaftl]`
    pub struct LeaFtlKeys in "ftl.leaftl" {
        gamma: u32 = "4", int(0, 64), "pages", "chosen", When::Always,
            "How far a predicted place may be from the right one.";
        buffer_pages: u32 = "256", int(1, 65536), "pages", "chosen", When::Always,
            "Pages of the host that gather in RAM before they are sorted and programmed.";
        look_up_ns: u32 = "50", int(0, 1000000), "ns", "chosen", When::Always, "Time of a prediction.";
    }
}

/// Free blocks below which a plane collects.
const RESERVE: u32 = 2;

/// No page, or no logical page.
const NONE: u32 = u32::MAX;

const OF_HOST: usize = 0;
const OF_COPIES: usize = 1;

/// A plane: its free blocks, and the open blocks of host and copies, each with how far it is written.
struct Plane {
    free: Vec<u32>,
    open: [(u32, u32); 2],
}

/// The layer. A page is numbered by its block and place: block × pages of a block + page.
pub struct LeaFtl {
    planes: Vec<Plane>,
    pages_per_block: u32,
    blocks_per_plane: u32,
    keys: LeaFtlKeys,
    /// What gathers: logical pages with the version of their data, in order.
    buffer: BTreeMap<u32, u8>,
    map: Segments,
    /// Logical pages of a plane, up to a whole group of the map.
    pages_per_plane: u32,
    /// What spare areas say: which logical page each page holds, while it is valid.
    lpn_of: Vec<u32>,
    valid: Vec<u32>,
    closed: Vec<bool>,
    look_ups: u64,
    mispredictions: u64,
}

impl PluginLayer for LeaFtl {
    const NAME: &'static str = "leaftl";
    const OFFERS: Offers = Offers { looks_up: true, buffers: true, ..Offers::NOTHING };
    const COUNTS: &'static [(&'static str, &'static str)] = &[
        ("look_ups", "Reads whose place was predicted"),
        ("mispredictions", "Reads whose predicted page was another one"),
    ];
    type Keys = LeaFtlKeys;

    fn capacity(device: &PluginDevice, _: &LeaFtlKeys) -> Result<u32, SpecError> {
        // Beside its data a plane needs the reserve, two open blocks, and a page to win in each collection.
        let good = device.geometry.blocks_per_plane.saturating_sub(device.bad_blocks_per_plane);
        let room = good.saturating_sub(RESERVE + 3) * u32::from(device.geometry.pages_per_block);
        let pages = device.pages_for_host().min(room * device.geometry.planes());
        if pages > 0 { Ok(pages) } else { Err(refuse!("planes of {good} good blocks are too small")) }
    }

    fn new(device: &PluginDevice, keys: &LeaFtlKeys) -> Result<LeaFtl, SpecError> {
        let geometry = &device.geometry;
        let (blocks, pages_per_block) = (geometry.blocks() as usize, u32::from(geometry.pages_per_block));
        let plane = |plane: u32| {
            let blocks = plane * geometry.blocks_per_plane..(plane + 1) * geometry.blocks_per_plane;
            let free = blocks.rev().filter(|&block| !device.bad_blocks.contains(&BlockId(block))).collect();
            Plane { free, open: [(NONE, pages_per_block); 2] }
        };
        let pages_per_plane =
            LeaFtl::capacity(device, keys)?.div_ceil(geometry.planes()).next_multiple_of(segments::GROUP);
        Ok(LeaFtl {
            planes: (0..geometry.planes()).map(plane).collect(),
            pages_per_block,
            blocks_per_plane: geometry.blocks_per_plane,
            keys: keys.clone(),
            buffer: BTreeMap::new(),
            map: Segments::new(pages_per_plane * geometry.planes(), keys.gamma),
            pages_per_plane,
            lpn_of: vec![NONE; geometry.pages() as usize],
            valid: vec![0; blocks],
            closed: vec![false; blocks],
            look_ups: 0,
            mispredictions: 0,
        })
    }
}

impl LeaFtl {
    fn address(&self, page: u32) -> PageAddress {
        PageAddress::new(BlockId(page / self.pages_per_block), (page % self.pages_per_block) as u16)
    }

    /// The number of a logical page in the map, where those of a plane stand together.
    fn key(&self, lpn: u32) -> u32 {
        let planes = self.planes.len() as u32;
        lpn % planes * self.pages_per_plane + lpn / planes
    }

    /// The page that the map predicts for a logical page; it is one of the right block.
    fn predicted(&self, lpn: u32) -> Option<u32> {
        let (page, block) = self.map.predict(self.key(lpn))?;
        let first = block * self.pages_per_block;
        Some(page.clamp(first, first + self.pages_per_block - 1))
    }

    /// The page that holds a logical page: near the predicted one, by the spare area of that.
    fn found(&self, lpn: u32) -> Option<u32> {
        let predicted = self.predicted(lpn)?;
        let first = predicted.saturating_sub(self.keys.gamma);
        (first..=predicted + self.keys.gamma).find(|&page| self.lpn_of.get(page as usize) == Some(&lpn))
    }

    /// The copy of a logical page in flash is valid no more.
    fn forget(&mut self, lpn: u32) {
        let Some(page) = self.found(lpn) else { return };
        self.lpn_of[page as usize] = NONE;
        self.valid[(page / self.pages_per_block) as usize] -= 1;
    }

    /// Gives sorted logical pages the next pages of a plane, and learns where they are. `program` makes the command.
    fn place(
        &mut self,
        lpns: &[u32],
        (plane, of): (usize, usize),
        mut program: impl FnMut(&LeaFtl, u32, PageAddress) -> FlashCommand,
        plan: &mut Plan,
    ) -> Result<(), FtlError> {
        let mut left = lpns;
        while !left.is_empty() {
            let (block, written) = self.planes[plane].open[of];
            if written == self.pages_per_block {
                let free = self.planes[plane].free.pop().ok_or(FtlError::NoFreeBlock { plane: plane as u32 })?;
                if block != NONE {
                    self.closed[block as usize] = true;
                }
                self.planes[plane].open[of] = (free, 0);
                continue;
            }
            let (batch, rest) = left.split_at(left.len().min((self.pages_per_block - written) as usize));
            let first = block * self.pages_per_block + written;
            for (page, &lpn) in (first..).zip(batch) {
                plan.push(program(self, lpn, self.address(page)));
                self.forget(lpn);
                self.lpn_of[page as usize] = lpn;
            }
            self.valid[block as usize] += batch.len() as u32;
            self.planes[plane].open[of].1 += batch.len() as u32;
            let keys: Vec<u32> = batch.iter().map(|&lpn| self.key(lpn)).collect();
            self.map.learn(&keys, first, block);
            left = rest;
        }
        Ok(())
    }

    /// Programs what gathers, sorted.
    fn flush(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        let (versions, planes) = (std::mem::take(&mut self.buffer), self.planes.len());
        let program =
            |_: &LeaFtl, lpn: u32, page| FlashCommand::program(Cause::Host, page, Lpn(lpn), versions[&lpn], 0);
        for plane in 0..planes {
            let lpns: Vec<u32> = versions.keys().copied().filter(|&lpn| lpn as usize % planes == plane).collect();
            for batch in lpns.chunks(self.pages_per_block as usize) {
                self.place(batch, (plane, OF_HOST), program, plan)?;
                while self.planes[plane].free.len() < RESERVE as usize {
                    self.collect(plane, plan)?;
                }
            }
        }
        Ok(())
    }

    /// Moves what is valid of the emptiest block of a plane, sorted, and erases it.
    fn collect(&mut self, plane: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let first = plane as u32 * self.blocks_per_plane;
        let closed = (first..first + self.blocks_per_plane).filter(|&block| self.closed[block as usize]);
        let emptiest = closed.min_by_key(|&block| self.valid[block as usize]);
        let victim = emptiest.filter(|&block| self.valid[block as usize] < self.pages_per_block);
        let victim = victim.ok_or(FtlError::NoFreeBlock { plane: plane as u32 })?;
        let pages = victim * self.pages_per_block..(victim + 1) * self.pages_per_block;
        let held = pages.map(|page| (self.lpn_of[page as usize], page)).filter(|&(lpn, _)| lpn != NONE);
        let from: BTreeMap<u32, u32> = held.collect();
        let lpns: Vec<u32> = from.keys().copied().collect();
        let copy = |layer: &LeaFtl, lpn: u32, to| FlashCommand::copy(layer.address(from[&lpn]), to, Lpn(lpn), 0);
        self.place(&lpns, (plane, OF_COPIES), copy, plan)?;
        plan.push(FlashCommand::erase(BlockId(victim)));
        self.closed[victim as usize] = false;
        self.planes[plane].free.push(victim);
        Ok(())
    }
}

impl TranslationLayer for LeaFtl {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        self.buffer.insert(lpn.0, version);
        // The write that fills the buffer waits until it is empty.
        if self.buffer.len() < self.keys.buffer_pages as usize { Ok(()) } else { self.flush(plan) }
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        if self.buffer.contains_key(&lpn.0) {
            return true;
        }
        let Some(page) = self.found(lpn.0) else { return false };
        plan.push(FlashCommand::read(Cause::Host, self.address(page), lpn, version));
        true
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        self.found(lpn.0).map(|page| self.address(page))
    }

    fn trim(&mut self, lpn: Lpn) {
        self.buffer.remove(&lpn.0);
        self.forget(lpn.0);
        self.map.forget(self.key(lpn.0));
    }

    fn memory(&self) -> Option<&dyn MemoryUse> {
        Some(self)
    }

    fn map_loads(&mut self) -> Option<&mut dyn MapLoads> {
        Some(self)
    }

    fn open_pages(&mut self) -> Option<&mut dyn GatheredUnits> {
        Some(self)
    }

    fn own_counts(&self) -> Option<&dyn OwnCounts> {
        Some(self)
    }
}

impl MapLoads for LeaFtl {
    /// Reads the page that was predicted wrongly, before a read.
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        if kind != RequestKind::Read || self.buffer.contains_key(&lpn.0) {
            return Ok(());
        }
        let Some(predicted) = self.predicted(lpn.0) else { return Ok(()) };
        self.look_ups += 1;
        plan.look_up = Time(self.keys.look_up_ns.into());
        if self.lpn_of[predicted as usize] != lpn.0 {
            self.mispredictions += 1;
            plan.push(FlashCommand::look(self.address(predicted), lpn));
        }
        Ok(())
    }
}

impl GatheredUnits for LeaFtl {
    fn gathers(&mut self, lpn: Lpn) -> bool {
        self.buffer.contains_key(&lpn.0)
    }

    fn force_out(&mut self, _forced: ForcedOut, plan: &mut Plan) -> Result<(), FtlError> {
        self.flush(plan)
    }
}

impl OwnCounts for LeaFtl {
    fn counts(&self) -> Vec<u64> {
        vec![self.look_ups, self.mispredictions]
    }
}

impl MemoryUse for LeaFtl {
    fn map_ram_bytes(&self) -> u64 {
        self.map.ram_bytes()
    }

    fn state_bytes(&self) -> u64 {
        (self.lpn_of.len() + self.valid.len()) as u64 * 4 + self.map.ram_bytes()
    }
}

export_ftl!(LeaFtl);
