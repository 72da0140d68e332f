//! What a chip is and was: shape, counts, bad blocks, time, power, snapshots.
//!
//! The callers of all functions promise what those of the operations promise; that is what `SAFETY` refers to.

use std::ffi::{c_char, c_int};
use std::path::PathBuf;

use pumice_chip::{Chip, ChipCounts, ChipFailure, ChipSnapshot, CutOutcome};
use pumice_types::{Choice, Time};

use super::handle::{ChipHandle, call, calls};
use super::open::free;
use crate::foreign;

/// `pumice_chip_info`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CChipInfo {
    pub size: u32,
    pub blocks: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub oob_bytes: u32,
    pub max_splits: u32,
    pub sub_blocks: u32,
}

/// `pumice_chip_counts`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header says what the members are")]
pub struct CChipCounts {
    pub size: u32,
    pub powered: u32,
    pub time_ns: u64,
    pub counts: ChipCounts,
}

// `foreign::put_sized` copies the bytes of these structs, so there may be no padding among them.
const _: () = assert!(size_of::<CChipInfo>() == 8 * 4 && size_of::<CChipCounts>() == 2 * 4 + 14 * 8);

/// One of the texts of a chip.
///
/// # Safety
/// `chip` is null or an open handle that no other thread uses.
unsafe fn text(chip: *const ChipHandle, which: usize) -> *const c_char {
    if chip.is_null() {
        return c"the chip is a null pointer".as_ptr();
    }
    // SAFETY: not null, and an open handle by the caller's promise. The text lies in memory of its own.
    unsafe { &*chip }.texts()[which].as_ptr().cast()
}

/// Why the last call failed.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_message(chip: *const ChipHandle) -> *const c_char {
    // SAFETY: the promise of this function's caller.
    unsafe { text(chip, 0) }
}

/// The rule that it broke.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_rule(chip: *const ChipHandle) -> *const c_char {
    // SAFETY: the promise of this function's caller.
    unsafe { text(chip, 1) }
}

/// Keys of the spec that a chip does not read.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_notes(chip: *const ChipHandle) -> *const c_char {
    // SAFETY: the promise of this function's caller.
    unsafe { text(chip, 2) }
}

/// Shape of a device.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_get_info(chip: *const ChipHandle, info: *mut CChipInfo) -> c_int {
    let work = |chip: &mut Chip| {
        let geometry = chip.geometry();
        let found = CChipInfo {
            size: 0,
            blocks: geometry.blocks(),
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block.into(),
            page_bytes: geometry.page_bytes,
            oob_bytes: geometry.spare_bytes,
            max_splits: chip.max_splits().into(),
            sub_blocks: chip.sub_blocks().into(),
        };
        // SAFETY: the promises of this function's caller; there is no padding.
        unsafe { foreign::put_sized(info, found, "info") }.map_err(Into::into)
    };
    // SAFETY: the promises of this function's caller. `const` in the header says that the chip's state stays; its
    // message may change, so the handle is used alone here as everywhere.
    unsafe { call(chip.cast_mut(), work) }
}

/// What was done since the chip was opened.
///
/// # Safety
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_get_counts(chip: *const ChipHandle, counts: *mut CChipCounts) -> c_int {
    let work = |chip: &mut Chip| {
        let (powered, time_ns) = (chip.is_powered().into(), chip.now().0);
        let found = CChipCounts { size: 0, powered, time_ns, counts: *chip.counts() };
        // SAFETY: the promises of this function's caller; there is no padding.
        unsafe { foreign::put_sized(counts, found, "counts") }.map_err(Into::into)
    };
    // SAFETY: as for the shape.
    unsafe { call(chip.cast_mut(), work) }
}

calls! {
    /// Whether a block is marked bad.
    extern "C" fn pumice_chip_is_bad(chip: *mut ChipHandle, block: u32, bad: *mut c_int) -> c_int {
        let is_bad = chip.block(block).map(|block| chip.is_bad(block))?;
        // SAFETY: the promises of this function's caller.
        unsafe { foreign::put(bad, c_int::from(is_bad), "bad") }.map_err(Into::into)
    }

    /// Marks a block bad.
    extern "C" fn pumice_chip_mark_bad(chip: *mut ChipHandle, block: u32) -> c_int {
        let block = chip.block(block)?;
        chip.mark_bad(block)
    }

    /// Makes a block go bad.
    extern "C" fn pumice_chip_grow_bad(chip: *mut ChipHandle, block: u32) -> c_int {
        chip.block(block).map(|block| chip.grow_bad(block))
    }

    /// Erases of a page's part of a block.
    extern "C" fn pumice_chip_get_erases(chip: *mut ChipHandle, block: u32, page: u32, erases: *mut u64) -> c_int {
        let found = chip.page(block, page).map(|page| chip.erases(page))?;
        // SAFETY: the promises of this function's caller.
        unsafe { foreign::put(erases, found, "erases") }.map_err(Into::into)
    }

    /// Lets time pass.
    extern "C" fn pumice_chip_wait(chip: *mut ChipHandle, time_ns: u64) -> c_int {
        chip.wait(Time(time_ns));
        Ok(())
    }

    /// Plans a cut of the power.
    extern "C" fn pumice_chip_cut_after(chip: *mut ChipHandle, after: u64, leaves: c_int) -> c_int {
        let outcome = usize::try_from(leaves).ok().and_then(|index| CutOutcome::ALL.get(index));
        let highest = CutOutcome::ALL.len() - 1;
        let outcome = outcome.ok_or_else(|| {
            ChipFailure::Usage(format!("leaves = {leaves} is no enum pumice_chip_cut; allowed: 0 to {highest}"))
        })?;
        chip.cut_after(after, *outcome);
        Ok(())
    }

    /// Plans a failure.
    extern "C" fn pumice_chip_fail_after(chip: *mut ChipHandle, after: u64) -> c_int {
        chip.fail_after(after);
        Ok(())
    }

    /// Plans that what a cut left has its time.
    extern "C" fn pumice_chip_settle_after(chip: *mut ChipHandle, after: u64) -> c_int {
        chip.settle_after(after);
        Ok(())
    }

    /// Begins random outcomes anew.
    extern "C" fn pumice_chip_draw_from(chip: *mut ChipHandle, number: u64) -> c_int {
        chip.draw_from(number);
        Ok(())
    }

    /// Writes a chip into a file. `path` is null or a text that ends with a 0.
    extern "C" fn pumice_chip_save(chip: *mut ChipHandle, path: *const c_char) -> c_int {
        // SAFETY: the promise of this function's caller.
        chip.save(&unsafe { file(path) }?)
    }

    /// Reads a chip from a file. `path` is null or a text that ends with a 0.
    extern "C" fn pumice_chip_load(chip: *mut ChipHandle, path: *const c_char) -> c_int {
        // SAFETY: the promise of this function's caller.
        chip.load(&unsafe { file(path) }?)
    }

    /// Takes back a planned cut.
    extern "C" fn pumice_chip_cancel_cut(chip: *mut ChipHandle) -> c_int {
        chip.cancel_cut();
        Ok(())
    }

    /// Cuts the power.
    extern "C" fn pumice_chip_power_off(chip: *mut ChipHandle) -> c_int {
        chip.power_off();
        Ok(())
    }

    /// Gives the power back.
    extern "C" fn pumice_chip_power_on(chip: *mut ChipHandle) -> c_int {
        chip.power_on();
        Ok(())
    }

    /// The firmware has recovered.
    extern "C" fn pumice_chip_settle(chip: *mut ChipHandle) -> c_int {
        chip.settle();
        Ok(())
    }

    /// Keeps the state of a chip.
    extern "C" fn pumice_chip_snapshot_take(chip: *mut ChipHandle, snapshot: *mut *mut ChipSnapshot) -> c_int {
        // SAFETY: the promises of this function's caller. A refusal comes before anything is allocated.
        unsafe { foreign::put(snapshot, std::ptr::null_mut(), "snapshot") }?;
        let taken = Box::into_raw(Box::new(chip.snapshot()));
        // SAFETY: the same.
        unsafe { foreign::put(snapshot, taken, "snapshot") }.map_err(Into::into)
    }

    /// Makes a chip what it was. `snapshot` is null or was taken and not freed.
    extern "C" fn pumice_chip_snapshot_restore(chip: *mut ChipHandle, snapshot: *const ChipSnapshot) -> c_int {
        if snapshot.is_null() {
            return Err(ChipFailure::Usage("snapshot is a null pointer".into()));
        }
        // SAFETY: not null, and by the caller's promise a snapshot that was not freed; it is only read.
        chip.restore(unsafe { &*snapshot })
    }
}

/// The file of a path.
///
/// # Safety
/// `path` is null or a text that ends with a 0.
unsafe fn file(path: *const c_char) -> Result<PathBuf, ChipFailure> {
    // SAFETY: the promise of this function's caller.
    let path = unsafe { foreign::text(path, "path") }?;
    path.map(PathBuf::from).ok_or_else(|| ChipFailure::Usage("path is a null pointer".into()))
}

/// Frees a snapshot.
///
/// # Safety
/// `snapshot` is null, or points to null or to a snapshot that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pumice_chip_snapshot_free(snapshot: *mut *mut ChipSnapshot) {
    // SAFETY: the promise of this function's caller.
    unsafe { free(snapshot) };
}
