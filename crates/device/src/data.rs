//! The bytes that a device holds, if it keeps them, and those that its reads have returned.

use std::collections::BTreeMap;

use pumice_config::{Config, PartialPage};
use pumice_engine::controller::Controller;
use pumice_engine::data::{DataPath, PagesInMemory, SECTOR, Transfer};
use pumice_engine::observe::{Beginning, Observer};
use pumice_engine::{SimError, Ssd};
use pumice_types::{HostRequest, RequestKind, Time, ZoneCommand};

use crate::DeviceError;

/// The bytes of a device.
#[derive(Clone)]
pub struct KeptData {
    /// The bytes on flash and in the controller's RAM, and of requests under way.
    pub path: DataPath<PagesInMemory>,
    /// Bytes of which writes are multiples: where a drive writes whole pages without reading the rest, it would be lost.
    write_unit: u32,
    /// What reads have returned, by their ids, until it is taken.
    pub read: BTreeMap<u64, Vec<u8>>,
}

impl KeptData {
    /// The bytes of a device in which nothing is under way: zeroes.
    pub fn of(config: &Config, scale: f64, ssd: &Ssd<impl Observer>) -> KeptData {
        let mut path = DataPath::new(config.mapped_page_bytes(), PagesInMemory::default());
        let array = &ssd.controller.scheduler.chips.checked.array;
        path.begin(&Beginning { config, scale, array, user_pages: ssd.ftl().user_pages() });
        let is_whole = config.host.partial_page == PartialPage::WholePage;
        let write_unit = if is_whole { config.mapped_page_bytes() } else { SECTOR };
        KeptData { path, write_unit, read: BTreeMap::new() }
    }

    /// Lets RAM go of what is programmed.
    ///
    /// # Errors
    /// A drive that does not start any more.
    pub fn settle(&mut self, controller: &mut Controller) -> Result<(), SimError> {
        if self.path.is_dead() {
            let text = "the drive does not start any more (power.failure = \"dead-device\")";
            return Err(SimError::Simulation(text.into()));
        }
        self.path.settle(controller)
    }

    /// A request is about to be submitted with the bytes that it writes.
    pub fn prepare(&mut self, request: &HostRequest, data: &[u8]) {
        self.path.prepare(Transfer::new(*request, data.to_vec()));
    }

    /// The request of a slot is done, and keeps what it has read if it did. Returns whether its pages could be read.
    pub fn complete(&mut self, (slot, id): (u32, u64), now: Time, did: bool) -> bool {
        self.path.completed(slot, now);
        let Some(finished) = self.path.take_finished() else { return true };
        let Transfer { request, data, is_corrupt, .. } = finished.transfer;
        if request.kind == RequestKind::Read && did && !is_corrupt {
            self.read.insert(id, data);
        }
        !is_corrupt
    }
}

/// Refuses a request that does not fit the bytes that come with it.
pub fn check(data: Option<&KeptData>, request: &HostRequest, bytes: &[u8]) -> Result<(), DeviceError> {
    let Some(data) = data else {
        return if bytes.is_empty() { Ok(()) } else { Err(DeviceError::NoData) };
    };
    let HostRequest { kind, offset_bytes, bytes: length, .. } = *request;
    let stores = matches!(kind, RequestKind::Write | RequestKind::Zone(ZoneCommand::Append));
    if bytes.len() != if stores { length as usize } else { 0 } {
        return Err(DeviceError::Data { kind, bytes: length, found: bytes.len() });
    }
    let unit = if stores { data.write_unit } else { SECTOR };
    if !offset_bytes.is_multiple_of(unit.into()) || !length.is_multiple_of(unit) {
        return Err(DeviceError::Units { offset_bytes, bytes: length, unit });
    }
    Ok(())
}
