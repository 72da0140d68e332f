//! Runs the example in `examples/own-ftl-rust` on a device of 64 GiB at an eighth of its size: compiled in, or as the
//! plug-in whose file is given. What the interface costs is the difference.
//!
//! `perf stat -e instructions:u target/release/examples/plugin_speed [FILE]`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

#[path = "../../../examples/own-ftl-rust/src/lib.rs"]
mod page_log;

use std::path::Path;

use pumice_capi::ftl::load;
use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::plugin::OwnLayer;

fn main() -> Result<(), String> {
    let layer = match std::env::args().nth(1) {
        Some(path) => load(Path::new(&path))?,
        None => OwnLayer::compiled_in::<page_log::PageLog>()?,
    };
    let sets = [("ftl.kind", "plugin:page-log"), ("ftl.merge", "block-erase"), ("partial_erase.unit", "none")];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
    let source = SpecSource { preset: Some("bench-64g".into()), sets, plugins: vec![layer], ..SpecSource::default() };
    let config = Config::resolve(&source).map_err(|error| error.to_string())?;
    let outcome = run(&config, 0.125, &mut |_| true).map_err(|error| error.to_string())?;
    println!("{} flash commands, {} pages copied", outcome.flash_commands, outcome.document["gc"]["copied_pages"]);
    Ok(())
}
