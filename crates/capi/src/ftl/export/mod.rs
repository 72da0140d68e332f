//! The plug-in's side of `pumice_ftl.h`: a table of functions for a layer in Rust. It is linked into the plug-in, not
//! into the engine. No panic leaves these functions: it becomes a failure with its message and place.

mod capabilities;
mod recover;

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::ptr;
use std::sync::OnceLock;

use pumice_ftl::plugin::{PluginDevice, PluginLayer};
use pumice_ftl::{OwnFault, Plan};
use pumice_types::key::{Key, Keys, Range, Value, ValueKind, Values, When};
use pumice_types::{BlockId, DieId, Geometry, Lpn, PbTree, ProgramOrder};

use super::table::{
    AT_ONCE, CCommand, CCounter, CHOICE, CKey, CLayer, CLayerDevice, CPageAddress, CPlan, CValue, FAILED, FTL_VERSION,
    LAST, NOT_STORED, NUMBER, OK, SWITCH, WHOLE_NUMBER,
};

/// The kind of a key that the interface does not have.
const NO_KIND: u32 = u32::MAX;

thread_local! {
    /// Why the last call on this thread failed.
    static WHY: RefCell<CString> = RefCell::default();
    /// The place of the last panic on this thread.
    static PANICKED_AT: RefCell<String> = RefCell::default();
}

/// The table of a layer, for [`export_ftl!`](crate::export_ftl).
pub fn exported<T: PluginLayer>(kept: &'static OnceLock<CLayer>) -> *const CLayer {
    kept.get_or_init(table_of::<T>)
}

fn table_of<T: PluginLayer>() -> CLayer {
    // The message of a panic is told by the engine, in one line, and not by this plug-in's standard library as well.
    set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        PANICKED_AT.with(|kept| *kept.borrow_mut() = place);
    }));
    let keys: Vec<CKey> = T::Keys::rows().into_iter().map(c_key).collect();
    let keys: &'static [CKey] = keys.leak();
    let counters = T::COUNTS.iter().map(|(name, text)| CCounter { name: kept_text(name), text: kept_text(text) });
    let counters: &'static [CCounter] = counters.collect::<Vec<_>>().leak();
    CLayer {
        version: FTL_VERSION.code(),
        size: size_of::<CLayer>() as u32,
        name: kept_text(T::NAME),
        key: keys.as_ptr(),
        keys: keys.len() as u64,
        capacity: Some(capacity::<T>),
        create: Some(create::<T>),
        destroy: Some(destroy::<T>),
        write: Some(write::<T>),
        read: Some(read::<T>),
        locate: Some(locate::<T>),
        trim: Some(trim::<T>),
        step: Some(step::<T>),
        works_when_idle: Some(works_when_idle::<T>),
        note_failing: T::RETIRES_BLOCKS.then_some(note_failing::<T> as _),
        map_ram_bytes: Some(map_ram_bytes::<T>),
        state_bytes: Some(state_bytes::<T>),
        failure: Some(failure),
        recover: T::RECOVERS.then_some(recover::recover::<T> as _),
        own_pages: Some(capabilities::own_pages::<T>),
        look_up: T::OFFERS.looks_up.then_some(capabilities::look_up::<T> as _),
        write_to_stream: T::OFFERS.places_streams.then_some(capabilities::write_to_stream::<T> as _),
        holds: T::OFFERS.buffers.then_some(capabilities::holds::<T> as _),
        force_out: T::OFFERS.buffers.then_some(capabilities::force_out::<T> as _),
        begin_request: T::OFFERS.hears_requests.then_some(capabilities::begin_request::<T> as _),
        counter: counters.as_ptr(),
        counters: counters.len() as u64,
        counts: (!T::COUNTS.is_empty()).then_some(capabilities::counts::<T> as _),
        moves_between_dies: T::OFFERS.moves_between_dies.into(),
        reserved_2: 0,
    }
}

/// A text that C can read and that is never freed.
fn kept_text(text: &str) -> *const c_char {
    CString::new(text.replace('\0', " ")).unwrap_or_default().into_raw()
}

/// The table of a key for C.
fn c_key(key: &Key) -> CKey {
    let (low, high) = match key.range {
        Range::Float(low, high) => (low, high),
        Range::Int(..) | Range::None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let (least, most) = match key.range {
        Range::Int(least, most) => (least, most),
        Range::Float(..) | Range::None => (i64::MIN, i64::MAX),
    };
    let kind = match key.shape {
        ValueKind::Int => WHOLE_NUMBER,
        ValueKind::Float => NUMBER,
        ValueKind::Bool => SWITCH,
        ValueKind::Choice(_) => CHOICE,
        ValueKind::Text | ValueKind::Floats | ValueKind::FloatOrFloats => NO_KIND,
    };
    let choices = match key.shape {
        ValueKind::Choice(names) => kept_text(&names.join("|")),
        ValueKind::Int
        | ValueKind::Float
        | ValueKind::Bool
        | ValueKind::Text
        | ValueKind::Floats
        | ValueKind::FloatOrFloats => ptr::null(),
    };
    CKey {
        name: kept_text(key.path.rsplit('.').next().unwrap_or_default()),
        default_value: kept_text(key.default),
        unit: kept_text(key.unit),
        text: kept_text(key.text),
        choices,
        low,
        high,
        least,
        most,
        // A run reads every key of a plug-in: a condition could not be told.
        kind: if matches!(key.when, When::Always) { kind } else { NO_KIND },
        reserved: 0,
    }
}

/// The values of a layer's keys.
///
/// # Safety
/// `value` points to as many values as there are keys.
unsafe fn values_of<T: PluginLayer>(value: *const CValue) -> Values {
    let rows = T::Keys::rows();
    if rows.is_empty() {
        return Values::new();
    }
    // SAFETY: the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(value, rows.len()) };
    let given = rows.iter().zip(values).filter(|(_, value)| value.given != 0);
    let read = given.filter_map(|(key, value)| {
        let read = match key.shape {
            ValueKind::Int => Value::Int(value.whole),
            ValueKind::Float => Value::Float(value.number),
            ValueKind::Bool => Value::Bool(value.whole != 0),
            ValueKind::Choice(names) => Value::Text((*names.get(usize::try_from(value.whole).ok()?)?).to_string()),
            ValueKind::Text | ValueKind::Floats | ValueKind::FloatOrFloats => return None,
        };
        Some((key.path, read))
    });
    read.collect()
}

/// The device that C describes.
///
/// # Safety
/// `device` points to a device with a list of bad blocks of the length that it says.
unsafe fn device_of(device: *const CLayerDevice) -> Result<PluginDevice, OwnFault> {
    // SAFETY: the caller's promise.
    let device = unsafe { &*device };
    let bad_blocks = match device.bad_block.is_null() {
        true => &[][..],
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(device.bad_block, device.bad_blocks as usize) },
    };
    let pages = u16::try_from(device.pages_per_block).map_err(|_| "has too large blocks")?;
    let geometry = Geometry {
        channels: device.channels,
        chips_per_channel: device.chips_per_channel,
        dies_per_chip: device.dies_per_chip,
        planes_per_die: device.planes_per_die,
        blocks_per_plane: device.blocks_per_plane,
        pages_per_block: pages,
        page_bytes: device.page_bytes,
        spare_bytes: device.spare_bytes,
        units_per_page: 1,
    };
    let tree = PbTree::new(pages, device.max_splits as u8);
    let tree = tree.and_then(|tree| tree.in_runs(device.runs.clamp(1, u32::from(u16::MAX)) as u16));
    Ok(PluginDevice {
        geometry,
        program_order: if device.in_order == 0 { ProgramOrder::Any } else { ProgramOrder::InOrder },
        tree: tree.ok_or("has partial blocks that do not fit")?,
        sub_blocks: device.sub_blocks,
        over_provisioning: device.over_provisioning,
        bad_blocks_per_plane: device.bad_blocks_per_plane,
        bad_blocks: bad_blocks.iter().copied().map(BlockId).collect(),
        seed: device.seed,
        loses_power: device.loses_power != 0,
    })
}

/// A layer at work, and the plan that its calls fill.
struct Exported<T> {
    layer: T,
    plan: Plan,
}

/// Does the work of a call. What it fails or panics with is kept for `failure`, and `failed` is returned.
#[inline]
fn guarded<R>(failed: R, call: impl FnOnce() -> Result<R, OwnFault>) -> R {
    let answer = catch_unwind(AssertUnwindSafe(|| match call() {
        Ok(answer) => Some(answer),
        Err(fault) => {
            keep_failure(fault.text);
            None
        }
    }));
    match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => failed,
        Err(panic) => {
            keep_panic(panic.as_ref());
            failed
        }
    }
}

#[cold]
fn keep_panic(panic: &(dyn Any + Send)) {
    let place = PANICKED_AT.with(|kept| kept.borrow().clone());
    keep_failure(format!("panicked: {}{place}", message_of(panic)));
}

#[cold]
fn keep_failure(text: String) {
    WHY.with(|kept| *kept.borrow_mut() = CString::new(text.replace('\0', " ")).unwrap_or_default());
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// A call on the layer of a state.
///
/// # Safety
/// `state` is what `create` of the same layer returned, and nothing else uses it.
#[inline]
unsafe fn with<T: PluginLayer, R>(
    state: *mut c_void,
    failed: R,
    call: impl FnOnce(&mut Exported<T>) -> Result<R, OwnFault>,
) -> R {
    guarded(failed, || {
        // SAFETY: the caller's promise.
        match unsafe { state.cast::<Exported<T>>().as_mut() } {
            Some(exported) => call(exported),
            None => Err("was called without a state".into()),
        }
    })
}

/// Gives what a call has planned to C where it lies, and returns `status`. The plan stays as it is until the next call.
///
/// # Safety
/// `c_plan` is a plan.
#[inline]
unsafe fn give(plan: &mut Plan, c_plan: *mut CPlan, status: c_int) -> Result<c_int, OwnFault> {
    // SAFETY: the caller's promise.
    let c_plan = unsafe { &mut *c_plan };
    let commands = plan.commands.len();
    // A command of the engine is one of C as well; the engine looks at each before it takes it.
    c_plan.command = plan.commands.as_mut_ptr().cast::<CCommand>();
    c_plan.commands = commands as u32;
    c_plan.completes = match plan.completes() {
        Some(last) if last + 1 == commands => LAST,
        Some(at) => at as u32,
        None if commands == 0 => LAST,
        None => AT_ONCE,
    };
    let is_too_long = |_| format!("planned a look-up of {} ns; allowed: up to {}", plan.look_up.0, u32::MAX);
    c_plan.look_up_ns = u32::try_from(plan.look_up.0).map_err(is_too_long)?;
    Ok(status)
}

unsafe extern "C" fn capacity<T: PluginLayer>(device: *const CLayerDevice, value: *const CValue) -> u64 {
    guarded(0, || {
        // SAFETY: the header has both point to what it says.
        let (device, values) = unsafe { (device_of(device)?, values_of::<T>(value)) };
        Ok(T::capacity(&device, &T::Keys::read(&values)?)?.into())
    })
}

unsafe extern "C" fn create<T: PluginLayer>(device: *const CLayerDevice, value: *const CValue) -> *mut c_void {
    guarded(ptr::null_mut(), || {
        // SAFETY: the header has both point to what it says.
        let (device, values) = unsafe { (device_of(device)?, values_of::<T>(value)) };
        let layer = T::new(&device, &T::Keys::read(&values)?)?;
        let exported = Exported { layer, plan: Plan::limited(pumice_ftl::plugin::PLAN_COMMANDS_MAX) };
        Ok(Box::into_raw(Box::new(exported)).cast())
    })
}

unsafe extern "C" fn destroy<T: PluginLayer>(state: *mut c_void) {
    if !state.is_null() {
        // SAFETY: `create` made it in a box, and it is ended once.
        let made = unsafe { Box::from_raw(state.cast::<Exported<T>>()) };
        guarded((), || {
            drop(made);
            Ok(())
        });
    }
}

unsafe extern "C" fn write<T: PluginLayer>(state: *mut c_void, lpn: u32, version: u32, c_plan: *mut CPlan) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            layer.write(Lpn(lpn), version as u8, plan)?;
            give(plan, c_plan, OK)
        })
    }
}

unsafe extern "C" fn read<T: PluginLayer>(state: *mut c_void, lpn: u32, version: u32, c_plan: *mut CPlan) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            let found = layer.read(Lpn(lpn), version as u8, plan);
            give(plan, c_plan, if found { OK } else { NOT_STORED })
        })
    }
}

unsafe extern "C" fn locate<T: PluginLayer>(state: *mut c_void, lpn: u32, page: *mut CPageAddress) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |exported| {
            let Some(found) = exported.layer.locate(Lpn(lpn)) else { return Ok(NOT_STORED) };
            page.write(CPageAddress { block: found.block.0, page: found.page.into() });
            Ok(OK)
        })
    }
}

unsafe extern "C" fn trim<T: PluginLayer>(state: *mut c_void, lpn: u32) -> c_int {
    // SAFETY: the header says what it is.
    unsafe {
        with::<T, _>(state, FAILED, |exported| {
            exported.layer.trim(Lpn(lpn));
            Ok(OK)
        })
    }
}

unsafe extern "C" fn step<T: PluginLayer>(state: *mut c_void, die: u32, c_plan: *mut CPlan) -> c_int {
    // SAFETY: the header says what both are.
    unsafe {
        with::<T, _>(state, FAILED, |Exported { layer, plan }| {
            plan.clear();
            layer.step(DieId(die), plan)?;
            give(plan, c_plan, OK)
        })
    }
}

unsafe extern "C" fn works_when_idle<T: PluginLayer>(state: *mut c_void) -> c_int {
    // SAFETY: the header says what it is.
    unsafe { with::<T, _>(state, 0, |exported| Ok(exported.layer.conduct().works_when_idle.into())) }
}

unsafe extern "C" fn note_failing<T: PluginLayer>(state: *mut c_void, block: u32) -> c_int {
    // SAFETY: the header says what it is.
    unsafe {
        with::<T, _>(state, FAILED, |exported| {
            if let Some(retirement) = exported.layer.retirement() {
                retirement.note_failing(BlockId(block));
            }
            Ok(OK)
        })
    }
}

unsafe extern "C" fn map_ram_bytes<T: PluginLayer>(state: *mut c_void) -> u64 {
    // SAFETY: the header says what it is.
    unsafe { with::<T, _>(state, 0, |exported| Ok(exported.layer.memory().map_or(0, |memory| memory.map_ram_bytes()))) }
}

unsafe extern "C" fn state_bytes<T: PluginLayer>(state: *mut c_void) -> u64 {
    // SAFETY: the header says what it is.
    unsafe { with::<T, _>(state, 0, |exported| Ok(exported.layer.memory().map_or(0, |memory| memory.state_bytes()))) }
}

unsafe extern "C" fn failure(_state: *mut c_void) -> *const c_char {
    WHY.with(|why| why.borrow().as_ptr())
}

/// Exports a type that implements [`PluginLayer`] from a `cdylib`, so that `--plugin` can load it. A crate exports one.
#[macro_export]
macro_rules! export_ftl {
    ($layer:ty) => {
        #[cfg(panic = "abort")]
        compile_error!("a plug-in needs panic = \"unwind\": else a panic would end the engine with it");

        /// What the engine looks for in a plug-in (`pumice_ftl.h`).
        #[unsafe(no_mangle)]
        pub extern "C" fn pumice_ftl() -> *const $crate::ftl::CLayer {
            static TABLE: ::std::sync::OnceLock<$crate::ftl::CLayer> = ::std::sync::OnceLock::new();
            $crate::ftl::exported::<$layer>(&TABLE)
        }
    };
}
