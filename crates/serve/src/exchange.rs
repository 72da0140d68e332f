//! One request at a time: a request is submitted, and time passes until it is done.

use pumice_engine::{Session, SimError, Ssd};
use pumice_types::HostRequest;

use crate::data_path::{DataPath, Transfer};

/// The session of a device whose bytes are kept.
pub type DeviceSession<'a> = Session<'a, DataPath>;

/// Submits a request at the device's present, which is its arrival, and lets time pass until it is done. `before` is
/// called before each event.
///
/// # Errors
/// A broken rule or belief, a request that is never done, or what `before` says.
pub fn exchange<'a>(
    session: &mut DeviceSession<'a>,
    transfer: Transfer,
    before: &mut impl FnMut(&mut DeviceSession<'a>) -> Result<(), SimError>,
) -> Result<Transfer, SimError> {
    let request: HostRequest = transfer.request;
    // What else happens at this instant comes before the request, as in a run of the record.
    loop {
        before(session)?;
        if !session.step_until(request.arrival)? {
            break;
        }
    }
    session.ssd.observer.prepare(transfer);
    session.submit(&request, request.arrival + session.behind())?;
    loop {
        if let Some(transfer) = session.ssd.observer.take_finished() {
            return Ok(transfer);
        }
        if session.ssd.next_event().is_none() {
            return Err(SimError::Simulation("a request waits for nothing and is not done".into()));
        }
        before(session)?;
        session.step()?;
    }
}

/// Lets RAM go of what is programmed.
///
/// # Errors
/// Bytes could not be moved.
pub fn settle(session: &mut DeviceSession) -> Result<(), SimError> {
    let Ssd { observer, controller, .. } = &mut session.ssd;
    observer.settle(|lpn| controller.is_buffering(lpn));
    observer.take_failure().map_or(Ok(()), |text| Err(SimError::Output(text)))
}
