//! Deterministic simulation testing of a write-ahead log over a simulated drive. A seed decides what is committed, and
//! when the power is cut; the same seed does the same again. After each cut the log is read back: what was acknowledged
//! must be there, and nothing may be there by halves.
//!
//! The drive says when each write is done. What its pages hold, the test keeps itself ([`Medium`]): a write that was
//! promised (by a flush, or by force unit access) is there after a cut; of the others any may be.

use std::collections::BTreeMap;

use pumice_device::{Device, DeviceError, DeviceRequest, SpecSource, Status};

/// Bytes of a page of the log.
pub const PAGE: u64 = 4096;

/// Most pages of data in a transaction.
const DATA_PAGES_MAX: u64 = 4;

/// A fault that is planted into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// The log is as it should be.
    None,
    /// No flush between the pages of a transaction and its commit.
    NoFlush,
    /// A commit that is acknowledged when the drive has taken it, and not when it is to outlast a cut.
    AcknowledgedEarly,
}

/// What a page of the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The nth page of data of a transaction.
    Data { transaction: u64, nth: u64 },
    /// All pages of a transaction are written, so many.
    Commit { transaction: u64, pages: u64 },
}

/// Random numbers of one seed.
pub struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) % bound
    }
}

/// What the pages of the drive hold, as far as the host can know.
#[derive(Default)]
pub struct Medium {
    settled: BTreeMap<u64, Page>,
    /// Writes that nothing has promised yet: done or under way, by their ids.
    open: BTreeMap<u64, (u64, Page)>,
}

impl Medium {
    fn settle(&mut self, id: u64) {
        if let Some((at, page)) = self.open.remove(&id) {
            self.settled.insert(at, page);
        }
    }

    /// The power was cut: of what nothing has promised, some is there.
    fn lose_power(&mut self, draws: &mut Draws) {
        for (at, page) in std::mem::take(&mut self.open).into_values() {
            if draws.below(2) == 0 {
                self.settled.insert(at, page);
            }
        }
    }
}

/// A drive and what is on it. Every call waits until it is done, unless the power is cut first.
pub struct Host {
    drive: Device,
    medium: Medium,
    now: u64,
    cut_at: u64,
}

/// The power was cut.
struct PowerCut;

impl Host {
    /// Lets the drive do these requests at once.
    fn run(&mut self, requests: &[(DeviceRequest, Option<(u64, Page)>)]) -> Result<(), PowerCut> {
        let mut waiting = BTreeMap::new();
        for (request, page) in requests {
            let id = self.drive.submit(self.now, request).expect("the drive takes it");
            // A flush promises what was done before it was submitted.
            let promised: Vec<u64> = match page {
                Some(page) => {
                    self.medium.open.insert(id, *page);
                    request.fua.then_some(id).into_iter().collect()
                }
                None => self.medium.open.keys().copied().collect(),
            };
            waiting.insert(id, promised);
        }
        while !waiting.is_empty() {
            let next = self.drive.next_event().expect("requests are under way");
            if next >= self.cut_at {
                return Err(PowerCut);
            }
            self.now = next;
            self.drive.advance(next).expect("time passes");
            for done in self.drive.take_completions() {
                assert_eq!(done.status, Status::Done);
                waiting.remove(&done.id).into_iter().flatten().for_each(|id| self.medium.settle(id));
            }
        }
        Ok(())
    }

    fn write(at: u64, page: Page, fua: bool) -> (DeviceRequest, Option<(u64, Page)>) {
        (DeviceRequest { fua, ..DeviceRequest::write(at * PAGE, PAGE as u32) }, Some((at, page)))
    }

    /// Cuts the power, gives it back after a while, and waits until the drive has started.
    fn lose_power(&mut self, draws: &mut Draws) {
        self.drive.cut(self.cut_at).expect("a cut");
        self.drive.take_completions().for_each(drop);
        self.medium.lose_power(draws);
        self.drive.restart(self.cut_at + 1_000_000 * draws.below(100)).expect("a start");
        self.now = self.drive.now();
    }
}

/// The log: transactions behind each other, each pages of data and then its commit.
struct Log {
    bug: PlantedBug,
    /// Where the next page goes.
    end: u64,
    next: u64,
    /// Transactions that were acknowledged.
    acknowledged: u64,
}

impl Log {
    fn commit(&mut self, host: &mut Host, pages: u64) -> Result<(), PowerCut> {
        let (transaction, end) = (self.next, self.end);
        let data = (0..pages).map(|nth| Host::write(end + nth, Page::Data { transaction, nth }, false));
        host.run(&data.collect::<Vec<_>>())?;
        if self.bug != PlantedBug::NoFlush {
            host.run(&[(DeviceRequest::flush(), None)])?;
        }
        let fua = self.bug != PlantedBug::AcknowledgedEarly;
        host.run(&[Host::write(end + pages, Page::Commit { transaction, pages }, fua)])?;
        (self.end, self.next, self.acknowledged) = (end + pages + 1, transaction + 1, transaction + 1);
        Ok(())
    }

    /// Reads the log after a cut. Whatever is behind the last commit is not part of it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn recover(&mut self, medium: &Medium) -> Result<(), String> {
        let (mut at, mut transaction) = (0, 0);
        loop {
            let is_commit =
                |pages: &u64| medium.settled.get(&(at + pages)) == Some(&Page::Commit { transaction, pages: *pages });
            let found = (1..=DATA_PAGES_MAX).find(is_commit);
            let Some(pages) = found else { break };
            if let Some(nth) =
                (0..pages).find(|&nth| medium.settled.get(&(at + nth)) != Some(&Page::Data { transaction, nth }))
            {
                return Err(format!("transaction {transaction} is committed, and its page {nth} is not there"));
            }
            (at, transaction) = (at + pages + 1, transaction + 1);
        }
        if transaction < self.acknowledged {
            return Err(format!("transaction {transaction} was acknowledged, and is not there"));
        }
        (self.end, self.next) = (at, transaction);
        Ok(())
    }
}

/// A drive with a volatile write buffer, which starts again after a cut.
///
/// # Errors
/// A spec that is refused.
pub fn drive() -> Result<Device, DeviceError> {
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.recovery", "scan"),
        ("ftl.over_provisioning", "0.3"),
        ("host.write_buffer_kib", "128"),
        ("host.flush", "lru"),
    ]; // a rustfmt::skip would be longer
    let sets = sets.map(|(key, value)| (key.into(), value.into())).to_vec();
    Device::open(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() })
}

/// One life of a log: transactions, four cuts at random, and a look at the log after each. The drive is a copy of one
/// that was opened once.
///
/// # Errors
/// What the log has lost, and when.
pub fn live(fresh: &Device, bug: PlantedBug, seed: u64) -> Result<u64, String> {
    let mut draws = Draws(seed);
    let drive = fresh.fork().expect("a drive without foreign code");
    let mut host = Host { drive, medium: Medium::default(), now: 0, cut_at: 0 };
    let mut log = Log { bug, end: 0, next: 0, acknowledged: 0 };
    for cut in 0..4 {
        host.cut_at = host.now + 1 + draws.below(100_000_000);
        while log.commit(&mut host, 1 + draws.below(DATA_PAGES_MAX)).is_ok() {}
        host.lose_power(&mut draws);
        log.recover(&host.medium).map_err(|lost| format!("seed {seed}, cut {cut} at {} ns: {lost}", host.cut_at))?;
    }
    host.drive.finish().map_err(|error| error.to_string())?;
    Ok(log.acknowledged)
}
