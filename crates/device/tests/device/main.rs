//! A device in another program: it runs what a run runs, whatever the steps in which its time passes; it refuses calls
//! that make no sense; its copies go on alone.
#![allow(clippy::print_stdout, reason = "how much was compared, shown with --nocapture")]

mod calls;
mod data;
mod identity;
mod support;
mod zones;
