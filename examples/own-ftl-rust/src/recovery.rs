//! The log recovers after a power cut. All that it knows is in the spare areas:
//!
//! - The newest data of a logical page has the largest number of a write. Of its copies the last one counts: a block is
//!   erased after all copies out of it, so a block whose erase was cut never holds the last one.
//! - The page of a plane that was programmed last is a suspect: its program may have been cut, and then it fails later. A
//!   plane does one thing at a time, so no other page can be. The suspect is copied before the host is served, into a
//!   block that is erased for it: any free one but that with the copy which counts if the suspect fails.
//! - A page that is blank may hide a program or an erase that was cut. So blocks that hold something are not written
//!   further, and a free block is erased before it is written.
//!
//! Each cut takes a free block. So a plane keeps some in reserve, and collects until it has them all again.

use pumice_plugin::{
    BlockId, FlashCommand, FtlError, Lpn, PageAddress, Plan, PluginDevice, PluginLayer, SpareArea, SpareAreas,
    SpareEntry,
};

use super::{NONE, PageLog, PageLogKeys};

/// A page that was found written.
#[derive(Clone, Copy)]
struct Found {
    page: u32,
    entry: SpareEntry,
}

/// Which of two pages with one logical page counts: the one with the larger numbers.
fn rank(found: &Found) -> (u64, u64) {
    (found.entry.written, found.entry.programmed)
}

/// Reads all spare areas of good blocks. Most of a block that begins blank is not read: it holds nothing that counts.
fn survey(device: &PluginDevice, chips: &mut dyn SpareAreas) -> Vec<Found> {
    let (mut all, mut areas) = (Vec::new(), Vec::new());
    let blocks = (0..device.geometry.blocks()).map(BlockId);
    for block in blocks.filter(|block| !device.bad_blocks.contains(block)) {
        if chips.page(PageAddress::new(block, 0)) == SpareArea::Blank {
            continue;
        }
        chips.block(block, &mut areas);
        for (nth, area) in areas.iter().enumerate() {
            if let SpareArea::Written(entry) = *area {
                let page = block.0 * u32::from(device.geometry.pages_per_block) + nth as u32;
                all.push(Found { page, entry });
            }
        }
    }
    all
}

/// Makes the log of a device whose power was cut.
pub fn recover(
    device: &PluginDevice,
    keys: &PageLogKeys,
    chips: &mut dyn SpareAreas,
    plan: &mut Plan,
) -> Result<PageLog, FtlError> {
    let mut log = PageLog::new(device, keys).map_err(FtlError::of_plugin)?;
    let mut found = survey(device, chips);
    found.sort_by_key(|found| (found.entry.lpn, rank(found)));
    for copies in found.chunk_by(|a, b| a.entry.lpn == b.entry.lpn) {
        if let [.., newest] = copies {
            log.adopt(newest);
        }
    }
    for plane in 0..log.planes.len() {
        log.free_rest(plane);
        log.move_suspect(plane, &found, plan)?;
        while log.planes[plane].free.len() < log.reserve {
            log.collect(plane, plan)?;
        }
    }
    Ok(log)
}

impl PageLog {
    /// Takes over a page that counts.
    fn adopt(&mut self, found: &Found) {
        let block = (found.page / self.pages_per_block) as usize;
        self.page_of[found.entry.lpn.index()] = found.page;
        self.lpn_of[found.page as usize] = found.entry.lpn.0;
        self.valid[block] += 1;
        self.closed[block] = true;
    }

    /// Blocks without a page that counts are free, to be erased before they are written.
    fn free_rest(&mut self, plane: usize) {
        let closed = &self.closed;
        self.planes[plane].free.retain(|&block| !closed[block as usize]);
        self.planes[plane].free.iter().for_each(|&block| self.unproven[block as usize] = true);
    }

    /// Copies the page of a plane that was programmed last.
    fn move_suspect(&mut self, plane: usize, found: &[Found], plan: &mut Plan) -> Result<(), FtlError> {
        let block_of = |found: &Found| found.page / self.pages_per_block;
        let is_here = |found: &&Found| (block_of(found) / self.blocks_per_plane) as usize == plane;
        let last = found.iter().filter(is_here).max_by_key(|found| found.entry.programmed);
        // The initial fill was not cut.
        let Some(suspect) = last.filter(|last| last.entry.programmed > 0) else { return Ok(()) };
        let is_other = |found: &&Found| found.entry.lpn == suspect.entry.lpn && found.page != suspect.page;
        let next_best = found.iter().filter(is_other).max_by_key(|found| rank(found)).map_or(NONE, block_of);
        let free = &mut self.planes[plane].free;
        let at = free.iter().rposition(|&block| block != next_best);
        let block = free.remove(at.ok_or(FtlError::NoFreeBlock { plane: plane as u32 })?);
        self.open(block, plane, plan);
        let Lpn(lpn) = suspect.entry.lpn;
        let to = self.place(lpn, plane, plan)?;
        plan.push(FlashCommand::copy(self.address(suspect.page), to, Lpn(lpn), 0));
        Ok(())
    }
}
