//! Data placement: what a drive tells of its handles.

use pumice_ftl::COLLECTED;
use serde_json::{Value, json};

use super::Type::{Integer, List};
use super::{Finished, ResultField, fields, when};

fields! {
    pub const FIELDS:
    "placement.host_bytes", Integer, "bytes", "`ftl.handles` is absent: then `placement` is null",
        "Host bytes programmed (HBMW); with a write buffer fewer than written",
        |run| bytes(run, run.counts().host_stored());
    "placement.media_bytes", Integer, "bytes", "as above",
        "All bytes programmed (MBMW)",
        |run| bytes(run, run.counts().stored());
    "placement.erased_bytes", Integer, "bytes", "as above",
        "Bytes of the blocks erased (MBE)",
        |run| bytes(run, run.counts().block_erases * u64::from(run.geometry.pages_per_block));
    "placement.handles", List, "", "as above",
        "List, one entry a handle",
        |run| when(count(run) > 0, || Value::Array((0..count(run)).map(|handle| entry(run, handle)).collect()));
    "placement.collected_bytes", Integer, "bytes", "as above",
        "Bytes copied out of blocks that collection filled from several handles",
        |run| bytes(run, run.gc().placed[COLLECTED].copied);
}

/// How many handles there are; 0 where data is not placed.
fn count(run: &Finished) -> u8 {
    run.config.ftl.page.handles.unwrap_or_default() as u8
}

/// Pages, or mapping units, in bytes; null where data is not placed.
fn bytes(run: &Finished, pages: u64) -> Value {
    when(count(run) > 0, || json!(pages * u64::from(run.geometry.page_bytes)))
}

fn open_pages(run: &Finished, handle: u8) -> u64 {
    run.controller.ftl.layer().figures().map_or(0, |figures| figures.open_pages_of(handle))
}

fn entry(run: &Finished, handle: u8) -> Value {
    let placed = run.gc().placed[usize::from(handle)];
    json!({
        "host_bytes": bytes(run, placed.written),
        "copied_bytes": bytes(run, placed.copied),
        "available_bytes": bytes(run, open_pages(run, handle)),
    })
}
