//! U-blocks: given to a logical block, filled in order, chosen as victims, and dropped.

use pumice_types::{Cause, FlashCommand, Lpn, PageAddress, PlaneId, SearchExpectation, SpareRole, bits};

use super::{NONE, Nftl, Trigger, UBlock};
use crate::merge::run::NOT_IN_U;
use crate::plan::{FtlError, Plan};
use crate::seam::UPointer;

impl Nftl {
    #[inline]
    pub(super) fn has_room_in_u(&self, logical: usize) -> bool {
        let slot = self.logical[logical].u_slot;
        slot != NONE && self.u_blocks[slot as usize].written < self.u_blocks[slot as usize].end
    }

    /// Ends with `logical` without a U-block and a free block for one, merging this pair if its U-block is full, or
    /// the plane's best victim if the plane runs low.
    pub(super) fn make_room(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of(logical);
        let slot = self.logical[logical].u_slot;
        if slot != NONE {
            self.find_u_pointer(slot, plan);
            self.merge(logical, Trigger::Full, plan)?;
        } else if self.pool.free_blocks(plane) <= self.config.gc_free_blocks as usize {
            self.merge_victim(plane, plan)?;
        }
        Ok(())
    }

    /// Pairs a logical block that has no U-block with an empty one.
    pub(in crate::layers) fn give_u_block(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.plane_of(logical);
        let (block, sequence) = self.take_block(plane)?;
        self.proofs.prove(block, plan);
        let slot = self.free_slots[plane.index()].pop().ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        let index = slot as usize;
        let end = self.pages as u16;
        self.u_blocks[index] = UBlock { block, sequence, logical: logical as u32, end, ..UBlock::default() };
        self.in_u[index * self.pages..(index + 1) * self.pages].fill(NOT_IN_U);
        self.logical[logical].u_slot = slot;
        self.note_invalid(slot);
        self.u_blocks_used += 1;
        self.counters.u_blocks_max = self.counters.u_blocks_max.max(self.u_blocks_used);
        Ok(())
    }

    /// Merges the plane's pair with the most invalid pages, if the plane has a pair.
    pub(super) fn merge_victim(&mut self, plane: PlaneId, plan: &mut Plan) -> Result<(), FtlError> {
        match self.best_victim(plane) {
            Some(logical) => self.merge(logical, Trigger::Unpaired, plan),
            None => Ok(()),
        }
    }

    /// Logical block of the plane's pair with the most invalid pages, the oldest among equals.
    pub(in crate::layers) fn best_victim(&self, plane: PlaneId) -> Option<usize> {
        let slot = self.victims[plane.index()].best()?;
        Some(self.u_blocks[plane.index() * self.slots_per_plane + slot].logical as usize)
    }

    /// Tells the victim order how many invalid pages the pair of a U-block has. A U-block's
    /// sequence number is its allocation order, and so its age.
    #[inline]
    pub(super) fn note_invalid(&mut self, slot: u32) {
        let UBlock { sequence, invalid, .. } = self.u_blocks[slot as usize];
        let (plane, within) = (slot as usize / self.slots_per_plane, slot as usize % self.slots_per_plane);
        self.victims[plane].set(within, u32::from(invalid), u64::from(sequence));
    }

    /// Reads spare areas by halving until U's first blank page is known, unless that is in RAM. A U-block in use has its
    /// first page written.
    pub(super) fn find_u_pointer(&self, slot: u32, plan: &mut Plan) {
        if self.config.u_pointer == UPointer::Ram {
            return;
        }
        let u = &self.u_blocks[slot as usize];
        let (mut written, mut blank) = (0, u.end);
        while blank > written + 1 {
            let probed = written.midpoint(blank);
            let (page, lpn) = (PageAddress::new(u.block, probed), self.first_lpn(u.logical as usize));
            plan.push(FlashCommand::spare_search(Cause::Map, page, 1, lpn, SearchExpectation::Scan));
            if probed < u.written { written = probed } else { blank = probed }
        }
    }

    pub(in crate::layers) fn append_to_u(&mut self, logical: usize, offset: usize, version: u8, plan: &mut Plan) {
        let slot = self.logical[logical].u_slot;
        let (index, words) = (slot as usize, self.words_of(logical));
        let column = index * self.pages;
        let superseded_in_d = bits::get(&self.d_valid[words.clone()], offset);
        let superseded_in_u = self.in_u[column + offset] != NOT_IN_U;
        if superseded_in_d {
            bits::clear(&mut self.d_valid[words], offset);
        }
        if self.u_blocks[index].written > 0 {
            self.find_u_pointer(slot, plan);
        }
        let u = &mut self.u_blocks[index];
        let target = PageAddress::new(u.block, u.written);
        self.u_offset[column + u.written as usize] = offset as u16;
        self.in_u[column + offset] = u.written;
        u.written += 1;
        u.invalid += u16::from(superseded_in_d || superseded_in_u);
        let lpn = Lpn((logical * self.pages + offset) as u32);
        let program = FlashCommand::program(Cause::Host, target, lpn, version, u.sequence);
        plan.push(program.with_mark(SpareRole::Update));
        self.note_invalid(slot);
    }

    /// Forgets the U-block of a logical block, which holds no current page any more.
    pub(in crate::layers) fn drop_u_block(&mut self, logical: usize) {
        let plane = self.plane_of(logical);
        let slot = std::mem::replace(&mut self.logical[logical].u_slot, NONE);
        self.free_slots[plane.index()].push(slot);
        self.victims[plane.index()].remove(slot as usize % self.slots_per_plane);
        self.u_blocks_used -= 1;
    }
}
