//! The part of a device that one thread of several runs: the page accesses of its channels.
//!
//! Every thread has the whole device, but is dealt only requests with pages on its own channels, and does of them what
//! falls there. So addresses, random draws and the order of events on a channel are those of a run on one thread.

use std::ops::Range;
use std::sync::mpsc::Sender;

use pumice_ftl::{Ftl, Homes};
use pumice_types::{DieId, Geometry, HostRequest, Lpn, PlaneId, Time};

use super::pages::Divisor;
use crate::metrics::{LatencyParts, in_order};

/// Pieces that are handed over together.
const PIECES: usize = 1024;

/// Which thread has which pages, if the channels are dealt out to the threads in turn.
#[derive(Clone)]
pub struct Shares {
    /// Logical pages that follow each other in one plane.
    unit_pages: Divisor,
    planes: Divisor,
    /// The thread of each plane, in the order in which units are dealt to them.
    of_planes: Vec<u8>,
    threads: u8,
}

impl Shares {
    /// The shares of so many threads in a device with these homes.
    pub fn new(homes: &Homes, geometry: &Geometry, threads: u8) -> Shares {
        let thread = |plane: &PlaneId| {
            let die = DieId(plane.0 / geometry.planes_per_die);
            (geometry.channel_of(die).index() % usize::from(threads)) as u8
        };
        Shares {
            unit_pages: Divisor::new(homes.unit_pages),
            planes: Divisor::new(homes.order.len() as u32),
            of_planes: homes.order.iter().map(thread).collect(),
            threads,
        }
    }

    /// How many threads there are.
    pub fn threads(&self) -> u8 {
        self.threads
    }

    #[inline]
    fn unit_of(&self, page: u32) -> u64 {
        self.unit_pages.quotient(u64::from(page))
    }

    #[inline]
    fn of_unit(&self, unit: u64) -> u8 {
        self.of_planes[self.planes.remainder(unit) as usize]
    }

    /// The threads with some of these pages, one bit each. What has no pages is the first thread's.
    #[inline]
    pub fn threads_of(&self, pages: Range<u32>) -> u64 {
        if pages.is_empty() {
            return 1;
        }
        let units = self.unit_of(pages.start)..self.unit_of(pages.end - 1) + 1;
        units.fold(0, |threads, unit| threads | 1 << self.of_unit(unit))
    }
}

/// A request, as it is dealt to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DealtRequest {
    /// The request.
    pub request: HostRequest,
    /// Number of the request in the workload.
    pub number: u64,
    /// The number of its first page access among those of all threads.
    pub access: u64,
    /// The threads that have pages of it, one bit each.
    pub threads: u64,
}

impl DealtRequest {
    /// What stands where no request is.
    pub const NONE: DealtRequest =
        DealtRequest { request: HostRequest::flush(Time::ZERO), number: 0, access: 0, threads: 0 };
}

impl AsRef<HostRequest> for DealtRequest {
    fn as_ref(&self) -> &HostRequest {
        &self.request
    }
}

/// What one thread did of a request that several have pages of.
#[derive(Clone, Copy)]
pub struct RequestPiece {
    /// Number of the request among all.
    pub number: u64,
    /// Threads that have pages of it.
    pub threads: u32,
    /// The request.
    pub request: HostRequest,
    /// When it arrived.
    pub arrival: Time,
    /// When the pages of this thread were done.
    pub done: Time,
    /// Where the time of the last of them went.
    pub parts: LatencyParts,
}

/// U-blocks in use after a page access, and the most during it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UBlockChange {
    /// Number of the page access among those of all threads.
    pub access: u64,
    /// Most at one time.
    pub most: u32,
    /// How many were left.
    pub used: u32,
}

/// The part of a device that one thread runs.
#[derive(Clone)]
pub struct Portion {
    shares: Shares,
    own: u8,
    /// Number of the next page access among those of all threads.
    access: u64,
    /// The request that is being taken in: its number, and the threads that have pages of it.
    number: u64,
    threads: u64,
    /// Number of each request in flight, and how many threads have pages of it, by its id.
    in_flight: Vec<(u64, u32)>,
    pieces: Vec<RequestPiece>,
    hand_over: Sender<Vec<RequestPiece>>,
    /// How the number of U-blocks in use changed since measuring began; `None` if nobody asks.
    u_blocks: Option<Vec<UBlockChange>>,
    u_blocks_used: u64,
    u_blocks_before: u64,
}

impl Portion {
    /// What the thread `own` has. `counts_u_blocks`: the layer has U-blocks, and how many are in use at one time is asked
    /// for.
    pub fn new(shares: Shares, own: u8, counts_u_blocks: bool, hand_over: Sender<Vec<RequestPiece>>) -> Portion {
        Portion {
            shares,
            own,
            access: 0,
            number: 0,
            threads: 0,
            in_flight: Vec::new(),
            pieces: Vec::new(),
            hand_over,
            u_blocks: counts_u_blocks.then(Vec::new),
            u_blocks_used: 0,
            u_blocks_before: 0,
        }
    }

    /// Whether a page is on its channels.
    #[inline]
    pub fn has(&self, lpn: Lpn) -> bool {
        self.shares.of_unit(self.shares.unit_of(lpn.0)) == self.own
    }

    /// Whether the next page access is on its channels.
    #[inline]
    pub fn has_next(&mut self, lpn: Lpn) -> bool {
        self.access += 1;
        self.has(lpn)
    }

    /// The next request of the run.
    #[inline]
    pub fn note_dealt(&mut self, dealt: &DealtRequest) {
        (self.access, self.number, self.threads) = (dealt.access, dealt.number, dealt.threads);
    }

    /// Whether any page of the request is on its channels.
    #[inline]
    pub fn takes_part(&self) -> bool {
        self.threads >> self.own & 1 == 1
    }

    /// Whether it is this thread that counts the request, of a run without a clock.
    pub fn counts(&self) -> bool {
        self.threads.trailing_zeros() == u32::from(self.own)
    }

    /// The request that is being taken in has got its id.
    #[inline]
    pub fn note_accepted(&mut self, id: u32) {
        let id = id as usize;
        if id >= self.in_flight.len() {
            self.in_flight.resize(id + 1, (0, 0));
        }
        self.in_flight[id] = (self.number, self.threads.count_ones());
    }

    /// A measured request is done as far as this thread goes. Returns whether others have pages of it, so that it is
    /// not measured here.
    #[inline]
    pub fn note_done(
        &mut self,
        id: u32,
        (request, arrival, done): (&HostRequest, Time, Time),
        parts: impl FnOnce() -> LatencyParts,
    ) -> bool {
        let (number, threads) = self.in_flight[id as usize];
        if threads < 2 {
            return false;
        }
        self.pieces.push(RequestPiece { number, threads, request: *request, arrival, done, parts: parts() });
        if self.pieces.len() >= PIECES {
            self.hand_over_pieces();
        }
        true
    }

    /// Hands over what it has of requests that others have pages of. Nobody takes it when the run is being given up.
    pub fn hand_over_pieces(&mut self) {
        let _ = self.hand_over.send(std::mem::take(&mut self.pieces));
    }

    /// Notes how a page access of its own changed the number of U-blocks in use.
    #[inline]
    pub fn note_u_blocks(&mut self, ftl: &mut Ftl) {
        let Some(changes) = &mut self.u_blocks else { return };
        let Some(figures) = ftl.layer_mut().figures_mut() else { return };
        let used = figures.u_blocks_used();
        let most = std::mem::replace(&mut figures.counters_mut().u_blocks_max, used);
        if most != self.u_blocks_used || used != self.u_blocks_used {
            changes.push(UBlockChange { access: self.access, most: most as u32, used: used as u32 });
            self.u_blocks_used = used;
        }
    }

    /// Measuring starts.
    pub fn restart_measuring(&mut self) {
        self.u_blocks.iter_mut().for_each(Vec::clear);
        self.u_blocks_before = self.u_blocks_used;
    }

    /// U-blocks in use when measuring began, and how that changed since.
    pub fn u_block_changes(&self) -> (u64, &[UBlockChange]) {
        (self.u_blocks_before, self.u_blocks.as_deref().unwrap_or_default())
    }
}

/// The most U-blocks in use at one time on all threads together.
pub fn most_u_blocks(portions: &[&Portion]) -> u64 {
    let (mut used, changes): (Vec<u64>, Vec<_>) = portions.iter().map(|portion| portion.u_block_changes()).unzip();
    let mut total: u64 = used.iter().sum();
    let mut most = total;
    for (thread, change) in in_order(changes, |change| change.access) {
        let others = total - used[thread];
        most = most.max(others + u64::from(change.most));
        used[thread] = u64::from(change.used);
        total = others + used[thread];
    }
    most
}
