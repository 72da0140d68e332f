//! What policies may look at of a plane's blocks: plain columns that a user's own code reads where they are.
//!
//! The columns are shared: whoever holds on to one, such as an array of NumPy, keeps its memory. So they consist of
//! atomic numbers, which cost as much as others here, because nobody asks for an order between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Marks a count of valid pages that no closed block has.
pub const NO_BLOCK: u32 = u32::MAX;

/// What is kept of a block. The layout is part of the interface for users' own policies (`pumice_policy.h`).
#[derive(Debug, Default)]
#[repr(C)]
pub struct BlockRow {
    changed: AtomicU64,
    erases: AtomicU32,
    valid: AtomicU16,
    stream: AtomicU8,
    closed: AtomicU8,
}

impl BlockRow {
    /// The plane's clock when the block came to its valid count.
    #[inline]
    pub fn changed(&self) -> u64 {
        self.changed.load(Relaxed)
    }

    /// Erases in this run.
    #[inline]
    pub fn erases(&self) -> u32 {
        self.erases.load(Relaxed)
    }

    /// Valid pages when it was closed, less those that were invalidated since; meaningless while it is not closed.
    #[inline]
    pub fn valid(&self) -> u16 {
        self.valid.load(Relaxed)
    }

    /// The stream of its pages.
    #[inline]
    pub fn stream(&self) -> u8 {
        self.stream.load(Relaxed)
    }

    /// Whether it is closed: written to its end, and not being reclaimed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) != 0
    }

    pub(super) fn close(&self, valid: u16, now: u64) {
        self.change(valid, now);
        self.closed.store(1, Relaxed);
    }

    /// Notes that the block is being reclaimed: its erase follows.
    pub(super) fn open(&self) {
        self.closed.store(0, Relaxed);
        self.erases.store(self.erases() + 1, Relaxed);
    }

    #[inline]
    pub(super) fn change(&self, valid: u16, now: u64) {
        self.valid.store(valid, Relaxed);
        self.changed.store(now, Relaxed);
    }

    pub(super) fn set_stream(&self, stream: u8) {
        self.stream.store(stream, Relaxed);
    }
}

/// Of the blocks with one count of valid pages the one that has been unchanged longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oldest {
    /// Its index in the plane.
    pub block: u32,
    /// Pages written to the plane since it came to that count, and one.
    pub age: u64,
}

/// The columns of one plane. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct PlaneColumns {
    rows: Arc<[BlockRow]>,
    /// For each count of valid pages the block of [`Oldest`], or [`NO_BLOCK`]; empty until it is asked for.
    oldest: Arc<[AtomicU32]>,
    /// Their ages as the bits of floating-point numbers; zero where there is none.
    ages: Arc<[AtomicU64]>,
}

impl PlaneColumns {
    /// The columns of a plane of `blocks` blocks, none of them closed.
    pub fn new(blocks: usize) -> PlaneColumns {
        PlaneColumns { rows: (0..blocks).map(|_| BlockRow::default()).collect(), ..PlaneColumns::default() }
    }

    /// The blocks.
    #[inline]
    pub fn rows(&self) -> &[BlockRow] {
        &self.rows
    }

    /// For each count of valid pages the block that has been unchanged longest, or [`NO_BLOCK`].
    pub fn oldest(&self) -> &[AtomicU32] {
        &self.oldest
    }

    /// The ages of these blocks as the bits of floating-point numbers; zero where there is none.
    pub fn ages(&self) -> &[AtomicU64] {
        &self.ages
    }

    /// Sets what is oldest among the blocks with `count` valid pages; `counts` are all counts there are.
    pub(super) fn set_oldest(&mut self, count: usize, counts: usize, oldest: Option<Oldest>) {
        if self.oldest.is_empty() {
            self.oldest = (0..counts).map(|_| AtomicU32::new(NO_BLOCK)).collect();
            self.ages = (0..counts).map(|_| AtomicU64::new(0)).collect();
        }
        self.oldest[count].store(oldest.map_or(NO_BLOCK, |oldest| oldest.block), Relaxed);
        self.ages[count].store(oldest.map_or(0.0, |oldest| oldest.age as f64).to_bits(), Relaxed);
    }
}
