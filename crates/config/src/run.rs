//! `[run]` and `[output]`: how long a run is, what it checks, and what it writes.

use pumice_types::key::{ANY, CHOSEN, When, float, int};
use pumice_types::{choice, keys};

use crate::flow::FIRST_KIND;
use crate::until::Until;

choice! {
    /// What is checked.
    pub enum Check {
        /// Every flash rule, and the tag of every page read.
        Rules = "rules",
        /// Also everything stored, read back at the end.
        Integrity = "integrity",
    }
}

keys! {
    /// `[run]`
    pub struct RunKeys in "run" {
        max_requests: Option<u64> = "", int(1, i64::MAX), "requests", "no limit", When::Requests,
            "Stop after this many requests.";
        warmup_requests: u64 = "0", int(0, i64::MAX), "requests", CHOSEN, When::Requests,
            "Requests before measuring starts.";
        only_flow: Option<u32> = "", int(0, 63), "", "all flows", When::All(&[When::Requests, When::Given(FIRST_KIND)]),
            "Only the flow of this number sends requests, the same as beside the others.";
        until: Option<Until> = "", ANY, "", "every request is run", When::Requests,
            "End the run when it knows this: \"steady\" (write amplification and mean latency to ± 5 %), \"steady ± X %\", or a latency of reads and of writes: \"mean ± X %\", likewise p50, p90, p99, p99.9 (+- for ± too). X % is half the 95 % confidence interval. Without a clock only steady works, on write amplification alone.";
        timed: bool = "true", ANY, "", CHOSEN, When::Requests,
            "Off: no clock, no latencies; faster. Counts and wear are those of a timed run unless time determines the order of pages: partial writes under host.partial_page = \"rmw\", a write buffer, ftl.map_place = \"cached\", ftl.gc_mode = \"background\" or \"preemptible\".";
        check: Check = "\"rules\"", ANY, "", CHOSEN, When::Always,
            "rules: every flash rule, and the tag of every page read. integrity: also a full read-back at the end; a corrupt or lost page gives status 1.";
    }
}

const TIMELINE: When = When::All(&[When::Requests, When::On("output.timeline")]);

keys! {
    /// `[output]`
    pub struct OutputKeys in "output" {
        request_log: bool = "false", ANY, "", CHOSEN, When::Requests,
            "File request_log.parquet: every measured request with its arrival, completion, kind, offset, bytes and latency. One run with a clock and an output directory.";
        command_log: bool = "false", ANY, "", CHOSEN, When::Requests,
            "File command_log.bin.zst: the initial state and every flash command; `pumice verify` replays it into the chip's rules. One run with an output directory.";
        histograms: bool = "false", ANY, "", CHOSEN, When::Requests,
            "File latency.hlog: latencies of reads, writes and trims as HDR histograms (V2 interval log), in nanoseconds. One run with a clock and an output directory.";
        wear_map: bool = "false", ANY, "", CHOSEN, When::Requests,
            "File wear_map.npy: erases of every leaf of every block, one row a block. One run with an output directory.";
        timeline: bool = "false", ANY, "", CHOSEN, When::Requests,
            "File timeline.json: dies, channels and requests in a window of time, in the Trace Event Format, which ui.perfetto.dev opens. One run with a clock and an output directory.";
        timeline_begin_s: f64 = "0.0", float(0.0, 1e9), "s", CHOSEN, TIMELINE,
            "Begin of the timeline's window on the run's clock, warm-up included.";
        timeline_length_s: f64 = "0.1", float(1e-6, 1e6), "s", CHOSEN, TIMELINE,
            "Length of the timeline's window.";
        time_series_s: Option<f64> = "", float(1e-6, 1e9), "s", "no time series", When::Requests,
            "Window of time_series in the result document: requests and latencies by the time of completion.";
        write_series: Option<f64> = "", float(1e-4, 1000.0), "user capacities", "no write series", When::Always,
            "Window of write_series in the result document, in host data: pages programmed, blocks erased, write amplification. Works without a clock.";
    }
}

impl OutputKeys {
    /// Keys that ask for a file and are on: what a run without an output directory cannot give.
    pub fn files(&self) -> Vec<&'static str> {
        let keys = [
            (self.request_log, "output.request_log"),
            (self.command_log, "output.command_log"),
            (self.histograms, "output.histograms"),
            (self.wear_map, "output.wear_map"),
            (self.timeline, "output.timeline"),
        ];
        keys.into_iter().filter(|(on, _)| *on).map(|(_, key)| key).collect()
    }
}
