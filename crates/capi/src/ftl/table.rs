//! The structures of `pumice_ftl.h`, which both a plug-in and the engine are compiled with.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use pumice_types::{Cause, FlashCommand, FlashOp, Lpn, PageAddress, RequestKind, SpareArea, SpareEntry, SpareMark};

use crate::InterfaceVersion;

/// Version of the interface.
pub const FTL_VERSION: InterfaceVersion = InterfaceVersion::new(1, 4);

/// Bytes of the table of each minor version, from 0 on.
#[cfg(feature = "host")]
pub const TABLE_BYTES: &[usize] = &[
    offset_of!(CLayer, recover),
    offset_of!(CLayer, own_pages),
    size_of::<CLayer>(),
    size_of::<CLayer>(),
    size_of::<CLayer>(),
];
#[cfg(feature = "host")]
const _: () = assert!(TABLE_BYTES.len() == FTL_VERSION.minor() + 1, "each minor version has the size of its table");

/// `PUMICE_FTL_OK`
pub const OK: c_int = 0;
/// `PUMICE_FTL_NOT_STORED`
pub const NOT_STORED: c_int = 1;
/// `PUMICE_FTL_FAILED`
pub const FAILED: c_int = 2;

/// `PUMICE_FTL_LAST`
pub const LAST: u32 = u32::MAX;
/// `PUMICE_FTL_AT_ONCE`
pub const AT_ONCE: u32 = u32::MAX - 1;

/// `PUMICE_FTL_WHOLE_NUMBER`
pub const WHOLE_NUMBER: u32 = 0;
/// `PUMICE_FTL_NUMBER`
pub const NUMBER: u32 = 1;
/// `PUMICE_FTL_SWITCH`
pub const SWITCH: u32 = 2;
/// `PUMICE_FTL_CHOICE`
pub const CHOICE: u32 = 3;

/// `PUMICE_FTL_ALL`
pub const ALL: u32 = u32::MAX;

/// The causes of each operation that plug-ins may plan, by its number: a bit for each, none for what they may not.
pub const CAUSES: [u8; 8] = {
    let (host, gc, map) = (1 << Cause::Host as u8, 1 << Cause::Gc as u8, 1 << Cause::Map as u8);
    let mut causes = [0; 8];
    causes[FlashOp::Read as usize] = host | gc | map;
    causes[FlashOp::SpareSearch as usize] = map;
    causes[FlashOp::Program as usize] = host | gc | map;
    causes[FlashOp::Copy as usize] = gc;
    causes[FlashOp::Erase as usize] = gc;
    causes[FlashOp::PartialErase as usize] = gc;
    causes[FlashOp::SubBlockErase as usize] = gc;
    causes
};

/// `struct pumice_ftl_command`: a [`FlashCommand`] with numbers for what may be none of its operations.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CCommand {
    /// Block.
    pub block: u32,
    /// Page.
    pub page: u16,
    /// Block copied from.
    pub from_block: u32,
    /// Page copied from.
    pub from_page: u16,
    /// Logical page.
    pub lpn: u32,
    /// Anything.
    pub reserved_0: u32,
    /// Partial block or sub-blocks.
    pub operand: u32,
    /// Version of the data.
    pub version: u8,
    /// What it does, a place in [`CAUSES`].
    pub op: u8,
    /// Cause: what the command is for.
    pub cause: u8,
    /// Zero.
    pub reserved_1: u8,
}

// A command of C is read as one of the engine, and the other way round.
const _: () = {
    assert!(size_of::<CCommand>() == size_of::<FlashCommand>() && align_of::<CCommand>() == align_of::<FlashCommand>());
    assert!(offset_of!(CCommand, block) == offset_of!(FlashCommand, target) + offset_of!(PageAddress, block));
    assert!(offset_of!(CCommand, page) == offset_of!(FlashCommand, target) + offset_of!(PageAddress, page));
    assert!(offset_of!(CCommand, from_block) == offset_of!(FlashCommand, source) + offset_of!(PageAddress, block));
    assert!(offset_of!(CCommand, from_page) == offset_of!(FlashCommand, source) + offset_of!(PageAddress, page));
    assert!(offset_of!(CCommand, lpn) == offset_of!(FlashCommand, lpn));
    assert!(offset_of!(CCommand, reserved_0) == offset_of!(FlashCommand, sequence));
    assert!(offset_of!(CCommand, operand) == FlashCommand::OPERAND_AT);
    assert!(offset_of!(CCommand, version) == offset_of!(FlashCommand, version));
    assert!(offset_of!(CCommand, op) == offset_of!(FlashCommand, op));
    assert!(offset_of!(CCommand, cause) == offset_of!(FlashCommand, cause));
    assert!(offset_of!(CCommand, reserved_1) == offset_of!(FlashCommand, mark));
    assert!(size_of::<FlashOp>() == 1 && size_of::<Cause>() == 1 && size_of::<SpareMark>() == 1);
};

/// `struct pumice_ftl_plan`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPlan {
    /// The commands.
    pub command: *mut CCommand,
    /// Room for so many.
    pub room: u32,
    /// How many there are.
    pub commands: u32,
    /// Which one completes the access.
    pub completes: u32,
    /// Time of a look-up beside its commands, in nanoseconds.
    pub look_up_ns: u32,
}

/// `struct pumice_ftl_key`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CKey {
    /// Name.
    pub name: *const c_char,
    /// Default.
    pub default_value: *const c_char,
    /// Unit.
    pub unit: *const c_char,
    /// What it means.
    pub text: *const c_char,
    /// Names of a choice.
    pub choices: *const c_char,
    /// Least number.
    pub low: f64,
    /// Largest number.
    pub high: f64,
    /// Least whole number.
    pub least: i64,
    /// Largest whole number.
    pub most: i64,
    /// Kind.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_value`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CValue {
    /// Value of a number.
    pub number: f64,
    /// Value of a whole number, a switch or a choice.
    pub whole: i64,
    /// Whether there is a value.
    pub given: u32,
    /// Zero.
    pub reserved: u32,
}

/// `struct pumice_ftl_device`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CLayerDevice {
    /// Channels.
    pub channels: u32,
    /// Chips on one channel.
    pub chips_per_channel: u32,
    /// Dies of one chip.
    pub dies_per_chip: u32,
    /// Planes of one die.
    pub planes_per_die: u32,
    /// Blocks of one plane.
    pub blocks_per_plane: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Bytes of one page.
    pub page_bytes: u32,
    /// Spare bytes of one page.
    pub spare_bytes: u32,
    /// Whether pages are programmed in order.
    pub in_order: u32,
    /// Halvings of a block.
    pub max_splits: u32,
    /// Physical sub-blocks.
    pub sub_blocks: u32,
    /// Bad blocks of each plane.
    pub bad_blocks_per_plane: u32,
    /// Bad blocks.
    pub bad_block: *const u32,
    /// Number of bad blocks.
    pub bad_blocks: u64,
    /// Share that the host shall not address.
    pub over_provisioning: f64,
    /// Seed.
    pub seed: u64,
    /// Whether the power may be cut.
    pub loses_power: u32,
    /// Runs of pages that a partial block has; 0 from a host of an earlier version: one.
    pub runs: u32,
}

/// `struct pumice_ftl_page`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CPageAddress {
    /// Block.
    pub block: u32,
    /// Page.
    pub page: u32,
}

/// `PUMICE_FTL_BLANK`
pub const BLANK: u32 = 0;
/// `PUMICE_FTL_UNREADABLE`
pub const UNREADABLE: u32 = 1;
/// `PUMICE_FTL_WRITTEN`
pub const WRITTEN: u32 = 2;

/// `struct pumice_ftl_spare`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CSpareArea {
    /// Number of the write.
    pub written: u64,
    /// Number of the program.
    pub programmed: u64,
    /// Logical page.
    pub lpn: u32,
    /// What the page is.
    pub state: u32,
}

/// `struct pumice_ftl_chips`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CChips {
    /// Reads the spare area of a page.
    pub page: unsafe extern "C" fn(u32, u32, *mut CSpareArea) -> c_int,
    /// Reads those of a block.
    pub block: unsafe extern "C" fn(u32, *mut CSpareArea) -> c_int,
}

/// `struct pumice_ftl_request`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CRequest {
    /// Simulated time.
    pub now_ns: u64,
    /// First page.
    pub lpn: u32,
    /// Number of pages.
    pub pages: u32,
    /// What is asked for: a place in [`KINDS`].
    pub kind: u32,
    /// The stream that the host names.
    pub stream: u32,
}

/// Kinds of requests by their numbers.
pub const KINDS: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush];

/// `struct pumice_ftl_counter`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CCounter {
    /// Name.
    pub name: *const c_char,
    /// What it counts.
    pub text: *const c_char,
}

/// Tells pages of its own beside so many of the host.
pub type TellsOwnPages = unsafe extern "C" fn(*const CValue, u64) -> u64;
/// Plans a write to a stream.
pub type PlansStreamWrite = unsafe extern "C" fn(*mut c_void, u32, u32, u32, *mut CPlan) -> c_int;
/// Hears of a request.
pub type HearsRequest = unsafe extern "C" fn(*mut c_void, *const CRequest) -> c_int;
/// Tells its counts.
pub type TellsCounts = unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int;
/// Makes or tells the capacity of something for a device.
pub type ForDevice<T> = unsafe extern "C" fn(*const CLayerDevice, *const CValue) -> T;
/// Makes a state after a power cut.
pub type Recovers = unsafe extern "C" fn(*const CLayerDevice, *const CValue, *const CChips, *mut CPlan) -> *mut c_void;
/// Plans an access to a page.
pub type PlansAccess = unsafe extern "C" fn(*mut c_void, u32, u32, *mut CPlan) -> c_int;
/// Finds a page.
pub type FindsPage = unsafe extern "C" fn(*mut c_void, u32, *mut CPageAddress) -> c_int;
/// Is told of a page, or of a block.
pub type TakesNote = unsafe extern "C" fn(*mut c_void, u32) -> c_int;
/// Plans a step on a die.
pub type PlansStep = unsafe extern "C" fn(*mut c_void, u32, *mut CPlan) -> c_int;
/// Tells something of a state.
pub type Tells<T> = unsafe extern "C" fn(*mut c_void) -> T;

/// `struct pumice_ftl_layer`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CLayer {
    /// Version of the interface that it was built for.
    pub version: u32,
    /// Size of the struct.
    pub size: u32,
    /// Name.
    pub name: *const c_char,
    /// Keys.
    pub key: *const CKey,
    /// Number of keys.
    pub keys: u64,
    /// Logical pages.
    pub capacity: Option<ForDevice<u64>>,
    /// Makes a state.
    pub create: Option<ForDevice<*mut c_void>>,
    /// Ends it.
    pub destroy: Option<Tells<()>>,
    /// Plans a write.
    pub write: Option<PlansAccess>,
    /// Plans a read.
    pub read: Option<PlansAccess>,
    /// Finds a page.
    pub locate: Option<FindsPage>,
    /// Gives a page up.
    pub trim: Option<TakesNote>,
    /// Plans a step of collection.
    pub step: Option<PlansStep>,
    /// Whether it has steps.
    pub works_when_idle: Option<Tells<c_int>>,
    /// Hears of a block that will fail.
    pub note_failing: Option<TakesNote>,
    /// RAM of the map.
    pub map_ram_bytes: Option<Tells<u64>>,
    /// Bytes of the state.
    pub state_bytes: Option<Tells<u64>>,
    /// Why a call failed.
    pub failure: Option<Tells<*const c_char>>,
    /// Makes a state after a power cut.
    pub recover: Option<Recovers>,
    /// Pages of its own.
    pub own_pages: Option<TellsOwnPages>,
    /// Plans what must be read before an access.
    pub look_up: Option<PlansAccess>,
    /// Plans a write to a stream.
    pub write_to_stream: Option<PlansStreamWrite>,
    /// Whether RAM holds a page.
    pub holds: Option<TakesNote>,
    /// Plans the programs of what RAM holds.
    pub force_out: Option<PlansStep>,
    /// Hears of requests.
    pub begin_request: Option<HearsRequest>,
    /// Counters of its own.
    pub counter: *const CCounter,
    /// Number of counters.
    pub counters: u64,
    /// Tells its counts.
    pub counts: Option<TellsCounts>,
    /// Whether pages are moved from die to die.
    pub moves_between_dies: u32,
    /// Zero.
    pub reserved_2: u32,
}

// SAFETY: nobody changes a table; its pointers are to functions and to texts and keys that are never freed.
unsafe impl Send for CLayer {}
// SAFETY: as above.
unsafe impl Sync for CLayer {}

impl CSpareArea {
    /// The spare area that C has.
    pub fn area(&self) -> SpareArea {
        let CSpareArea { written, programmed, lpn, state } = *self;
        match state {
            BLANK => SpareArea::Blank,
            WRITTEN => {
                SpareArea::Written(SpareEntry { lpn: Lpn(lpn), written, programmed, mark: SpareMark::default() })
            }
            // UNREADABLE, and what only a newer version has.
            _ => SpareArea::Unreadable,
        }
    }
}

impl From<SpareArea> for CSpareArea {
    fn from(area: SpareArea) -> CSpareArea {
        match area {
            SpareArea::Blank => CSpareArea { state: BLANK, ..CSpareArea::default() },
            SpareArea::Unreadable => CSpareArea { state: UNREADABLE, ..CSpareArea::default() },
            SpareArea::Written(SpareEntry { lpn, written, programmed, .. }) => {
                CSpareArea { written, programmed, lpn: lpn.0, state: WRITTEN }
            }
        }
    }
}

impl CCommand {
    /// The command that C means; `None` if it is not one that plug-ins may plan.
    #[inline]
    pub fn command(&self) -> Option<FlashCommand> {
        let causes = *CAUSES.get(usize::from(self.op))?;
        if causes >> self.cause.min(7) & 1 == 0 || self.reserved_1 != 0 {
            return None;
        }
        // SAFETY: both have the same layout, as is asserted above. Operation and cause are numbers of variants, as has
        // just been checked; of the other fields every number is valid.
        Some(unsafe { std::ptr::from_ref(self).cast::<FlashCommand>().read() })
    }

    /// What is wrong with a command that is none.
    #[cold]
    #[inline(never)]
    pub fn refusal(&self) -> String {
        let CCommand { op, cause, .. } = *self;
        let causes = CAUSES.get(usize::from(op)).copied().unwrap_or_default();
        if causes == 0 || causes >> cause.min(7) & 1 == 1 {
            return format!("planned a command with op {op}, which plug-ins may not");
        }
        let allowed: Vec<String> = (0..7).filter(|bit| causes >> bit & 1 == 1).map(|bit: u8| bit.to_string()).collect();
        format!("planned a command with op {op} and cause {cause}; allowed: cause {}", allowed.join(", "))
    }
}
