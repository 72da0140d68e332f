//! What a device has promised to keep: of each place whose newest write or trim is not promised yet, what it may hold
//! after a power cut. A place is whatever is told apart: a logical page in a run, a sector in the crash lab.
//!
//! Writes and trims of the host are its *deeds*, and have numbers in the order in which the device takes them. A place
//! must hold its last promised deed or a later one. Where nothing volatile takes writes a write is promised by its end.
//! With a write buffer, or open pages of mapping units, it is promised by the end of a flush that was submitted later, or by its own if it has force unit access. A trim
//! leaves nothing; it is promised by the end of a flush that was submitted later, buffer or not. Where the device's own
//! energy saves what is queued and buffered, the end of a write or trim promises it.
//!
//! Layers that keep what is trimmed promise nothing by a trim, and the host no longer relies on what was there: until
//! a later write is promised, the place may hold nothing, or anything that was ever written to it.

use std::collections::{BTreeMap, VecDeque};

use pumice_config::Config;
use pumice_types::RequestKind;
use serde::{Deserialize, Serialize};

/// What a device promises when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseRules {
    /// Writes may be done in RAM: there is a write buffer, or mapping units gather in open pages.
    pub is_buffered: bool,
    /// There is a write buffer: it counts the deeds, and begins their programs.
    pub has_buffer: bool,
    /// The device's own energy saves what is queued and buffered when the power is cut.
    pub is_protected: bool,
    /// The layer gives up what is trimmed.
    pub gives_up_trimmed: bool,
}

impl PromiseRules {
    /// The rules of a device.
    pub fn of(config: &Config) -> PromiseRules {
        PromiseRules {
            is_buffered: config.host.write_buffer_kib > 0 || config.assumed_chip().units.per_page > 1,
            has_buffer: config.host.write_buffer_kib > 0,
            is_protected: config.power.protection.empties_queues(),
            gives_up_trimmed: config.ftl.kind.facts().gives_up_trimmed,
        }
    }

    /// Whether the end of a request promises what it did.
    pub fn promises_by_end(self, kind: RequestKind, fua: bool) -> bool {
        match kind {
            RequestKind::Write => fua || self.is_protected || !self.is_buffered,
            RequestKind::Trim => self.is_protected && self.gives_up_trimmed,
            RequestKind::Read | RequestKind::Flush | RequestKind::Zone(_) => false,
        }
    }

    /// Whether the end of a flush can promise something.
    pub fn promises_by_flush(self) -> bool {
        self.is_buffered || self.gives_up_trimmed
    }
}

/// What a place must hold, by the numbers of its deeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promised {
    /// The last promised write or trim; 0: nothing was ever promised.
    pub last: u64,
    /// The last trim, promised or not; 0: there was none.
    pub given_up: u64,
}

impl Promised {
    /// Whether the place may hold this write; 0: nothing.
    pub fn allows(self, found: u64) -> bool {
        if found == 0 { self.given_up >= self.last } else { found >= self.last }
    }
}

/// What stands behind the deeds of a place and is to be remembered with them.
pub trait Backing {
    /// Whether a place whose newest deed is promised, and which was last given up by that one, can be forgotten.
    fn is_settled(&self, newest: u64, given_up: u64) -> bool;
}

impl Backing for () {
    fn is_settled(&self, _newest: u64, _given_up: u64) -> bool {
        true
    }
}

/// A write or trim that is not promised.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Deed {
    number: u64,
    request: u32,
    is_trim: bool,
}

/// A place whose newest deed is not promised, or is not behind everything yet.
#[derive(Clone, Serialize, Deserialize)]
pub struct OpenPlace<B> {
    /// What it must hold.
    pub promised: Promised,
    /// Deeds at the place since then, oldest first.
    deeds: VecDeque<Deed>,
    /// The number of the newest.
    pub newest: u64,
    /// What stands behind them.
    pub backing: B,
}

impl<B: Backing> OpenPlace<B> {
    /// A place that must hold this, and has done nothing since.
    pub fn new(promised: Promised, backing: B) -> OpenPlace<B> {
        OpenPlace { promised, deeds: VecDeque::new(), newest: promised.last.max(promised.given_up), backing }
    }

    /// Everything up to one of its deeds is promised.
    fn promise(&mut self, number: u64) {
        self.promised.last = self.promised.last.max(number);
        while self.deeds.front().is_some_and(|deed| deed.number <= number) {
            self.deeds.pop_front();
        }
    }

    fn is_settled(&self) -> bool {
        self.deeds.is_empty() && self.backing.is_settled(self.newest, self.promised.given_up)
    }
}

/// All such places.
#[derive(Clone, Serialize, Deserialize)]
pub struct Promises<B> {
    rules: PromiseRules,
    places: BTreeMap<u64, OpenPlace<B>>,
    /// The last deed.
    last: u64,
    /// Flushes under way, each with the last deed before it.
    flushes: Vec<(u32, u64)>,
}

impl<B: Backing> Promises<B> {
    /// Nothing done yet.
    pub fn new(rules: PromiseRules) -> Promises<B> {
        Promises { rules, places: BTreeMap::new(), last: 0, flushes: Vec::new() }
    }

    /// The rules.
    pub fn rules(&self) -> PromiseRules {
        self.rules
    }

    /// A place that is not settled.
    pub fn get(&self, place: u64) -> Option<&OpenPlace<B>> {
        self.places.get(&place)
    }

    /// What stands behind the deeds of a place that is not settled, and the number of the newest.
    pub fn backing(&mut self, place: u64) -> Option<(&mut B, u64)> {
        self.places.get_mut(&place).map(|open| (&mut open.backing, open.newest))
    }

    /// The device takes a write or trim of a place, as deed `number`; it is part of `request`. `before` is the place as it
    /// is known if it was settled.
    pub fn note_deed(
        &mut self,
        place: u64,
        number: u64,
        (request, kind): (u32, RequestKind),
        before: impl FnOnce() -> OpenPlace<B>,
    ) {
        debug_assert!(number >= self.last, "deeds count up");
        let is_trim = kind == RequestKind::Trim;
        debug_assert!(!is_trim || self.rules.gives_up_trimmed, "other trims are no deeds");
        self.last = number;
        let open = self.places.entry(place).or_insert_with(before);
        debug_assert!(number > open.newest, "a deed is newer than what was before");
        open.deeds.push_back(Deed { number, request, is_trim });
        open.newest = number;
        if is_trim {
            open.promised.given_up = number;
        }
    }

    /// A layer that keeps what is trimmed has taken a trim of a place: nothing is promised of it any more.
    pub fn release(&mut self, place: u64) {
        self.places.remove(&place);
    }

    /// A request is done that wrote or trimmed a place, and its end promises that. Returns what the place must hold, if
    /// it is settled by that.
    pub fn note_done(&mut self, place: u64, request: u32) -> Option<Promised> {
        let open = self.places.get_mut(&place)?;
        let own = open.deeds.iter().rfind(|deed| deed.request == request)?.number;
        open.promise(own);
        self.settle(place)
    }

    /// Forgets a place if it is settled, and returns what it must hold.
    pub fn settle(&mut self, place: u64) -> Option<Promised> {
        let promised = self.places.get(&place).filter(|open| open.is_settled())?.promised;
        self.places.remove(&place);
        Some(promised)
    }

    /// A flush is submitted.
    pub fn note_flush(&mut self, request: u32) {
        self.flushes.push((request, self.last));
    }

    /// A flush is done. Tells of the places that are settled by that.
    pub fn note_flushed(&mut self, request: u32, mut settled: impl FnMut(u64, Promised)) {
        let Some(at) = self.flushes.iter().position(|&(flush, _)| flush == request) else { return };
        let (_, before) = self.flushes.swap_remove(at);
        let is_buffered = self.rules.is_buffered;
        self.places.retain(|&place, open| {
            let deeds = open.deeds.iter().take_while(|deed| deed.number <= before);
            let promised = deeds.filter(|deed| is_buffered || deed.is_trim).last().map(|deed| deed.number);
            promised.into_iter().for_each(|number| open.promise(number));
            let is_settled = open.is_settled();
            if is_settled {
                settled(place, open.promised);
            }
            !is_settled
        });
    }

    /// The power is cut: nothing is in flight any more. Returns the places that are not settled.
    pub fn take(&mut self) -> BTreeMap<u64, OpenPlace<B>> {
        self.flushes.clear();
        std::mem::take(&mut self.places)
    }
}
