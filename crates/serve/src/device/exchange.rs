//! How requests get into a session: at their arrival, behind whatever else happens at that instant.

use pumice_engine::data::Transfer;
use pumice_engine::{Session, SimError, Ssd};
use pumice_types::Time;

use crate::device::pages::DataPath;

/// The session of a device whose bytes are kept.
pub type DeviceSession = Session<DataPath>;

/// Submits a request at its arrival. What else happens at that instant comes first, as in a run of the record. `before`
/// is called before each event.
///
/// # Errors
/// A broken rule or belief, or what `before` says.
pub fn submit(
    session: &mut DeviceSession,
    transfer: Transfer,
    before: &mut impl FnMut(&mut DeviceSession) -> Result<(), SimError>,
) -> Result<(), SimError> {
    let request = transfer.request;
    loop {
        before(session)?;
        let due = request.arrival + session.behind();
        if !session.run_until(session.ssd.next_event().map_or(due, |next| next.min(due)))? {
            break;
        }
    }
    session.ssd.observer.prepare(transfer);
    session.submit(&request, request.arrival + session.behind())
}

/// Submits a request while nothing else is under way, and lets time pass until it is done. `before` is called before
/// each event.
///
/// # Errors
/// A broken rule or belief, a request that is never done, or what `before` says.
pub fn exchange(
    session: &mut DeviceSession,
    transfer: Transfer,
    before: &mut impl FnMut(&mut DeviceSession) -> Result<(), SimError>,
) -> Result<Transfer, SimError> {
    submit(session, transfer, before)?;
    loop {
        if let Some(finished) = session.ssd.observer.take_finished() {
            return Ok(finished.transfer);
        }
        let next = next_event(session)?;
        before(session)?;
        session.run_until(next)?;
    }
}

/// When something happens next of what a request waits for.
///
/// # Errors
/// A request waits for nothing and is not done.
pub fn next_event(session: &DeviceSession) -> Result<Time, SimError> {
    let stuck = || SimError::Simulation("a request waits for nothing and is not done".into());
    session.ssd.next_event().ok_or_else(stuck)
}

/// Lets RAM go of what is programmed.
///
/// # Errors
/// Bytes could not be moved.
pub fn settle(session: &mut DeviceSession) -> Result<(), SimError> {
    let Ssd { observer, controller, .. } = &mut session.ssd;
    observer.settle(controller)
}
