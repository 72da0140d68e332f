//! What a layer in Rust offers beyond reads and writes, as functions of the table.

use std::ffi::{c_int, c_void};

use pumice_ftl::plugin::PluginLayer;
use pumice_ftl::{BegunRequest, ForcedOut};
use pumice_types::key::Keys;
use pumice_types::{Lpn, RequestKind, Time};

use super::{Exported, give, guarded, values_of, with};
use crate::ftl::table::{ALL, CPlan, CRequest, CValue, FAILED, KINDS, OK};

/// The kind of a number; what only a newer version has is a read, which changes nothing.
fn kind_of(number: u32) -> RequestKind {
    KINDS.get(number as usize).copied().unwrap_or(RequestKind::Read)
}

pub unsafe extern "C" fn own_pages<T: PluginLayer>(value: *const CValue, user_pages: u64) -> u64 {
    guarded(0, || {
        // SAFETY: the header has it point to a value for each key.
        let keys = T::Keys::read(&unsafe { values_of::<T>(value) })?;
        Ok(T::own_pages(&keys, user_pages as u32).into())
    })
}

pub unsafe extern "C" fn look_up<T: PluginLayer>(state: *mut c_void, lpn: u32, kind: u32, c_plan: *mut CPlan) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            if let Some(map) = layer.map_loads() {
                map.load_map(Lpn(lpn), kind_of(kind), plan)?;
            }
            give(plan, c_plan, OK)
        })
    }
}

pub unsafe extern "C" fn write_to_stream<T: PluginLayer>(
    state: *mut c_void,
    lpn: u32,
    version: u32,
    stream: u32,
    c_plan: *mut CPlan,
) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            let written = match layer.streams() {
                Some(streams) => streams.write_to_stream(Lpn(lpn), version as u8, stream as u8, plan),
                None => layer.write(Lpn(lpn), version as u8, plan),
            };
            written?;
            give(plan, c_plan, OK)
        })
    }
}

pub unsafe extern "C" fn holds<T: PluginLayer>(state: *mut c_void, lpn: u32) -> c_int {
    // SAFETY: the header says what it is.
    unsafe {
        with::<T, _>(state, 0, |exported| {
            Ok(exported.layer.open_pages().is_some_and(|buffer| buffer.gathers(Lpn(lpn))).into())
        })
    }
}

pub unsafe extern "C" fn force_out<T: PluginLayer>(state: *mut c_void, lpn: u32, c_plan: *mut CPlan) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            if let Some(buffer) = layer.open_pages() {
                buffer.force_out(if lpn == ALL { ForcedOut::All } else { ForcedOut::Unit(Lpn(lpn)) }, plan)?;
            }
            give(plan, c_plan, OK)
        })
    }
}

pub unsafe extern "C" fn begin_request<T: PluginLayer>(state: *mut c_void, request: *const CRequest) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |exported| {
            let CRequest { now_ns, lpn, pages, kind, stream } = *request;
            let (kind, first, stream, now) = (kind_of(kind), Lpn(lpn), stream as u8, Time(now_ns));
            if let Some(requests) = exported.layer.requests() {
                requests.begin(&BegunRequest { kind, first, pages, stream, now });
            }
            Ok(OK)
        })
    }
}

pub unsafe extern "C" fn counts<T: PluginLayer>(state: *mut c_void, count: *mut u64) -> c_int {
    // SAFETY: the header says what both are: there is a place for each count.
    unsafe {
        with::<T, _>(state, FAILED, |exported| {
            let counts = exported.layer.own_counts().map(|own| own.counts()).unwrap_or_default();
            for (nth, value) in counts.into_iter().take(T::COUNTS.len()).enumerate() {
                count.add(nth).write(value);
            }
            Ok(OK)
        })
    }
}
