//! The seam by which a run is observed.

use pumice_config::Config;
use pumice_ftl::ZoneError;
use pumice_nand::NandArray;
use pumice_types::{DieId, FlashCommand, HostRequest, Lpn, PageAddress, PageUnit, Time};
use pumice_workload::RandomStream;

/// A finished host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// When it arrived.
    pub arrival: Time,
    /// When it was done.
    pub done: Time,
    /// What it asked for.
    pub request: HostRequest,
}

/// A device before its first command.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Scale of the run.
    pub scale: f64,
    /// The array in its initial state.
    pub array: &'a NandArray,
    /// Pages that the host can address.
    pub user_pages: u32,
}

/// The reader of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageReader {
    /// The request with this number.
    Request(u32),
    /// A write of a part of the page, which needs the rest of it.
    PartialWrite,
}

/// A page is about to be read: the controller has just looked up where it lies.
#[derive(Clone, Copy)]
pub struct PageRead<'a> {
    /// What reads the page.
    pub reader: PageReader,
    /// The page.
    pub lpn: Lpn,
    /// Where it lies, or will lie once a command that is queued has ended. `None`: nowhere, or in the write buffer.
    pub place: Option<PageAddress>,
    /// The array.
    pub array: &'a NandArray,
}

/// Receives the events of a run. The default methods do nothing and are compiled away.
pub trait Observer {
    /// The run is about to begin.
    fn begin(&mut self, _beginning: &Beginning) {}

    /// A flash command took effect; it held its die from `start` to `end`. Without a clock, and while
    /// the device is aged, both are 0. The commands of a multi-plane command follow each other.
    #[inline]
    fn command(&mut self, _start: Time, _end: Time, _command: &FlashCommand) {}

    /// A request that is measured was done. Requests come in the order in which they are done.
    #[inline]
    fn request(&mut self, _record: &RequestRecord) {}

    /// A request was taken in, measured or not. Until it is done, `slot` is its number; then another request gets it.
    #[inline]
    fn accepted(&mut self, _slot: u32, _request: &HostRequest) {}

    /// The request of a slot is done.
    #[inline]
    fn completed(&mut self, _slot: u32, _now: Time) {}

    /// The request of a slot failed, because the power was cut.
    #[inline]
    fn failed(&mut self, _slot: u32, _now: Time) {}

    /// The controller has decided what a program puts into the mapping units of its page. The command carries the number
    /// of this list until it takes effect.
    #[inline]
    fn stages_units(&mut self, _list: u32, _units: &[PageUnit]) {}

    /// The request of a slot is refused by its zone: it is done without having done anything.
    fn refused(&mut self, _slot: u32, _error: ZoneError) {}

    /// The write or append of a slot is taken by its zone, and written from this byte on.
    fn admitted(&mut self, _slot: u32, _offset_bytes: u64) {}

    /// A command begins to wait for its die. Commands that change one page take effect in the order in which they are
    /// queued.
    #[inline]
    fn queued(&mut self, _command: &FlashCommand, _array: &NandArray) {}

    /// A page is about to be read. What it holds is settled now: commands that are queued later do not change that.
    #[inline]
    fn reads_page(&mut self, _read: &PageRead) {}

    /// A page is given up, because the host trims it: what was written to it so far counts no longer.
    #[inline]
    fn gives_up(&mut self, _lpn: Lpn) {}

    /// Whether it wants to be told of the commands that age the device, so that a device aged before will not do.
    fn watches_ageing(&self) -> bool {
        true
    }

    /// Whether it wants to be told of transfers.
    #[inline]
    fn watches_transfers(&self) -> bool {
        false
    }

    /// Data of a die was on its channel from `start` to `end`. Called only if transfers are watched.
    #[inline]
    fn transfer(&mut self, _die: DieId, _start: Time, _end: Time) {}

    /// The power was cut while a command was changing pages.
    #[inline]
    fn torn(&mut self, _command: &FlashCommand) {}

    /// The power was cut, and what was under way is torn. Here a drive may fail in further ways; `random` decides for it.
    fn power_lost(&mut self, _array: &mut NandArray, _random: &mut RandomStream) {}

    /// A part of an erase held its die from `start` to `end`; then the erase was suspended. Its last part is told
    /// by `command`.
    #[inline]
    fn suspended(&mut self, _start: Time, _end: Time, _command: &FlashCommand) {}

    /// Whether it has failed and cannot go on: the run is then stopped at the next chance.
    fn has_failed(&self) -> bool {
        false
    }
}

/// The observer that ignores everything.
impl Observer for () {
    fn watches_ageing(&self) -> bool {
        false
    }
}

/// An observer that is lent to a run. Every event is handed on, so this list has every method of [`Observer`].
impl<O: Observer + ?Sized> Observer for &mut O {
    fn begin(&mut self, beginning: &Beginning) {
        O::begin(self, beginning);
    }

    #[inline]
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        O::command(self, start, end, command);
    }

    #[inline]
    fn request(&mut self, record: &RequestRecord) {
        O::request(self, record);
    }

    #[inline]
    fn accepted(&mut self, slot: u32, request: &HostRequest) {
        O::accepted(self, slot, request);
    }

    #[inline]
    fn completed(&mut self, slot: u32, now: Time) {
        O::completed(self, slot, now);
    }

    #[inline]
    fn failed(&mut self, slot: u32, now: Time) {
        O::failed(self, slot, now);
    }

    fn refused(&mut self, slot: u32, error: ZoneError) {
        O::refused(self, slot, error);
    }

    fn admitted(&mut self, slot: u32, offset_bytes: u64) {
        O::admitted(self, slot, offset_bytes);
    }

    #[inline]
    fn stages_units(&mut self, list: u32, units: &[PageUnit]) {
        O::stages_units(self, list, units);
    }

    #[inline]
    fn queued(&mut self, command: &FlashCommand, array: &NandArray) {
        O::queued(self, command, array);
    }

    #[inline]
    fn reads_page(&mut self, read: &PageRead) {
        O::reads_page(self, read);
    }

    #[inline]
    fn gives_up(&mut self, lpn: Lpn) {
        O::gives_up(self, lpn);
    }

    fn watches_ageing(&self) -> bool {
        O::watches_ageing(self)
    }

    #[inline]
    fn watches_transfers(&self) -> bool {
        O::watches_transfers(self)
    }

    #[inline]
    fn transfer(&mut self, die: DieId, start: Time, end: Time) {
        O::transfer(self, die, start, end);
    }

    #[inline]
    fn torn(&mut self, command: &FlashCommand) {
        O::torn(self, command);
    }

    fn power_lost(&mut self, array: &mut NandArray, random: &mut RandomStream) {
        O::power_lost(self, array, random);
    }

    #[inline]
    fn suspended(&mut self, start: Time, end: Time, command: &FlashCommand) {
        O::suspended(self, start, end, command);
    }

    fn has_failed(&self) -> bool {
        O::has_failed(self)
    }
}
