//! A host request with its bytes, and how requests fall into pages.

use pumice_types::{HostRequest, Time};

use super::ram::ControllerRam;
use super::sector::SectorForm;

/// A host request with its bytes.
#[derive(Clone)]
pub struct Transfer {
    /// The request.
    pub request: HostRequest,
    /// What is written, or what was read.
    pub data: Vec<u8>,
    /// What it is a part of, as whoever submits it calls that.
    pub owner: u32,
    /// A page that it has read fails its code.
    pub is_corrupt: bool,
    /// What it writes is in RAM.
    pub(super) is_stored: bool,
}

impl Transfer {
    /// A request that was not submitted yet; `data` is what it writes.
    pub fn new(request: HostRequest, data: Vec<u8>) -> Transfer {
        Transfer { request, data, owner: 0, is_corrupt: false, is_stored: false }
    }

    /// Makes the transfer a part of something.
    pub fn of(self, owner: u32) -> Transfer {
        Transfer { owner, ..self }
    }
}

/// A request that is done.
#[derive(Clone)]
pub struct FinishedTransfer {
    /// The request.
    pub transfer: Transfer,
    /// When it was done.
    pub at: Time,
}

/// A page of a request: which, and which bytes of the page and of the request's data belong together.
#[derive(Clone, Copy)]
pub struct PagePiece {
    /// The page.
    pub lpn: u32,
    /// First byte in the page.
    pub from: usize,
    /// First byte in the request's data.
    pub at: usize,
    /// Length.
    pub bytes: usize,
}

impl PagePiece {
    /// Place of the piece in the request's data.
    pub fn place(self) -> std::ops::Range<usize> {
        self.at..self.at + self.bytes
    }
}

/// How requests fall into pages.
#[derive(Clone, Copy)]
pub struct PageSplit {
    /// Bytes of a page on the device.
    pub page_bytes: u64,
    /// What is kept of a sector.
    pub form: SectorForm,
}

impl PageSplit {
    /// The pages of a request.
    pub fn pieces(self, request: &HostRequest) -> impl Iterator<Item = PagePiece> + use<> {
        let request = *request;
        let end = request.offset_bytes + u64::from(request.bytes);
        let pages = request.offset_bytes / self.page_bytes..end.div_ceil(self.page_bytes);
        pages.map(move |lpn| self.piece(&request, lpn))
    }

    /// One page of a request.
    pub fn piece(self, request: &HostRequest, lpn: u64) -> PagePiece {
        let page = self.page_bytes;
        let (start, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
        let (first, last) = ((lpn * page).max(start), ((lpn + 1) * page).min(end));
        let taken = |bytes: u64| self.form.taken_by(bytes as usize);
        let (from, at) = (taken(first - lpn * page), taken(first - start));
        PagePiece { lpn: lpn as u32, from, at, bytes: taken(last - first) }
    }

    /// RAM without any page.
    pub fn empty_ram(self) -> ControllerRam {
        ControllerRam::new(self.form.taken_by(self.page_bytes as usize), self.form.bytes())
    }
}
