//! The structures of `pumice_policy.h`, and a policy that decides by functions of C.

use std::ffi::{c_char, c_void};

use pumice_ftl::OwnFault;
use pumice_ftl::policy::{AskingPlane, Decides, Decisions, DeviceShape, PageToPlace, SuspensionPoint};
use pumice_ftl::victims::columns::{BlockLife, BlockRow, NO_BLOCK, PlaneColumns};

use pumice_types::{SpecError, refuse};

use crate::foreign;
use crate::ftl::{CKey, CValue};

/// `copied_from` of a page that the host writes.
pub const FROM_HOST: u32 = 255;

/// `struct pumice_device`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CDevice {
    /// Planes.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Logical pages.
    pub user_pages: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Values of the policy's keys.
    pub value: *const CValue,
}

/// `struct pumice_plane`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPlane {
    /// Pages written to the plane.
    pub now: u64,
    /// Which plane.
    pub plane: u32,
    /// Length of `block`.
    pub blocks: u32,
    /// Length of `oldest` and `age`.
    pub counts: u32,
    /// Zero.
    pub reserved: u32,
    /// The blocks.
    pub block: *const BlockRow,
    /// The oldest block of each count.
    pub oldest: *const u32,
    /// Ages of the blocks named in `oldest`.
    pub age: *const f64,
    /// When the blocks were written.
    pub life: *const BlockLife,
}

/// `struct pumice_erase`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CErase {
    /// Simulated time.
    pub now_ns: u64,
    /// Done where it would stop.
    pub done_ns: u64,
    /// Time of the whole erase.
    pub total_ns: u64,
    /// Which die.
    pub die: u32,
    /// Suspensions so far.
    pub suspensions: u32,
    /// Reads that wait.
    pub waiting_reads: u32,
    /// Whether a write waits for the block.
    pub urgent: u32,
}

/// `struct pumice_page`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPage {
    /// Pages written to its plane.
    pub now: u64,
    /// The logical page.
    pub lpn: u32,
    /// Plane of the page.
    pub plane: u32,
    /// Stream of the block that it is copied from, or [`FROM_HOST`].
    pub copied_from: u32,
    /// Zero.
    pub reserved: u32,
}

/// A decision about a plane.
pub type AboutPlane = unsafe extern "C" fn(*mut c_void, *const CPlane) -> u32;
/// A decision about a page.
pub type AboutPage = unsafe extern "C" fn(*mut c_void, *const CPage) -> u32;
/// A decision about an erase.
pub type AboutErase = unsafe extern "C" fn(*mut c_void, *const CErase) -> u32;

/// `struct pumice_policy`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CPolicy {
    /// Version of the interface that it was built for.
    pub version: u32,
    /// Size of the struct.
    pub size: u32,
    /// Name.
    pub name: *const c_char,
    /// Makes the state of a run.
    pub create: Option<unsafe extern "C" fn(*const CDevice) -> *mut c_void>,
    /// Ends it.
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Names victims.
    pub victim: Option<AboutPlane>,
    /// Names streams.
    pub placement: Option<AboutPage>,
    /// Number of streams.
    pub streams: u32,
    /// Zero.
    pub reserved: u32,
    /// Decides suspensions.
    pub suspend: Option<AboutErase>,
    /// Names blocks to move.
    pub wear_swap: Option<AboutPlane>,
    /// Tells why a call failed.
    pub failure: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    /// Keys.
    pub key: *const CKey,
    /// Number of keys.
    pub keys: u64,
}

/// Decisions by functions of C. Whoever makes one vouches for the functions.
pub struct CDecisions {
    table: CPolicy,
    context: *mut c_void,
}

// SAFETY: the header says that calls of one run come one after the other, and that a program which has a device may call
// it from thread to thread. Nothing else has the context.
unsafe impl Send for CDecisions {}

impl CPolicy {
    /// Decisions of the policy.
    ///
    /// # Errors
    /// A number of streams that a placement cannot have; or it decides nothing.
    pub fn decides(&self) -> Result<Decides, SpecError> {
        let streams_max = u32::from(pumice_ftl::policy::STREAMS_MAX);
        let streams = match self.placement {
            Some(_) if (1..=streams_max).contains(&self.streams) => self.streams as u8,
            Some(_) => {
                return Err(refuse!("has a placement of {} streams; allowed: 1 to {streams_max}", self.streams));
            }
            None => 0,
        };
        let (victim, suspend, wear_swap) = (self.victim.is_some(), self.suspend.is_some(), self.wear_swap.is_some());
        let decides = Decides { victim, streams, suspend, wear_swap };
        if decides == Decides::default() {
            return Err("decides nothing: victim, placement, suspend and wear_swap are all null".into());
        }
        Ok(decides)
    }
}

impl CDecisions {
    /// The decisions of one run with this state.
    pub fn new(table: CPolicy, context: *mut c_void) -> CDecisions {
        CDecisions { table, context }
    }

    /// The structure that `create` is given, with the values of its keys.
    pub fn device(shape: &DeviceShape, values: &[CValue]) -> CDevice {
        let DeviceShape { planes, blocks_per_plane, pages_per_block, user_pages, seed } = *shape;
        CDevice { planes, blocks_per_plane, pages_per_block, user_pages, seed, value: values.as_ptr() }
    }

    /// The answer of a call, unless it failed.
    fn checked<T>(&self, answer: T) -> Result<T, OwnFault> {
        let Some(failure) = self.table.failure else { return Ok(answer) };
        // SAFETY: the function and its context come from the same policy, which promises what the header says.
        let text = unsafe { failure(self.context) };
        if text.is_null() {
            return Ok(answer);
        }
        // SAFETY: the header asks for a text that ends with a zero byte and lives until the next call.
        Err(unsafe { foreign::failure(text) }.unwrap_or_else(|| "failed".into()).into())
    }

    fn about_plane(&self, function: AboutPlane, plane: &mut AskingPlane) -> Result<u32, OwnFault> {
        let (now, number) = (plane.now, plane.plane.0);
        let columns = plane.blocks.columns(now);
        let c_plane = c_plane(now, number, columns);
        // SAFETY: the pointers are to columns of these lengths, which `plane` keeps borrowed during the call; the
        // atomic numbers in them have the layout of plain ones.
        let answer = unsafe { function(self.context, &raw const c_plane) };
        self.checked(answer)
    }
}

/// A plane as C sees it.
fn c_plane(now: u64, plane: u32, columns: &PlaneColumns) -> CPlane {
    CPlane {
        now,
        plane,
        blocks: columns.rows().len() as u32,
        counts: columns.oldest().len() as u32,
        reserved: 0,
        block: columns.rows().as_ptr(),
        oldest: columns.oldest().as_ptr().cast(),
        age: columns.ages().as_ptr().cast(),
        life: columns.lives().as_ptr(),
    }
}

impl Decisions for CDecisions {
    fn victim(&mut self, plane: &mut AskingPlane) -> Result<u32, OwnFault> {
        let Some(victim) = self.table.victim else { return Err("decides no victim".into()) };
        let block = self.about_plane(victim, plane)?;
        if block == NO_BLOCK { Err("victim named no block".into()) } else { Ok(block) }
    }

    fn placement(&mut self, page: &PageToPlace) -> Result<u8, OwnFault> {
        let Some(placement) = self.table.placement else { return Err("places no page".into()) };
        let copied_from = page.copied_from.map_or(FROM_HOST, u32::from);
        let c_page = CPage { now: page.now, lpn: page.lpn.0, plane: page.plane.0, copied_from, reserved: 0 };
        // SAFETY: the structure lives during the call.
        let stream = self.checked(unsafe { placement(self.context, &raw const c_page) })?;
        Ok(u8::try_from(stream).unwrap_or(u8::MAX))
    }

    fn suspend(&mut self, erase: &SuspensionPoint) -> Result<bool, OwnFault> {
        let Some(suspend) = self.table.suspend else { return Err("decides no suspension".into()) };
        let c_erase = CErase {
            now_ns: erase.now.0,
            done_ns: erase.done.0,
            total_ns: erase.total.0,
            die: erase.die.0,
            suspensions: erase.suspensions,
            waiting_reads: erase.waiting_reads,
            urgent: u32::from(erase.is_urgent),
        };
        // SAFETY: the structure lives during the call.
        self.checked(unsafe { suspend(self.context, &raw const c_erase) }).map(|answer| answer != 0)
    }

    fn wear_swap(&mut self, plane: &mut AskingPlane) -> Result<Option<u32>, OwnFault> {
        let Some(wear_swap) = self.table.wear_swap else { return Err("swaps no blocks".into()) };
        let block = self.about_plane(wear_swap, plane)?;
        Ok((block != NO_BLOCK).then_some(block))
    }
}

impl Drop for CDecisions {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the context is what this policy's `create` returned, or null without one; it is ended once.
            unsafe { destroy(self.context) };
        }
    }
}
