//! What the page of the playground calls, in WebAssembly: a spec as JSON in, a result document as JSON out.
//!
//! One text lies in memory for both. The caller makes room for a request ([`pumice_playground_text`]) and writes it there;
//! each other function leaves its answer there, and returns how many bytes it has.

use std::cell::RefCell;

use pumice_config::preset::{PRESETS, PresetKind};
use pumice_config::{Config, SpecSource};
use pumice_engine::SimError;
use pumice_types::refuse;
use serde_json::{Value, json};

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The address of the text, made so many bytes long.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_playground_text(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers with the drives that there are: `[{"name": TEXT, "cells": TEXT}, …]`.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_playground_drives() -> usize {
    let drives = PRESETS.iter().filter(|preset| preset.kind == PresetKind::Drive);
    let told = drives.map(|preset| json!({ "name": preset.name, "cells": preset.cells }));
    answer(&told.collect())
}

/// Runs the request, `{"preset": NAME, "sets": [[KEY, VALUE], …]}`, and answers with `{"result": DOCUMENT}`, or with
/// `{"error": TEXT}` if it is refused.
#[unsafe(no_mangle)]
pub extern "C" fn pumice_playground_run() -> usize {
    let outcome = TEXT.with_borrow(|text| run(text));
    answer(
        &outcome.map_or_else(|error| json!({ "error": error.to_string() }), |document| json!({ "result": document })),
    )
}

fn answer(answer: &Value) -> usize {
    TEXT.set(answer.to_string().into_bytes());
    TEXT.with_borrow(Vec::len)
}

fn run(request: &[u8]) -> Result<Value, SimError> {
    let source: SpecSource = serde_json::from_slice(request).map_err(|error| refuse!("request: {error}"))?;
    let config = Config::resolve(&source)?;
    Ok(pumice_engine::run(&config, source.scale.unwrap_or(1.0), &mut |_| true)?.document)
}
