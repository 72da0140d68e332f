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

/// Receives the events of a run. The default methods do nothing.
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

/// An observer that is lent, as the engine tells it; or nobody.
pub struct ObserverRef<'a>(Option<&'a mut (dyn Observer + 'a)>);

/// A lender of an observer. The engine sees all observers alike, and is compiled once.
pub trait ObserverSlot {
    /// The observer.
    fn observer(&mut self) -> ObserverRef<'_>;
}

impl<O: Observer> ObserverSlot for O {
    #[inline]
    fn observer(&mut self) -> ObserverRef<'_> {
        ObserverRef::of(self)
    }
}

impl ObserverSlot for ObserverRef<'_> {
    #[inline]
    fn observer(&mut self) -> ObserverRef<'_> {
        match &mut self.0 {
            Some(observer) => ObserverRef(Some(&mut **observer)),
            None => ObserverRef(None),
        }
    }
}

impl<'a> ObserverRef<'a> {
    /// Lends an observer.
    #[inline]
    pub fn of(observer: &'a mut dyn Observer) -> ObserverRef<'a> {
        ObserverRef(Some(observer))
    }

    /// Nobody observes.
    #[inline]
    pub fn nobody() -> ObserverRef<'a> {
        ObserverRef(None)
    }

    /// Whether nobody observes, so that nothing need be found out to be told.
    #[inline]
    pub fn is_nobody(&self) -> bool {
        self.0.is_none()
    }

    /// As [`Observer::watches_ageing`].
    pub fn watches_ageing(&self) -> bool {
        self.0.as_ref().is_some_and(|observer| observer.watches_ageing())
    }

    /// As [`Observer::watches_transfers`].
    #[inline]
    pub fn watches_transfers(&self) -> bool {
        self.0.as_ref().is_some_and(|observer| observer.watches_transfers())
    }

    /// As [`Observer::has_failed`].
    pub fn has_failed(&self) -> bool {
        self.0.as_ref().is_some_and(|observer| observer.has_failed())
    }
}

/// Hands events on to the observer that is lent.
macro_rules! tells {
    ($($event:ident($($value:ident: $of:ty),*);)*) => {
        impl ObserverRef<'_> {
            $(
                #[doc = concat!("As [`Observer::", stringify!($event), "`].")]
                #[inline]
                pub fn $event(&mut self, $($value: $of),*) {
                    if let Some(observer) = &mut self.0 {
                        observer.$event($($value),*);
                    }
                }
            )*
        }
    };
}

tells! {
    begin(beginning: &Beginning);
    command(start: Time, end: Time, command: &FlashCommand);
    request(record: &RequestRecord);
    accepted(slot: u32, request: &HostRequest);
    completed(slot: u32, now: Time);
    failed(slot: u32, now: Time);
    stages_units(list: u32, units: &[PageUnit]);
    refused(slot: u32, error: ZoneError);
    admitted(slot: u32, offset_bytes: u64);
    queued(command: &FlashCommand, array: &NandArray);
    reads_page(read: &PageRead);
    gives_up(lpn: Lpn);
    transfer(die: DieId, start: Time, end: Time);
    torn(command: &FlashCommand);
    power_lost(array: &mut NandArray, random: &mut RandomStream);
    suspended(start: Time, end: Time, command: &FlashCommand);
}
