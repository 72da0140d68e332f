//! Tests of the served device and of the crash lab, as one program: they wait more than they compute.

mod ageing;
mod client;
mod clients;
mod crash;
mod fuzz;
mod killed;
mod limits;
mod lying;
mod messages;
mod snapshots;
