//! Turns a chosen merge of a D-block and its U-block into flash commands.

use std::ops::Range;

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, PbTree, SpareRole, bits};

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
    let d = RestoredBlock {
        d: pair.d,
        d_sequence: pair.d_sequence,
        first_lpn: pair.first_lpn,
        d_valid: pair.d_valid,
        room: pair.u,
        room_sequence: pair.u_sequence,
        free: pair.u_room.clone(),
        tree,
    };
    let in_u = |offset: usize| match pair.in_u[offset] {
        NOT_IN_U => None,
        page => Some(PageAddress::new(pair.u, page)),
    };
    restore(&d, plan, in_u, slots, out);
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

/// Restores the planned parts of a D-block: pre-erase of the room if planned, copy-outs, partial erases, copy-backs in
/// page order. `outside` says where the current page of an offset is that is not in D. `slots` is scratch, one entry a
/// page.
pub fn restore(
    block: &RestoredBlock,
    plan: &MMergePlan,
    outside: impl Fn(usize) -> Option<PageAddress>,
    slots: &mut [u16],
    out: &mut Plan,
) {
    let RestoredBlock { d, d_sequence, room, room_sequence, tree, .. } = *block;
    let lpn = |offset: usize| Lpn(block.first_lpn.0 + offset as u32);
    if let Some(pb) = plan.u_pre_erase {
        out.push(FlashCommand::partial_erase(room, pb));
    }
    let pre_erased = plan.u_pre_erase.map_or(0..0, |pb| tree.page_range(pb));
    let mut free = (usize::from(block.free.start)..usize::from(block.free.end)).chain(pre_erased);
    let offsets = || plan.restores.iter().flat_map(|&pb| tree.page_range(pb));
    for offset in offsets() {
        slots[offset] = NOT_IN_U;
        if bits::get(block.d_valid, offset)
            && let Some(slot) = free.next()
        {
            slots[offset] = slot as u16;
            let (from, to) = (PageAddress::new(d, offset as u16), PageAddress::new(room, slot as u16));
            out.push(FlashCommand::copy(from, to, lpn(offset), room_sequence).with_mark(SpareRole::Update));
        }
    }
    for &pb in &plan.restores {
        out.push(FlashCommand::partial_erase(d, pb));
    }
    for offset in offsets() {
        let source = match slots[offset] {
            NOT_IN_U => outside(offset),
            slot => Some(PageAddress::new(room, slot)),
        };
        if let Some(from) = source {
            let to = PageAddress::new(d, offset as u16);
            out.push(FlashCommand::copy(from, to, lpn(offset), d_sequence).with_mark(SpareRole::Restored));
        }
    }
}
