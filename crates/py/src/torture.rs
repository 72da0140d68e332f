//! `Torture` of Python: firmware of a shared object, or of the user's Python, under cuts of the power.

use std::path::PathBuf;
use std::str::FromStr;

use pumice_capi::torture::ForeignFirmware;
use pumice_chip::Chip;
use pumice_chip::torture::{Case, CaseFailure, Complaint, Firmware, Torture, TortureError, TorturePlan, named};
use pumice_config::SpecSource;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::chip::{PythonChip, chip_options};
use crate::errors::{SimulationError, SpecError, spec_error};
use crate::json::parse;

/// What is tried, as Python says it.
#[derive(Deserialize)]
struct WantedTorture {
    seed: u64,
    steps: Option<u64>,
    after: u64,
    leaves: Vec<String>,
    then: Vec<String>,
    draws: u64,
    fails: u64,
    page_programs: u32,
    pair_distance: u16,
    illegal: String,
}

impl WantedTorture {
    fn plan(&self, steps: u64) -> Result<TorturePlan, TortureError> {
        let leaves = self.leaves.iter().map(|name| named("leaves", name)).collect::<Result<_, _>>()?;
        let then = self.then.iter().map(|name| named("then", name)).collect::<Result<_, _>>()?;
        let WantedTorture { seed, after, draws, fails, .. } = *self;
        Ok(TorturePlan { seed, steps: self.steps.unwrap_or(steps), after, leaves, then, draws, fails })
    }
}

/// Firmware of the user's Python: what makes it, given no argument, and the chip that it is on.
struct PythonFirmware {
    make: Py<PyAny>,
    chip: Py<PythonChip>,
    made: Option<Py<PyAny>>,
}

/// An exception as a complaint, in one line.
fn complaint(error: &PyErr) -> Complaint {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Complaint(lines.join(" "))
}

impl PythonFirmware {
    fn call(&self, name: &str, argument: Option<u64>) -> Result<(), Complaint> {
        Python::attach(|py| {
            let Some(made) = &self.made else { return Err(Complaint("it was not started".into())) };
            let ended = match argument {
                Some(number) => made.call_method1(py, name, (number,)),
                None => made.call_method0(py, name),
            };
            ended.map(drop).map_err(|error| complaint(&error))
        })
    }
}

impl Firmware for PythonFirmware {
    fn with_chip<T>(&mut self, work: impl FnOnce(&mut Chip) -> T) -> T {
        Python::attach(|py| work(&mut self.chip.borrow_mut(py).0))
    }

    fn start(&mut self) -> Result<(), Complaint> {
        self.made = None;
        let made = Python::attach(|py| self.make.call0(py).map_err(|error| complaint(&error)));
        made.map(|made| self.made = Some(made))
    }

    fn stop(&mut self) {
        self.made = None;
    }

    fn format(&mut self) -> Result<(), Complaint> {
        self.call("format", None)
    }

    fn mount(&mut self) -> Result<(), Complaint> {
        self.call("mount", None)
    }

    fn work(&mut self, step: u64) -> Result<(), Complaint> {
        self.call("work", Some(step))
    }

    fn check(&mut self, done: u64) -> Result<(), Complaint> {
        self.call("check", Some(done))
    }
}

/// Either kind of firmware.
enum AnyTorture {
    Foreign(Box<Torture<ForeignFirmware>>),
    Python(Box<Torture<PythonFirmware>>),
}

/// Does the same with either kind.
macro_rules! with_either {
    ($either:expr, $torture:ident => $work:expr) => {
        match $either {
            AnyTorture::Foreign($torture) => $work,
            AnyTorture::Python($torture) => $work,
        }
    };
}

/// Firmware under torture; see `pumice.torture`.
#[pyclass(name = "Torture", module = "pumice._engine", unsendable)]
pub struct PythonTorture {
    torture: AnyTorture,
    about: serde_json::Value,
}

fn failed(error: TortureError) -> PyErr {
    SimulationError::new_err(error.to_string())
}

fn as_json(finding: &CaseFailure) -> String {
    let CaseFailure { index, case, phase, text, operation, done } = finding;
    serde_json::json!({
        "index": index, "case": case.to_string(), "phase": phase.to_string(), "text": text, "operation": operation,
        "done": done,
    })
    .to_string()
}

/// Tells Python of findings, and keeps the first exception that it answers with.
struct FailureSink<'a> {
    call: &'a Py<PyAny>,
    error: Option<PyErr>,
}

impl FailureSink<'_> {
    fn tell(&mut self, finding: &CaseFailure) {
        let ended = Python::attach(|py| self.call.call1(py, (as_json(finding),)));
        if let Err(error) = ended {
            self.error.get_or_insert(error);
        }
    }

    fn end<T>(self, result: PyResult<T>) -> PyResult<T> {
        self.error.map_or(result, Err)
    }
}

#[pymethods]
impl PythonTorture {
    /// Firmware of a shared object.
    #[staticmethod]
    fn of_library(request: &str, plan: &str, path: PathBuf, found: Py<PyAny>) -> PyResult<PythonTorture> {
        let wanted = wanted(plan)?;
        let source: SpecSource = parse(request)?;
        let options = chip_options(wanted.page_programs, wanted.pair_distance, &wanted.illegal)?;
        let firmware = ForeignFirmware::open(&path, &source, options).map_err(spec_error)?;
        let plan = wanted.plan(firmware.steps).map_err(|error| SpecError::new_err(error.to_string()))?;
        let mut about = serde_json::json!({ "name": firmware.name, "sha256": firmware.sha256, "steps": plan.steps });
        let mut told = FailureSink { call: &found, error: None };
        let made = Torture::new(firmware, plan, |finding| told.tell(&finding)).map_err(failed);
        let torture = told.end(made)?;
        describe(&torture, &mut about);
        Ok(PythonTorture { torture: AnyTorture::Foreign(Box::new(torture)), about })
    }

    /// Firmware of Python: `make` returns it, made anew on this chip.
    #[staticmethod]
    fn of_python(chip: Py<PythonChip>, make: Py<PyAny>, plan: &str, found: Py<PyAny>) -> PyResult<PythonTorture> {
        let plan = wanted(plan)?.plan(0).map_err(|error| SpecError::new_err(error.to_string()))?;
        let mut about = serde_json::json!({ "name": null, "sha256": null, "steps": plan.steps });
        let firmware = PythonFirmware { make, chip, made: None };
        let mut told = FailureSink { call: &found, error: None };
        let made = Torture::new(firmware, plan, |finding| told.tell(&finding)).map_err(failed);
        let torture = told.end(made)?;
        describe(&torture, &mut about);
        Ok(PythonTorture { torture: AnyTorture::Python(Box::new(torture)), about })
    }

    /// Sessions, combinations and number of cases, as JSON.
    fn about(&self) -> String {
        self.about.to_string()
    }

    /// Tries the cases of these numbers. `begins` is told each number, `found` each finding as JSON.
    fn try_cases(&mut self, first: u64, last: u64, begins: Py<PyAny>, found: Py<PyAny>) -> PyResult<()> {
        let (mut told, mut error) = (FailureSink { call: &found, error: None }, None);
        let mut begin = |number: u64| {
            let ended = Python::attach(|py| begins.call1(py, (number,)));
            let goes_on = ended.is_ok();
            error = ended.err();
            goes_on
        };
        let mut tell = |finding: CaseFailure| told.tell(&finding);
        let tried = with_either!(&mut self.torture, torture => torture.try_cases(first..last, &mut begin, &mut tell));
        error.map_or(Ok(()), Err)?;
        told.end(tried.map_err(failed))
    }

    /// Tries one case; what was found, as JSON.
    fn try_case(&mut self, case: &str) -> PyResult<Option<String>> {
        let case = Case::from_str(case).map_err(|error| SpecError::new_err(error.to_string()))?;
        let found = with_either!(&mut self.torture, torture => torture.try_case(case)).map_err(failed)?;
        Ok(found.as_ref().map(as_json))
    }
}

fn wanted(plan: &str) -> PyResult<WantedTorture> {
    serde_json::from_str(plan).map_err(|error| SpecError::new_err(format!("plan: {error}")))
}

fn describe<F: Firmware>(torture: &Torture<F>, about: &mut serde_json::Value) {
    let sessions = torture.sessions().iter();
    let sessions = sessions
        .map(|session| serde_json::json!({ "fails": session.fails, "operations": session.operations }))
        .collect::<Vec<_>>();
    let combinations = torture.combinations().iter();
    let combinations = combinations
        .map(|with| serde_json::json!({ "leaves": with.leaves.to_string(), "then": with.then.to_string(), "draw": with.draw }))
        .collect::<Vec<_>>();
    about["sessions"] = sessions.into();
    about["combinations"] = combinations.into();
    about["cases"] = torture.cases().into();
}
