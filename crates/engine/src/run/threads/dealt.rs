//! The requests of a workload, dealt to the threads that run one device. Each is drawn once: whoever comes first to
//! where nothing was drawn yet draws, so the drawing falls to the threads by the time that they have.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::IntoIter;

use pumice_workload::{TraceError, Workload};

use crate::host::pages::Pages;
use crate::host::portion::{DealtRequest, Shares};

/// Requests that are dealt at a time.
const DEALT: usize = 1 << 10;

/// Hands that are dealt before a thread needs them, so that none waits while another deals.
const HANDS_AHEAD: usize = 4;

/// Hands that a thread may be behind the first of the threads.
const HANDS_BEHIND: usize = 64;

/// What a thread is given at a time: its requests of those that were drawn together.
struct Hand {
    requests: Vec<DealtRequest>,
    /// Whether nothing comes behind them: the workload has so many requests, or failed there.
    end: Option<Result<u64, TraceError>>,
    /// The workload's share, behind them.
    progress: Option<f64>,
}

/// Draws a workload's requests and says whose they are.
struct Dealer {
    workload: Workload,
    shares: Shares,
    pages: Pages,
    /// Requests that are taken at the most.
    max: u64,
    /// The request that every thread is given, as measuring begins with it.
    to_all: u64,
    /// Requests and page accesses by now.
    requests: u64,
    accesses: u64,
    /// The end was dealt.
    is_over: bool,
}

impl Dealer {
    /// The next request; `None` at the end.
    fn draw(&mut self) -> Result<Option<DealtRequest>, TraceError> {
        let mut dealt = DealtRequest { number: self.requests, access: self.accesses, ..DealtRequest::NONE };
        if self.requests == self.max || !self.workload.take_next(&mut dealt.request)? {
            return Ok(None);
        }
        let pages = self.pages.of(&dealt.request).range();
        self.accesses += u64::from(pages.end - pages.start);
        dealt.threads = self.shares.threads_of(pages);
        self.requests += 1;
        Ok(Some(dealt))
    }

    /// A hand for each thread.
    fn deal(&mut self) -> Vec<Hand> {
        let mut hands: Vec<_> = (0..self.shares.threads()).map(|_| Vec::with_capacity(DEALT)).collect();
        let mut end = None;
        for _ in 0..DEALT {
            match self.draw() {
                Ok(Some(dealt)) => {
                    let wanted = if dealt.number == self.to_all { u64::MAX } else { dealt.threads };
                    let own = hands.iter_mut().enumerate().filter(|(thread, _)| wanted >> thread & 1 == 1);
                    own.for_each(|(_, hand)| hand.push(dealt));
                    continue;
                }
                Ok(None) => end = Some(Ok(self.requests)),
                Err(fault) => end = Some(Err(fault)),
            }
            break;
        }
        self.is_over = end.is_some();
        let progress = self.workload.progress();
        hands.into_iter().map(|requests| Hand { requests, end: end.clone(), progress }).collect()
    }
}

/// A workload that is dealt to threads.
pub struct DealtWorkload {
    /// Locked while requests are drawn; then, for a moment, the hands.
    dealer: Mutex<Dealer>,
    /// The hands that each thread is still to take; `None` if it takes no more.
    hands: Mutex<Vec<Option<VecDeque<Hand>>>>,
    /// A thread took a hand, or left.
    moved: Condvar,
}

impl DealtWorkload {
    /// The first `max` requests of a workload, for threads with these shares of the pages. Measuring begins with the
    /// request of number `warmup`.
    pub fn new(workload: Workload, (shares, pages): (Shares, Pages), max: Option<u64>, warmup: u64) -> DealtWorkload {
        let hands = (0..shares.threads()).map(|_| Some(VecDeque::new())).collect();
        let max = max.unwrap_or(u64::MAX);
        let dealer = Dealer { workload, shares, pages, max, to_all: warmup, requests: 0, accesses: 0, is_over: false };
        DealtWorkload { dealer: Mutex::new(dealer), hands: Mutex::new(hands), moved: Condvar::new() }
    }

    /// The requests of one thread; they are to be taken once.
    pub fn of_thread(&self, own: u8) -> DealtRequests<'_> {
        let progress = lock(&self.dealer).workload.progress();
        DealtRequests { workload: self, own: usize::from(own), requests: Vec::new().into_iter(), end: None, progress }
    }

    /// The workload, after what was taken from it.
    pub fn into_workload(self) -> Workload {
        self.dealer.into_inner().unwrap_or_else(PoisonError::into_inner).workload
    }

    /// The next hand of a thread, which deals first if few are left. Waits if another is far behind.
    fn next_hand(&self, own: usize) -> Hand {
        loop {
            let mut hands = lock(&self.hands);
            let left = hands[own].as_ref().map_or(0, VecDeque::len);
            let waits = hands.iter().flatten().any(|of_thread| of_thread.len() >= HANDS_BEHIND);
            if left < HANDS_AHEAD && !waits {
                drop(hands);
                match left {
                    0 => self.deal(own, lock(&self.dealer)),
                    // If another deals now, what is left lasts until it has.
                    _ => self.dealer.try_lock().into_iter().for_each(|dealer| self.deal(own, dealer)),
                }
                hands = lock(&self.hands);
            }
            if let Some(hand) = hands[own].as_mut().and_then(VecDeque::pop_front) {
                self.moved.notify_all();
                return hand;
            }
            if waits {
                drop(self.moved.wait(hands));
            }
        }
    }

    /// Deals, unless another thread has dealt by now.
    fn deal(&self, own: usize, mut dealer: MutexGuard<'_, Dealer>) {
        if dealer.is_over || lock(&self.hands)[own].as_ref().is_none_or(|left| left.len() >= HANDS_AHEAD) {
            return;
        }
        let dealt = dealer.deal();
        for (of_thread, hand) in lock(&self.hands).iter_mut().zip(dealt) {
            if let Some(of_thread) = of_thread {
                of_thread.push_back(hand);
            }
        }
    }
}

/// The requests of one thread.
pub struct DealtRequests<'w> {
    workload: &'w DealtWorkload,
    own: usize,
    requests: IntoIter<DealtRequest>,
    end: Option<Result<u64, TraceError>>,
    progress: Option<f64>,
}

impl DealtRequests<'_> {
    /// Puts the next request into `dealt`; `false` after the last. Arrivals never decrease.
    ///
    /// # Errors
    /// As the workload.
    #[inline]
    pub fn take_next(&mut self, dealt: &mut DealtRequest) -> Result<bool, TraceError> {
        loop {
            if let Some(next) = self.requests.next() {
                *dealt = next;
                return Ok(true);
            }
            if let Some(end) = &self.end {
                return end.clone().map(|_| false);
            }
            let hand = self.workload.next_hand(self.own);
            (self.requests, self.end, self.progress) = (hand.requests.into_iter(), hand.end, hand.progress);
        }
    }

    /// Requests of all threads, once the end has come.
    pub fn requests_of_all(&self) -> Option<u64> {
        self.end.as_ref()?.as_ref().ok().copied()
    }

    /// Share of the work done, 0 to 1; `None` if it is not known.
    pub fn progress(&self) -> Option<f64> {
        self.progress
    }
}

impl Drop for DealtRequests<'_> {
    fn drop(&mut self) {
        lock(&self.workload.hands)[self.own] = None;
        self.workload.moved.notify_all();
    }
}

/// A thread that panics with a lock ends the run of all, so what it leaves behind is read no more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use pumice_config::{Config, SpecSource};
    use pumice_types::{Geometry, HostRequest, PlaneId, Time};

    use super::*;
    use crate::run::open_workload;

    const REQUESTS: u64 = 150 * DEALT as u64;
    const WARMUP: u64 = 7_777;

    fn config() -> Config {
        let sets = [("workload.kind", "uniform"), ("workload.request_bytes", "12288"), ("workload.requests", "200000")];
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
        Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }).expect("a spec")
    }

    /// What each of three threads is to be dealt of a workload, page by page.
    fn wanted(workload: &mut Workload, shares: &Shares, pages: Pages) -> [Vec<DealtRequest>; 3] {
        let (mut wanted, mut access) = ([const { Vec::new() }; 3], 0);
        for number in 0..REQUESTS {
            let mut request = HostRequest::flush(Time::ZERO);
            assert!(matches!(workload.take_next(&mut request), Ok(true)));
            let touched: Vec<u32> = pages.of(&request).map(|(lpn, _)| lpn.0).collect();
            let threads = touched.iter().fold(0, |threads, &page| threads | shares.threads_of(page..page + 1));
            for (thread, wanted) in wanted.iter_mut().enumerate() {
                if threads >> thread & 1 == 1 || number == WARMUP {
                    wanted.push(DealtRequest { request, number, access, threads });
                }
            }
            access += touched.len() as u64;
        }
        assert!(wanted.iter().all(|wanted| wanted.len() < REQUESTS as usize), "some are another's");
        wanted
    }

    /// Each thread is dealt what it has pages of, in order, and the request with which measuring begins; however fast it
    /// goes, and whoever else has left.
    #[test]
    fn t739_each_thread_is_dealt_its_own_requests() {
        let config = config();
        let open = || open_workload(&config, 1.0, 10_000).expect("a workload");
        let geometry = Geometry { channels: 3, ..config.device_geometry(1.0).expect("a geometry") };
        let homes = pumice_ftl::Homes { unit_pages: 2, order: (0..geometry.planes()).map(PlaneId).collect() };
        let (shares, pages) = (Shares::new(&homes, &geometry, 3), Pages::new(geometry.page_bytes));
        let mut workload = open();
        let wanted = wanted(&mut workload, &shares, pages);
        let dealt = DealtWorkload::new(open(), (shares, pages), Some(REQUESTS), WARMUP);
        let leaves = dealt.of_thread(2);
        thread::scope(|scope| {
            for own in 0..2 {
                let (mut requests, wanted) = (dealt.of_thread(own), &wanted[usize::from(own)]);
                scope.spawn(move || {
                    let mut next = DealtRequest::NONE;
                    for (number, wanted) in wanted.iter().enumerate() {
                        assert!(matches!(requests.take_next(&mut next), Ok(true)));
                        assert_eq!(next, *wanted, "{number}");
                        // One of them is slower at first, the other later.
                        if number % 500 == 0 && (number < REQUESTS as usize / 4) == (own == 0) {
                            thread::yield_now();
                        }
                    }
                    assert!(matches!(requests.take_next(&mut next), Ok(false)));
                    assert_eq!(requests.requests_of_all(), Some(REQUESTS));
                });
            }
            // It has taken nothing yet, and the others do not wait for it once it is gone.
            drop(leaves);
        });
        assert_eq!(format!("{:?}", dealt.into_workload().facts()), format!("{:?}", workload.facts()));
    }
}
