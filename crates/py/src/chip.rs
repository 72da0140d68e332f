//! `Chip` of Python: the chip without a controller (`pumice_chip`), one method an operation.

use std::path::PathBuf;

use pumice_chip::{ChipChoices, ChipFailure, ChipSnapshot, Illegal, PagePrograms, outcome_of};
use pumice_config::SpecSource;
use pumice_types::{Choice, Pb, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{SpecError, spec_error};
use crate::json::parse;

pyo3::create_exception!(pumice, ChipError, pyo3::exceptions::PyRuntimeError, "What a chip did not do; one line.");
pyo3::create_exception!(pumice, Refused, ChipError, "A rule of the chip refuses the operation; nothing has changed.");
pyo3::create_exception!(pumice, Uncorrectable, ChipError, "A page fails its code.");
pyo3::create_exception!(pumice, OperationFailed, ChipError, "A program or erase failed: the block is going bad.");
pyo3::create_exception!(pumice, PowerLost, ChipError, "The power is off.");

/// The exception of a failure. A refusal has the name of its rule as `rule`.
fn raised(py: Python<'_>, failure: ChipFailure) -> PyErr {
    let text = failure.to_string();
    match failure {
        ChipFailure::Rule(_) | ChipFailure::Address { .. } => {
            let error = Refused::new_err(text);
            match error.value(py).setattr("rule", failure.rule()) {
                Ok(()) => error,
                Err(other) => other,
            }
        }
        ChipFailure::Uncorrectable(_) => Uncorrectable::new_err(text),
        ChipFailure::ProgramFailed(_) | ChipFailure::EraseFailed(_) => OperationFailed::new_err(text),
        ChipFailure::PowerLost => PowerLost::new_err(text),
        ChipFailure::Usage(_) => pyo3::exceptions::PyValueError::new_err(text),
    }
}

/// The options of a chip; 0 programs of a page stand for any number, byte by byte.
pub fn chip_options(page_programs: u32, pair_distance: u16, illegal: &str) -> PyResult<ChipChoices> {
    let programs = if page_programs == 0 { PagePrograms::Bytes } else { PagePrograms::Times(page_programs) };
    let found = Illegal::from_name(illegal).ok_or_else(|| {
        let allowed = Illegal::NAMES.join(", ");
        SpecError::new_err(format!("illegal = \"{illegal}\" is not allowed; allowed: {allowed}"))
    })?;
    Ok(ChipChoices { programs, pair_distance, illegal: found })
}

/// A state of a chip to go back to.
#[pyclass(frozen, module = "pumice._engine")]
pub struct ChipState(ChipSnapshot);

/// A chip; see `pumice.Chip`.
#[pyclass(name = "Chip", module = "pumice._engine")]
pub struct PythonChip(pub pumice_chip::Chip);

impl PythonChip {
    /// Does something with a chip; a failure becomes an exception.
    fn work<T>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut pumice_chip::Chip) -> Result<T, ChipFailure>,
    ) -> PyResult<T> {
        work(&mut self.0).map_err(|failure| raised(py, failure))
    }
}

#[pymethods]
impl PythonChip {
    /// `page_programs`: 0 stands for any number, byte by byte.
    #[new]
    fn new(request: &str, page_programs: u32, pair_distance: u16, illegal: &str) -> PyResult<PythonChip> {
        let source: SpecSource = parse(request)?;
        let options = chip_options(page_programs, pair_distance, illegal)?;
        Ok(PythonChip(pumice_chip::Chip::open_with(&source, options).map_err(spec_error)?))
    }

    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (chip, out) = (&self.0, PyDict::new(py));
        let geometry = chip.geometry();
        out.set_item("blocks", geometry.blocks())?;
        out.set_item("blocks_per_plane", geometry.blocks_per_plane)?;
        out.set_item("pages_per_block", geometry.pages_per_block)?;
        out.set_item("page_bytes", geometry.page_bytes)?;
        out.set_item("oob_bytes", geometry.spare_bytes)?;
        out.set_item("max_splits", chip.max_splits())?;
        out.set_item("sub_blocks", chip.sub_blocks())?;
        Ok(out)
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        self.0.counts().named().into_iter().try_for_each(|(name, count)| out.set_item(name, count))?;
        Ok(out)
    }

    fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }

    fn time_ns(&self) -> u64 {
        self.0.now().0
    }

    fn wait(&mut self, time_ns: u64) {
        self.0.wait(Time(time_ns));
    }

    fn is_powered(&self) -> bool {
        self.0.is_powered()
    }

    fn read<'py>(&mut self, py: Python<'py>, block: u32, page: u32) -> PyResult<Bound<'py, PyBytes>> {
        let address = self.work(py, |chip| chip.page(block, page))?;
        let bytes = self.0.geometry().page_bytes as usize;
        PyBytes::new_with(py, bytes, |data| self.work(py, |chip| chip.read(address, data, &mut []).map(drop)))
    }

    fn read_raw<'py>(&mut self, py: Python<'py>, block: u32, page: u32) -> PyResult<Bound<'py, PyBytes>> {
        let address = self.work(py, |chip| chip.page(block, page))?;
        let bytes = self.0.geometry().page_bytes as usize;
        PyBytes::new_with(py, bytes, |data| self.work(py, |chip| chip.read_raw(address, data, &mut [])))
    }

    fn read_at<'py>(
        &mut self,
        py: Python<'py>,
        target: (u32, u32),
        offset: usize,
        bytes: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let address = self.work(py, |chip| chip.page(target.0, target.1))?;
        // What a page does not have is refused before memory is asked for.
        let room = bytes.min(self.0.geometry().page_bytes as usize + 1);
        PyBytes::new_with(py, room, |data| self.work(py, |chip| chip.read_at(address, offset, data).map(drop)))
    }

    fn program_at(&mut self, py: Python<'_>, target: (u32, u32), offset: usize, data: &[u8]) -> PyResult<()> {
        self.work(py, |chip| chip.page(target.0, target.1).and_then(|page| chip.program_at(page, offset, data)))
    }

    fn fail_after(&mut self, operations: u64) {
        self.0.fail_after(operations);
    }

    fn settle_after(&mut self, operations: u64) {
        self.0.settle_after(operations);
    }

    fn draw_from(&mut self, number: u64) {
        self.0.draw_from(number);
    }

    fn save(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.work(py, |chip| chip.save(&path))
    }

    fn load(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.work(py, |chip| chip.load(&path))
    }

    fn read_oob<'py>(&mut self, py: Python<'py>, block: u32, page: u32) -> PyResult<Bound<'py, PyBytes>> {
        let address = self.work(py, |chip| chip.page(block, page))?;
        let bytes = self.0.geometry().spare_bytes as usize;
        PyBytes::new_with(py, bytes, |oob| self.work(py, |chip| chip.read_oob(address, oob)))
    }

    fn is_blank(&mut self, py: Python<'_>, block: u32, page: u32) -> PyResult<bool> {
        self.work(py, |chip| chip.page(block, page).and_then(|page| chip.is_blank(page)))
    }

    fn program(&mut self, py: Python<'_>, target: (u32, u32), data: &[u8], oob: &[u8]) -> PyResult<()> {
        self.work(py, |chip| chip.page(target.0, target.1).and_then(|page| chip.program(page, data, oob)))
    }

    #[pyo3(signature = (source, target, oob=None))]
    fn copy(&mut self, py: Python<'_>, source: (u32, u32), target: (u32, u32), oob: Option<&[u8]>) -> PyResult<()> {
        self.work(py, |chip| {
            let (from, to) = (chip.page(source.0, source.1)?, chip.page(target.0, target.1)?);
            chip.copy(from, to, oob)
        })
    }

    fn erase(&mut self, py: Python<'_>, block: u32) -> PyResult<()> {
        self.work(py, |chip| chip.block(block).and_then(|block| chip.erase(block)))
    }

    fn erase_partial(&mut self, py: Python<'_>, block: u32, partial_block: u32) -> PyResult<()> {
        // No tree has a partial block 0, so the chip refuses what is too large by the name of the rule.
        let pb = Pb(u16::try_from(partial_block).unwrap_or(0));
        self.work(py, |chip| chip.block(block).and_then(|block| chip.erase_partial(block, pb)))
    }

    fn erase_sub_blocks(&mut self, py: Python<'_>, block: u32, sub_blocks: u32) -> PyResult<()> {
        self.work(py, |chip| chip.block(block).and_then(|block| chip.erase_sub_blocks(block, sub_blocks)))
    }

    fn erases(&mut self, py: Python<'_>, block: u32, page: u32) -> PyResult<u64> {
        self.work(py, |chip| chip.page(block, page).map(|page| chip.erases(page)))
    }

    fn is_bad(&mut self, py: Python<'_>, block: u32) -> PyResult<bool> {
        self.work(py, |chip| chip.block(block).map(|block| chip.is_bad(block)))
    }

    fn mark_bad(&mut self, py: Python<'_>, block: u32) -> PyResult<()> {
        self.work(py, |chip| chip.block(block).and_then(|block| chip.mark_bad(block)))
    }

    fn grow_bad(&mut self, py: Python<'_>, block: u32) -> PyResult<()> {
        self.work(py, |chip| chip.block(block).map(|block| chip.grow_bad(block)))
    }

    fn cut_after(&mut self, py: Python<'_>, operations: u64, leaves: &str) -> PyResult<()> {
        self.work(py, |chip| outcome_of(leaves).map(|leaves| chip.cut_after(operations, leaves)))
    }

    fn cancel_cut(&mut self) {
        self.0.cancel_cut();
    }

    fn power_off(&mut self) {
        self.0.power_off();
    }

    fn power_on(&mut self) {
        self.0.power_on();
    }

    fn settle(&mut self) {
        self.0.settle();
    }

    fn snapshot(&self) -> ChipState {
        ChipState(self.0.snapshot())
    }

    fn restore(&mut self, py: Python<'_>, state: &ChipState) -> PyResult<()> {
        self.work(py, |chip| chip.restore(&state.0))
    }
}
