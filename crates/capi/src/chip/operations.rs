//! Reads, programs, copies and erases.
//!
//! The callers of all functions promise the same: the chip is null or a handle that is open and that no other thread
//! uses, and every other pointer is null or points to as much memory as the length with it says. That is what
//! `SAFETY` refers to.

use std::ffi::{c_int, c_void};

use pumice_chip::{Chip, ChipFailure};
use pumice_types::{PageAddress, Pb};

use super::handle::{ChipHandle, call, calls};
use crate::foreign;

/// Memory of the caller and its length.
type Room = (*mut c_void, usize);

/// Reads a page by `how` into the caller's buffers.
///
/// # Safety
/// Each buffer is null or writable for its length.
unsafe fn read_into(
    chip: &mut Chip,
    [block, page]: [u32; 2],
    [data, oob]: [Room; 2],
    how: impl FnOnce(&mut Chip, PageAddress, &mut [u8], &mut [u8]) -> Result<(), ChipFailure>,
) -> Result<(), ChipFailure> {
    let page = chip.page(block, page)?;
    foreign::check_apart((data.0, data.1), (oob.0, oob.1))?;
    // SAFETY: the caller's promise; the buffers do not overlap.
    let data = unsafe { foreign::bytes_mut(data.0, data.1, "data") }?;
    // SAFETY: the same.
    let oob = unsafe { foreign::bytes_mut(oob.0, oob.1, "oob") }?;
    how(chip, page, data, oob)
}

calls! {
    /// Reads a page.
    extern "C" fn pumice_chip_read(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        data: *mut c_void,
        data_bytes: usize,
        oob: *mut c_void,
        oob_bytes: usize,
    ) -> c_int {
        let rooms = [(data, data_bytes), (oob, oob_bytes)];
        // SAFETY: the promises of this function's caller.
        unsafe { read_into(chip, [block, page], rooms, |chip, page, data, oob| chip.read(page, data, oob).map(drop)) }
    }

    /// Reads a part of a page's data.
    extern "C" fn pumice_chip_read_at(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        offset: usize,
        data: *mut c_void,
        data_bytes: usize,
    ) -> c_int {
        let rooms = [(data, data_bytes), (std::ptr::null_mut(), 0)];
        let read = |chip: &mut Chip, page, data: &mut [u8], _: &mut [u8]| chip.read_at(page, offset, data).map(drop);
        // SAFETY: the promises of this function's caller.
        unsafe { read_into(chip, [block, page], rooms, read) }
    }

    /// Reads a page without any code.
    extern "C" fn pumice_chip_read_raw(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        data: *mut c_void,
        data_bytes: usize,
        oob: *mut c_void,
        oob_bytes: usize,
    ) -> c_int {
        // SAFETY: the promises of this function's caller.
        unsafe { read_into(chip, [block, page], [(data, data_bytes), (oob, oob_bytes)], Chip::read_raw) }
    }

    /// Reads a spare area.
    extern "C" fn pumice_chip_read_oob(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        oob: *mut c_void,
        oob_bytes: usize,
    ) -> c_int {
        let rooms = [(std::ptr::null_mut(), 0), (oob, oob_bytes)];
        // SAFETY: the promises of this function's caller.
        unsafe { read_into(chip, [block, page], rooms, |chip, page, _, oob| chip.read_oob(page, oob)) }
    }

    /// Whether a page looks erased.
    extern "C" fn pumice_chip_is_blank(chip: *mut ChipHandle, block: u32, page: u32, blank: *mut c_int) -> c_int {
        let page = chip.page(block, page)?;
        // SAFETY: the promises of this function's caller. It is written before the chip is asked, so that a null
        // pointer costs nothing.
        unsafe { foreign::put(blank, 0, "blank") }?;
        let is_blank = chip.is_blank(page)?;
        // SAFETY: the same.
        unsafe { foreign::put(blank, c_int::from(is_blank), "blank") }.map_err(Into::into)
    }

    /// Programs a page.
    extern "C" fn pumice_chip_program(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        data: *const c_void,
        data_bytes: usize,
        oob: *const c_void,
        oob_bytes: usize,
    ) -> c_int {
        let page = chip.page(block, page)?;
        // SAFETY: the promises of this function's caller; both are only read.
        let data = unsafe { foreign::bytes(data, data_bytes, "data") }?;
        // SAFETY: the same.
        let oob = unsafe { foreign::bytes(oob, oob_bytes, "oob") }?;
        chip.program(page, data, oob)
    }

    /// Programs a part of a page's data.
    extern "C" fn pumice_chip_program_at(
        chip: *mut ChipHandle,
        block: u32,
        page: u32,
        offset: usize,
        data: *const c_void,
        data_bytes: usize,
    ) -> c_int {
        let page = chip.page(block, page)?;
        // SAFETY: the promises of this function's caller.
        let data = unsafe { foreign::bytes(data, data_bytes, "data") }?;
        chip.program_at(page, offset, data)
    }

    /// Copies a page.
    extern "C" fn pumice_chip_copy(
        chip: *mut ChipHandle,
        from_block: u32,
        from_page: u32,
        to_block: u32,
        to_page: u32,
        oob: *const c_void,
        oob_bytes: usize,
    ) -> c_int {
        let (from, to) = (chip.page(from_block, from_page)?, chip.page(to_block, to_page)?);
        // SAFETY: the promises of this function's caller.
        let bytes = unsafe { foreign::bytes(oob, oob_bytes, "oob") }?;
        chip.copy(from, to, (!oob.is_null()).then_some(bytes))
    }

    /// Erases a block.
    extern "C" fn pumice_chip_erase(chip: *mut ChipHandle, block: u32) -> c_int {
        let block = chip.block(block)?;
        chip.erase(block)
    }

    /// Erases a partial block.
    extern "C" fn pumice_chip_erase_partial(chip: *mut ChipHandle, block: u32, partial_block: u32) -> c_int {
        let block = chip.block(block)?;
        // No tree has a partial block 0, so the chip refuses what is too large by the name of the rule.
        chip.erase_partial(block, Pb(u16::try_from(partial_block).unwrap_or(0)))
    }

    /// Erases sub-blocks.
    extern "C" fn pumice_chip_erase_sub_blocks(chip: *mut ChipHandle, block: u32, sub_blocks: u32) -> c_int {
        let block = chip.block(block)?;
        chip.erase_sub_blocks(block, sub_blocks)
    }
}
