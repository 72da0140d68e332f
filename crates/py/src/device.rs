//! `Device` of Python: a drive in another program (`pumice_device`), one method a call and one for many requests at once.

use std::path::PathBuf;

use pumice_device::{Device, DeviceCompletion, DeviceError, DeviceRequest, KINDS, SealKey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{SimulationError, SpecError, spec_error};
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
        | DeviceError::NoData
        | DeviceError::Data { .. }
        | DeviceError::Units { .. }
        | DeviceError::NoPower
        | DeviceError::HasPower
        | DeviceError::Ended
        | DeviceError::Fork(_)
        | DeviceError::Snapshot(_) => DeviceRefusal::new_err(error.to_string()),
    }
}

/// What the nth request of many raises; those before it are taken.
fn raised_by(nth: u64, error: DeviceError) -> PyErr {
    let text = format!("request {nth} (those before it are taken): {error}");
    let raised = raised(error);
    Python::attach(|py| if raised.is_instance_of::<DeviceRefusal>(py) { DeviceRefusal::new_err(text) } else { raised })
}

/// A drive; see `pumice.Device`.
#[pyclass(name = "Device", module = "pumice._engine", unsendable)]
pub struct PythonDevice(Device);

/// A column of little-endian numbers: one for each request, or one for all.
#[derive(Clone, Copy)]
struct NumberColumn<'a> {
    bytes: &'a [u8],
    /// Bytes between two requests' numbers; 0 if one is for all.
    step: usize,
}

impl<'a> NumberColumn<'a> {
    /// A column for so many requests, of numbers of so many bytes.
    fn new(name: &str, bytes: &'a [u8], size: usize, requests: usize) -> PyResult<NumberColumn<'a>> {
        let entries = bytes.len() / size;
        if entries != requests && entries != 1 {
            let text =
                format!("columns: {name} has {entries} entries, at_ns {requests}; allowed: as many, or one for all");
            return Err(DeviceRefusal::new_err(text));
        }
        Ok(NumberColumn { bytes, step: if entries == requests { size } else { 0 } })
    }

    #[inline]
    fn number<const SIZE: usize>(self, nth: usize) -> [u8; SIZE] {
        let at = nth * self.step;
        self.bytes[at..at + SIZE].try_into().expect("as many bytes as were taken")
    }
}

/// Why not all of many requests were taken.
enum RefusedRequest {
    /// A kind that there is not.
    Kind(u8),
    /// The drive.
    ByDevice(DeviceError),
}

impl From<DeviceError> for RefusedRequest {
    fn from(error: DeviceError) -> RefusedRequest {
        RefusedRequest::ByDevice(error)
    }
}

#[pymethods]
impl PythonDevice {
    #[new]
    fn new(py: Python<'_>, request: &str, data: bool) -> PyResult<PythonDevice> {
        let source = parse_source(py, request, None)?;
        let opened = if data { Device::open_with_data(&source) } else { Device::open(&source) };
        Ok(PythonDevice(opened.map_err(raised)?))
    }

    /// A drive that was written to a file, sealed with the key in another file.
    #[staticmethod]
    fn open_snapshot(py: Python<'_>, request: &str, path: PathBuf, key: PathBuf) -> PyResult<PythonDevice> {
        let key = SealKey::read(&key).map_err(SpecError::new_err)?;
        Ok(PythonDevice(Device::open_snapshot(&parse_source(py, request, None)?, &path, &key).map_err(raised)?))
    }

    fn snapshot(&self, path: PathBuf, key: PathBuf) -> PyResult<()> {
        let key = SealKey::read(&key).map_err(SpecError::new_err)?;
        self.0.snapshot(&path, &key).map_err(raised)
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

    fn submit(&mut self, when: (u64, u8), place: (u64, u32), hints: (bool, u8, u8), data: &[u8]) -> PyResult<u64> {
        let (now, kind) = when;
        let kind = *KINDS.get(usize::from(kind)).ok_or_else(|| PyValueError::new_err("kind: 0 to 8"))?;
        let (fua, stream, flow) = hints;
        let request = DeviceRequest { kind, offset_bytes: place.0, bytes: place.1, fua, stream, flow };
        self.0.submit_data(now, &request, data).map_err(raised)
    }

    /// Takes what a read has returned.
    fn take_data<'py>(&mut self, py: Python<'py>, id: u64) -> Option<Bound<'py, PyBytes>> {
        self.0.take_data(id).map(|data| PyBytes::new(py, &data))
    }

    /// Submits many requests, one after the other. Returns the id of the first.
    fn submit_many(
        &mut self,
        when: (&[u8], &[u8]),
        place: (&[u8], &[u8]),
        hints: (&[u8], &[u8], &[u8]),
    ) -> PyResult<Option<u64>> {
        let requests = when.0.len() / 8;
        let column = |name, bytes, size| NumberColumn::new(name, bytes, size, requests);
        let (at_ns, kind) = (column("at_ns", when.0, 8)?, column("kind", when.1, 1)?);
        let (offset_bytes, bytes) = (column("offset_bytes", place.0, 8)?, column("bytes", place.1, 4)?);
        let (fua, stream, flow) =
            (column("fua", hints.0, 1)?, column("stream", hints.1, 1)?, column("flow", hints.2, 1)?);
        let request = |nth| {
            let [kind] = kind.number(nth);
            let request = DeviceRequest {
                kind: *KINDS.get(usize::from(kind)).ok_or(RefusedRequest::Kind(kind))?,
                offset_bytes: u64::from_le_bytes(offset_bytes.number(nth)),
                bytes: u32::from_le_bytes(bytes.number(nth)),
                fua: fua.number(nth) != [0],
                stream: stream.number::<1>(nth)[0],
                flow: flow.number::<1>(nth)[0],
            };
            Ok((u64::from_le_bytes(at_ns.number(nth)), request))
        };
        let (ids, ended) = self.0.submit_many((0..requests).map(request));
        let nth = ids.end - ids.start;
        match ended {
            Ok(()) => Ok((nth > 0).then_some(ids.start)),
            Err(RefusedRequest::Kind(kind)) => {
                let text = format!("request {nth} (those before it are taken): kind {kind}; allowed: 0 to 8");
                Err(DeviceRefusal::new_err(text))
            }
            Err(RefusedRequest::ByDevice(error)) => Err(raised_by(nth, error)),
        }
    }

    fn next_event(&self) -> Option<u64> {
        self.0.next_event()
    }

    /// Lets time pass, and takes what is done.
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        to: Option<u64>,
        wanted: Option<usize>,
    ) -> PyResult<[Bound<'py, PyBytes>; 4]> {
        self.0.advance_for(to.unwrap_or(Device::NEVER), wanted.unwrap_or(usize::MAX)).map_err(raised)?;
        Ok(self.take_completions(py))
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
