//! Plug-ins from shared objects: what they declare, checked before anything of them runs.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libloading::Library;
use pumice_ftl::plugin::{LayerSource, OwnLayer, PluginDevice, PluginName, SpareAreas};
use pumice_ftl::{Plan, TranslationLayer};
use pumice_types::key::{Key, Range, Value, ValueKind, Values, When};
use pumice_types::{ProgramOrder, interned};

use super::layer::{LayerOfC, PlanningFunctions, plan_in, room, take_all};
use super::spare_areas::{CHIPS, while_read};
use super::table::{
    CHOICE, CKey, CLayer, CLayerDevice, CValue, FTL_VERSION, ForDevice, NUMBER, Recovers, SWITCH, TABLE_BYTES,
    WHOLE_NUMBER,
};
use crate::foreign;
use crate::shared_object::{self, Interface, Loaded};

const INTERFACE: Interface = Interface {
    header: "pumice_ftl.h",
    version: FTL_VERSION,
    table_bytes: TABLE_BYTES,
    entry: "pumice_ftl",
    lacks: "so it holds no translation layer",
};

/// The most keys of a plug-in.
const KEYS_MAX: u64 = 256;

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
    recover: Option<Recovers>,
    functions: PlanningFunctions,
}

/// Loads the translation layer of a shared object. The object stays loaded until the process ends.
///
/// # Errors
/// One line: there is no such file, it is no shared object or none with a translation layer, one for another version,
/// or one that was changed since this process loaded it.
pub fn load(path: &Path) -> Result<OwnLayer, String> {
    let Loaded { library, sha256, table } = shared_object::load::<CLayer>(path, &INTERFACE)?;
    let object = note_loaded(path, &sha256).and_then(|()| PluginObject::new(&table, sha256));
    let object = object.map_err(|text| format!("{}: {text}", path.display()))?;
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
pub unsafe fn from_table(table: &CLayer) -> Result<OwnLayer, String> {
    Ok(OwnLayer::new(PluginObject::new(table, String::new())?))
}

/// Keeps an object loaded: its code may have left things behind, such as the state of a thread.
fn keep(library: Library) {
    std::mem::forget(library);
}

/// Refuses a file that has changed since it was loaded: the system would not load it anew.
fn note_loaded(path: &Path, sha256: &str) -> Result<(), String> {
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = loaded.entry(path).or_insert_with(|| sha256.to_string());
    if known == sha256 {
        return Ok(());
    }
    Err("has changed since this process loaded it; start a new process".into())
}

/// A text of a plug-in.
///
/// # Safety
/// `text` is null or points to bytes that end with a 0.
unsafe fn text_of(text: *const c_char, what: &str) -> Result<String, String> {
    // SAFETY: the caller's promise.
    unsafe { foreign::text(text, what) }?.ok_or_else(|| format!("{what} is a null pointer"))
}

impl PluginObject {
    /// What a table declares.
    fn new(table: &CLayer, sha256: String) -> Result<PluginObject, String> {
        // SAFETY: the header asks for a text.
        let name = PluginName::new(&unsafe { text_of(table.name, "its name") }?)?;
        let missing = |function: &str| format!("plug-in \"{}\": has no function {function}", name.name());
        let keys = keys_of(table, name).map_err(|text| format!("plug-in \"{}\": {text}", name.name()))?;
        Ok(PluginObject {
            name,
            sha256,
            keys,
            capacity: table.capacity.ok_or_else(|| missing("capacity"))?,
            create: table.create.ok_or_else(|| missing("create"))?,
            recover: table.recover,
            functions: PlanningFunctions {
                write: table.write.ok_or_else(|| missing("write"))?,
                read: table.read.ok_or_else(|| missing("read"))?,
                locate: table.locate.ok_or_else(|| missing("locate"))?,
                destroy: table.destroy,
                trim: table.trim,
                step: table.step,
                works_when_idle: table.works_when_idle,
                note_failing: table.note_failing,
                map_ram_bytes: table.map_ram_bytes,
                state_bytes: table.state_bytes,
                failure: table.failure,
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

/// The keys that a table declares.
fn keys_of(table: &CLayer, name: PluginName) -> Result<Vec<Key>, String> {
    if table.keys > KEYS_MAX || table.keys > 0 && table.key.is_null() {
        return Err(format!("has {} keys; allowed: at most {KEYS_MAX}, in a list that is there", table.keys));
    }
    let mut keys: Vec<Key> = Vec::new();
    for nth in 0..table.keys as usize {
        // SAFETY: the table says that it has so many.
        let key = unsafe { ptr::read(table.key.add(nth)) };
        let key = key_of(&key, name)?;
        if keys.iter().any(|other| other.path == key.path) {
            return Err(format!("has two keys {}", key.path));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// A key as specs have it.
fn key_of(key: &CKey, name: PluginName) -> Result<Key, String> {
    // SAFETY: the header asks for texts.
    let texts = unsafe {
        (
            text_of(key.name, "the name of a key")?,
            text_of(key.default_value, "the default of a key")?,
            text_of(key.unit, "the unit of a key")?,
            text_of(key.text, "the text of a key")?,
        )
    };
    let (path, refused) = (name.key_path(&texts.0)?, |why: &str| Err(format!("its key \"{}\" {why}", texts.0)));
    let (shape, range) = match key.kind {
        WHOLE_NUMBER if key.least <= key.most => (ValueKind::Int, Range::Int(key.least, key.most)),
        NUMBER if key.low <= key.high => (ValueKind::Float, Range::Float(key.low, key.high)),
        WHOLE_NUMBER | NUMBER => return refused("has limits that no number is between"),
        SWITCH => (ValueKind::Bool, Range::None),
        CHOICE => {
            // SAFETY: the header asks for a text.
            let names = unsafe { text_of(key.choices, "the names of a choice") }?;
            let names: Vec<&str> = names.split('|').collect();
            if names.iter().any(|name| name.is_empty()) {
                return refused("has a choice without a name");
            }
            (ValueKind::Choice(interned::list(&names)), Range::None)
        }
        _ => return refused("has a type or a condition that pumice_ftl.h does not have"),
    };
    Ok(Key {
        path,
        shape,
        range,
        unit: interned::text(&texts.2),
        default: interned::text(&texts.1),
        source: interned::text(&format!("plug-in \"{}\"", name.name())),
        when: When::Always,
        text: interned::text(&texts.3),
        check: |_| Ok(()),
    })
}

/// The value of a key as C sees it.
fn c_value(key: &Key, value: Option<&Value>) -> CValue {
    let plain = CValue { given: u32::from(value.is_some()), ..CValue::default() };
    let place = |name: &str| match key.shape {
        ValueKind::Choice(names) => names.iter().position(|known| *known == name).unwrap_or(0) as i64,
        ValueKind::Int
        | ValueKind::Float
        | ValueKind::Bool
        | ValueKind::Text
        | ValueKind::Floats
        | ValueKind::FloatOrFloats => 0,
    };
    match value {
        Some(Value::Int(whole)) => CValue { whole: *whole, ..plain },
        Some(Value::Float(number)) => CValue { number: *number, ..plain },
        Some(Value::Bool(on)) => CValue { whole: (*on).into(), ..plain },
        Some(Value::Text(name)) => CValue { whole: place(name), ..plain },
        Some(Value::Floats(_)) | None => plain,
    }
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
        reserved: 0,
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
        self.functions.note_failing.is_some()
    }

    fn recovers(&self) -> bool {
        self.recover.is_some()
    }

    fn capacity(&self, device: &PluginDevice, keys: &Values) -> Result<u64, String> {
        let pages = self.ask(self.capacity, device, keys);
        if pages > 0 { Ok(pages) } else { Err(self.functions.why(ptr::null_mut(), "capacity")) }
    }

    fn open(&self, device: &PluginDevice, keys: &Values) -> Result<Box<dyn TranslationLayer>, String> {
        let state = self.ask(self.create, device, keys);
        if state.is_null() {
            return Err(self.functions.why(state, "create"));
        }
        Ok(Box::new(LayerOfC::new(self.name, self.functions, state, room())))
    }

    fn recover(
        &self,
        device: &PluginDevice,
        keys: &Values,
        chips: &mut dyn SpareAreas,
        plan: &mut Plan,
    ) -> Result<Box<dyn TranslationLayer>, String> {
        let Some(recover) = self.recover else { return Err("has no function recover".into()) };
        let mut commands = room();
        let mut c_plan = plan_in(&mut commands);
        let state = self.with(device, keys, |device, values| {
            // SAFETY: device, values, chips and plan live during the call, and the plan has the room that it says.
            while_read(chips, || unsafe { recover(device, values, &raw const CHIPS, &raw mut c_plan) })
        });
        if state.is_null() {
            return Err(self.functions.why(state, "recover"));
        }
        // Whatever comes of the plan, the state is ended with it.
        let layer = Box::new(LayerOfC::new(self.name, self.functions, state, commands));
        // SAFETY: the call has filled the plan. Its commands lie in the layer's room, which moves no more, or in a list
        // of the plug-in's own.
        unsafe { take_all(&c_plan, plan) }?;
        Ok(layer)
    }
}
