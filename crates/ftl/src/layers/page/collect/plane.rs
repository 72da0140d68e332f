//! One plane's blocks: open ones, victims, and the victim that is being emptied.

use pumice_types::{BlockId, Geometry, SpareMark, UnitPages, UnitSet};
use serde::{Deserialize, Serialize};

use crate::blocks::reclaim_units::UnitVictims;
use crate::layers::page::HotCold;
use crate::plan::{COLLECTED, STREAMS_MAX};

/// A block being filled.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(in crate::layers::page) struct Open {
    pub(in crate::layers::page) block: BlockId,
    pub(in crate::layers::page) sequence: u32,
    /// Units that were erased when it was opened: its pages to be written.
    pub(in crate::layers::page) units: UnitSet,
    /// Pages before this one are written, or belong to other units. A whole word: half of one, read together with
    /// its neighbours right after it was written, would make the processor wait.
    pub(in crate::layers::page) next: u32,
}

impl Open {
    /// Pages of it that are still to be written.
    pub(in crate::layers::page) fn pages_left(&self, pages: &UnitPages) -> usize {
        let is_own = |&page: &u16| self.units.contains(pages.unit_of(page));
        (self.next as u16..pages.pages_per_block()).filter(is_own).count()
    }
}

/// What an open block takes: pages of one stream lie together. A number and not an enum: it is the place of the
/// stream's open block, looked up several times for each page that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::layers::page) struct WriteStream(u8);

/// Streams that are neither a policy's nor a handle's.
const OWN: u8 = 6;

/// Number of streams.
pub(super) const STREAMS: usize = (OWN + 2 * STREAMS_MAX) as usize;

impl WriteStream {
    /// Pages that the host writes; the cold ones if hot ones lie apart.
    pub(in crate::layers::page) const HOST: WriteStream = WriteStream(0);
    /// Hot pages that the host writes.
    pub(super) const HOT: WriteStream = WriteStream(1);
    /// Pages that collection copies; the cold ones if hot ones lie apart.
    pub(in crate::layers::page) const COPIES: WriteStream = WriteStream(2);
    /// Hot pages that collection copies.
    pub(super) const HOT_COPIES: WriteStream = WriteStream(3);
    /// Pages that static wear levelling moves.
    pub(super) const MOVED: WriteStream = WriteStream(4);
    /// Translation pages.
    pub(in crate::layers::page) const MAP: WriteStream = WriteStream(5);

    /// Pages that a user's own policy puts together, written and copied, by the number of its stream. Or pages that
    /// the host writes, by the number of its handle.
    #[inline]
    pub(in crate::layers::page) fn placed(nth: u8) -> WriteStream {
        debug_assert!(nth < STREAMS_MAX);
        WriteStream(OWN + nth)
    }

    /// Pages that collection copies for one of the host's handles, by its number.
    #[inline]
    pub(in crate::layers::page) fn copied(nth: u8) -> WriteStream {
        debug_assert!(nth < STREAMS_MAX);
        WriteStream(OWN + STREAMS_MAX + nth)
    }

    /// The stream of pages that nobody places: those of the initial fill, and the layer's own.
    pub(in crate::layers::page) fn unplaced(hot_cold: HotCold) -> WriteStream {
        match hot_cold {
            HotCold::Placed { .. } | HotCold::Handles(_) => WriteStream::placed(0),
            HotCold::Mixed | HotCold::Copies | HotCold::Recency { .. } => WriteStream::HOST,
        }
    }

    /// The streams that keep blocks open of a device with a map in flash: the first one, and how many there are. A
    /// policy places all pages, and without one those that the host writes and that are copied have two streams each.
    pub(in crate::layers::page) fn logged(hot_cold: HotCold) -> [u32; 2] {
        match hot_cold {
            HotCold::Placed { streams } => [OWN.into(), streams.into()],
            HotCold::Mixed | HotCold::Copies | HotCold::Recency { .. } | HotCold::Handles(_) => [0, 4],
        }
    }

    /// The place of its open block among those of a plane.
    #[inline]
    pub(in crate::layers::page) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The policy's stream or the handle whose pages it holds; `None` if there is none.
    fn nth(self) -> Option<u8> {
        self.0.checked_sub(OWN).map(|nth| nth % STREAMS_MAX)
    }

    /// The number by which policies know the stream: their own number of it, if it is theirs.
    pub(in crate::layers::page) fn number(self) -> u8 {
        self.nth().unwrap_or(self.0)
    }

    /// The handle that a stream holds pages of, where there are handles, or [`COLLECTED`]. What nobody places
    /// counts as the first handle's.
    pub(in crate::layers::page) fn group(self) -> u8 {
        self.nth().unwrap_or(COLLECTED as u8)
    }

    /// A stream of this group where there are handles.
    pub(in crate::layers::page) fn of_group(group: u8) -> WriteStream {
        if group < STREAMS_MAX { WriteStream::placed(group) } else { WriteStream::COPIES }
    }

    /// What spare areas say of a page in this stream where there are handles: zero of the first handle's pages that the
    /// host writes.
    #[inline]
    pub(in crate::layers::page) fn mark(self) -> SpareMark {
        SpareMark(self.0.checked_sub(OWN).unwrap_or(2 * STREAMS_MAX))
    }

    /// The stream of a page with this mark.
    pub(in crate::layers::page) fn marked(mark: SpareMark) -> WriteStream {
        if mark.0 < 2 * STREAMS_MAX { WriteStream(OWN + mark.0) } else { WriteStream::COPIES }
    }
}

/// A victim whose valid pages are moved one by one, and which is then erased. It is in no list, so pages that the
/// host invalidates meanwhile need no update of a list.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Job {
    pub(in crate::layers::page) victim: BlockId,
    /// Units of it that are reclaimed.
    pub(in crate::layers::page) units: UnitSet,
    /// Pages before this one are done with.
    pub(in crate::layers::page) next: u16,
    pub(in crate::layers::page) copied: u32,
    /// Valid pages that it had when it was chosen.
    pub(in crate::layers::page) copies: u32,
    /// Why: to win a block, or to level wear.
    pub(super) levels_wear: bool,
}

/// One plane's blocks.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct Plane {
    /// Open block of each [`WriteStream`].
    pub(in crate::layers::page) open: [Option<Open>; STREAMS],
    /// Closed erase units by what reclaiming them costs.
    pub(in crate::layers::page) victims: UnitVictims,
    /// The victim that is being emptied.
    pub(super) job: Option<Job>,
    /// Between the start threshold and the stop threshold (modes that work in steps).
    pub(super) collecting: bool,
    /// Valid pages of the host.
    pub(in crate::layers::page) valid_pages: u64,
    /// Pages written to this plane: its clock.
    pub(in crate::layers::page) now: u64,
    /// Blocks that failed an erase and are not used any more.
    pub(in crate::layers::page) retired: u32,
    /// The block whose data a user's own policy wants moved next, by its index in the plane.
    pub(in crate::layers::page) swap: Option<u32>,
    /// Victims of a user's own policy in a row that had no invalid page.
    pub(super) fruitless: u32,
    /// Pages that the host wrote since the last step, while collection waited (`gc_write_tokens`).
    pub(super) passed: u32,
    /// What paced collection owes of the victim in work, less than the price of a copy (see `pace`).
    pub(super) owed: u64,
}

impl Plane {
    pub(in crate::layers::page) fn new(victims: UnitVictims) -> Plane {
        Plane {
            open: [None; STREAMS],
            victims,
            job: None,
            collecting: false,
            valid_pages: 0,
            now: 0,
            retired: 0,
            swap: None,
            fruitless: 0,
            passed: 0,
            owed: 0,
        }
    }

    /// The stream that writes a block, if one does, and how far it is.
    pub(in crate::layers::page) fn writing(&mut self, block: BlockId) -> Option<(WriteStream, &mut Open)> {
        let streams = (0..).map(WriteStream).zip(&mut self.open);
        streams.filter_map(|(stream, open)| Some((stream, open.as_mut()?))).find(|(_, open)| open.block == block)
    }

    /// Pages of the retired blocks.
    #[inline]
    pub(in crate::layers::page) fn retired_pages(&self, geometry: &Geometry) -> u64 {
        u64::from(self.retired) * u64::from(geometry.pages_per_block)
    }
}
