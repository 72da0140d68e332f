//! The state machine of zones: states, commands, limits and errors of the NVMe Zoned Namespace Command Set.
//!
//! Nothing here knows of flash. A command either changes states and write pointers, or fails with the status that the
//! standard gives it and changes nothing.

use serde::{Deserialize, Serialize};

use pumice_types::choice;

use crate::plan::ZoneError;

choice! {
    /// States of a zone (Zoned Namespace Command Set 1.1, section 2.1.1.2).
    pub enum ZoneState {
        /// ZSE: nothing written.
        Empty = "empty",
        /// ZSIO: opened by a write.
        ImplicitlyOpened = "implicitly-opened",
        /// ZSEO: opened by a command.
        ExplicitlyOpened = "explicitly-opened",
        /// ZSC: active, not open.
        Closed = "closed",
        /// ZSF: takes no more writes.
        Full = "full",
        /// ZSRO: can only be read.
        ReadOnly = "read-only",
        /// ZSO: can neither be read nor written.
        Offline = "offline",
    }
}

impl ZoneState {
    /// Whether it takes an open resource.
    pub fn is_open(self) -> bool {
        match self {
            ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened => true,
            ZoneState::Empty | ZoneState::Closed | ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => false,
        }
    }

    /// Whether it takes an active resource.
    pub fn is_active(self) -> bool {
        self.is_open() || self == ZoneState::Closed
    }
}

/// Most zones in some states; `u32::MAX`: any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneLimits {
    /// Open zones (maximum open resources).
    pub open: u32,
    /// Active zones, which are those open or closed (maximum active resources).
    pub active: u32,
}

/// What a write did besides moving the write pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// First page written, counted from the start of the zone.
    pub at: u32,
    /// The zone was empty before.
    pub was_empty: bool,
    /// The zone is full now.
    pub fills: bool,
    /// The implicitly opened zone that the controller closed to open this one.
    pub closed: Option<u32>,
}

/// One zone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Zone {
    state: ZoneState,
    /// The write pointer: pages written, from the start of the zone.
    written: u32,
}

/// All zones of a namespace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ZoneTable {
    zones: Vec<Zone>,
    /// Pages of a zone that can be written.
    capacity: u32,
    /// Pages from the start of a zone to that of the next.
    size: u32,
    limits: ZoneLimits,
    open: u32,
    active: u32,
    /// Implicitly opened zones, the one opened first in front.
    implicit: Vec<u32>,
}

impl ZoneTable {
    /// A table of `zones` empty zones of `capacity` pages that can be written, `size` pages apart.
    pub fn new(zones: u32, [capacity, size]: [u32; 2], limits: ZoneLimits) -> ZoneTable {
        debug_assert!(0 < capacity && capacity <= size, "a zone's capacity is at most its size");
        ZoneTable {
            zones: vec![Zone { state: ZoneState::Empty, written: 0 }; zones as usize],
            capacity,
            size,
            limits,
            open: 0,
            active: 0,
            implicit: Vec::new(),
        }
    }

    /// Number of zones.
    pub fn len(&self) -> u32 {
        self.zones.len() as u32
    }

    /// Whether there is no zone.
    pub fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    /// Pages of a zone that can be written.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Pages from the start of a zone to that of the next.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// A zone's state.
    #[inline]
    pub fn state(&self, zone: u32) -> ZoneState {
        self.zones[zone as usize].state
    }

    /// A zone's write pointer, in pages from its start.
    #[inline]
    pub fn written(&self, zone: u32) -> u32 {
        self.zones[zone as usize].written
    }

    /// Open zones.
    pub fn open_zones(&self) -> u32 {
        self.open
    }

    /// Active zones.
    pub fn active_zones(&self) -> u32 {
        self.active
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        size_of_val(&self.zones[..]) as u64
    }

    /// Writes `pages` pages of a zone from page `at` on.
    ///
    /// # Errors
    /// The zone's state, [`ZoneError::ZoneInvalidWrite`] off the write pointer, [`ZoneError::ZoneBoundaryError`] beyond
    /// the capacity, or a limit.
    pub fn write(&mut self, zone: u32, at: u32, pages: u32) -> Result<Written, ZoneError> {
        self.check_writable(zone)?;
        if at != self.written(zone) {
            return Err(ZoneError::ZoneInvalidWrite);
        }
        self.append(zone, pages)
    }

    /// Writes `pages` pages of a zone from its write pointer on (Zone Append).
    ///
    /// # Errors
    /// As [`ZoneTable::write`], but for the place.
    #[inline]
    pub fn append(&mut self, zone: u32, pages: u32) -> Result<Written, ZoneError> {
        self.check_writable(zone)?;
        let Zone { state, written } = self.zones[zone as usize];
        if pages > self.capacity - written {
            return Err(ZoneError::ZoneBoundaryError);
        }
        let closed = match state {
            ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened => None,
            ZoneState::Empty | ZoneState::Closed | ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => {
                self.open_as(zone, ZoneState::ImplicitlyOpened)?
            }
        };
        let fills = written + pages == self.capacity;
        self.zones[zone as usize].written = written + pages;
        if fills {
            self.enter(zone, ZoneState::Full);
        }
        Ok(Written { at: written, was_empty: state == ZoneState::Empty, fills, closed })
    }

    /// Checks a write of `pages` pages of a zone from page `at` on, and changes nothing.
    ///
    /// # Errors
    /// As [`ZoneTable::write`].
    pub fn check_write(&self, zone: u32, at: u32, pages: u32) -> Result<(), ZoneError> {
        self.check_writable(zone)?;
        if at != self.written(zone) {
            return Err(ZoneError::ZoneInvalidWrite);
        }
        if pages > self.capacity - at {
            return Err(ZoneError::ZoneBoundaryError);
        }
        match self.state(zone).is_open() {
            true => Ok(()),
            false => self.check_opening(zone),
        }
    }

    /// Checks whether an empty or closed zone can be opened.
    fn check_opening(&self, zone: u32) -> Result<(), ZoneError> {
        if !self.state(zone).is_active() && self.active >= self.limits.active {
            return Err(ZoneError::TooManyActiveZones);
        }
        match self.open < self.limits.open || !self.implicit.is_empty() {
            true => Ok(()),
            false => Err(ZoneError::TooManyOpenZones),
        }
    }

    /// Checks a read of `pages` pages of a zone from page `at` on. Pages that are not written may be read.
    ///
    /// # Errors
    /// [`ZoneError::ZoneIsOffline`], or [`ZoneError::ZoneBoundaryError`] beyond the zone.
    pub fn read(&self, zone: u32, at: u32, pages: u32) -> Result<(), ZoneError> {
        match self.state(zone) {
            ZoneState::Offline => Err(ZoneError::ZoneIsOffline),
            ZoneState::Empty
            | ZoneState::ImplicitlyOpened
            | ZoneState::ExplicitlyOpened
            | ZoneState::Closed
            | ZoneState::Full
            | ZoneState::ReadOnly => {
                let end = at.checked_add(pages).filter(|&end| end <= self.size);
                end.map(|_| ()).ok_or(ZoneError::ZoneBoundaryError)
            }
        }
    }

    /// Opens a zone explicitly (Open Zone). Returns the implicitly opened zone that the controller closed for it.
    ///
    /// # Errors
    /// [`ZoneError::InvalidZoneStateTransition`], or a limit.
    pub fn open(&mut self, zone: u32) -> Result<Option<u32>, ZoneError> {
        match self.state(zone) {
            ZoneState::Empty | ZoneState::Closed => self.open_as(zone, ZoneState::ExplicitlyOpened),
            ZoneState::ImplicitlyOpened => {
                self.enter(zone, ZoneState::ExplicitlyOpened);
                Ok(None)
            }
            ZoneState::ExplicitlyOpened => Ok(None),
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => Err(ZoneError::InvalidZoneStateTransition),
        }
    }

    /// Closes a zone (Close Zone).
    ///
    /// # Errors
    /// [`ZoneError::InvalidZoneStateTransition`].
    pub fn close(&mut self, zone: u32) -> Result<(), ZoneError> {
        match self.state(zone) {
            ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened | ZoneState::Closed => {
                self.enter(zone, ZoneState::Closed);
                Ok(())
            }
            ZoneState::Empty | ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => {
                Err(ZoneError::InvalidZoneStateTransition)
            }
        }
    }

    /// Finishes a zone (Finish Zone): it takes no more writes. Returns the pages of its capacity that were not
    /// written. The write pointer of a full zone means nothing, and stays where it was.
    ///
    /// # Errors
    /// [`ZoneError::InvalidZoneStateTransition`].
    pub fn finish(&mut self, zone: u32) -> Result<u32, ZoneError> {
        match self.state(zone) {
            ZoneState::Full => Ok(0),
            ZoneState::Empty | ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened | ZoneState::Closed => {
                self.enter(zone, ZoneState::Full);
                Ok(self.capacity - self.written(zone))
            }
            ZoneState::ReadOnly | ZoneState::Offline => Err(ZoneError::InvalidZoneStateTransition),
        }
    }

    /// Empties a zone (Reset Zone). Returns how many of its pages were written.
    ///
    /// # Errors
    /// [`ZoneError::InvalidZoneStateTransition`].
    pub fn reset(&mut self, zone: u32) -> Result<u32, ZoneError> {
        match self.state(zone) {
            ZoneState::Empty
            | ZoneState::ImplicitlyOpened
            | ZoneState::ExplicitlyOpened
            | ZoneState::Closed
            | ZoneState::Full => {
                self.enter(zone, ZoneState::Empty);
                Ok(std::mem::take(&mut self.zones[zone as usize].written))
            }
            ZoneState::ReadOnly | ZoneState::Offline => Err(ZoneError::InvalidZoneStateTransition),
        }
    }

    /// Takes a zone that can only be read offline (Offline Zone).
    ///
    /// # Errors
    /// [`ZoneError::InvalidZoneStateTransition`].
    pub fn take_offline(&mut self, zone: u32) -> Result<(), ZoneError> {
        match self.state(zone) {
            ZoneState::ReadOnly | ZoneState::Offline => {
                self.enter(zone, ZoneState::Offline);
                Ok(())
            }
            ZoneState::Empty
            | ZoneState::ImplicitlyOpened
            | ZoneState::ExplicitlyOpened
            | ZoneState::Closed
            | ZoneState::Full => Err(ZoneError::InvalidZoneStateTransition),
        }
    }

    /// The controller finds that a zone can only be read, or not even that (`state`), whatever it was before. What is
    /// offline stays so.
    pub fn fail(&mut self, zone: u32, state: ZoneState) {
        debug_assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline), "a failed zone takes no writes");
        if self.state(zone) != ZoneState::Offline {
            self.enter(zone, state);
        }
    }

    /// Notes that a zone was written before the first command, up to `pages`.
    pub fn note_filled(&mut self, zone: u32, pages: u32) {
        debug_assert!(self.state(zone) == ZoneState::Empty && pages <= self.capacity, "an empty zone is filled");
        self.zones[zone as usize].written = pages;
        self.enter(zone, ZoneState::Full);
    }

    /// Notes that a zone was being written before the first command, up to `pages`.
    pub fn note_closed(&mut self, zone: u32, pages: u32) {
        debug_assert!(self.state(zone) == ZoneState::Empty && pages < self.capacity, "an empty zone is begun");
        self.zones[zone as usize].written = pages;
        self.enter(zone, ZoneState::Closed);
    }

    /// Zones in each state, in the order of [`ZoneState`].
    pub fn states(&self) -> [u32; 7] {
        let mut counts = [0; 7];
        self.zones.iter().for_each(|zone| counts[zone.state as usize] += 1);
        counts
    }

    #[inline]
    fn check_writable(&self, zone: u32) -> Result<(), ZoneError> {
        match self.state(zone) {
            ZoneState::Full => Err(ZoneError::ZoneIsFull),
            ZoneState::ReadOnly => Err(ZoneError::ZoneIsReadOnly),
            ZoneState::Offline => Err(ZoneError::ZoneIsOffline),
            ZoneState::Empty | ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened | ZoneState::Closed => Ok(()),
        }
    }

    /// Opens an empty or closed zone. Where no open resource is left the controller closes the zone that was
    /// implicitly opened first, as the standard lets it.
    fn open_as(&mut self, zone: u32, state: ZoneState) -> Result<Option<u32>, ZoneError> {
        self.check_opening(zone)?;
        let closed = if self.open < self.limits.open { None } else { self.implicit.first().copied() };
        if let Some(closed) = closed {
            self.enter(closed, ZoneState::Closed);
        }
        self.enter(zone, state);
        Ok(closed)
    }

    /// Changes a zone's state, and counts the resources.
    fn enter(&mut self, zone: u32, state: ZoneState) {
        let before = std::mem::replace(&mut self.zones[zone as usize].state, state);
        self.open = self.open + u32::from(state.is_open()) - u32::from(before.is_open());
        self.active = self.active + u32::from(state.is_active()) - u32::from(before.is_active());
        if before == ZoneState::ImplicitlyOpened {
            self.implicit.retain(|&open| open != zone);
        }
        if state == ZoneState::ImplicitlyOpened {
            self.implicit.push(zone);
        }
        debug_assert!(self.open <= self.limits.open && self.active <= self.limits.active, "limits hold");
    }
}
