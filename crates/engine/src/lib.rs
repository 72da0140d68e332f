//! The engine: a device with its host, and the run loop that gives it requests.
//!
//! Functional first: a host page access is turned into flash commands at once, and the belief of the translation
//! layer changes at once. The scheduler then gives the commands time, and the array changes when a command
//! executes. The same layer therefore runs timed and untimed, and could be stopped at any command.
#![forbid(unsafe_code)]

mod ageing;
mod build;
pub mod chip;
pub mod controller;
pub mod data;
mod error;
mod fio_job;
mod fit;
mod flows;
pub mod host;
mod logged;
mod lookahead;
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
mod threads;
mod workload;
mod zone_requests;

pub use ageing::age;
pub use build::{Built, bare_chips, build};
pub use error::SimError;
pub use fio_job::fio_job_settings;
pub use fit::{FittedDevice, fit_device};
pub use logged::{Sink, run_logged};
pub use lookahead::Lookahead;
pub use power::CutFlash;
pub use pumice_ftl::ZoneError;
pub use results::{Circumstances, FORMAT, Outcome};
pub use run::{EndedRun, Progress, run, run_observed, run_to_end};
pub use session::{Ageing, AgeingRequests, KeptSession, Origin, Session};
pub use ssd::Ssd;
pub use stopping::{Certainty, Quantity, StoppingReport, StoppingRule};
pub use threads::{Threads, run_on_threads};
pub use workload::{open as open_workload, write as write_workload};
