//! The engine: a device with its host, and the run loop that gives it requests.
//!
//! Functional first: a host page access is turned into flash commands at once, and the belief of the translation
//! layer changes at once. The scheduler then gives the commands time, and the array changes when a command
//! executes. The same layer therefore runs timed and untimed, and could be stopped at any command.
#![forbid(unsafe_code)]

mod build;
pub mod chip;
pub mod controller;
pub mod data;
mod error;
mod fio_job;
mod fit;
pub mod host;
pub mod metrics;
pub mod observe;
mod power;
pub mod results;
mod run;
pub mod scheduler;
mod session;
pub mod snapshot;
mod ssd;
mod stopping;
mod workload;

pub use build::{Built, bare_chips, build};
pub use error::SimError;
pub use fio_job::fio_job_settings;
pub use fit::{FittedDevice, fit_device};
pub use power::CutFlash;
pub use pumice_ftl::ZoneError;
pub use results::{Circumstances, FORMAT, Outcome};
pub use run::ageing::age;
pub use run::logged::{Sink, run_logged};
pub use run::threads::{Threads, run_on_threads};
pub use run::{EndedRun, Progress, run, run_observed, run_to_end};
pub use session::lookahead::Lookahead;
pub use session::{Ageing, AgeingRequests, KeptSession, Origin, Session};
pub use ssd::Ssd;
pub use stopping::{Certainty, Quantity, StoppingReport, StoppingRule};
pub use workload::{open as open_workload, write as write_workload};
