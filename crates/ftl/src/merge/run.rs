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

/// M-Merge: pre-erase of U if planned, copy-outs, partial erases, copy-backs in page order, then U
/// erased. `slots` is scratch, one entry a page.
pub fn m_merge(pair: &Pair, tree: PbTree, plan: &MMergePlan, slots: &mut [u16], out: &mut Plan) {
    if let Some(pb) = plan.u_pre_erase {
        out.push(FlashCommand::partial_erase(pair.u, pb));
    }
    let pre_erased = plan.u_pre_erase.map_or(0..0, |pb| tree.page_range(pb));
    let mut room = (usize::from(pair.u_room.start)..usize::from(pair.u_room.end)).chain(pre_erased);
    let offsets = || plan.restores.iter().flat_map(|&pb| tree.page_range(pb));
    for offset in offsets() {
        slots[offset] = NOT_IN_U;
        if bits::get(pair.d_valid, offset)
            && let Some(slot) = room.next()
        {
            slots[offset] = slot as u16;
            let (from, to) = (PageAddress::new(pair.d, offset as u16), PageAddress::new(pair.u, slot as u16));
            out.push(FlashCommand::copy(from, to, pair.lpn(offset), pair.u_sequence).with_mark(SpareRole::Update));
        }
    }
    for &pb in &plan.restores {
        out.push(FlashCommand::partial_erase(pair.d, pb));
    }
    for offset in offsets() {
        let page = if slots[offset] == NOT_IN_U { pair.in_u[offset] } else { slots[offset] };
        if page != NOT_IN_U {
            let (from, to) = (PageAddress::new(pair.u, page), PageAddress::new(pair.d, offset as u16));
            out.push(FlashCommand::copy(from, to, pair.lpn(offset), pair.d_sequence).with_mark(SpareRole::Restored));
        }
    }
    out.push(FlashCommand::erase(pair.u));
}
