//! Functions of plain numbers and columns, given by their addresses: what numba and ctypes make.

use std::ffi::c_void;

use pumice_ftl::OwnFault;
use pumice_ftl::policy::{AskingPlane, Decisions, PageToPlace, SuspensionPoint};
use pumice_ftl::victims::columns::{BlockLife, BlockRow, NO_BLOCK};

use super::table::FROM_HOST;

/// `pumice_flat_plane`
pub type FlatPlane = unsafe extern "C" fn(u32, u64, *const BlockRow, u32, *const u32, *const f64, u32) -> u32;
/// `pumice_flat_page`
pub type FlatPage = unsafe extern "C" fn(u32, u32, u64, u32) -> u32;
/// `pumice_flat_erase`
pub type FlatErase = unsafe extern "C" fn(u32, u64, u64, u64, u32, u32, u32) -> u32;

/// `pumice_state_plane`
pub type StatePlane = unsafe extern "C" fn(
    *mut c_void,
    u32,
    u64,
    *const BlockRow,
    *const BlockLife,
    u32,
    *const u32,
    *const f64,
    u32,
) -> u32;
/// `pumice_state_page`
pub type StatePage = unsafe extern "C" fn(*mut c_void, u32, u32, u64, u32) -> u32;
/// `pumice_state_erase`
pub type StateErase = unsafe extern "C" fn(*mut c_void, u32, u64, u64, u64, u32, u32, u32) -> u32;

/// Addresses of functions; 0 where a decision has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// Address of a [`FlatPlane`] or [`StatePlane`] that names victims.
    pub victim: usize,
    /// Address of a [`FlatPage`] or [`StatePage`] that names streams.
    pub placement: usize,
    /// Address of a [`FlatErase`] or [`StateErase`] that decides suspensions.
    pub suspend: usize,
    /// Address of a [`FlatPlane`] or [`StatePlane`] that names blocks to move.
    pub wear_swap: usize,
    /// Address of the state. If it is not 0, all functions are those of a policy with a state.
    pub state: usize,
}

/// Decisions by functions at addresses.
pub struct FlatDecisions {
    functions: Addresses,
}

/// The decisions of functions at these addresses. Whoever gives an address vouches that it is that of a function of
/// the type that the header has for it, or of a state that nothing else uses, and stays so as long as the decisions
/// live; nobody can check that.
pub fn at_addresses(functions: Addresses) -> FlatDecisions {
    FlatDecisions { functions }
}

/// The function at an address; `None` if that is 0.
///
/// # Safety
/// `F` is the type of a function, and the address is 0 or that of such a function.
unsafe fn function_at<F: Copy>(address: usize) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: a function pointer has the size of an address, as asserted; the rest is the caller's promise.
    (address != 0).then(|| unsafe { std::mem::transmute_copy::<usize, F>(&address) })
}

impl FlatDecisions {
    /// Asks the function at an address about a plane; `None` if there is none.
    #[inline]
    fn about_plane(&self, address: usize, asking: &mut AskingPlane) -> Option<u32> {
        let (plane, now, state) = (asking.plane.0, asking.now, self.functions.state as *mut c_void);
        let columns = asking.blocks.columns(now);
        let (rows, lives, oldest) = (columns.rows(), columns.lives(), columns.oldest());
        let (blocks, counts) = (rows.len() as u32, oldest.len() as u32);
        let (rows, lives, oldest, ages) =
            (rows.as_ptr(), lives.as_ptr(), oldest.as_ptr().cast(), columns.ages().as_ptr().cast());
        // SAFETY: whoever gave the address promised a function of this type. The pointers are to columns of these
        // lengths, which `asking` keeps borrowed during the call; the atomic numbers in them have the layout of plain
        // ones.
        unsafe {
            if state.is_null() {
                let function = function_at::<FlatPlane>(address)?;
                return Some(function(plane, now, rows, blocks, oldest, ages, counts));
            }
            let function = function_at::<StatePlane>(address)?;
            Some(function(state, plane, now, rows, lives, blocks, oldest, ages, counts))
        }
    }
}

impl Decisions for FlatDecisions {
    fn victim(&mut self, asking: &mut AskingPlane) -> Result<u32, OwnFault> {
        let block = self.about_plane(self.functions.victim, asking).ok_or("decides no victim")?;
        if block == NO_BLOCK { Err("victim named no block".into()) } else { Ok(block) }
    }

    #[inline]
    fn placement(&mut self, page: &PageToPlace) -> Result<u8, OwnFault> {
        let from = page.copied_from.map_or(FROM_HOST, u32::from);
        let (lpn, plane, now, state) = (page.lpn.0, page.plane.0, page.now, self.functions.state as *mut c_void);
        // SAFETY: whoever gave the address promised a function of this type; all arguments but the state are numbers.
        let stream = unsafe {
            if state.is_null() {
                function_at::<FlatPage>(self.functions.placement).map(|function| function(lpn, plane, now, from))
            } else {
                function_at::<StatePage>(self.functions.placement)
                    .map(|function| function(state, lpn, plane, now, from))
            }
        };
        Ok(stream.ok_or("places no page")?.min(u8::MAX.into()) as u8)
    }

    fn suspend(&mut self, erase: &SuspensionPoint) -> Result<bool, OwnFault> {
        let SuspensionPoint { die, now, done, total, suspensions, waiting_reads: reads, is_urgent } = *erase;
        let (urgent, state) = (u32::from(is_urgent), self.functions.state as *mut c_void);
        // SAFETY: whoever gave the address promised a function of this type; all arguments but the state are numbers.
        let answer = unsafe {
            if state.is_null() {
                function_at::<FlatErase>(self.functions.suspend)
                    .map(|function| function(die.0, now.0, done.0, total.0, suspensions, reads, urgent))
            } else {
                function_at::<StateErase>(self.functions.suspend)
                    .map(|function| function(state, die.0, now.0, done.0, total.0, suspensions, reads, urgent))
            }
        };
        Ok(answer.ok_or("decides no suspension")? != 0)
    }

    fn wear_swap(&mut self, asking: &mut AskingPlane) -> Result<Option<u32>, OwnFault> {
        let block = self.about_plane(self.functions.wear_swap, asking).ok_or("swaps no blocks")?;
        Ok((block != NO_BLOCK).then_some(block))
    }
}
