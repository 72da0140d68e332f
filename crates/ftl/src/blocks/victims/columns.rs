//! What policies may look at of a plane's blocks: plain columns that a user's own code reads where they are.
//!
//! The columns are shared: whoever holds on to one, such as an array of NumPy, keeps its memory. So they consist of
//! atomic numbers, which cost as much as others here, because nobody asks for an order between them.

use serde::{Deserialize, Serialize};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Marks a count of valid pages that no closed block has.
pub const NO_BLOCK: u32 = u32::MAX;

/// What is kept of a block. The layout is part of the interface for users' own policies (`pumice_policy.h`).
#[derive(Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct BlockRow {
    changed: AtomicU64,
    erases: AtomicU32,
    valid: AtomicU16,
    stream: AtomicU8,
    closed: AtomicU8,
}

impl BlockRow {
    /// Where a row holds the clock of the block's last change, in bytes.
    pub const CHANGED_AT: usize = offset_of!(BlockRow, changed);
    /// Where a row holds the erases, in bytes.
    pub const ERASES_AT: usize = offset_of!(BlockRow, erases);
    /// Where a row holds the valid pages, in bytes.
    pub const VALID_AT: usize = offset_of!(BlockRow, valid);
    /// Where a row holds the stream, in bytes.
    pub const STREAM_AT: usize = offset_of!(BlockRow, stream);
    /// Where a row says whether the block is closed, in bytes.
    pub const CLOSED_AT: usize = offset_of!(BlockRow, closed);

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

    /// A row of its own that holds the same.
    fn copied(&self) -> BlockRow {
        BlockRow {
            changed: self.changed().into(),
            erases: self.erases().into(),
            valid: self.valid().into(),
            stream: self.stream().into(),
            closed: self.closed.load(Relaxed).into(),
        }
    }

    fn close(&self, valid: u16, now: u64) {
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

    pub(super) fn set_erases(&self, erases: u32) {
        self.erases.store(erases, Relaxed);
    }

    pub(super) fn set_stream(&self, stream: u8) {
        self.stream.store(stream, Relaxed);
    }
}

/// When a block was written, by the plane's clock. The layout is part of the interface for users' own policies.
#[derive(Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct BlockLife {
    opened: AtomicU64,
    closed: AtomicU64,
}

impl BlockLife {
    /// Where it holds the clock of the opening, in bytes.
    pub const OPENED_AT: usize = offset_of!(BlockLife, opened);
    /// Where it holds the clock of the closing, in bytes.
    pub const CLOSED_AT: usize = offset_of!(BlockLife, closed);

    /// The plane's clock when the first page of the block was about to be written.
    pub fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }

    /// The plane's clock when the last page of the block had been written; meaningless while the block is not closed.
    pub fn closed(&self) -> u64 {
        self.closed.load(Relaxed)
    }

    /// One of its own that holds the same.
    fn copied(&self) -> BlockLife {
        BlockLife { opened: self.opened().into(), closed: self.closed().into() }
    }
}

/// The columns of one plane. A clone is a copy of its own; [`PlaneColumns::shared`] are the columns themselves.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PlaneColumns {
    rows: Arc<[BlockRow]>,
    lives: Arc<[BlockLife]>,
    /// For each count of valid pages the closed block that has been unchanged longest, or [`NO_BLOCK`]; empty until it
    /// is asked for.
    oldest: Arc<[AtomicU32]>,
    /// Ages of these blocks as the bits of floating-point numbers; zero where there is none.
    ages: Arc<[AtomicU64]>,
    /// No count below this one has had a block when they were last shown.
    shown_from: usize,
}

impl Clone for PlaneColumns {
    fn clone(&self) -> PlaneColumns {
        PlaneColumns {
            rows: self.rows.iter().map(BlockRow::copied).collect(),
            lives: self.lives.iter().map(BlockLife::copied).collect(),
            oldest: self.oldest.iter().map(|block| AtomicU32::new(block.load(Relaxed))).collect(),
            ages: self.ages.iter().map(|age| AtomicU64::new(age.load(Relaxed))).collect(),
            shown_from: self.shown_from,
        }
    }
}

impl PlaneColumns {
    /// The columns of a plane of `blocks` blocks, none of them closed.
    pub fn new(blocks: usize) -> PlaneColumns {
        PlaneColumns {
            rows: (0..blocks).map(|_| BlockRow::default()).collect(),
            lives: (0..blocks).map(|_| BlockLife::default()).collect(),
            ..PlaneColumns::default()
        }
    }

    /// The columns themselves, for who holds on to them.
    pub fn shared(&self) -> PlaneColumns {
        let PlaneColumns { rows, lives, oldest, ages, shown_from } = self;
        let (rows, lives) = (Arc::clone(rows), Arc::clone(lives));
        let (oldest, ages) = (Arc::clone(oldest), Arc::clone(ages));
        PlaneColumns { rows, lives, oldest, ages, shown_from: *shown_from }
    }

    /// Bytes of what there is of each block.
    pub fn state_bytes(&self) -> u64 {
        (size_of_val(&self.rows[..]) + size_of_val(&self.lives[..])) as u64
    }

    /// The blocks.
    #[inline]
    pub fn rows(&self) -> &[BlockRow] {
        &self.rows
    }

    /// When the blocks were written.
    #[inline]
    pub fn lives(&self) -> &[BlockLife] {
        &self.lives
    }

    /// Notes that a block is opened at the plane's time `now`.
    pub(super) fn open(&self, block: u32, now: u64) {
        self.lives[block as usize].opened.store(now, Relaxed);
    }

    /// Notes that a block is closed at the plane's time `now`.
    pub(super) fn close(&self, block: u32, valid: u16, now: u64) {
        self.rows[block as usize].close(valid, now);
        self.lives[block as usize].closed.store(now, Relaxed);
    }

    /// For each count of valid pages the block that has been unchanged longest, or [`NO_BLOCK`].
    pub fn oldest(&self) -> &[AtomicU32] {
        &self.oldest
    }

    /// The ages of these blocks as the bits of floating-point numbers; zero where there is none.
    pub fn ages(&self) -> &[AtomicU64] {
        &self.ages
    }

    /// Shows the oldest block of each count as they are at the plane's time `now`. `counts` are those that may have one,
    /// and `first` is the oldest block of a count.
    pub(super) fn show_oldest(&mut self, now: u64, counts: Range<usize>, first: impl Fn(usize) -> Option<u32>) {
        if self.oldest.is_empty() {
            self.oldest = (0..counts.end).map(|_| AtomicU32::new(NO_BLOCK)).collect();
            self.ages = (0..counts.end).map(|_| AtomicU64::new(0)).collect();
            self.shown_from = counts.end;
        }
        let from = counts.start.min(self.shown_from);
        self.shown_from = counts.start;
        for (count, (oldest, age)) in (from..counts.end).zip(self.oldest[from..].iter().zip(&self.ages[from..])) {
            let block = first(count);
            let age_of = |block: u32| (now - self.rows[block as usize].changed() + 1) as f64;
            oldest.store(block.unwrap_or(NO_BLOCK), Relaxed);
            age.store(block.map_or(0.0, age_of).to_bits(), Relaxed);
        }
    }
}
