//! Plug-ins from shared objects: what they declare, checked before anything of them runs.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libloading::Library;
use pumice_ftl::plugin::{LayerSource, Offers, OwnLayer, PluginDevice, PluginName, SpareAreas};
use pumice_ftl::{FtlError, Plan, TranslationLayer};
use pumice_types::key::{Key, Values};
use pumice_types::{ProgramOrder, SpecError, refuse};

use super::layer::{LayerOfC, PlanningFunctions, plan_in, room, take_all};
use super::spare_areas::{CHIPS, while_read};
use super::table::{CLayer, CLayerDevice, CValue, FTL_VERSION, ForDevice, TABLE_BYTES};
use crate::declared_keys::{KeyOwner, c_value, keys_of};
use crate::foreign;
use crate::shared_object::{self, Interface, Loaded};

const INTERFACE: Interface = Interface {
    header: "pumice_ftl.h",
    version: FTL_VERSION,
    table_bytes: TABLE_BYTES,
    entry: "pumice_ftl",
    lacks: "so it holds no translation layer",
};

/// Files that this process has loaded, with their digests. The system loads a file only once.
static LOADED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// A plug-in from a shared object.
#[derive(Debug)]
struct PluginObject {
    name: PluginName,
    sha256: String,
    keys: Vec<Key>,
    capacity: ForDevice<u64>,
    create: ForDevice<*mut c_void>,
    counts: Vec<String>,
    functions: PlanningFunctions,
}

/// Loads the translation layer of a shared object. The object stays loaded until the process ends.
///
/// # Errors
/// One line: there is no such file, it is not a shared object or none with a translation layer, one for another version,
/// or one that was changed since this process loaded it.
pub fn load(path: &Path) -> Result<OwnLayer, SpecError> {
    let Loaded { library, sha256, table } = shared_object::load::<CLayer>(path, &INTERFACE)?;
    let object = note_loaded(path, &sha256).and_then(|()| PluginObject::new(&table, sha256));
    let object = object.map_err(|error| refuse!("{}: {error}", path.display()))?;
    keep(library);
    Ok(OwnLayer::new(object))
}

/// The translation layer of a table that is a part of this program: for tests of both sides of the interface.
///
/// # Errors
/// As for the table of a shared object.
///
/// # Safety
/// The table keeps what the header promises, as long as the process lives.
pub unsafe fn from_table(table: &CLayer) -> Result<OwnLayer, SpecError> {
    Ok(OwnLayer::new(PluginObject::new(table, String::new())?))
}

/// Keeps an object loaded: its code may have left things behind, such as the state of a thread.
fn keep(library: Library) {
    std::mem::forget(library);
}

/// Refuses a file that has changed since it was loaded: the system would not load it anew.
fn note_loaded(path: &Path, sha256: &str) -> Result<(), SpecError> {
    let path = path.canonicalize().map_err(|error| refuse!("{error}"))?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = loaded.entry(path).or_insert_with(|| sha256.to_string());
    if known == sha256 {
        return Ok(());
    }
    Err("has changed since this process loaded it; start a new process".into())
}

impl PluginObject {
    /// What a table declares.
    fn new(table: &CLayer, sha256: String) -> Result<PluginObject, SpecError> {
        // SAFETY: the header asks for a text.
        let name = PluginName::new(&unsafe { foreign::needed_text(table.name, "its name") }?)?;
        let missing = |function: &str| refuse!("plug-in \"{}\": has no function {function}", name.name());
        let owner = KeyOwner { path: &|key| name.key_path(key), source: &format!("plug-in \"{}\"", name.name()) };
        // SAFETY: the table says how long the list is.
        let keys = unsafe { keys_of((table.key, table.keys), &owner) };
        let keys = keys.map_err(|error| refuse!("{}: {error}", owner.source))?;
        Ok(PluginObject {
            name,
            sha256,
            keys,
            capacity: table.capacity.ok_or_else(|| missing("capacity"))?,
            create: table.create.ok_or_else(|| missing("create"))?,
            counts: counts_of(table).map_err(|error| refuse!("{}: {error}", owner.source))?,
            functions: PlanningFunctions {
                write: table.write.ok_or_else(|| missing("write"))?,
                read: table.read.ok_or_else(|| missing("read"))?,
                locate: table.locate.ok_or_else(|| missing("locate"))?,
                table: CLayer {
                    holds: table.holds.filter(|_| table.force_out.is_some()),
                    counts: table.counts.filter(|_| table.counters > 0),
                    ..*table
                },
            },
        })
    }

    /// Makes a call with a device and values, which are good until it returns.
    fn with<T>(
        &self,
        device: &PluginDevice,
        values: &Values,
        call: impl FnOnce(*const CLayerDevice, *const CValue) -> T,
    ) -> T {
        let bad_blocks: Vec<u32> = device.bad_blocks.iter().map(|block| block.0).collect();
        let c_device = c_device(device, &bad_blocks);
        let c_values: Vec<CValue> = self.keys.iter().map(|key| c_value(key, values.get(key.path))).collect();
        call(&raw const c_device, c_values.as_ptr())
    }

    /// Calls a function with a device and values.
    fn ask<T>(&self, function: ForDevice<T>, device: &PluginDevice, values: &Values) -> T {
        // SAFETY: device and values live during the call, and there is a value for each key.
        self.with(device, values, |device, values| unsafe { function(device, values) })
    }
}

/// The most counters of a plug-in.
const COUNTERS_MAX: u64 = 64;

/// Names of the counters that a table declares.
fn counts_of(table: &CLayer) -> Result<Vec<String>, SpecError> {
    let (first, count) = (table.counter, table.counters);
    if count > COUNTERS_MAX || count > 0 && (first.is_null() || table.counts.is_none()) {
        return Err(refuse!(
            "has {count} counters; allowed: at most {COUNTERS_MAX}, in a list that is there, and counts"
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for nth in 0..count as usize {
        // SAFETY: the table says that it has so many, and the header asks for texts.
        let name = unsafe { foreign::needed_text(ptr::read(first.add(nth)).name, "the name of a counter") }?;
        // A counter has the name of a key, which it may be set beside in a table.
        pumice_ftl::policy::key_path(&name)?;
        if names.contains(&name) {
            return Err(refuse!("has two counters {name}"));
        }
        names.push(name);
    }
    Ok(names)
}

/// A device as C sees it.
fn c_device(device: &PluginDevice, bad_blocks: &[u32]) -> CLayerDevice {
    let geometry = &device.geometry;
    CLayerDevice {
        channels: geometry.channels,
        chips_per_channel: geometry.chips_per_channel,
        dies_per_chip: geometry.dies_per_chip,
        planes_per_die: geometry.planes_per_die,
        blocks_per_plane: geometry.blocks_per_plane,
        pages_per_block: geometry.pages_per_block.into(),
        page_bytes: geometry.page_bytes,
        spare_bytes: geometry.spare_bytes,
        in_order: u32::from(device.program_order == ProgramOrder::InOrder),
        max_splits: device.tree.max_splits().into(),
        sub_blocks: device.sub_blocks,
        bad_blocks_per_plane: device.bad_blocks_per_plane,
        bad_block: if bad_blocks.is_empty() { ptr::null() } else { bad_blocks.as_ptr() },
        bad_blocks: bad_blocks.len() as u64,
        over_provisioning: device.over_provisioning,
        seed: device.seed,
        loses_power: device.loses_power.into(),
        runs: device.tree.runs().into(),
    }
}

impl LayerSource for PluginObject {
    fn name(&self) -> PluginName {
        self.name
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn retires_blocks(&self) -> bool {
        self.functions.table.note_failing.is_some()
    }

    fn recovers(&self) -> bool {
        self.functions.table.recover.is_some()
    }

    fn offers(&self) -> Offers {
        let table = &self.functions.table;
        Offers {
            looks_up: table.look_up.is_some(),
            buffers: table.holds.is_some(),
            places_streams: table.write_to_stream.is_some(),
            hears_requests: table.begin_request.is_some(),
            moves_between_dies: table.moves_between_dies != 0,
        }
    }

    fn counts(&self) -> &[String] {
        &self.counts
    }

    fn own_pages(&self, keys: &Values, user_pages: u32) -> u64 {
        let values: Vec<CValue> = self.keys.iter().map(|key| c_value(key, keys.get(key.path))).collect();
        // SAFETY: there is a value for each key.
        self.functions.table.own_pages.map_or(0, |own_pages| unsafe { own_pages(values.as_ptr(), user_pages.into()) })
    }

    fn capacity(&self, device: &PluginDevice, keys: &Values) -> Result<u64, SpecError> {
        let pages = self.ask(self.capacity, device, keys);
        if pages > 0 { Ok(pages) } else { Err(self.functions.why(ptr::null_mut(), "capacity").into()) }
    }

    fn open(&self, device: &PluginDevice, keys: &Values) -> Result<Box<dyn TranslationLayer>, SpecError> {
        let state = self.ask(self.create, device, keys);
        if state.is_null() {
            return Err(self.functions.why(state, "create").into());
        }
        Ok(Box::new(LayerOfC::new(self.functions, state, room())))
    }

    fn recover(
        &self,
        device: &PluginDevice,
        keys: &Values,
        chips: &mut dyn SpareAreas,
        plan: &mut Plan,
    ) -> Result<Box<dyn TranslationLayer>, FtlError> {
        let recover = self.functions.table.recover.ok_or_else(|| FtlError::of_plugin("has no function recover"))?;
        let mut commands = room();
        let mut c_plan = plan_in(&mut commands);
        let state = self.with(device, keys, |device, values| {
            // SAFETY: device, values, chips and plan live during the call, and the plan has the room that it says.
            while_read(chips, || unsafe { recover(device, values, &raw const CHIPS, &raw mut c_plan) })
        });
        if state.is_null() {
            return Err(FtlError::of_plugin(self.functions.why(state, "recover")));
        }
        // Whatever comes of the plan, the state is ended with it.
        let layer = Box::new(LayerOfC::new(self.functions, state, commands));
        // SAFETY: the call has filled the plan. Its commands lie in the layer's room, which moves no more, or in a list
        // of the plug-in's own.
        unsafe { take_all(&c_plan, plan) }?;
        Ok(layer)
    }
}
