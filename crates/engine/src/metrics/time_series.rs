//! Requests and latencies over simulated time, in windows of one length.

use pumice_types::{RequestKind, Time, ZoneCommand};
use serde_json::{Value, json};

use crate::observe::RequestRecord;

/// Requests of one direction in one window.
#[derive(Clone, Copy, Debug, Default)]
struct WindowCounts {
    requests: u64,
    bytes: u64,
    latency_sum: u128,
    latency_max: Time,
}

impl WindowCounts {
    fn add(&mut self, record: &RequestRecord) {
        let latency = record.done - record.arrival;
        self.requests += 1;
        self.bytes += u64::from(record.request.bytes);
        self.latency_sum += u128::from(latency.0);
        self.latency_max = self.latency_max.max(latency);
    }

    /// Mean and largest latency in microseconds; null without a request.
    fn latency_us(&self) -> [Value; 2] {
        match self.requests {
            0 => [Value::Null, Value::Null],
            requests => [json!(self.latency_sum as f64 / requests as f64 / 1_000.0), json!(self.latency_max.as_us())],
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct TimeWindow {
    /// Place among all windows since the run's start.
    nth: u64,
    read: WindowCounts,
    write: WindowCounts,
    trims: u64,
    flushes: u64,
}

/// Windows in which requests were done. A request belongs to the window of its completion, so that a
/// window is final once time has passed it; windows without any are left out, so that memory is
/// bounded by the requests as well.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    window: Time,
    windows: Vec<TimeWindow>,
}

impl TimeSeries {
    /// An empty series of windows of so many seconds, of at least one nanosecond.
    pub fn new(window_s: f64) -> TimeSeries {
        TimeSeries { window: Time::from_us(window_s * 1e6).max(Time(1)), windows: Vec::new() }
    }

    /// Notes a request. They come in the order of completion.
    pub fn note(&mut self, record: &RequestRecord) {
        let nth = record.done.0 / self.window.0;
        if self.windows.last().is_none_or(|last| last.nth < nth) {
            let none = WindowCounts::default();
            self.windows.push(TimeWindow { nth, read: none, write: none, trims: 0, flushes: 0 });
        }
        let Some(window) = self.windows.last_mut() else { return };
        debug_assert_eq!(window.nth, nth, "requests come in the order of completion");
        match record.request.kind {
            RequestKind::Read => window.read.add(record),
            RequestKind::Write => window.write.add(record),
            RequestKind::Trim => window.trims += 1,
            RequestKind::Flush => window.flushes += 1,
            RequestKind::Zone(ZoneCommand::Append) => window.write.add(record),
            RequestKind::Zone(_) => {}
        }
    }

    /// The section of the result document.
    pub fn document(&self) -> Value {
        let rows = self.windows.iter().map(|window| {
            let ([read_mean_us, read_max_us], [write_mean_us, write_max_us]) =
                (window.read.latency_us(), window.write.latency_us());
            json!({
                "start_s": (self.window * window.nth).as_s(),
                "reads": window.read.requests, "writes": window.write.requests, "trims": window.trims,
                "flushes": window.flushes,
                "read_bytes": window.read.bytes, "write_bytes": window.write.bytes,
                "read_mean_us": read_mean_us, "read_max_us": read_max_us,
                "write_mean_us": write_mean_us, "write_max_us": write_max_us,
            })
        });
        Value::Array(rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::HostRequest;

    use super::*;

    /// A series of windows of 100 ns with requests that were done then.
    fn series(done: &[u64]) -> Value {
        let mut series = TimeSeries::new(1e-7);
        for &done in done {
            let request = HostRequest {
                arrival: Time::ZERO,
                offset_bytes: 0,
                bytes: 512,
                kind: RequestKind::Read,
                fua: false,
                stream: 0,
                flow: 0,
            };
            series.note(&RequestRecord { arrival: Time(done - 40), done: Time(done), request });
        }
        series.document()
    }

    #[test]
    fn t663_a_window_holds_its_first_nanosecond_and_not_the_next_ones() {
        let windows = series(&[99, 100, 199, 200, 400]);
        let column = |name: &str| -> Vec<Value> {
            windows.as_array().into_iter().flatten().map(|window| window[name].clone()).collect()
        };
        assert_eq!(column("start_s"), [0.0, 1e-7, 2e-7, 4e-7].map(Value::from));
        assert_eq!(column("reads"), [1, 2, 1, 1].map(Value::from));
        assert_eq!(column("read_mean_us"), [0.04; 4].map(Value::from));
    }
}
