//! Snapshots: instants of the device that it can go back to.

use std::collections::BTreeMap;

use pumice_engine::{KeptSession, SimError};
use pumice_types::Time;
use serde_json::{Value, json};

use super::Device;
use crate::device::pages::ServedPages;
use crate::store::Store;
use pumice_engine::data::KeptBytes;

/// Most snapshots that a device has at a time.
const SNAPSHOTS_MAX: usize = 16;

/// Longest name of one, in bytes.
const NAME_MAX: usize = 64;

/// The device at one instant.
struct DeviceSnapshot {
    session: KeptSession,
    bytes: KeptBytes<ServedPages>,
    cuts_s: Vec<f64>,
    present: Time,
    /// Bytes of the store's journal, if the device lives in a file.
    journal_bytes: Option<u64>,
    requests: u64,
}

/// Snapshots of a device, by name.
#[derive(Default)]
pub struct DeviceSnapshots(BTreeMap<String, DeviceSnapshot>);

impl DeviceSnapshots {
    /// Name, instant and requests of each.
    pub fn told(&self) -> Value {
        let told = self.0.iter().map(
            |(name, snapshot)| json!({ "name": name, "at_s": snapshot.present.as_s(), "requests": snapshot.requests }),
        );
        told.collect()
    }

    /// Refuses a new snapshot of this name.
    fn check(&self, name: &str) -> Result<(), SimError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(is_allowed) {
            return refuse(format!(
                "snapshot: the name {name:?} is not allowed; allowed: 1 to {NAME_MAX} of a-z, A-Z, 0-9, \".\", \"_\", \"-\""
            ));
        }
        if self.0.contains_key(name) {
            return refuse(format!("snapshot: there is one of the name {name:?}; forget it, or take another name"));
        }
        if self.0.len() >= SNAPSHOTS_MAX {
            return refuse(format!(
                "snapshot: the device has {SNAPSHOTS_MAX}, which is as many as it keeps; forget one"
            ));
        }
        Ok(())
    }

    /// The error that there is no snapshot of this name, and which there are.
    fn unknown(&self, what: &str, name: &str) -> SimError {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let there = if names.is_empty() { "there is none".into() } else { format!("there are: {}", names.join(", ")) };
        SimError::Simulation(format!("{what}: no snapshot of the name {name:?}; {there}"))
    }
}

fn refuse<T>(text: String) -> Result<T, SimError> {
    Err(SimError::Simulation(text))
}

impl<T> Device<T> {
    /// Keeps the device as it is now, under a name. Nothing about the device changes by that.
    ///
    /// # Errors
    /// The name is not allowed or taken, there are too many, the session is recorded, requests are under way, or the
    /// bytes cannot be copied; a simulation that ended in an error.
    pub fn snapshot(&mut self, name: &str) -> Result<Value, SimError> {
        self.check_is_well()?;
        self.snapshots.check(name)?;
        if self.kept.record.is_some() || self.kept.recording.is_some() {
            return refuse("snapshot: a record cannot go back; serve without --record and --session".into());
        }
        if self.operations.under_way() > 0 {
            return refuse("snapshot: requests are under way".into());
        }
        let session = self.session.keep().map_err(|why| SimError::Simulation(format!("snapshot: {why}")))?;
        let (requests, present) = (self.session.submitted(), self.now());
        let snapshot = DeviceSnapshot {
            session,
            bytes: self.path().keep()?,
            cuts_s: self.cuts_s.clone(),
            present,
            journal_bytes: self.kept.store.as_ref().map(|store| store.journal_bytes()),
            requests,
        };
        self.snapshots.0.insert(name.into(), snapshot);
        Ok(json!({ "name": name, "at_s": present.as_s(), "requests": requests }))
    }

    /// Goes back to a snapshot, which stays. What came since has never been; of a device in a file, nor have snapshots
    /// that were made since.
    ///
    /// # Errors
    /// There is none of this name; a simulation that ended in an error; bytes that cannot be copied, which ends the
    /// device.
    pub fn restore(&mut self, name: &str) -> Result<Value, SimError> {
        self.check_is_well()?;
        let Some(snapshot) = self.snapshots.0.remove(name) else {
            return Err(self.snapshots.unknown("restore", name));
        };
        let DeviceSnapshot { present, requests, .. } = snapshot;
        let restored = self.go_back_to(name, snapshot);
        restored.inspect_err(|error| self.failure = Some(error.to_string()))?;
        Ok(json!({ "name": name, "at_s": present.as_s(), "requests": requests }))
    }

    fn go_back_to(&mut self, name: &str, snapshot: DeviceSnapshot) -> Result<(), SimError> {
        let DeviceSnapshot { session, bytes, cuts_s, present, journal_bytes, requests } = snapshot;
        self.kept.store.as_mut().map_or(Ok(()), Store::begin_going_back)?;
        self.path().go_back_to(&bytes)?;
        if let (Some(store), Some(journal_bytes)) = (&mut self.kept.store, journal_bytes) {
            store.go_back_to(journal_bytes)?;
            // What they need of the journal is no longer there.
            self.snapshots.0.retain(|_, later| later.journal_bytes <= Some(journal_bytes));
        }
        self.session.go_back_to(session);
        self.present = present;
        self.cuts_s.clone_from(&cuts_s);
        let session = self.session.keep().map_err(SimError::Output)?;
        let again = DeviceSnapshot { session, bytes, cuts_s, present, journal_bytes, requests };
        self.snapshots.0.insert(name.into(), again);
        self.commit()
    }

    /// Lets go of a snapshot.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn forget(&mut self, name: &str) -> Result<Value, SimError> {
        if self.snapshots.0.remove(name).is_none() {
            return Err(self.snapshots.unknown("forget", name));
        }
        Ok(json!({ "name": name }))
    }
}
