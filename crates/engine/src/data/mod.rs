//! The way of the bytes: the observer that moves them when commands take effect.
//!
//! The engine decides where a page goes, and when; it knows no bytes. This observer hears of every command and does the
//! same to the bytes. What a program stores is settled when it is queued: what the controller's RAM holds of the page
//! then. It lies in its page when the program takes effect, and an erase takes it away when that does. What a read
//! returns is settled when the controller looks up where the page lies: what lies there, or what a queued command will
//! have put there, with what RAM knows of newer writes laid over it. So every read has one instant at which it is true,
//! however many requests are under way.

mod failing;
mod kept;
mod pages;
mod queued;
mod ram;
mod sector;
mod transfer;
mod volatile;

use std::collections::VecDeque;
use std::sync::Arc;

use pumice_config::Config;
use pumice_nand::NandArray;
use pumice_types::{
    FlashCommand, FlashOp, HostRequest, Lpn, PageAddress, PageUnit, PbTree, RequestKind, SpecError, Time, UnitPages,
    UnitSource, refuse,
};
use pumice_workload::RandomStream;

use self::failing::FailingDrive;
pub use self::kept::KeptBytes;
pub use self::pages::{PageMedium, PagesInMemory};
use self::queued::{PageNow, QueuedContent, QueuedPages};
use self::ram::ControllerRam;
use self::sector::SectorForm;
pub use self::sector::{SECTOR, STAMP, SectorStamp, flip_bit, stamps_of};
use self::transfer::PageSplit;
pub use self::transfer::{FinishedTransfer, Transfer};
pub use self::volatile::VolatileBytes;
use crate::controller::Controller;
use crate::error::SimError;
use crate::observe::{Beginning, Observer, PageRead, PageReader};

/// What the chips' erases erase.
#[derive(Clone)]
struct EraseShape {
    tree: PbTree,
    sub_blocks: Option<UnitPages>,
}

/// The bytes of a device, and the requests under way. `M` is where the bytes of its flash are.
#[derive(Clone)]
pub struct DataPath<M> {
    split: PageSplit,
    /// Logical pages of the host; those beyond are the controller's own and hold no bytes.
    user_pages: u32,
    /// The pages of flash.
    pub medium: M,
    /// `None`: the device has not begun.
    erases: Option<EraseShape>,
    /// Writes are settled when their zone takes them, not when they come.
    has_zones: bool,
    /// Commands come that a store's pages have seen already.
    is_replay: bool,
    /// Why bytes could not be moved.
    failure: Option<SimError>,
    /// Pages in the controller's RAM.
    ram: ControllerRam,
    /// Pages that queued commands will fill.
    queued: QueuedPages,
    /// Mapping units of a page. A page here, logical or of flash, is one of them.
    units_per_page: u16,
    /// What programs put into the units of their pages, by the number of the list.
    staged: Vec<Vec<PageUnit>>,
    /// What is about to be submitted.
    next: Option<Transfer>,
    /// What is under way, by the number of its request.
    under_way: Vec<Option<Transfer>>,
    finished: VecDeque<FinishedTransfer>,
    /// Logical pages that RAM may hold no longer.
    settled: Vec<u32>,
    /// How the drive misbehaves in a power cut, if it does.
    failing: Option<Box<FailingDrive>>,
}

impl<M: PageMedium> DataPath<M> {
    /// The data path of a device that was not begun.
    pub fn new(page_bytes: u32, medium: M) -> DataPath<M> {
        DataPath::keeping(SectorForm::Bytes, page_bytes, medium)
    }

    /// The data path of a device that was not begun, with stamps in place of bytes.
    pub fn of_stamps(page_bytes: u32, medium: M) -> DataPath<M> {
        DataPath::keeping(SectorForm::Stamps, page_bytes, medium)
    }

    fn keeping(form: SectorForm, page_bytes: u32, medium: M) -> DataPath<M> {
        let split = PageSplit { page_bytes: u64::from(page_bytes), form };
        DataPath {
            split,
            user_pages: 0,
            medium,
            erases: None,
            has_zones: false,
            is_replay: false,
            failure: None,
            ram: split.empty_ram(),
            queued: QueuedPages::default(),
            units_per_page: 1,
            staged: Vec::new(),
            next: None,
            under_way: Vec::new(),
            finished: VecDeque::new(),
            settled: Vec::new(),
            failing: None,
        }
    }

    /// Whether the commands that come are those of earlier sessions, whose bytes are where they belong.
    pub fn set_replay(&mut self, is_replay: bool) {
        self.is_replay = is_replay;
    }

    /// The power was cut: nothing in RAM is left, and nothing is under way.
    fn lose_ram(&mut self) {
        self.ram = self.split.empty_ram();
        self.queued = QueuedPages::default();
        self.staged.clear();
        self.under_way.clear();
        self.settled.clear();
    }

    /// What a physical page holds; `None`: all zeroes.
    ///
    /// # Errors
    /// The file's.
    pub fn stored(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, SimError> {
        self.medium.bytes(page)
    }

    /// Whether the drive answers nothing any more.
    pub fn is_dead(&self) -> bool {
        self.failing.as_ref().is_some_and(|failing| failing.is_dead())
    }

    /// A page is about to be written with what it holds, which lies at this place of the flash; `None`: nowhere. `false`:
    /// it cannot be read.
    ///
    /// # Errors
    /// The file's.
    pub fn write_again(&mut self, lpn: Lpn, place: Option<PageAddress>, array: &NandArray) -> Result<bool, SimError> {
        if place.is_some_and(|page| is_corrupt(array, page)) {
            return Ok(false);
        }
        if self.is_replay {
            return Ok(true);
        }
        if self.ram.holds(lpn.0) {
            let mut ram = std::mem::replace(&mut self.ram, self.split.empty_ram());
            let completed = ram.complete(lpn.0, |from, old| match place {
                Some(page) => self.fetch(page, array, from, old).map(drop),
                None => Ok(()),
            });
            self.ram = ram;
            completed?;
        } else if let Some(bytes) = place.map(|page| self.stored(page)).transpose()?.flatten() {
            self.ram.hold(lpn.0, bytes);
        }
        Ok(true)
    }

    /// Whether RAM holds anything of a page.
    pub fn holds_in_ram(&self, lpn: u32) -> bool {
        self.ram.holds(lpn)
    }

    /// Why bytes could not be moved, if something failed since this was last asked.
    pub fn take_failure(&mut self) -> Option<SimError> {
        self.failure.take()
    }

    /// The request that is submitted next is this one.
    pub fn prepare(&mut self, transfer: Transfer) {
        self.next = Some(transfer);
    }

    /// The next request that is done.
    pub fn take_finished(&mut self) -> Option<FinishedTransfer> {
        self.finished.pop_front()
    }

    /// Forgets what RAM holds of pages that are programmed, unless the controller has newer data of them.
    ///
    /// # Errors
    /// Bytes could not be moved.
    pub fn settle(&mut self, controller: &mut Controller) -> Result<(), SimError> {
        for lpn in self.settled.drain(..) {
            if !controller.is_buffering(Lpn(lpn)) {
                self.ram.forget(lpn);
            }
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// How many pages a command fills, one behind the other.
    fn filled_by(&self, command: &FlashCommand) -> u16 {
        if command.op == FlashOp::Program { self.units_per_page } else { 1 }
    }

    /// The mapping unit that a program puts `nth` into its page. `None`: it is not known any more, because the device was
    /// put back since.
    fn staged_unit(&self, command: &FlashCommand, nth: u16) -> Option<PageUnit> {
        self.staged.get(command.units() as usize)?.get(usize::from(nth)).copied()
    }

    /// The page of the host that a command stores from RAM in the page that it fills `nth`, if that is what it does.
    fn stored_from_ram(&self, command: &FlashCommand, nth: u16) -> Option<Lpn> {
        let lpn = if self.units_per_page > 1 {
            self.staged_unit(command, nth).filter(|unit| unit.source == UnitSource::Host)?.lpn
        } else {
            Some(command.lpn).filter(|_| command.op == FlashOp::Program && !command.is_move())?
        };
        Some(lpn).filter(|lpn| lpn.0 < self.user_pages)
    }

    /// What a command will store in the page that it fills `nth`.
    fn content_of(
        &self,
        command: &FlashCommand,
        nth: u16,
        array: Option<&NandArray>,
    ) -> Result<QueuedContent, SimError> {
        let bytes = |bytes, is_corrupt| QueuedContent::Bytes { bytes, is_corrupt };
        if command.op == FlashOp::Copy {
            return Ok(QueuedContent::CopyOf(command.source));
        }
        if self.units_per_page > 1
            && let Some(UnitSource::Copied(source)) = self.staged_unit(command, nth).map(|unit| unit.source)
        {
            return Ok(QueuedContent::CopyOf(source));
        }
        if self.units_per_page > 1 || !command.is_move() {
            let stored = self.stored_from_ram(command, nth);
            return Ok(bytes(stored.and_then(|lpn| self.ram.programmed(lpn.0)), false));
        }
        Ok(match self.queued.find(command.source) {
            PageNow::Ram(found, is_corrupt) => bytes(found.clone(), is_corrupt),
            PageNow::Flash(page) => bytes(self.stored(page)?, array.is_some_and(|array| is_corrupt(array, page))),
        })
    }

    /// Lays what a page holds over a part of RAM that begins at byte `from` of the page. Returns whether it fails its
    /// code.
    fn fetch(&self, page: PageAddress, array: &NandArray, from: usize, out: &mut [u8]) -> Result<bool, SimError> {
        match self.queued.find(page) {
            PageNow::Ram(bytes, is_corrupt) => {
                match bytes {
                    Some(bytes) => out.copy_from_slice(&bytes[from..from + out.len()]),
                    None => out.fill(0),
                }
                Ok(is_corrupt)
            }
            PageNow::Flash(page) => {
                self.medium.read(page, from, out)?;
                Ok(is_corrupt(array, page))
            }
        }
    }

    /// Takes what a page holds that is about to be read.
    fn take_page(&mut self, read: &PageRead) -> Result<(), SimError> {
        let PageRead { lpn, place, array, .. } = *read;
        match (read.reader, place) {
            (PageReader::PartialWrite, None) => Ok(()),
            (PageReader::PartialWrite, Some(page)) => {
                let mut ram = std::mem::replace(&mut self.ram, self.split.empty_ram());
                let completed = ram.complete(lpn.0, |from, old| self.fetch(page, array, from, old).map(drop));
                self.ram = ram;
                completed
            }
            (PageReader::Request(id), place) => {
                let Some(mut transfer) = self.under_way.get_mut(id as usize).and_then(Option::take) else {
                    return Ok(());
                };
                let piece = self.split.piece(&transfer.request, u64::from(lpn.0));
                let out = &mut transfer.data[piece.place()];
                let fetched = place.map_or(Ok(false), |page| self.fetch(page, array, piece.from, out));
                self.ram.lay_over(lpn.0, piece.from, out);
                transfer.is_corrupt |= *fetched.as_ref().unwrap_or(&false);
                self.under_way[id as usize] = Some(transfer);
                fetched.map(drop)
            }
        }
    }

    /// Does to the bytes what a command does to the pages.
    fn carry_out(&mut self, command: &FlashCommand) -> Result<(), SimError> {
        match command.op {
            FlashOp::Program | FlashOp::Copy => {
                (0..self.filled_by(command)).try_for_each(|nth| self.fill(command, nth))
            }
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => {
                self.erase(command);
                Ok(())
            }
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => Ok(()),
        }
    }

    /// Gives the page that a command fills `nth` its bytes.
    fn fill(&mut self, command: &FlashCommand, nth: u16) -> Result<(), SimError> {
        let target = nth_page(command.target, nth);
        let content = match self.queued.take(target) {
            Some(content) => content,
            // It came without being queued, as commands without a clock do.
            None => self.content_of(command, nth, None)?,
        };
        let from_ram = self.stored_from_ram(command, nth);
        let bytes = match content {
            QueuedContent::Bytes { bytes, .. } => bytes,
            QueuedContent::CopyOf(source) => self.medium.bytes(source)?,
        };
        if let Some(lpn) = from_ram {
            self.settled.push(lpn.0);
            if let Some(failing) = &mut self.failing {
                failing.note_program(target, lpn, bytes.clone());
            }
        }
        self.medium.program(target, bytes)
    }

    /// Takes away the bytes of what is erased.
    fn erase(&mut self, command: &FlashCommand) {
        let (Some(erases), pages) = (&self.erases, &mut self.medium) else { return };
        let block = command.target.block;
        match command.op {
            FlashOp::PartialErase => erases.tree.page_ranges(command.pb()).for_each(|run| pages.erase(block, run)),
            FlashOp::SubBlockErase => {
                let (units, erased) = (&erases.sub_blocks, command.sub_blocks());
                let pages_per_block = units.as_ref().map_or(0, UnitPages::pages_per_block);
                let is_erased = |page: &u16| units.as_ref().is_some_and(|units| erased.contains(units.unit_of(*page)));
                let gone = (0..pages_per_block).filter(is_erased).map(usize::from);
                gone.for_each(|page| pages.erase(block, page..page + 1));
            }
            FlashOp::Erase
            | FlashOp::Read
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Copy
            | FlashOp::Pause => pages.erase(block, 0..erases.tree.pages_per_block()),
        }
    }

    /// Notes why bytes could not be moved.
    fn note(&mut self, done: Result<(), SimError>) {
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
    }

    /// A write of pages begins or, with `is_done`, has ended.
    fn note_write(&mut self, transfer: &mut Transfer, is_done: bool) {
        transfer.is_stored = !is_done;
        if self.is_replay {
            return;
        }
        for piece in self.split.pieces(&transfer.request) {
            if is_done {
                self.ram.write_done(piece.lpn);
                self.settled.push(piece.lpn);
            } else {
                self.ram.write(piece.lpn, piece.from, &transfer.data[piece.place()]);
            }
        }
    }
}

impl<M: PageMedium> Observer for DataPath<M> {
    fn begin(&mut self, beginning: &Beginning) {
        let config = beginning.array.config();
        self.user_pages = beginning.user_pages;
        self.units_per_page = config.geometry.units_per_page;
        let sub_blocks = config.sub_blocks.map(UnitPages::sub_blocks);
        self.erases = Some(EraseShape { tree: config.tree, sub_blocks });
        self.medium.begin(&config.geometry);
        self.has_zones = beginning.config.ftl.has_host_zones();
        self.failing = FailingDrive::of(beginning.config.power.failure, self.split.form).map(Box::new);
    }

    fn accepted(&mut self, slot: u32, request: &HostRequest) {
        let Some(mut transfer) = self.next.take() else { return };
        match request.kind {
            RequestKind::Write if !self.has_zones => self.note_write(&mut transfer, false),
            RequestKind::Read if !self.is_replay => {
                transfer.data = vec![0; self.split.form.taken_by(request.bytes as usize)];
            }
            RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {}
        }
        let slot = slot as usize;
        if self.under_way.len() <= slot {
            self.under_way.resize_with(slot + 1, || None);
        }
        self.under_way[slot] = Some(transfer);
    }

    fn completed(&mut self, slot: u32, at: Time) {
        let Some(mut transfer) = self.under_way.get_mut(slot as usize).and_then(Option::take) else { return };
        if self.is_replay {
            return;
        }
        if transfer.is_stored {
            self.note_write(&mut transfer, true);
        }
        self.finished.push_back(FinishedTransfer { transfer, at });
    }

    fn admitted(&mut self, slot: u32, offset_bytes: u64) {
        let Some(mut transfer) = self.under_way.get_mut(slot as usize).and_then(Option::take) else { return };
        transfer.request.offset_bytes = offset_bytes;
        self.note_write(&mut transfer, false);
        self.under_way[slot as usize] = Some(transfer);
    }

    fn queued(&mut self, command: &FlashCommand, array: &NandArray) {
        if self.is_replay || !matches!(command.op, FlashOp::Program | FlashOp::Copy) {
            return;
        }
        for nth in 0..self.filled_by(command) {
            match self.content_of(command, nth, Some(array)) {
                Ok(content) => self.queued.add(nth_page(command.target, nth), content),
                Err(error) => self.note(Err(error)),
            }
        }
    }

    fn stages_units(&mut self, list: u32, units: &[PageUnit]) {
        let list = list as usize;
        if self.staged.len() <= list {
            self.staged.resize_with(list + 1, Vec::new);
        }
        self.staged[list].clear();
        self.staged[list].extend_from_slice(units);
    }

    fn reads_page(&mut self, read: &PageRead) {
        if !self.is_replay {
            let taken = self.take_page(read);
            self.note(taken);
        }
    }

    fn gives_up(&mut self, lpn: Lpn) {
        if self.is_replay || !self.ram.holds(lpn.0) {
            return;
        }
        // What is left of the page are writes under way: they may count as later than the trim.
        self.ram.give_up(lpn.0);
        for transfer in self.under_way.iter().flatten().filter(|transfer| transfer.is_stored) {
            let own = self.split.pieces(&transfer.request).find(|piece| piece.lpn == lpn.0);
            own.into_iter().for_each(|piece| self.ram.write(lpn.0, piece.from, &transfer.data[piece.place()]));
        }
    }

    fn torn(&mut self, command: &FlashCommand) {
        // Whether the bytes of a page can be read is the array's to say: a page that fails its code returns none.
        // What an erase that did not end has left is there until the block is erased again.
        if matches!(command.op, FlashOp::Program | FlashOp::Copy) {
            self.command(Time::ZERO, Time::ZERO, command);
        }
    }

    fn power_lost(&mut self, array: &mut NandArray, random: &mut RandomStream) {
        self.lose_ram();
        let Some(failing) = &mut self.failing else { return };
        let struck = failing.strike(array, &mut self.medium, random);
        self.note(struck);
    }

    fn command(&mut self, _start: Time, _end: Time, command: &FlashCommand) {
        if self.is_replay {
            return self.retrace(command);
        }
        let done = self.carry_out(command);
        self.note(done);
    }
}

/// Refuses a spec by whose pages bytes cannot be kept. `whose`: the device that would keep them.
///
/// # Errors
/// Pages that are no whole sectors.
pub fn check_pages(config: &Config, whose: &str) -> Result<(), SpecError> {
    let page_bytes = config.mapped_page_bytes();
    if page_bytes.is_multiple_of(SECTOR) {
        return Ok(());
    }
    Err(refuse!("geometry.page_bytes = {page_bytes}: pages of {whose} are multiples of {SECTOR}"))
}

/// The page that lies so many behind another one.
fn nth_page(page: PageAddress, nth: u16) -> PageAddress {
    PageAddress::new(page.block, page.page + nth)
}

/// Whether a page of flash fails its code.
fn is_corrupt(array: &NandArray, page: PageAddress) -> bool {
    array.peek(page).is_ok_and(|content| content.corrupt)
}
