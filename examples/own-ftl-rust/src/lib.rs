//! A page-mapped log: each plane writes its pages one after the other into an open block, and collects the block with
//! the fewest valid pages when free blocks run low.

mod recovery;

use pumice_plugin::{
    BlockId, Cause, FlashCommand, FtlError, Lpn, MemoryUse, PageAddress, Plan, PluginDevice, PluginLayer, SpareAreas,
    SpecError, TranslationLayer, When, export_ftl, int, keys, refuse,
};

keys! {
    /// `[ftl.page-log]`
    pub struct PageLogKeys in "ftl.page-log" {
        reserve: u32 = "2", int(1, 1000), "blocks a plane", "chosen", When::Always,
            "Below this many free blocks a plane collects.";
    }
}

/// No page, or no logical page.
const NONE: u32 = u32::MAX;

/// Free blocks that a plane keeps beyond its reserve where the power may be cut (`recovery.rs`).
const KEPT_FOR_CUTS: u32 = 3;

/// The log. A page is numbered by its block and place: block × pages of a block + page.
pub struct PageLog {
    planes: Vec<Plane>,
    pages_per_block: u32,
    blocks_per_plane: u32,
    reserve: usize,
    /// Where each logical page is.
    page_of: Vec<u32>,
    /// Which logical page each page holds, while it is valid.
    lpn_of: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u32>,
    /// Whether a block is written to its end.
    closed: Vec<bool>,
    /// Whether a block is erased before it is written: after a power cut nothing proves that it is blank.
    unproven: Vec<bool>,
}

/// A plane: its free blocks, the block that is open and how far it is written.
struct Plane {
    free: Vec<u32>,
    open: u32,
    written: u32,
}

/// Free blocks below which a plane collects.
fn reserve(device: &PluginDevice, keys: &PageLogKeys) -> u32 {
    keys.reserve + if device.loses_power { KEPT_FOR_CUTS } else { 0 }
}

impl PluginLayer for PageLog {
    const NAME: &'static str = "page-log";
    const RECOVERS: bool = true;
    type Keys = PageLogKeys;

    fn capacity(device: &PluginDevice, keys: &PageLogKeys) -> Result<u32, SpecError> {
        // Beside its data a plane needs the reserve, the open block, and a page to win in each collection.
        let good = device.geometry.blocks_per_plane.saturating_sub(device.bad_blocks_per_plane);
        let room = good.saturating_sub(reserve(device, keys) + 2) * u32::from(device.geometry.pages_per_block);
        match device.pages_for_host().min(room * device.geometry.planes()) {
            0 => Err(refuse!("reserve = {} leaves no room on planes of {good} good blocks", keys.reserve)),
            pages => Ok(pages),
        }
    }

    fn new(device: &PluginDevice, keys: &PageLogKeys) -> Result<PageLog, SpecError> {
        let geometry = &device.geometry;
        let (blocks, pages) = (geometry.blocks(), geometry.pages() as usize);
        let free_of = |plane: u32| {
            let blocks = plane * geometry.blocks_per_plane..(plane + 1) * geometry.blocks_per_plane;
            blocks.rev().filter(|&block| !device.bad_blocks.contains(&BlockId(block))).collect()
        };
        let pages_per_block = u32::from(geometry.pages_per_block);
        let plane = |plane| Plane { free: free_of(plane), open: NONE, written: pages_per_block };
        let user_pages = PageLog::capacity(device, keys)?;
        Ok(PageLog {
            planes: (0..geometry.planes()).map(plane).collect(),
            pages_per_block,
            blocks_per_plane: geometry.blocks_per_plane,
            reserve: reserve(device, keys) as usize,
            page_of: vec![NONE; user_pages as usize],
            lpn_of: vec![NONE; pages],
            valid: vec![0; blocks as usize],
            closed: vec![false; blocks as usize],
            unproven: vec![false; blocks as usize],
        })
    }

    fn recover(
        device: &PluginDevice,
        keys: &PageLogKeys,
        chips: &mut dyn SpareAreas,
        plan: &mut Plan,
    ) -> Result<PageLog, FtlError> {
        recovery::recover(device, keys, chips, plan)
    }
}

impl PageLog {
    fn address(&self, page: u32) -> PageAddress {
        PageAddress::new(BlockId(page / self.pages_per_block), (page % self.pages_per_block) as u16)
    }

    /// Opens a free block of a plane.
    fn open(&mut self, block: u32, plane: usize, plan: &mut Plan) {
        let Plane { open, written, .. } = &mut self.planes[plane];
        if *open != NONE {
            self.closed[*open as usize] = true;
        }
        (*open, *written) = (block, 0);
        if std::mem::take(&mut self.unproven[block as usize]) {
            plan.push(FlashCommand::erase(BlockId(block)));
        }
    }

    /// Gives a logical page the next page of a plane.
    fn place(&mut self, lpn: u32, plane: usize, plan: &mut Plan) -> Result<PageAddress, FtlError> {
        if self.planes[plane].written == self.pages_per_block {
            let free = self.planes[plane].free.pop();
            self.open(free.ok_or(FtlError::NoFreeBlock { plane: plane as u32 })?, plane, plan);
        }
        let Plane { open, written, .. } = &mut self.planes[plane];
        let page = *open * self.pages_per_block + *written;
        *written += 1;
        self.forget(lpn);
        self.page_of[lpn as usize] = page;
        self.lpn_of[page as usize] = lpn;
        self.valid[(page / self.pages_per_block) as usize] += 1;
        Ok(self.address(page))
    }

    /// The current copy of a logical page is valid no more.
    fn forget(&mut self, lpn: u32) {
        let page = std::mem::replace(&mut self.page_of[lpn as usize], NONE);
        if page != NONE {
            self.lpn_of[page as usize] = NONE;
            self.valid[(page / self.pages_per_block) as usize] -= 1;
        }
    }

    /// Moves what is valid of the emptiest block of a plane, and erases it.
    fn collect(&mut self, plane: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let first = plane as u32 * self.blocks_per_plane;
        let closed = (first..first + self.blocks_per_plane).filter(|&block| self.closed[block as usize]);
        let emptiest = closed.min_by_key(|&block| self.valid[block as usize]);
        let victim = emptiest.filter(|&block| self.valid[block as usize] < self.pages_per_block);
        let victim = victim.ok_or(FtlError::NoFreeBlock { plane: plane as u32 })?;
        for page in victim * self.pages_per_block..(victim + 1) * self.pages_per_block {
            let lpn = self.lpn_of[page as usize];
            if lpn != NONE {
                let to = self.place(lpn, plane, plan)?;
                plan.push(FlashCommand::copy(self.address(page), to, Lpn(lpn), 0));
            }
        }
        plan.push(FlashCommand::erase(BlockId(victim)));
        self.closed[victim as usize] = false;
        self.planes[plane].free.push(victim);
        Ok(())
    }
}

impl TranslationLayer for PageLog {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = lpn.index() % self.planes.len();
        let page = self.place(lpn.0, plane, plan)?;
        plan.push(FlashCommand::program(Cause::Host, page, lpn, version, 0));
        plan.complete_here(); // The host does not wait for what follows.
        while self.planes[plane].free.len() < self.reserve {
            self.collect(plane, plan)?;
        }
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let Some(page) = self.locate(lpn) else { return false };
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let page = self.page_of[lpn.index()];
        (page != NONE).then(|| self.address(page))
    }

    fn trim(&mut self, lpn: Lpn) {
        self.forget(lpn.0);
    }

    fn memory(&self) -> Option<&dyn MemoryUse> {
        Some(self)
    }
}

impl MemoryUse for PageLog {
    fn map_ram_bytes(&self) -> u64 {
        self.page_of.len() as u64 * 4
    }

    fn state_bytes(&self) -> u64 {
        (self.page_of.len() + self.lpn_of.len() + self.valid.len()) as u64 * 4 + self.closed.len() as u64 * 2
    }
}

export_ftl!(PageLog);
