//! A layer in Rust recovers after a power cut: what the engine gives it to read, and the new state.

use std::ffi::c_void;
use std::ptr;

use pumice_ftl::Plan;
use pumice_ftl::plugin::{PLAN_COMMANDS_MAX, PluginLayer, SpareAreas};
use pumice_types::key::Keys;
use pumice_types::{BlockId, PageAddress, SpareArea};

use super::{Exported, device_of, give, guarded, values_of};
use crate::ftl::table::{CChips, CLayerDevice, CPlan, CSpareArea, CValue, OK};

/// The chips that the engine lets a plug-in read.
struct ChipsOfEngine {
    chips: CChips,
    /// Room for the spare areas of a block.
    areas: Vec<CSpareArea>,
}

impl SpareAreas for ChipsOfEngine {
    fn page(&mut self, page: PageAddress) -> SpareArea {
        let mut area = CSpareArea::default();
        // SAFETY: the function is the engine's, and the place is writable.
        let status = unsafe { (self.chips.page)(page.block.0, page.page.into(), &raw mut area) };
        if status == OK { area.area() } else { SpareArea::Unreadable }
    }

    fn block(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
        self.areas.fill(CSpareArea::from(SpareArea::Unreadable));
        // SAFETY: the function is the engine's, and there is a place for each page of a block. Where it fails, the areas
        // stay unreadable or are set so.
        unsafe { (self.chips.block)(block.0, self.areas.as_mut_ptr()) };
        found.clear();
        found.extend(self.areas.iter().map(CSpareArea::area));
    }
}

/// See `recover` in `pumice_ftl.h`.
pub unsafe extern "C" fn recover<T: PluginLayer>(
    device: *const CLayerDevice,
    value: *const CValue,
    chips: *const CChips,
    c_plan: *mut CPlan,
) -> *mut c_void {
    guarded(ptr::null_mut(), || {
        // SAFETY: the header has all of them point to what it says.
        let (device, values, chips) = unsafe { (device_of(device)?, values_of::<T>(value), *chips) };
        let areas = vec![CSpareArea::default(); device.geometry.pages_per_block.into()];
        let mut plan = Plan::limited(PLAN_COMMANDS_MAX);
        let layer = T::recover(&device, &T::Keys::read(&values)?, &mut ChipsOfEngine { chips, areas }, &mut plan)?;
        let mut exported = Box::new(Exported { layer, plan });
        // SAFETY: the plan is the engine's. Its commands lie in the state, which is kept.
        unsafe { give(&mut exported.plan, c_plan, OK)? };
        Ok(Box::into_raw(exported).cast())
    })
}
