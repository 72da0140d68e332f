//! The part of a device that one thread of several runs: the page accesses of its channels.
//!
//! Every thread has the whole device and reads all requests, but does only what falls on its own channels. So addresses,
//! random draws and the order of events on a channel are those of a run on one thread.

use std::sync::mpsc::Sender;

use pumice_ftl::{Ftl, Homes};
use pumice_types::{DieId, Geometry, HostRequest, Lpn, PlaneId, Time};

use super::pages::{Divisor, Pages};
use crate::metrics::LatencyParts;

/// Pieces that are handed over together.
const PIECES: usize = 1024;

/// The number of no request.
const NONE: u64 = u64::MAX;

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
    pub most: u64,
    /// How many were left.
    pub used: u64,
}

/// The part of a device that one thread runs.
#[derive(Clone)]
pub struct Portion {
    /// Logical pages that follow each other in one plane.
    unit_pages: Divisor,
    planes: Divisor,
    /// The thread of each plane, in the order in which units are dealt to them.
    threads: Vec<u8>,
    own: u8,
    /// Number of the next page access among those of all threads, and of the first one of the next request.
    access: u64,
    next_access: u64,
    /// The request that is being taken in, if other threads have pages of it too: its number, and how many have.
    shared: Option<(u64, u32)>,
    /// Number and count of each request in flight, by its id.
    in_flight: Vec<(u64, u32)>,
    pieces: Vec<RequestPiece>,
    hand_over: Sender<Vec<RequestPiece>>,
    /// How the number of U-blocks in use changed since measuring began; `None` if nobody asks.
    u_blocks: Option<Vec<UBlockChange>>,
    u_blocks_used: u64,
    u_blocks_before: u64,
}

impl Portion {
    /// What the thread `own` of so many has of a device with these homes, if the channels are dealt out to the threads in
    /// turn. `counts_u_blocks`: the layer has U-blocks, and how many are in use at one time is asked for.
    pub fn new(
        (homes, geometry): (&Homes, &Geometry),
        (own, threads): (u8, u8),
        counts_u_blocks: bool,
        hand_over: Sender<Vec<RequestPiece>>,
    ) -> Portion {
        let thread = |plane: &PlaneId| {
            let die = DieId(plane.0 / geometry.planes_per_die);
            (geometry.channel_of(die).index() % usize::from(threads)) as u8
        };
        Portion {
            unit_pages: Divisor::new(homes.unit_pages),
            planes: Divisor::new(homes.order.len() as u32),
            threads: homes.order.iter().map(thread).collect(),
            own,
            access: 0,
            next_access: 0,
            shared: None,
            in_flight: Vec::new(),
            pieces: Vec::new(),
            hand_over,
            u_blocks: counts_u_blocks.then(Vec::new),
            u_blocks_used: 0,
            u_blocks_before: 0,
        }
    }

    #[inline]
    fn unit_of(&self, page: u32) -> u64 {
        self.unit_pages.quotient(u64::from(page))
    }

    #[inline]
    fn thread_of_unit(&self, unit: u64) -> u8 {
        self.threads[self.planes.remainder(unit) as usize]
    }

    #[inline]
    fn thread_of(&self, lpn: Lpn) -> u8 {
        self.thread_of_unit(self.unit_of(lpn.0))
    }

    /// Whether a page is on its channels.
    #[inline]
    pub fn has(&self, lpn: Lpn) -> bool {
        self.thread_of(lpn) == self.own
    }

    /// Whether the next page access is on its channels.
    #[inline]
    pub fn has_next(&mut self, lpn: Lpn) -> bool {
        self.access += 1;
        self.has(lpn)
    }

    /// The next request of the run, by its number: whether any page of it is on its channels. What has no pages is the
    /// first thread's.
    #[inline]
    pub fn takes_in(&mut self, (number, request): (u64, &HostRequest), pages: &Pages) -> bool {
        self.access = self.next_access;
        let touched = pages.of(request).range();
        self.next_access += u64::from(touched.end - touched.start);
        let units = match touched.is_empty() {
            true => 0..0,
            false => self.unit_of(touched.start)..self.unit_of(touched.end - 1) + 1,
        };
        let threads = units.fold(0u64, |threads, unit| threads | 1 << self.thread_of_unit(unit)).max(1);
        self.shared = (threads.count_ones() > 1).then_some((number, threads.count_ones()));
        threads >> self.own & 1 == 1
    }

    /// Whether it is this thread that counts a request of a run without a clock.
    pub fn counts(&self, request: &HostRequest, pages: &Pages) -> bool {
        pages.of(request).map(|(lpn, _)| self.thread_of(lpn)).min().unwrap_or(0) == self.own
    }

    /// The request that is being taken in has got its id.
    #[inline]
    pub fn note_accepted(&mut self, id: u32) {
        let id = id as usize;
        if id >= self.in_flight.len() {
            self.in_flight.resize(id + 1, (NONE, 0));
        }
        self.in_flight[id] = self.shared.unwrap_or((NONE, 0));
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
        if number == NONE {
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
            changes.push(UBlockChange { access: self.access, most, used });
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
    let of_threads: Vec<(u64, &[UBlockChange])> = portions.iter().map(|portion| portion.u_block_changes()).collect();
    let mut used: Vec<u64> = of_threads.iter().map(|(before, _)| *before).collect();
    let mut all: Vec<(usize, UBlockChange)> = Vec::new();
    for (thread, (_, changes)) in of_threads.iter().enumerate() {
        all.extend(changes.iter().map(|&change| (thread, change)));
    }
    all.sort_by_key(|(_, change)| change.access);
    let mut total: u64 = used.iter().sum();
    let mut most = total;
    for (thread, change) in all {
        most = most.max(total - used[thread] + change.most);
        total = total - used[thread] + change.used;
        used[thread] = change.used;
    }
    most
}
