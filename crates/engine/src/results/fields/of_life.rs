//! How the life of a device ended.

use serde_json::{Value, json};

use super::Type::{Integer, Number, Text};
use super::{ResultField, count, fields, ratio};
use crate::results::{EndOfLife, Finished};

fields! {
    pub const FIELDS:
    "life.state", Text, "", "`erase.worn_blocks = \"used\"`, or `erase.scheme = \"fixed\"`",
        "`in-use`, or `read-only`: a write found no block, and the run ended",
        |run| match run.retires_worn_blocks() {
            true => json!(if run.end_of_life.is_some() { "read-only" } else { "in-use" }),
            false => Value::Null,
        };
    "life.worn_blocks", Integer, "blocks", "as `life.state`",
        "Blocks retired, ageing and warm-up included",
        |run| count(run.retires_worn_blocks(), run.blocks_retired());
    "life.spare_left", Number, "share of raw", "as `life.state`",
        "Over-provisioning left: pages of good blocks, less the logical pages, as a share of all pages",
        spare_left;
    "life.end_request", Integer, "", "`life.state` is not `read-only`",
        "Number of the request that found no block, from 1, warm-up included",
        |run| of_end(run, |end| json!(end.request));
    "life.end_s", Number, "s", "`life.state` is not `read-only`; without a clock",
        "When it came",
        |run| of_end(run, |end| if run.config.run.timed { json!(end.at.as_s()) } else { Value::Null });
}

fn spare_left(run: &Finished) -> Value {
    if !run.retires_worn_blocks() {
        return Value::Null;
    }
    let geometry = &run.geometry;
    let retired = run.blocks_retired() * u64::from(geometry.pages_per_block);
    ratio(run.spare_pages() - retired as f64, geometry.pages() as f64)
}

/// What a field says of the end of the device.
fn of_end(run: &Finished, value: impl Fn(&EndOfLife) -> Value) -> Value {
    run.end_of_life.as_ref().map_or(Value::Null, value)
}
