//! The simulator: spec, device, scheduler, hosts, metrics and the run loop.
//!
//! Functional first: a host page access is turned into flash commands at once, and the FTL's belief
//! changes at once. The scheduler then gives the commands time, and the array changes when a command
//! executes. The same FTL therefore runs timed and untimed, and could be stopped at any command.
#![forbid(unsafe_code)]

pub mod block;
pub mod build;
pub mod device;
pub mod erase;
mod error;
mod fio_job;
mod host;
mod ledger;
mod lookahead;
mod metrics;
pub mod output;
pub mod plan;
pub mod read_retry;
mod result;
mod run;
pub mod scheduler;
pub mod spec;
pub mod worked;
mod workload;

pub use error::SimError;
pub use fio_job::fio_job_settings;
pub use metrics::Progress;
pub use pumice_ftl::{TableIndices, merge};
pub use pumice_workload::catalogue;
pub use result::{FORMAT, digest};
pub use run::{Outcome, run, run_observed};
pub use spec::{Spec, SpecError, SpecSource};
pub use workload::write as write_workload;
