//! Runs a device of 64 GiB at an eighth of its size, whose pages the layer places (`ftl.hot_cold = "gc"`), or a function
//! does that places them alike and is asked for every page: by its address, as those of numba are. Or its victims are
//! chosen by a policy whose file is given, or by the built-in one that it follows. What the interface costs is the
//! difference.
//!
//! `perf stat -e instructions:u target/release/examples/policy_speed [gc | placed | cost-benefit | FILE]`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::Path;

use pumice_capi::policy::{Addresses, FlatPage, at_addresses, load};
use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::OwnFault;
use pumice_ftl::policy::{Decides, Decisions, DeviceShape, OwnPolicy, PolicySource};
use pumice_types::key::Values;

/// `copied_from` of a page that the host writes.
const FROM_HOST: u32 = 255;

/// What the host writes to the first stream, copies to the second.
extern "C" fn copies_apart(_lpn: u32, _plane: u32, _now: u64, copied_from: u32) -> u32 {
    u32::from(copied_from != FROM_HOST)
}

#[derive(Debug)]
struct CopiesApart;

impl PolicySource for CopiesApart {
    fn name(&self) -> &str {
        "copies-apart"
    }

    fn sha256(&self) -> &str {
        "0"
    }

    fn decides(&self) -> Decides {
        Decides { streams: 2, ..Decides::default() }
    }

    fn open(&self, _: &DeviceShape, _: &Values) -> Result<Box<dyn Decisions>, OwnFault> {
        let placement = copies_apart as FlatPage as usize;
        Ok(Box::new(at_addresses(Addresses { placement, ..Addresses::default() })))
    }
}

fn main() -> Result<(), String> {
    let what = std::env::args().nth(1).unwrap_or_else(|| "gc".into());
    let (gc_policy, own_policy) = match &*what {
        "gc" => ("greedy", None),
        "placed" => ("greedy", Some(OwnPolicy::new(CopiesApart))),
        "cost-benefit" => ("cost-benefit", None),
        file => ("cost-benefit", Some(load(Path::new(file))?)),
    };
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.merge", "block-erase"),
        ("partial_erase.unit", "none"),
        ("ftl.hot_cold", "gc"),
        ("ftl.gc_policy", gc_policy),
    ];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
    let source = SpecSource { preset: Some("bench-64g".into()), sets, own_policy, ..SpecSource::default() };
    let config = Config::resolve(&source).map_err(|error| error.to_string())?;
    let outcome = run(&config, 0.125, &mut |_| true).map_err(|error| error.to_string())?;
    println!("{} flash commands, {} pages copied", outcome.flash_commands, outcome.document["gc"]["copied_pages"]);
    Ok(())
}
