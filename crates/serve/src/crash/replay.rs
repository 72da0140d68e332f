//! The session as it was, one request at a time, with someone who looks on.

use std::collections::BTreeSet;

use pumice_engine::host::promises::PromiseRules;
use pumice_engine::{Session, SimError};
use pumice_types::{HostRequest, Time};
use pumice_workload::RandomStream;

use super::cut::CutPlaces;
use super::subject::CrashSubject;
use super::truth::HostTruth;
use crate::device::exchange::{DeviceSession, exchange, settle};
use crate::device::pages::{DataPath, ServedPages};
use pumice_engine::data::Transfer;

/// Whoever looks on.
pub trait Onlooker {
    /// The device is about to handle its next event, if there is one.
    ///
    /// # Errors
    /// What ends the replay.
    fn before(&mut self, session: &mut DeviceSession, truth: &HostTruth) -> Result<(), SimError>;

    /// The device has just promised something.
    fn promised(&mut self, _now: Time) {}

    /// The last event has been handled.
    ///
    /// # Errors
    /// What ends the replay.
    fn over(&mut self, _session: &mut DeviceSession, _truth: &HostTruth) -> Result<(), SimError> {
        Ok(())
    }
}

/// Replays the session of a subject.
///
/// # Errors
/// A simulation that ends in an error, or what the onlooker says.
pub fn replay(subject: &CrashSubject, onlooker: &mut impl Onlooker) -> Result<(), SimError> {
    let config = &subject.config;
    let mut path = DataPath::of_stamps(config.mapped_page_bytes(), ServedPages::default());
    // What the device is filled with and aged by has no bytes.
    path.set_replay(true);
    let mut session = Session::new(config, subject.scale, path)?;
    if let Some(mut ageing) = session.ageing()? {
        while session.age(&mut ageing)? {}
    }
    session.ssd.observer.set_replay(false);
    let (page_bytes, rules) = (config.mapped_page_bytes(), PromiseRules::of(config));
    let mut truth = HostTruth::new(&subject.session.requests, page_bytes, rules);
    for request in &subject.session.requests {
        let stamps = truth.begin();
        let request = HostRequest { arrival: session.ssd.now, ..*request };
        let transfer = Transfer::new(request, stamps);
        exchange(&mut session, transfer, &mut |session| onlooker.before(session, &truth))?;
        settle(&mut session)?;
        if truth.end() {
            onlooker.promised(session.ssd.now);
        }
    }
    while let Some(next) = session.ssd.next_event() {
        onlooker.before(&mut session, &truth)?;
        session.run_until(next)?;
        settle(&mut session)?;
    }
    onlooker.over(&mut session, &truth)
}

/// Finds the instants at which the power can be cut.
pub struct Instants {
    places: CutPlaces,
    found: Vec<Time>,
    last: Time,
}

impl Instants {
    /// None yet.
    pub fn new(places: CutPlaces) -> Instants {
        Instants { places, found: Vec::new(), last: Time::ZERO }
    }

    /// Draws `cuts` instants, or fewer, in ascending order.
    ///
    /// # Errors
    /// There is none.
    pub fn draw(self, cuts: usize, seed: u64) -> Result<Vec<Time>, SimError> {
        let all = match self.places {
            CutPlaces::Random => return Ok(drawn(self.last, cuts, seed)),
            CutPlaces::Promises | CutPlaces::Dense => self.found,
        };
        if all.is_empty() {
            let text = "the session has no instant to cut the power at: the device promised nothing";
            return Err(SimError::Simulation(text.into()));
        }
        let wanted = cuts.min(all.len());
        // Evenly over all of them, the last included.
        Ok((1..=wanted).map(|nth| all[nth * all.len() / wanted - 1]).collect())
    }
}

/// Instants up to `last` that the seed draws; so many, or all that there are.
fn drawn(last: Time, cuts: usize, seed: u64) -> Vec<Time> {
    let mut random = RandomStream::new(seed, "crash-instants");
    let wanted = (cuts as u64).min(last.0.max(1)) as usize;
    let mut instants = BTreeSet::new();
    while instants.len() < wanted {
        instants.insert(Time(1 + random.below(last.0.max(1))));
    }
    instants.into_iter().collect()
}

impl Onlooker for Instants {
    fn before(&mut self, session: &mut DeviceSession, _truth: &HostTruth) -> Result<(), SimError> {
        let Some(event) = session.ssd.next_event() else { return Ok(()) };
        if self.places == CutPlaces::Dense && event > self.last {
            let middle = Time(self.last.0.midpoint(event.0));
            if middle > self.last + Time(1) {
                self.found.push(middle);
            }
            self.found.push(event + Time(1));
        }
        self.last = event;
        Ok(())
    }

    fn promised(&mut self, now: Time) {
        let at = now + Time(1);
        if self.places == CutPlaces::Promises && self.found.last() != Some(&at) {
            self.found.push(at);
        }
    }
}
