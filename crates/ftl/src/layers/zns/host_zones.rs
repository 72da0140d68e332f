//! A host that knows of zones: its requests have their addresses, and it resets and finishes them itself.
//!
//! Page `n` of the host is page `n` of the zones laid end to end, so that a zone's addresses begin at its number times its
//! capacity. The host keeps no log then: nothing is moved, and nothing is cleaned.

use std::ops::Range;

use pumice_types::{Cause, FlashCommand, Lpn, RequestKind, ZoneCommand, choice};

use super::Zns;
use super::device::erase::Work;
use super::maps::ZonePage;
use super::state::ZoneState;
use crate::plan::{FtlError, Plan, ZoneError};
use crate::seam::{FinishPace, HostZones, ResetErases};

choice! {
    /// The addresses that requests have.
    pub enum ZoneInterface {
        /// Requests have addresses of a log that the host keeps on the zones.
        Log = "log",
        /// Requests have addresses of the zones.
        Zones = "zones",
    }
}

impl Zns {
    fn zone_of(&self, lpn: Lpn) -> ZonePage {
        let capacity = self.zoned.table.capacity();
        ZonePage { zone: lpn.0 / capacity, offset: lpn.0 % capacity }
    }

    /// Writes a page of a request that was admitted, where its zone's write pointer stands.
    pub(super) fn write_to_zone(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let place = self.zone_of(lpn);
        let work = &mut Work { maps: &self.maps, gc: &mut self.counters, plan };
        let appended = self.zoned.append(place.zone, work);
        let appended = appended.map_err(|error| FtlError::Zone { zone: place.zone, command: "Write", error })?;
        debug_assert_eq!(appended.offset, place.offset, "what is admitted is written at the write pointer");
        self.written += 1;
        self.maps.place(lpn, version, place, &self.zoned.layout);
        self.zoned.counters.user_pages += 1;
        plan.push(FlashCommand::program(Cause::Host, appended.page, lpn, version, appended.sequence));
        Ok(())
    }

    fn reset_zone(&mut self, zone: u32) -> Result<Range<u32>, ZoneError> {
        let first = zone * self.zoned.table.capacity();
        let written = match self.zoned.table.state(zone) {
            ZoneState::ReadOnly | ZoneState::Offline => 0,
            ZoneState::Empty
            | ZoneState::ImplicitlyOpened
            | ZoneState::ExplicitlyOpened
            | ZoneState::Closed
            | ZoneState::Full => self.zoned.table.written(zone),
        };
        self.zoned.reset(zone)?;
        for lpn in first..first + written {
            self.maps.trim(Lpn(lpn), &self.zoned.layout);
        }
        Ok(first..first + written)
    }
}

impl HostZones for Zns {
    fn is_same_zone(&self, page: Lpn, other: Lpn) -> bool {
        self.zone_of(page).zone == self.zone_of(other).zone
    }

    fn is_open(&self, page: Lpn) -> bool {
        self.zoned.table.state(self.zone_of(page).zone).is_open()
    }

    fn open_zones(&self) -> u32 {
        self.zoned.table.open_zones()
    }

    fn in_turn(&self) -> (ResetErases, FinishPace) {
        (self.config.erases, self.config.finish_pace)
    }

    fn admit(&mut self, kind: RequestKind, first: Lpn, pages: u32) -> Result<Lpn, ZoneError> {
        let ZonePage { zone, offset } = self.zone_of(first);
        let table = &self.zoned.table;
        match kind {
            RequestKind::Read => table.read(zone, offset, pages).map(|()| first),
            RequestKind::Write => table.check_write(zone, offset, pages).map(|()| first),
            RequestKind::Zone(ZoneCommand::Append) => {
                let pointer = table.written(zone);
                table.check_write(zone, pointer, pages)?;
                Ok(Lpn(zone * table.capacity() + pointer))
            }
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => Ok(first),
        }
    }

    fn command(&mut self, command: ZoneCommand, page: Lpn) -> Result<Range<u32>, ZoneError> {
        let zone = self.zone_of(page).zone;
        match command {
            ZoneCommand::Open => {
                let closed = self.zoned.open(zone)?;
                self.zoned.counters.closed_by_controller += u64::from(closed.is_some());
            }
            ZoneCommand::Close => self.zoned.table.close(zone)?,
            ZoneCommand::Finish => match self.zoned.table.state(zone) {
                // A zone that is full already stays as it is.
                ZoneState::Full => {}
                ZoneState::Empty
                | ZoneState::ImplicitlyOpened
                | ZoneState::ExplicitlyOpened
                | ZoneState::Closed
                | ZoneState::ReadOnly
                | ZoneState::Offline => {
                    self.zoned.begin_unwritten(zone);
                    self.zoned.finish(zone)?;
                }
            },
            ZoneCommand::Reset => return self.reset_zone(zone),
            ZoneCommand::Append => debug_assert!(false, "an append is admitted, and then written"),
        }
        Ok(0..0)
    }
}
