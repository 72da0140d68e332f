//! Page accesses that take more than one stage, or that a buffered page waits for.

use pumice_ftl::ZoneOperation;
use pumice_types::{HostRequest, Lpn, RequestKind, Time};

use crate::metrics::{LatencyParts, Stage};

/// Tokens from here on name an access; below, a request.
const FIRST_TOKEN: u32 = 1 << 31;

/// What waits for a page access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// A page of this request.
    Request(u32),
    /// An entry of the write buffer, which is free once its page is programmed.
    Buffer(u32),
    /// A zone operation that began then.
    Operation(ZoneOperation, Time),
    /// No access waits, because there is no clock.
    Nobody,
}

impl Waits {
    /// The request, if one waits.
    pub fn request(self) -> Option<u32> {
        match self {
            Waits::Request(id) => Some(id),
            Waits::Buffer(_) | Waits::Operation(..) | Waits::Nobody => None,
        }
    }
}

/// One page access.
#[derive(Clone, Copy, Debug)]
pub struct PageAccess {
    /// What waits for the access.
    pub waits: Waits,
    /// The page.
    pub lpn: Lpn,
    /// What to do with it.
    pub kind: RequestKind,
    /// Parts of the page that it touches.
    pub mask: u64,
    /// A write that is done only when its page is programmed, even if there is a write buffer.
    pub fua: bool,
    /// The stream that the host names for a write.
    pub stream: u8,
    /// The stage that runs, or is next.
    pub stage: Stage,
    /// Plans on different dies that the stage still waits for.
    pub groups_left: u32,
}

impl PageAccess {
    /// An access that has not begun.
    pub fn new(waits: Waits, lpn: Lpn, kind: RequestKind, mask: u64) -> PageAccess {
        PageAccess { waits, lpn, kind, mask, fua: false, stream: 0, stage: Stage::Map, groups_left: 0 }
    }

    /// Puts the access into its last stage.
    pub fn in_last_stage(self) -> PageAccess {
        PageAccess { stage: Stage::Data, ..self }
    }

    /// Gives the access what its request says of writes.
    pub fn of(self, request: &HostRequest) -> PageAccess {
        PageAccess { fua: request.fua, stream: request.stream, ..self }
    }

    /// Makes the access one that is done only when its page is programmed, if so.
    pub fn through(self, fua: bool) -> PageAccess {
        PageAccess { fua, ..self }
    }

    /// Sends the access to a stream of the host.
    pub fn to_stream(self, stream: u8) -> PageAccess {
        PageAccess { stream, ..self }
    }

    /// The parts of its page that its stage has to read: those asked for, or those of the old copy that a write leaves.
    /// `None` if it reads no page of the host.
    #[inline]
    pub fn needed_of_page(&self) -> Option<u64> {
        match (self.stage, self.kind) {
            (Stage::Data, RequestKind::Read) => Some(self.mask),
            (Stage::Rmw, RequestKind::Write) => Some(!self.mask),
            (Stage::Map | Stage::Rmw | Stage::Data, _) => None,
        }
    }

    /// Whether it touches all of its page.
    pub fn is_whole(&self) -> bool {
        self.mask == u64::MAX
    }
}

/// The accesses in flight that need a record of their own.
#[derive(Clone, Debug, Default)]
pub struct AccessTable {
    table: Vec<PageAccess>,
    /// Where the time of each went so far. Apart, because an access of one stage has none.
    parts: Vec<LatencyParts>,
    free: Vec<u32>,
}

/// Whether a token names a request, whose access takes one stage and needs no record.
#[inline]
pub fn names_request(token: u32) -> bool {
    token < FIRST_TOKEN
}

impl AccessTable {
    /// Keeps an access; returns its token.
    pub fn insert(&mut self, access: PageAccess) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.table[at as usize] = access;
                self.parts[at as usize] = LatencyParts::default();
                FIRST_TOKEN + at
            }
            None => {
                self.table.push(access);
                self.parts.push(LatencyParts::default());
                FIRST_TOKEN + (self.table.len() - 1) as u32
            }
        }
    }

    /// The access with this token; `None` if the token names a request.
    #[inline]
    pub fn get(&mut self, token: u32) -> Option<&mut PageAccess> {
        if names_request(token) { None } else { self.table.get_mut((token - FIRST_TOKEN) as usize) }
    }

    /// Where the time of the access with this token went so far.
    pub fn parts(&mut self, token: u32) -> &mut LatencyParts {
        &mut self.parts[(token - FIRST_TOKEN) as usize]
    }

    /// Programs of buffered pages that are under way are to be on flash before they count as done.
    pub fn force_buffered(&mut self) {
        let is_buffered = |access: &&mut PageAccess| matches!(access.waits, Waits::Buffer(_));
        self.table.iter_mut().filter(is_buffered).for_each(|access| access.fua = true);
    }

    /// Forgets an access that is done.
    pub fn remove(&mut self, token: u32) {
        self.free.push(token - FIRST_TOKEN);
    }
}
