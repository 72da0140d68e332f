//! The chips that `recover` of a plug-in reads. The functions have no context: they know the call that is under way on
//! their thread, so that one which comes too late, or from elsewhere, is refused instead of reading memory that is gone.

use std::cell::Cell;
use std::ffi::c_int;

use pumice_ftl::plugin::SpareAreas;
use pumice_types::{BlockId, PageAddress, SpareArea};

use super::table::{CChips, CSpareArea, FAILED, OK};

/// What a plug-in is given. It is good for ever, but answers only during a call of [`while_read`].
pub static CHIPS: CChips = CChips { page, block };

thread_local! {
    /// The chips that the call under way on this thread may read.
    static READ: Cell<Option<*mut dyn SpareAreas>> = const { Cell::new(None) };
}

/// Takes the chips away when a call ends, however it ends.
struct EndOfReading;

impl Drop for EndOfReading {
    fn drop(&mut self) {
        READ.set(None);
    }
}

/// Makes a call in which [`CHIPS`] are these.
pub fn while_read<R>(chips: &mut dyn SpareAreas, call: impl FnOnce() -> R) -> R {
    let chips: *mut (dyn SpareAreas + '_) = chips;
    // SAFETY: only the lifetime of the pointer is given up. It is taken away before this function returns, and `chips`
    // stays borrowed until then.
    let chips = unsafe { std::mem::transmute::<*mut (dyn SpareAreas + '_), *mut (dyn SpareAreas + 'static)>(chips) };
    READ.set(Some(chips));
    let _end = EndOfReading;
    call()
}

/// Lets a function read the chips. Nothing else reads them meanwhile: they are out of reach until it has returned.
fn read(function: impl FnOnce(&mut dyn SpareAreas)) -> c_int {
    let Some(chips) = READ.take() else { return FAILED };
    // SAFETY: a pointer that is set is to chips that `while_read` keeps borrowed, and it was taken away for this call.
    function(unsafe { &mut *chips });
    READ.set(Some(chips));
    OK
}

unsafe extern "C" fn page(block: u32, page: u32, area: *mut CSpareArea) -> c_int {
    if area.is_null() {
        return FAILED;
    }
    let place = PageAddress::new(BlockId(block), u16::try_from(page).unwrap_or(u16::MAX));
    let mut found = SpareArea::Unreadable;
    let status = read(|chips| found = chips.page(place));
    // SAFETY: not null, and the header asks for a place for one.
    unsafe { area.write_unaligned(found.into()) };
    status
}

unsafe extern "C" fn block(block: u32, area: *mut CSpareArea) -> c_int {
    if area.is_null() {
        return FAILED;
    }
    let mut found = Vec::new();
    let status = read(|chips| chips.block(BlockId(block), &mut found));
    for (nth, area_found) in found.into_iter().enumerate() {
        // SAFETY: not null, and the header asks for places for all pages of a block, which is what was found.
        unsafe { area.add(nth).write_unaligned(area_found.into()) };
    }
    status
}
