//! The way of the bytes: the observer that moves them when commands take effect.
//!
//! The engine decides where a page goes, and when; it knows no bytes. This observer hears of every command that took
//! effect and does the same to the bytes: a program stores what the controller's RAM holds of the page, a copy moves
//! bytes from page to page, an erase takes them away, and a read returns what lies at the page that the map named.

use std::collections::HashMap;
use std::sync::Arc;

use pumice_engine::observe::{Beginning, Observer};
use pumice_nand::NandArray;
use pumice_types::{Cause, FlashCommand, FlashOp, HostRequest, Lpn, PageAddress, PbTree, RequestKind, Time, UnitPages};
use pumice_workload::RandomStream;

use crate::failing::FailingDrive;
use crate::pages::PhysicalPages;
use crate::ram::ControllerRam;
use crate::sector::SectorForm;
use crate::store::StoredPages;

/// A host request with its bytes.
pub struct Transfer {
    /// The request.
    pub request: HostRequest,
    /// What is written, or what was read.
    pub data: Vec<u8>,
    /// Pages that were read from flash.
    pub sources: Vec<PageAddress>,
    /// Which of its pages were.
    read: Vec<bool>,
}

impl Transfer {
    /// A request that was not submitted yet; `data` is what it writes.
    pub fn new(request: HostRequest, data: Vec<u8>) -> Transfer {
        Transfer { request, data, sources: Vec::new(), read: Vec::new() }
    }
}

/// A page of a request: which, and which bytes of the page and of the request's data belong together.
#[derive(Clone, Copy)]
struct PagePiece {
    lpn: u32,
    from: usize,
    at: usize,
    bytes: usize,
}

/// How requests fall into pages.
#[derive(Clone, Copy)]
struct PageSplit {
    page_bytes: u64,
    form: SectorForm,
}

impl PageSplit {
    /// The pages of a request.
    fn pieces(self, request: &HostRequest) -> impl Iterator<Item = PagePiece> + use<> {
        let request = *request;
        let end = request.offset_bytes + u64::from(request.bytes);
        let pages = request.offset_bytes / self.page_bytes..end.div_ceil(self.page_bytes);
        pages.map(move |lpn| self.piece(&request, lpn))
    }

    /// One page of a request.
    fn piece(self, request: &HostRequest, lpn: u64) -> PagePiece {
        let page = self.page_bytes;
        let (start, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
        let (first, last) = ((lpn * page).max(start), ((lpn + 1) * page).min(end));
        let taken = |bytes: u64| self.form.taken_by(bytes as usize);
        let (from, at) = (taken(first - lpn * page), taken(first - start));
        PagePiece { lpn: lpn as u32, from, at, bytes: taken(last - first) }
    }

    /// RAM without any page.
    fn empty_ram(self) -> ControllerRam {
        ControllerRam::new(self.form.taken_by(self.page_bytes as usize), self.form.bytes())
    }
}

/// A physical page and the logical page that is read from it, as the key of a map.
type SourceKey = (u32, u16, u32);

fn source_key(page: PageAddress, lpn: Lpn) -> SourceKey {
    (page.block.0, page.page, lpn.0)
}

/// What the chips' erases erase.
struct EraseShape {
    tree: PbTree,
    sub_blocks: Option<UnitPages>,
}

/// The bytes of a device, and the request under way.
pub struct DataPath {
    split: PageSplit,
    /// Logical pages of the host; those beyond are the controller's own and hold no bytes.
    user_pages: u32,
    pages: Option<(PhysicalPages, EraseShape)>,
    /// The pages of a store, until the device begins.
    stored: Option<StoredPages>,
    /// Commands come that a store's pages have seen already.
    is_replay: bool,
    /// Why bytes could not be moved.
    failure: Option<String>,
    /// Pages in the controller's RAM.
    pub ram: ControllerRam,
    /// Pages that collection has read and will program elsewhere, by their place and logical page. Only looked up.
    moving: HashMap<SourceKey, Option<Arc<[u8]>>>,
    /// What is about to be submitted.
    next: Option<Transfer>,
    /// What is under way, and its number: a device of bytes takes one request at a time.
    under_way: Option<(u32, Transfer)>,
    finished: Option<Transfer>,
    /// Logical pages that RAM may hold no longer.
    settled: Vec<u32>,
    /// How the drive misbehaves in a power cut, if it does.
    failing: Option<Box<FailingDrive>>,
}

impl DataPath {
    /// The data path of a device that was not begun, with its bytes in a store or in memory.
    pub fn new(page_bytes: u32, stored: Option<StoredPages>) -> DataPath {
        DataPath::keeping(SectorForm::Bytes, page_bytes, stored)
    }

    /// The data path of a device that was not begun, in memory, with stamps in place of bytes.
    pub fn of_stamps(page_bytes: u32) -> DataPath {
        DataPath::keeping(SectorForm::Stamps, page_bytes, None)
    }

    fn keeping(form: SectorForm, page_bytes: u32, stored: Option<StoredPages>) -> DataPath {
        let split = PageSplit { page_bytes: u64::from(page_bytes), form };
        DataPath {
            split,
            user_pages: 0,
            pages: None,
            stored,
            is_replay: false,
            failure: None,
            ram: split.empty_ram(),
            moving: HashMap::new(),
            next: None,
            under_way: None,
            finished: None,
            settled: Vec::new(),
            failing: None,
        }
    }

    /// Whether the commands that come are those of earlier sessions, whose bytes are where they belong.
    pub fn set_replay(&mut self, is_replay: bool) {
        self.is_replay = is_replay;
    }

    /// The power was cut: nothing in RAM is left, and nothing is under way.
    pub fn lose_power(&mut self) {
        self.ram = self.split.empty_ram();
        self.moving.clear();
        self.next = None;
        self.under_way = None;
        self.settled.clear();
    }

    /// Becomes what another device's data path is now, without its requests; to be changed apart from it.
    ///
    /// # Errors
    /// The other device is in a file.
    pub fn fork_from(&mut self, other: &DataPath) -> Result<(), String> {
        let (Some((own, _)), Some((pages, _))) = (&mut self.pages, &other.pages) else { return Ok(()) };
        *own = pages.fork().ok_or("a device in a file cannot be forked")?;
        (self.ram, self.moving) = (other.ram.clone(), other.moving.clone());
        self.failing.clone_from(&other.failing);
        Ok(())
    }

    /// What a physical page holds; `None`: all zeroes.
    ///
    /// # Errors
    /// The file's.
    pub fn stored(&self, page: PageAddress) -> Result<Option<Arc<[u8]>>, String> {
        self.pages.as_ref().map_or(Ok(None), |(pages, _)| pages.bytes(page))
    }

    /// Whether the drive answers nothing any more.
    pub fn is_dead(&self) -> bool {
        self.failing.as_ref().is_some_and(|failing| failing.is_dead())
    }

    /// Why bytes could not be moved, if something failed since this was last asked.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// The request that is submitted next is this one.
    pub fn prepare(&mut self, transfer: Transfer) {
        self.next = Some(transfer);
    }

    /// A request that is done.
    pub fn take_finished(&mut self) -> Option<Transfer> {
        self.finished.take()
    }

    /// Forgets what RAM holds of pages that are programmed, unless the write buffer has newer data of them.
    pub fn settle(&mut self, is_buffering: impl Fn(Lpn) -> bool) {
        for lpn in self.settled.drain(..) {
            if !is_buffering(Lpn(lpn)) {
                self.ram.forget(lpn);
            }
        }
    }

    /// A host page was read from flash: the read under way takes its bytes if it waits for them.
    fn deliver(&mut self, command: &FlashCommand) -> Result<(), String> {
        let (Some((pages, _)), Some((_, transfer))) = (&self.pages, &mut self.under_way) else { return Ok(()) };
        let first = (transfer.request.offset_bytes / self.split.page_bytes) as u32;
        let Some(nth) = command.lpn.0.checked_sub(first).map(|nth| nth as usize) else { return Ok(()) };
        if transfer.read.get(nth) != Some(&false) {
            return Ok(());
        }
        let piece = self.split.piece(&transfer.request, u64::from(command.lpn.0));
        transfer.read[nth] = true;
        transfer.sources.push(command.target);
        pages.read(command.target, piece.from, &mut transfer.data[piece.at..piece.at + piece.bytes])
    }

    /// Does to the bytes what a command does to the pages.
    fn carry_out(&mut self, command: &FlashCommand) -> Result<(), String> {
        if command.op == FlashOp::Read && command.cause == Cause::Host {
            return self.deliver(command);
        }
        let Some((pages, erases)) = &mut self.pages else { return Ok(()) };
        let FlashCommand { target, source, lpn, .. } = *command;
        match command.op {
            FlashOp::Read if command.cause == Cause::Rmw => self.ram.complete(lpn.0, |old| pages.read(target, 0, old)),
            FlashOp::Read if command.cause == Cause::Gc => {
                self.moving.insert(source_key(target, lpn), pages.bytes(target)?);
                Ok(())
            }
            FlashOp::Program if command.is_move() => {
                // A read that was answered from the controller's RAM has reached no page.
                let read = self.moving.remove(&source_key(source, lpn));
                let bytes = read.unwrap_or_else(|| self.ram.programmed(lpn.0));
                pages.program(target, bytes)
            }
            FlashOp::Program if lpn.0 < self.user_pages => {
                self.settled.push(lpn.0);
                let bytes = self.ram.programmed(lpn.0);
                if let Some(failing) = &mut self.failing {
                    failing.note_program(target, lpn, bytes.clone());
                }
                pages.program(target, bytes)
            }
            FlashOp::Program => pages.program(target, None),
            FlashOp::Copy => {
                let bytes = pages.bytes(source)?;
                pages.program(target, bytes)
            }
            FlashOp::Erase => pages.erase(target.block, 0..erases.tree.pages_per_block()),
            FlashOp::PartialErase => pages.erase(target.block, erases.tree.page_range(command.pb())),
            FlashOp::SubBlockErase => {
                let (units, erased) = (&erases.sub_blocks, command.sub_blocks());
                let pages_per_block = units.as_ref().map_or(0, UnitPages::pages_per_block);
                let is_erased = |page: &u16| units.as_ref().is_some_and(|units| erased.contains(units.unit_of(*page)));
                let mut gone = (0..pages_per_block).filter(is_erased).map(usize::from);
                gone.try_for_each(|page| pages.erase(target.block, page..page + 1))
            }
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => Ok(()),
        }
    }

    /// A write of pages begins or, with `is_done`, has ended.
    fn note_write(&mut self, transfer: &Transfer, is_done: bool) {
        for piece in self.split.pieces(&transfer.request) {
            if is_done {
                self.ram.write_done(piece.lpn);
                self.settled.push(piece.lpn);
            } else {
                self.ram.write(piece.lpn, piece.from, &transfer.data[piece.at..piece.at + piece.bytes]);
            }
        }
    }
}

impl Observer for DataPath {
    fn begin(&mut self, beginning: &Beginning) {
        let config = beginning.array.config();
        self.user_pages = beginning.user_pages;
        let sub_blocks = config.sub_blocks.map(UnitPages::sub_blocks);
        let erases = EraseShape { tree: config.tree, sub_blocks };
        self.pages = Some((PhysicalPages::new(&config.geometry, self.stored.take()), erases));
        self.failing = FailingDrive::of(beginning.config.power.failure, self.split.form).map(Box::new);
    }

    fn accepted(&mut self, slot: u32, request: &HostRequest) {
        let Some(mut transfer) = self.next.take() else { return };
        match request.kind {
            RequestKind::Write => self.note_write(&transfer, false),
            RequestKind::Read => {
                transfer.data = vec![0; self.split.form.taken_by(request.bytes as usize)];
                transfer.read = self.split.pieces(request).map(|_| false).collect();
            }
            RequestKind::Trim | RequestKind::Flush => {}
        }
        self.under_way = Some((slot, transfer));
    }

    fn completed(&mut self, slot: u32) {
        let Some((_, mut transfer)) = self.under_way.take_if(|(own, _)| *own == slot) else { return };
        match transfer.request.kind {
            RequestKind::Write => self.note_write(&transfer, true),
            RequestKind::Read => {
                for piece in self.split.pieces(&transfer.request) {
                    let out = &mut transfer.data[piece.at..piece.at + piece.bytes];
                    self.ram.lay_over(piece.lpn, piece.from, out);
                }
            }
            RequestKind::Trim => {
                let given_up = self.split.pieces(&transfer.request).map(|piece| piece.lpn);
                self.settled.extend(given_up.filter(|&lpn| self.ram.holds(lpn)));
            }
            RequestKind::Flush => {}
        }
        self.finished = Some(transfer);
    }

    fn torn(&mut self, command: &FlashCommand) {
        // Whether the bytes of a page can be read is the array's to say: a page that fails its code returns none.
        // What an erase that did not end has left is there until the block is erased again.
        if matches!(command.op, FlashOp::Program | FlashOp::Copy) {
            self.command(Time::ZERO, Time::ZERO, command);
        }
    }

    fn power_lost(&mut self, array: &mut NandArray, random: &mut RandomStream) {
        let (Some(failing), Some((pages, _))) = (&mut self.failing, &mut self.pages) else { return };
        if let Err(text) = failing.strike(array, pages, random) {
            self.failure.get_or_insert(text);
        }
    }

    fn command(&mut self, _start: Time, _end: Time, command: &FlashCommand) {
        if self.is_replay {
            return;
        }
        if let Err(text) = self.carry_out(command) {
            self.failure.get_or_insert(text);
        }
    }
}
