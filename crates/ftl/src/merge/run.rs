//! Turns a chosen merge of a D-block and its U-block into flash commands.

use std::ops::Range;

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, Pb, PbTree, SpareRole, bits};
use serde::{Deserialize, Serialize};

use super::m_merge::MMergePlan;
use crate::plan::Plan;

/// Entry of [`Pair::in_u`] for an offset without a current page in U.
pub const NOT_IN_U: u16 = u16::MAX;

/// Where the current pages of a pair lie. Offsets are page offsets inside the logical block.
#[derive(Clone)]
pub struct Pair<'a> {
    /// D-block.
    pub d: BlockId,
    /// Sequence number that D's spare areas carry.
    pub d_sequence: u32,
    /// U-block.
    pub u: BlockId,
    /// Sequence number that U's spare areas carry.
    pub u_sequence: u32,
    /// Logical page of offset 0.
    pub first_lpn: Lpn,
    /// Offsets whose current page is in D, one bit each.
    pub d_valid: &'a [u64],
    /// Page of U that holds each offset, or [`NOT_IN_U`].
    pub in_u: &'a [u16],
    /// Pages of U that may still be programmed.
    pub u_room: Range<u16>,
}

impl Pair<'_> {
    fn lpn(&self, offset: usize) -> Lpn {
        Lpn(self.first_lpn.0 + offset as u32)
    }

    /// The pair as an M-Merge sees it: D, and U that takes the copy-outs.
    pub fn restored(&self, tree: PbTree) -> RestoredBlock<'_> {
        RestoredBlock {
            d: self.d,
            d_sequence: self.d_sequence,
            first_lpn: self.first_lpn,
            d_valid: self.d_valid,
            room: self.u,
            room_sequence: self.u_sequence,
            free: self.u_room.clone(),
            tree,
        }
    }

    /// The current page of an offset: in U, else in D, else never written.
    fn current(&self, offset: usize) -> Option<PageAddress> {
        match self.in_u[offset] {
            NOT_IN_U => bits::get(self.d_valid, offset).then(|| PageAddress::new(self.d, offset as u16)),
            page => Some(PageAddress::new(self.u, page)),
        }
    }
}

/// Full merge: current pages in page order into `free`, then D and U erased. Returns the copies.
pub fn full_merge(pair: &Pair, free: BlockId, sequence: u32, out: &mut Plan) -> u32 {
    let before = out.commands.len();
    for offset in 0..pair.in_u.len() {
        if let Some(source) = pair.current(offset) {
            let target = PageAddress::new(free, offset as u16);
            out.push(FlashCommand::copy(source, target, pair.lpn(offset), sequence));
        }
    }
    let copies = out.commands.len() - before;
    out.push(FlashCommand::erase(pair.d));
    out.push(FlashCommand::erase(pair.u));
    copies as u32
}

/// M-Merge: the restores of D, then U erased. `slots` is scratch, one entry a page.
pub fn m_merge(pair: &Pair, tree: PbTree, plan: &MMergePlan, slots: &mut [u16], out: &mut Plan) {
    let in_u = |offset: usize| match pair.in_u[offset] {
        NOT_IN_U => None,
        page => Some(PageAddress::new(pair.u, page)),
    };
    restore(&pair.restored(tree), plan, in_u, slots, out);
    out.push(FlashCommand::erase(pair.u));
}

/// A D-block of which parts are restored, and the block that its pages are copied out to.
#[derive(Clone)]
pub struct RestoredBlock<'a> {
    /// D-block.
    pub d: BlockId,
    /// Sequence number that D's spare areas carry.
    pub d_sequence: u32,
    /// Logical page of offset 0.
    pub first_lpn: Lpn,
    /// Offsets whose current page is in D, one bit each.
    pub d_valid: &'a [u64],
    /// Block that takes the copy-outs.
    pub room: BlockId,
    /// Sequence number that its spare areas carry.
    pub room_sequence: u32,
    /// Pages of it that may still be programmed.
    pub free: Range<u16>,
    /// Parts of a block.
    pub tree: PbTree,
}

/// One thing that an M-Merge of a D-block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestoreStep {
    /// Erases a part of the room whose pages are superseded.
    EraseInRoom(Pb),
    /// Copies the current page of an offset from D to this page of the room.
    CopyOut {
        /// Offset in the logical block.
        offset: u16,
        /// Page of the room.
        slot: u16,
    },
    /// Erases a part of D.
    Erase(Pb),
    /// Copies the current page of an offset into D, if there is one.
    CopyBack(u16),
}

/// The steps of an M-Merge in their order: pre-erase of the room if planned, copy-outs, partial erases, copy-backs in page
/// order.
pub fn each_step(block: &RestoredBlock, plan: &MMergePlan, mut act: impl FnMut(RestoreStep)) {
    let tree = block.tree;
    let pre_erased = plan.u_pre_erase.map_or(0..0, |pb| tree.page_range(pb));
    plan.u_pre_erase.into_iter().for_each(|pb| act(RestoreStep::EraseInRoom(pb)));
    let mut free = (usize::from(block.free.start)..usize::from(block.free.end)).chain(pre_erased);
    let offsets = || plan.restores.iter().flat_map(|&pb| tree.page_range(pb));
    for offset in offsets().filter(|&offset| bits::get(block.d_valid, offset)) {
        if let Some(slot) = free.next() {
            act(RestoreStep::CopyOut { offset: offset as u16, slot: slot as u16 });
        }
    }
    plan.restores.iter().for_each(|&pb| act(RestoreStep::Erase(pb)));
    offsets().for_each(|offset| act(RestoreStep::CopyBack(offset as u16)));
}

/// Restores the planned parts of a D-block at once. `outside` says where the current page of an offset is that is not in
/// D. `slots` is scratch, one entry a page.
pub fn restore(
    block: &RestoredBlock,
    plan: &MMergePlan,
    outside: impl Fn(usize) -> Option<PageAddress>,
    slots: &mut [u16],
    out: &mut Plan,
) {
    slots.fill(NOT_IN_U);
    each_step(block, plan, |step| match step {
        RestoreStep::EraseInRoom(pb) => out.push(FlashCommand::partial_erase(block.room, pb)),
        RestoreStep::CopyOut { offset, slot } => {
            slots[usize::from(offset)] = slot;
            out.push(block.copy_out(offset, slot));
        }
        RestoreStep::Erase(pb) => out.push(FlashCommand::partial_erase(block.d, pb)),
        RestoreStep::CopyBack(offset) => {
            let source = match slots[usize::from(offset)] {
                NOT_IN_U => outside(usize::from(offset)),
                slot => Some(PageAddress::new(block.room, slot)),
            };
            source.into_iter().for_each(|from| out.push(block.copy_back(from, offset)));
        }
    });
}

impl RestoredBlock<'_> {
    fn lpn(&self, offset: u16) -> Lpn {
        Lpn(self.first_lpn.0 + u32::from(offset))
    }

    /// The command of a copy-out.
    pub fn copy_out(&self, offset: u16, slot: u16) -> FlashCommand {
        let (from, to) = (PageAddress::new(self.d, offset), PageAddress::new(self.room, slot));
        FlashCommand::copy(from, to, self.lpn(offset), self.room_sequence).with_mark(SpareRole::Update)
    }

    /// The command of a copy-back.
    pub fn copy_back(&self, from: PageAddress, offset: u16) -> FlashCommand {
        let to = PageAddress::new(self.d, offset);
        FlashCommand::copy(from, to, self.lpn(offset), self.d_sequence).with_mark(SpareRole::Restored)
    }
}
