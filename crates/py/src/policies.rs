//! Policies of the user's own on their way from Python into a run: shared objects, addresses of compiled functions,
//! and Python functions over columns that are read where they are.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pumice_capi::policy::{Addresses, FlatDecisions, at_addresses, load};
use pumice_ftl::OwnFault;
use pumice_ftl::policy::{
    AskingPlane, Decides, Decisions, DeviceShape, OwnPolicy, PageToPlace, PolicySource, SuspensionPoint, key_path,
};
use pumice_ftl::victims::columns::{BlockLife, BlockRow, PlaneColumns};
use pumice_types::interned;
use pumice_types::key::{Key, Range, Value, ValueKind, Values, When};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::Deserialize;

use crate::errors::SpecError;

/// A policy in a request: a shared object by its path, or a Python policy as `pumice.policy` packs it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedPolicy {
    sha256: String,
    #[serde(default)]
    library: Option<PathBuf>,
    #[serde(default)]
    packed: Option<String>,
}

impl RequestedPolicy {
    /// Loads or unpacks it.
    ///
    /// # Errors
    /// The policy cannot be loaded, or is another one than when the request was made.
    pub fn load(&self, py: Python<'_>) -> PyResult<OwnPolicy> {
        let found = match (&self.library, &self.packed) {
            (Some(path), None) => open(path)?,
            (None, Some(packed)) => {
                let module = py.import("pumice.policy")?;
                own_policy(&module.call_method1("unpacked", (packed,))?)?
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(SpecError::new_err("request: a policy has a library or is packed"));
            }
        };
        if found.0.sha256() != self.sha256 {
            let name = found.0.name();
            return Err(SpecError::new_err(format!(
                "policy \"{name}\": is another one than when the run was asked for"
            )));
        }
        Ok(found)
    }
}

fn open(path: &Path) -> PyResult<OwnPolicy> {
    load(path).map_err(|text| SpecError::new_err(format!("policy {text}")))
}

/// Name, SHA-256, decisions and number of streams of a shared object's policy.
#[pyfunction]
pub fn policy_of_library(path: PathBuf) -> PyResult<(String, String, Vec<&'static str>, u8)> {
    let policy = open(&path)?;
    let decides = policy.0.decides();
    Ok((policy.0.name().to_string(), policy.0.sha256().to_string(), decides.names(), decides.streams))
}

/// A policy of Python functions, as `pumice.policy.Policy` describes itself.
#[derive(Debug)]
struct PythonPolicy {
    name: String,
    sha256: String,
    decides: Decides,
    keys: Vec<Key>,
    policy: Py<PyAny>,
    /// The interpreter's number of the thread that runs it; 0 before the run.
    thread: AtomicU64,
}

/// The policy that a `pumice.policy.Policy` describes.
///
/// # Errors
/// The object is no policy, or its shared object cannot be loaded.
pub fn own_policy(policy: &Bound<'_, PyAny>) -> PyResult<OwnPolicy> {
    if let Some(path) = policy.getattr("library")?.extract::<Option<PathBuf>>()? {
        return open(&path);
    }
    let names: Vec<String> = policy.getattr("decides")?.extract()?;
    let has = |name: &str| names.iter().any(|decided| decided == name);
    let decides = Decides {
        victim: has("victim"),
        streams: policy.getattr("streams")?.extract()?,
        suspend: has("suspend"),
        wear_swap: has("wear_swap"),
    };
    let name: String = policy.getattr("name")?.extract()?;
    Ok(OwnPolicy::new(PythonPolicy {
        keys: keys_of(policy, &name)?,
        name,
        sha256: policy.getattr("sha256")?.extract()?,
        decides,
        policy: policy.clone().unbind(),
        thread: AtomicU64::new(0),
    }))
}

/// The keys of a Python policy, from their defaults: whole numbers, numbers and switches.
fn keys_of(policy: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Key>> {
    let defaults: Vec<(String, Bound<'_, PyAny>)> = policy.getattr("keys")?.extract()?;
    let key = |(key, default): (String, Bound<'_, PyAny>)| {
        let refused = |why: String| SpecError::new_err(format!("policy \"{name}\": {why}"));
        let (shape, range, text) = if let Ok(on) = default.extract::<bool>() {
            (ValueKind::Bool, Range::None, on.to_string())
        } else if let Ok(whole) = default.extract::<i64>() {
            (ValueKind::Int, Range::Int(i64::MIN, i64::MAX), whole.to_string())
        } else if let Ok(number) = default.extract::<f64>() {
            (ValueKind::Float, Range::Float(f64::MIN, f64::MAX), format!("{number:?}"))
        } else {
            return Err(refused(format!("its key {key:?} has a default that is no number and no truth value")));
        };
        Ok(Key {
            path: key_path(&key).map_err(|error| refused(error.0))?,
            shape,
            range,
            unit: "",
            default: interned::text(&text),
            source: interned::text(&format!("policy \"{name}\"")),
            when: When::Always,
            text: "A key of the policy.",
            check: |_| Ok(()),
        })
    };
    defaults.into_iter().map(key).collect()
}

impl PolicySource for PythonPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }

    fn decides(&self) -> Decides {
        self.decides
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn open(&self, shape: &DeviceShape, values: &Values) -> Result<Box<dyn Decisions>, OwnFault> {
        Python::attach(|py| {
            let at_work = self.at_work(py, shape, values).map_err(|error| told(py, error))?;
            Ok(Box::new(at_work) as Box<dyn Decisions>)
        })
    }

    /// Raises an exception in the thread of the run: an endless loop in Python ends by it.
    fn stop(&self) {
        Python::attach(|py| {
            let module = py.import("pumice.policy");
            // If that fails nothing is lost: the run is given up in either case.
            let _ = module.and_then(|module| module.call_method1("interrupt", (self.thread.load(Relaxed),)));
        });
    }
}

impl PythonPolicy {
    /// The policy at work on a device.
    fn at_work(&self, py: Python<'_>, shape: &DeviceShape, values: &Values) -> PyResult<PythonDecisions> {
        let device = PyDict::new(py);
        device.set_item("planes", shape.planes)?;
        device.set_item("blocks_per_plane", shape.blocks_per_plane)?;
        device.set_item("pages_per_block", shape.pages_per_block)?;
        device.set_item("user_pages", shape.user_pages)?;
        device.set_item("seed", shape.seed)?;
        let keys = PyDict::new(py);
        for key in &self.keys {
            let name = key.path.rsplit('.').next().unwrap_or_default();
            match values.get(key.path) {
                Some(Value::Bool(on)) => keys.set_item(name, on)?,
                Some(Value::Int(whole)) => keys.set_item(name, whole)?,
                Some(Value::Float(number)) => keys.set_item(name, number)?,
                Some(Value::Text(_) | Value::Floats(_)) | None => {}
            }
        }
        device.set_item("keys", keys)?;
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.thread.store(thread, Relaxed);
        let made = self.policy.bind(py).call_method1("at_work", (device,))?;
        let (mut addresses, mut functions) = (Addresses::default(), Functions::default());
        let slots = [
            ("victim", &mut functions.victim, &mut addresses.victim),
            ("placement", &mut functions.placement, &mut addresses.placement),
            ("suspend", &mut functions.suspend, &mut addresses.suspend),
            ("wear_swap", &mut functions.wear_swap, &mut addresses.wear_swap),
        ];
        for (name, function, address) in slots {
            let value = made.getattr(name)?;
            match value.extract::<usize>() {
                Ok(at) => *address = at,
                Err(_) if value.is_none() => {}
                Err(_) => *function = Some(value.unbind()),
            }
        }
        addresses.state = made.getattr("state")?.extract::<Option<usize>>()?.unwrap_or(0);
        Ok(PythonDecisions { functions, compiled: at_addresses(addresses), made: made.unbind(), planes: Vec::new() })
    }
}

/// The Python functions of a policy; those of compiled ones stay empty.
#[derive(Default)]
struct Functions {
    victim: Option<Py<PyAny>>,
    placement: Option<Py<PyAny>>,
    suspend: Option<Py<PyAny>>,
    wear_swap: Option<Py<PyAny>>,
}

/// A Python policy at work in one run. The interpreter is held during a call, and no longer.
struct PythonDecisions {
    functions: Functions,
    compiled: FlatDecisions,
    made: Py<PyAny>,
    /// What functions are given of each plane; made when it is first asked for.
    planes: Vec<Option<Py<PyAny>>>,
}

impl PythonDecisions {
    /// The stream that a Python function names. Compiled ones are called for every page and do not pay for its frame.
    #[inline(never)]
    fn placed_by_python(&self, page: &PageToPlace) -> Result<u8, OwnFault> {
        let Some(function) = &self.functions.placement else { return Err("places no page".into()) };
        Python::attach(|py| {
            let arguments = (page.lpn.0, page.plane.0, page.now, page.copied_from);
            let stream: u64 = answer(py, "placement", function.bind(py).call1(arguments))?;
            Ok(u8::try_from(stream).unwrap_or(u8::MAX))
        })
    }

    /// The Python object for a plane, up to date.
    fn plane<'py>(&mut self, py: Python<'py>, asking: &mut AskingPlane) -> PyResult<Bound<'py, PyAny>> {
        let (number, now) = (asking.plane.index(), asking.now);
        let columns = asking.blocks.columns(now);
        if self.planes.len() <= number {
            self.planes.resize_with(number + 1, || None);
        }
        let plane = match &self.planes[number] {
            Some(plane) => plane.bind(py).clone(),
            None => {
                let made = self.made.bind(py).call_method1("plane", (number, plane_columns(py, columns)?))?;
                self.planes[number] = Some(made.clone().unbind());
                made
            }
        };
        plane.setattr(pyo3::intern!(py, "now"), now)?;
        Ok(plane)
    }
}

/// The columns of a plane by name.
fn plane_columns<'py>(py: Python<'py>, columns: &PlaneColumns) -> PyResult<Bound<'py, PyDict>> {
    let (rows, lives) = (columns.rows().as_ptr() as usize, columns.lives().as_ptr() as usize);
    let (oldest, ages) = (columns.oldest(), columns.ages());
    let (blocks, row, life) = (columns.rows().len(), size_of::<BlockRow>(), size_of::<BlockLife>());
    let columns_by_name = [
        ("changed", "u8", rows + BlockRow::CHANGED_AT, blocks, row),
        ("erases", "u4", rows + BlockRow::ERASES_AT, blocks, row),
        ("valid", "u2", rows + BlockRow::VALID_AT, blocks, row),
        ("stream", "u1", rows + BlockRow::STREAM_AT, blocks, row),
        ("closed", "b1", rows + BlockRow::CLOSED_AT, blocks, row),
        ("oldest", "u4", oldest.as_ptr() as usize, oldest.len(), size_of::<u32>()),
        ("age", "f8", ages.as_ptr() as usize, ages.len(), size_of::<AtomicU64>()),
        ("opened_at", "u8", lives + BlockLife::OPENED_AT, blocks, life),
        ("closed_at", "u8", lives + BlockLife::CLOSED_AT, blocks, life),
    ];
    let named = PyDict::new(py);
    for (name, kind, at, length, stride) in columns_by_name {
        named.set_item(name, Column { _kept: columns.shared(), kind, at, length, stride })?;
    }
    Ok(named)
}

/// What a function answered, or what it raised in one line.
fn answer<T>(py: Python<'_>, decision: &str, result: PyResult<Bound<'_, PyAny>>) -> Result<T, OwnFault>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    let value = result.map_err(|error| told(py, error))?;
    value.extract::<T>().map_err(|_| {
        let shown = value.repr().map_or_else(|_| "?".into(), |text| text.to_string_lossy().into_owned());
        let shown: String = shown.chars().take(60).filter(|c| !c.is_control()).collect();
        format!("{decision} returned {shown}; allowed: a whole number, not below zero").into()
    })
}

/// An exception in one line, with the place where it was raised.
fn told(py: Python<'_>, error: PyErr) -> String {
    let plain = error.to_string().replace('\n', " ");
    // Unlike a view of it, the exception itself brings its traceback along.
    let line = py.import("pumice.policy").and_then(|module| module.call_method1("told", (error.into_value(py),)));
    line.and_then(|line| line.extract()).unwrap_or(plain)
}

impl Decisions for PythonDecisions {
    fn victim(&mut self, asking: &mut AskingPlane) -> Result<u32, OwnFault> {
        if self.functions.victim.is_none() {
            return self.compiled.victim(asking);
        }
        Python::attach(|py| {
            let plane = self.plane(py, asking).map_err(|error| told(py, error))?;
            let Some(function) = &self.functions.victim else { return Err("decides no victim".into()) };
            answer(py, "victim", function.bind(py).call1((plane,)))
        })
    }

    fn placement(&mut self, page: &PageToPlace) -> Result<u8, OwnFault> {
        if self.functions.placement.is_some() { self.placed_by_python(page) } else { self.compiled.placement(page) }
    }

    fn suspend(&mut self, erase: &SuspensionPoint) -> Result<bool, OwnFault> {
        let Some(function) = &self.functions.suspend else { return self.compiled.suspend(erase) };
        Python::attach(|py| {
            let SuspensionPoint { die, now, done, total, suspensions, waiting_reads, is_urgent } = *erase;
            let arguments = (die.0, now.0, done.0, total.0, suspensions, waiting_reads, is_urgent);
            let asked = self.made.bind(py).call_method1("erase", arguments).map_err(|error| told(py, error))?;
            let value = function.bind(py).call1((asked,)).map_err(|error| told(py, error))?;
            Ok(value.is_truthy().map_err(|error| told(py, error))?)
        })
    }

    fn wear_swap(&mut self, asking: &mut AskingPlane) -> Result<Option<u32>, OwnFault> {
        if self.functions.wear_swap.is_none() {
            return self.compiled.wear_swap(asking);
        }
        Python::attach(|py| {
            let plane = self.plane(py, asking).map_err(|error| told(py, error))?;
            let Some(function) = &self.functions.wear_swap else { return Err("swaps no blocks".into()) };
            answer(py, "wear_swap", function.bind(py).call1((plane,)))
        })
    }
}

/// A column as NumPy reads it: read-only and where it is. An array made of it keeps it.
#[pyclass(frozen)]
struct Column {
    /// What the column is a part of: it stays where it is as long as somebody shares it.
    _kept: PlaneColumns,
    kind: &'static str,
    at: usize,
    length: usize,
    stride: usize,
}

#[pymethods]
impl Column {
    /// NumPy's array interface, version 3.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", format!("{order}{}", self.kind))?;
        interface.set_item("shape", PyTuple::new(py, [self.length])?)?;
        interface.set_item("strides", PyTuple::new(py, [self.stride])?)?;
        interface.set_item("data", (self.at, true))?;
        Ok(interface)
    }
}
