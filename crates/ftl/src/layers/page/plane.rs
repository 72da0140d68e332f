//! One plane's blocks: open ones, victims, and the victim that is being emptied.

use pumice_types::{BlockId, Geometry, UnitSet};
use serde::{Deserialize, Serialize};

use crate::policy::STREAMS_MAX;
use crate::reclaim_units::UnitVictims;

/// A block being filled.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) block: BlockId,
    pub(super) sequence: u32,
    /// Units that were erased when it was opened: its pages to be written.
    pub(super) units: UnitSet,
    /// Pages before this one are written, or belong to other units. A whole word: half of one, read together with
    /// its neighbours right after it was written, would make the processor wait.
    pub(super) next: u32,
}

/// What an open block takes: pages of one stream lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum WriteStream {
    /// Pages that the host writes; the cold ones if hot ones lie apart.
    Host,
    /// Hot pages that the host writes.
    Hot,
    /// Pages that collection copies; the cold ones if hot ones lie apart.
    Copies,
    /// Hot pages that collection copies.
    HotCopies,
    /// Pages that static wear levelling moves.
    Moved,
    /// Translation pages.
    Map,
    /// Pages that a user's own policy puts together, written and copied: its first stream. Or pages that the host
    /// writes by its first handle.
    Placed0,
    /// Its second stream.
    Placed1,
    /// Its third stream.
    Placed2,
    /// Its fourth stream.
    Placed3,
    /// Its fifth stream.
    Placed4,
    /// Its sixth stream.
    Placed5,
    /// Its seventh stream.
    Placed6,
    /// Its eighth stream.
    Placed7,
    /// Pages that collection copies for the host's first handle.
    Copied0,
    /// For its second handle.
    Copied1,
    /// For its third handle.
    Copied2,
    /// For its fourth handle.
    Copied3,
    /// For its fifth handle.
    Copied4,
    /// For its sixth handle.
    Copied5,
    /// For its seventh handle.
    Copied6,
    /// For its eighth handle.
    Copied7,
}

impl WriteStream {
    /// The streams of a user's own policy, or of the host's handles.
    pub(super) const PLACED: [WriteStream; STREAMS_MAX as usize] = [
        WriteStream::Placed0,
        WriteStream::Placed1,
        WriteStream::Placed2,
        WriteStream::Placed3,
        WriteStream::Placed4,
        WriteStream::Placed5,
        WriteStream::Placed6,
        WriteStream::Placed7,
    ];

    /// The streams of collected pages, one a handle.
    pub(super) const COPIED: [WriteStream; STREAMS_MAX as usize] = [
        WriteStream::Copied0,
        WriteStream::Copied1,
        WriteStream::Copied2,
        WriteStream::Copied3,
        WriteStream::Copied4,
        WriteStream::Copied5,
        WriteStream::Copied6,
        WriteStream::Copied7,
    ];

    /// The number by which policies know the stream: their own number of it, if it is theirs.
    pub(super) fn number(self) -> u8 {
        let number = self as usize;
        let first = WriteStream::Placed0 as usize;
        (if number < first { number } else { number - first }) as u8
    }
}

/// Number of streams.
pub(super) const STREAMS: usize = WriteStream::Copied7 as usize + 1;

/// A victim whose valid pages are moved one by one, and which is then erased. It is in no list, so pages that the
/// host invalidates meanwhile need no update of a list.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) victim: BlockId,
    /// Units of it that are reclaimed.
    pub(super) units: UnitSet,
    /// Pages before this one are done with.
    pub(super) next: u16,
    pub(super) copied: u32,
    /// Valid pages that it had when it was chosen.
    pub(super) copies: u32,
    /// Why: to win a block, or to level wear.
    pub(super) levels_wear: bool,
}

/// One plane's blocks.
#[derive(Serialize, Deserialize)]
pub(super) struct Plane {
    /// Open block of each [`WriteStream`].
    pub(super) open: [Option<Open>; STREAMS],
    /// Closed erase units by what reclaiming them costs.
    pub(super) victims: UnitVictims,
    /// The victim that is being emptied.
    pub(super) job: Option<Job>,
    /// Between the start threshold and the stop threshold (modes that work in steps).
    pub(super) collecting: bool,
    /// Valid pages of the host.
    pub(super) valid_pages: u64,
    /// Pages written to this plane: its clock.
    pub(super) now: u64,
    /// Blocks that failed an erase and are not used any more.
    pub(super) retired: u32,
    /// The block whose data a user's own policy wants moved next, by its index in the plane.
    pub(super) swap: Option<u32>,
    /// Victims of a user's own policy in a row that had no invalid page.
    pub(super) fruitless: u32,
    /// What paced collection owes of the victim in work, less than the price of a copy (see `pace`).
    pub(super) owed: u64,
}

impl Plane {
    pub(super) fn new(victims: UnitVictims) -> Plane {
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
            owed: 0,
        }
    }

    /// Pages of the retired blocks.
    #[inline]
    pub(super) fn retired_pages(&self, geometry: &Geometry) -> u64 {
        u64::from(self.retired) * u64::from(geometry.pages_per_block)
    }
}
