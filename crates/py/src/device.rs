//! `Device` of Python: a drive in another program (`pumice_device`), one method a call and one for many requests at once.

use pumice_device::{Device, DeviceCompletion, DeviceError, DeviceRequest, KINDS};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{SimulationError, spec_error};
use crate::runs::parse_source;

pyo3::create_exception!(pumice, DeviceRefusal, PyValueError, "A call that a device refuses; nothing has changed.");

fn raised(error: DeviceError) -> PyErr {
    match error {
        DeviceError::Spec(error) => spec_error(error),
        DeviceError::Simulation(text) => SimulationError::new_err(text),
        DeviceError::Past { .. }
        | DeviceError::TooLate { .. }
        | DeviceError::Range { .. }
        | DeviceError::NoZones
        | DeviceError::Flow { .. }
        | DeviceError::NoPower
        | DeviceError::HasPower
        | DeviceError::Ended
        | DeviceError::Fork(_) => DeviceRefusal::new_err(error.to_string()),
    }
}

/// What the nth request of many raises; those before it are taken.
fn raised_by(nth: usize, error: DeviceError) -> PyErr {
    let text = format!("request {nth} (those before it are taken): {error}");
    let raised = raised(error);
    Python::attach(|py| if raised.is_instance_of::<DeviceRefusal>(py) { DeviceRefusal::new_err(text) } else { raised })
}

/// A drive; see `pumice.Device`.
#[pyclass(name = "Device", module = "pumice._engine", unsendable)]
pub struct PythonDevice(Device);

/// Requests as columns of little-endian numbers: instants and first bytes of 64 bits, lengths of 32 bits, and bytes.
struct RequestColumns<'a> {
    at_ns: &'a [u8],
    kind: &'a [u8],
    offset_bytes: &'a [u8],
    bytes: &'a [u8],
    fua: &'a [u8],
    stream: &'a [u8],
    flow: &'a [u8],
}

impl RequestColumns<'_> {
    fn wide(column: &[u8], nth: usize) -> Option<u64> {
        column.get(nth * 8..nth * 8 + 8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// The nth request and its instant; `None` where a column is too short or a kind unknown.
    fn request(&self, nth: usize) -> Option<(u64, DeviceRequest)> {
        let bytes = self.bytes.get(nth * 4..nth * 4 + 4)?.try_into().ok().map(u32::from_le_bytes)?;
        let request = DeviceRequest {
            kind: *KINDS.get(usize::from(*self.kind.get(nth)?))?,
            offset_bytes: Self::wide(self.offset_bytes, nth)?,
            bytes,
            fua: *self.fua.get(nth)? != 0,
            stream: *self.stream.get(nth)?,
            flow: *self.flow.get(nth)?,
        };
        Some((Self::wide(self.at_ns, nth)?, request))
    }
}

#[pymethods]
impl PythonDevice {
    #[new]
    fn new(py: Python<'_>, request: &str) -> PyResult<PythonDevice> {
        Ok(PythonDevice(Device::open(&parse_source(py, request, None)?).map_err(raised)?))
    }

    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn outstanding(&self) -> usize {
        self.0.outstanding()
    }

    fn submit(&mut self, now: u64, kind: u8, place: (u64, u32), hints: (bool, u8, u8)) -> PyResult<u64> {
        let kind = *KINDS.get(usize::from(kind)).ok_or_else(|| PyValueError::new_err("kind: 0 to 8"))?;
        let (fua, stream, flow) = hints;
        let request = DeviceRequest { kind, offset_bytes: place.0, bytes: place.1, fua, stream, flow };
        self.0.submit(now, &request).map_err(raised)
    }

    /// Submits many requests, one after the other. Returns the id of the first.
    fn submit_many(
        &mut self,
        when: (&[u8], &[u8]),
        place: (&[u8], &[u8]),
        hints: (&[u8], &[u8], &[u8]),
    ) -> PyResult<Option<u64>> {
        let columns = RequestColumns {
            at_ns: when.0,
            kind: when.1,
            offset_bytes: place.0,
            bytes: place.1,
            fua: hints.0,
            stream: hints.1,
            flow: hints.2,
        };
        let mut first = None;
        for nth in 0..columns.kind.len() {
            let (now, request) = columns.request(nth).ok_or_else(|| {
                PyValueError::new_err(format!("request {nth}: a column is too short, or its kind is not 0 to 8"))
            })?;
            let id = self.0.submit(now, &request).map_err(|error| raised_by(nth, error))?;
            first.get_or_insert(id);
        }
        Ok(first)
    }

    fn next_event(&self) -> Option<u64> {
        self.0.next_event()
    }

    fn advance(&mut self, to: Option<u64>, wanted: Option<usize>) -> PyResult<()> {
        self.0.advance_for(to.unwrap_or(Device::NEVER), wanted.unwrap_or(usize::MAX)).map_err(raised)
    }

    /// What is done, column by column: ids, instants and first bytes as numbers of 64 bits, little-endian, and a byte each
    /// for how it ended.
    fn take_completions<'py>(&mut self, py: Python<'py>) -> [Bound<'py, PyBytes>; 4] {
        let [mut ids, mut times, mut offsets, mut statuses] = [const { Vec::new() }; 4];
        for DeviceCompletion { id, at_ns, offset_bytes, status } in self.0.take_completions() {
            ids.extend_from_slice(&id.to_le_bytes());
            times.extend_from_slice(&at_ns.to_le_bytes());
            offsets.extend_from_slice(&offset_bytes.to_le_bytes());
            statuses.push(status.code());
        }
        [ids, times, offsets, statuses].map(|column: Vec<u8>| PyBytes::new(py, &column))
    }

    fn cut(&mut self, now: u64) -> PyResult<()> {
        self.0.cut(now).map_err(raised)
    }

    fn restart(&mut self, now: u64) -> PyResult<()> {
        self.0.restart(now).map_err(raised)
    }

    fn fork(&self) -> PyResult<PythonDevice> {
        self.0.fork().map(PythonDevice).map_err(raised)
    }

    fn result(&self) -> PyResult<String> {
        self.0.result().map(|document| document.to_string()).map_err(raised)
    }

    fn finish(&mut self) -> PyResult<String> {
        self.0.finish().map(|document| document.to_string()).map_err(raised)
    }
}
