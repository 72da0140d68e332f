//! What the lab says of a power cut.

use pumice_types::Time;
use serde::Serialize;

/// What is wrong with a page, the worse the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WrongKind {
    /// An older write is found than the promised one.
    RolledBack,
    /// A promised write is gone, and nothing is found in its place.
    Lost,
    /// Only part of a promised write is found.
    Shorn,
    /// Data of another place is found.
    Foreign,
    /// Data with wrong bits is found, and passed off as good.
    Corrupt,
    /// The sector's read fails.
    Unreadable,
}

/// Pages by what is wrong with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WrongPages {
    /// An older write is found than the promised one.
    pub rolled_back: u64,
    /// A promised write is gone, and nothing is found in its place.
    pub lost: u64,
    /// Only part of a promised write is found.
    pub shorn: u64,
    /// Data of another place is found.
    pub foreign: u64,
    /// Data with wrong bits is found, and passed off as good.
    pub corrupt: u64,
    /// Reads fail.
    pub unreadable: u64,
}

impl WrongPages {
    /// Counts a page.
    pub fn add(&mut self, kind: WrongKind) {
        let count = match kind {
            WrongKind::RolledBack => &mut self.rolled_back,
            WrongKind::Lost => &mut self.lost,
            WrongKind::Shorn => &mut self.shorn,
            WrongKind::Foreign => &mut self.foreign,
            WrongKind::Corrupt => &mut self.corrupt,
            WrongKind::Unreadable => &mut self.unreadable,
        };
        *count += 1;
    }
}

/// One sector that is not what it may be. Requests count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongSector {
    /// What is wrong.
    pub kind: WrongKind,
    /// Place of the sector on the device.
    pub offset_bytes: u64,
    /// The request whose write was promised.
    pub promised_request: Option<usize>,
    /// The request whose write is found.
    pub found_request: Option<usize>,
}

/// When a cut came.
pub struct CutContext {
    /// On the device's clock.
    pub at: Time,
    /// Programs, copies and erases under way.
    pub under_way: usize,
    /// Requests that were done by then.
    pub requests: usize,
    /// The last mark of the program before it.
    pub mark: Option<String>,
}

/// What a host finds after a power cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrashVerdict {
    /// When the power was cut, on the device's clock.
    pub at_ns: u64,
    /// Requests that were done by then.
    pub requests: usize,
    /// The last mark of the program before it.
    pub mark: Option<String>,
    /// Programs, copies and erases that were under way.
    pub under_way: usize,
    /// How long the device took to recover.
    pub recovery_us: f64,
    /// Pages that are not what they may be.
    pub pages: WrongPages,
    /// A promised write is gone, and a later one is there.
    pub out_of_order: bool,
    /// The first wrong sector.
    pub first: Option<WrongSector>,
    /// Why the device serves nothing any more, if so.
    pub failure: Option<String>,
}

impl CrashVerdict {
    /// Nothing is wrong after this cut.
    pub fn of(context: CutContext) -> CrashVerdict {
        let CutContext { at, under_way, requests, mark } = context;
        CrashVerdict {
            at_ns: at.0,
            requests,
            mark,
            under_way,
            recovery_us: 0.0,
            pages: WrongPages::default(),
            out_of_order: false,
            first: None,
            failure: None,
        }
    }

    /// Whether the device has kept what it had promised.
    pub fn is_kept(&self) -> bool {
        self.failure.is_none() && self.pages == WrongPages::default()
    }
}
