//! Carries a merge out whose pages stay at their own offsets (log block, FAST, replacement block): what is
//! not in the target yet is copied there in page order, then the old blocks are erased.

use pumice_types::{BlockId, PageAddress};

use super::plane_book::{PlaneBook, Step};
use crate::plan::{FtlError, MergeKind};

/// A merge that was decided.
#[derive(Clone, Copy, Debug)]
pub struct InPlaceMerge<'a> {
    /// Kind of the merge.
    pub kind: MergeKind,
    /// Logical block, counted in its plane.
    pub logical: u32,
    /// The U-block that becomes the D-block, unless a free block does (full merge).
    pub into: BlockId,
    /// Blocks that hold nothing current afterwards.
    pub old: &'a [BlockId],
}

/// Runs a merge; returns the new D-block.
///
/// # Errors
/// [`FtlError`] if a full merge finds no free block, which validation rules out.
pub fn run(book: &mut PlaneBook, merge: &InPlaceMerge, step: &mut Step) -> Result<BlockId, FtlError> {
    let target = match merge.kind {
        MergeKind::Full => book.take(step)?,
        MergeKind::Switch | MergeKind::Partial => merge.into,
    };
    let first = merge.logical * u32::from(book.pages());
    for offset in 0..book.pages() {
        let local = first + u32::from(offset);
        if book.locate(local).is_some_and(|page| page.block != target) {
            book.copy(local, PageAddress::new(target, offset), step);
        }
    }
    merge.old.iter().for_each(|&block| book.erase(block, step));
    let count = step.shared.counters.merges_of(merge.kind);
    count.merges += 1;
    count.block_erases += merge.old.len() as u64;
    Ok(target)
}
