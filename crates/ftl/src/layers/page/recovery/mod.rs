//! The map after a power cut, from spare areas, summaries or the log.

pub mod audit;
pub mod log_recovery;
pub mod scan_recovery;
pub mod spare_survey;
