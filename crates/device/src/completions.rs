//! What a device has done for its host, until the host takes it.

use std::collections::VecDeque;

use pumice_engine::ZoneError;
use pumice_engine::observe::{Observer, PageRead};
use pumice_nand::NandArray;
use pumice_types::{FlashCommand, HostRequest, Lpn, PageUnit, Time};
use pumice_workload::RandomStream;

use crate::data::KeptData;

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The request is done.
    #[default]
    Done,
    /// The power was cut first.
    PowerLost,
    /// A zone refused the request, which has done nothing.
    ZoneRefused(ZoneError),
    /// A page that the request reads fails its code: a drive that fails has damaged it (`power.failure`).
    Unreadable,
}

impl Status {
    /// The number of the status in C and Python. What a zone says has the code that NVMe gives it, 0xb8 to 0xbf, and so
    /// has an unreadable page.
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::PowerLost => 1,
            Status::ZoneRefused(error) => error.code(),
            Status::Unreadable => 0x81,
        }
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCompletion {
    /// What [`crate::Device::submit`] returned.
    pub id: u64,
    /// When it was done, in nanoseconds.
    pub at_ns: u64,
    /// First byte of the request, or where an append was written.
    pub offset_bytes: u64,
    /// How it ended.
    pub status: Status,
}

/// A request in flight.
#[derive(Clone, Copy, Default)]
struct Submitted {
    id: u64,
    offset_bytes: u64,
    /// How it will end, if the power lasts.
    status: Status,
}

/// Keeps ids of the requests in flight, and the requests that are done.
#[derive(Clone, Default)]
pub struct Completions {
    /// The request in each of the engine's slots; those of free slots are stale.
    slots: Vec<Submitted>,
    /// Ids given so far.
    given: u64,
    ended: u64,
    done: VecDeque<DeviceCompletion>,
    /// The device's bytes, if it keeps them.
    pub data: Option<Box<KeptData>>,
}

impl Completions {
    /// Ids given so far, which is the next one.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// The id of the request that is submitted next.
    #[inline]
    pub fn expect(&mut self) -> u64 {
        self.given += 1;
        self.given - 1
    }

    /// Requests under way.
    pub fn outstanding(&self) -> usize {
        (self.given - self.ended) as usize
    }

    /// The completion that is taken first.
    pub fn first(&self) -> Option<&DeviceCompletion> {
        self.done.front()
    }

    /// Completions that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.done.len()
    }

    /// Takes the first completion.
    pub fn take(&mut self) -> Option<DeviceCompletion> {
        self.done.pop_front()
    }

    fn end(&mut self, slot: u32, now: Time, status: Status) {
        self.ended += 1;
        let Submitted { id, offset_bytes, .. } = self.slots[slot as usize];
        self.done.push_back(DeviceCompletion { id, at_ns: now.0, offset_bytes, status });
    }
}

impl Observer for Completions {
    #[inline]
    fn accepted(&mut self, slot: u32, request: &HostRequest) {
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Submitted::default());
        }
        let (id, offset_bytes) = (self.given - 1, request.offset_bytes);
        self.slots[slot] = Submitted { id, offset_bytes, status: Status::Done };
        if let Some(data) = &mut self.data {
            data.path.accepted(slot as u32, request);
        }
    }

    fn refused(&mut self, slot: u32, error: ZoneError) {
        self.slots[slot as usize].status = Status::ZoneRefused(error);
    }

    fn admitted(&mut self, slot: u32, offset_bytes: u64) {
        self.slots[slot as usize].offset_bytes = offset_bytes;
        self.data.iter_mut().for_each(|data| data.path.admitted(slot, offset_bytes));
    }

    #[inline]
    fn completed(&mut self, slot: u32, now: Time) {
        let Submitted { id, status, .. } = self.slots[slot as usize];
        let is_readable = self.data.as_mut().is_none_or(|data| data.complete((slot, id), now, status == Status::Done));
        self.end(slot, now, if is_readable { status } else { Status::Unreadable });
    }

    fn failed(&mut self, slot: u32, now: Time) {
        self.end(slot, now, Status::PowerLost);
    }

    #[inline]
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        if let Some(data) = &mut self.data {
            data.path.command(start, end, command);
        }
    }

    #[inline]
    fn stages_units(&mut self, list: u32, units: &[PageUnit]) {
        if let Some(data) = &mut self.data {
            data.path.stages_units(list, units);
        }
    }

    #[inline]
    fn queued(&mut self, command: &FlashCommand, array: &NandArray) {
        if let Some(data) = &mut self.data {
            data.path.queued(command, array);
        }
    }

    #[inline]
    fn reads_page(&mut self, read: &PageRead) {
        if let Some(data) = &mut self.data {
            data.path.reads_page(read);
        }
    }

    #[inline]
    fn gives_up(&mut self, lpn: Lpn) {
        if let Some(data) = &mut self.data {
            data.path.gives_up(lpn);
        }
    }

    fn torn(&mut self, command: &FlashCommand) {
        self.data.iter_mut().for_each(|data| data.path.torn(command));
    }

    fn power_lost(&mut self, array: &mut NandArray, random: &mut RandomStream) {
        self.data.iter_mut().for_each(|data| data.path.power_lost(array, random));
    }

    fn watches_ageing(&self) -> bool {
        false
    }
}
