//! 67x: the timeline shows what dies and channels did: its slices do not overlap on a die, they sum to the busy times
//! of the document, and every suspension and request of the window is there.

use std::collections::BTreeMap;

use pumice_config::Config;
use pumice_engine::results::RequestBatch;
use pumice_engine::{Outcome, Sink, run_logged};
use serde_json::Value;

use crate::support::{number, spec};

/// Keeps the timeline's text.
#[derive(Default)]
struct Text(String);

impl Sink for Text {
    fn requests(&mut self, _batch: &RequestBatch) -> Result<(), String> {
        Ok(())
    }

    fn commands(&mut self, _bytes: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn timeline(&mut self, text: &str) -> Result<(), String> {
        self.0.push_str(text);
        Ok(())
    }
}

const WHOLE: [(&str, &str); 3] =
    [("output.timeline", "true"), ("output.timeline_length_s", "1000000.0"), ("workload.requests", "2500")];

fn drawn(sets: &[(&str, &str)]) -> (Outcome, Vec<Value>) {
    drawn_of(&spec(&[&WHOLE, sets].concat()))
}

/// A run, and the events of its timeline.
pub fn drawn_of(config: &Config) -> (Outcome, Vec<Value>) {
    let mut text = Text::default();
    let outcome = run_logged(config, 1.0, &mut text, &mut |_| true).expect("it runs");
    let document: Value = serde_json::from_str(&text.0).expect("JSON");
    (outcome, document["traceEvents"].as_array().expect("a list").clone())
}

/// Times in the file have three decimals, so they are whole nanoseconds.
fn ns(event: &Value, field: &str) -> u64 {
    (event[field].as_f64().expect("a number") * 1e3).round() as u64
}

/// Start and end of the complete events of each thread of a process, in order.
pub fn slices(events: &[Value], process: u64) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let mut threads: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X" && event["pid"] == process) {
        let start = ns(event, "ts");
        threads.entry(event["tid"].as_u64().expect("a thread")).or_default().push((start, start + ns(event, "dur")));
    }
    threads.values_mut().for_each(|spans| spans.sort_unstable());
    threads
}

/// Largest difference, as a share of simulated time, between busy times of the document and of the timeline.
fn difference(outcome: &Outcome, events: &[Value], process: u64, path: &str) -> f64 {
    let simulated = number(&outcome.document, "host.simulated_s") * 1e9;
    let shares = outcome.document["utilisation"][path].as_array().expect("a list");
    let found = slices(events, process);
    let busy = |nth: usize| found.get(&(nth as u64)).into_iter().flatten().map(|(start, end)| end - start).sum::<u64>();
    let off = |(nth, share): (usize, &Value)| (share.as_f64().expect("a share") - busy(nth) as f64 / simulated).abs();
    shares.iter().enumerate().map(off).fold(0.0, f64::max)
}

const RUNS: [&[(&str, &str)]; 4] = [
    &[],
    &[("ftl.merge", "m-merge"), ("host.read_priority", "true"), ("timing.copyback", "false")],
    &[
        ("timing.multi_plane", "queue"),
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("initial.age_writes", "1.0"),
        ("workload.footprint", "1.0"),
    ],
    &[
        ("erase.scheme", "aero"),
        ("erase.suspension", "pulse"),
        ("host.read_priority", "true"),
        ("erase.initial_pec", "2500"),
        ("erase.read_retry", "true"),
        ("workload.mean_interarrival_us", "20000.0"),
    ],
];

#[test]
fn t670_a_die_and_a_channel_do_one_thing_at_a_time() {
    for sets in RUNS {
        let (_, events) = drawn(sets);
        for process in [2, 3, 4] {
            let threads = slices(&events, process);
            assert!(!threads.is_empty(), "{sets:?}: process {process} shows nothing");
            for (thread, spans) in threads {
                let overlaps = spans.windows(2).find(|pair| pair[0].1 > pair[1].0);
                assert_eq!(overlaps, None, "{sets:?}: thread {thread} of process {process}");
            }
        }
    }
}

#[test]
fn t671_slices_sum_to_the_busy_times_of_the_document() {
    for sets in RUNS {
        let (outcome, events) = drawn(sets);
        // The document's times end when the last request is done; a collection in the background may go on.
        let (die, channel) = (difference(&outcome, &events, 2, "die"), difference(&outcome, &events, 4, "channel"));
        assert!(die < 1e-9 && channel < 1e-9, "{sets:?}: die {die}, channel {channel}");
    }
}

#[test]
fn t672_every_request_suspension_and_copy_is_shown() {
    for sets in RUNS {
        let (outcome, events) = drawn(sets);
        let of_phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count() as f64;
        assert_eq!([of_phase("b"), of_phase("e")], [number(&outcome.document, "run.requests"); 2]);
        let suspended = events.iter().filter(|event| event["args"]["suspended"] == true).count();
        let counted = outcome.document["flash"]["suspensions"].as_u64().unwrap_or(0);
        assert_eq!(suspended as u64, counted, "{sets:?}");
        let copies = |event: &Value| event["args"]["copies"].as_u64().unwrap_or(0);
        let shown: u64 = events.iter().map(copies).sum();
        let copied = number(&outcome.document, "gc.copied_pages") as u64;
        assert!(shown == copied && shown > 0, "{sets:?}: {shown} of {copied} pages");
    }
    let suspensions = drawn(RUNS[3]).0.document["flash"]["suspensions"].as_u64();
    assert!(suspensions.is_some_and(|number| number > 0), "the last run has suspensions to show");
}

#[test]
fn t673_a_window_shows_what_lies_in_it_and_nothing_else() {
    let whole = drawn(&[]).1;
    let window = [("output.timeline_begin_s", "100.0"), ("output.timeline_length_s", "20.0")];
    let mut text = Text::default();
    let config = spec(&[&WHOLE[..1], &WHOLE[2..], &window].concat());
    let outcome = run_logged(&config, 1.0, &mut text, &mut |_| true).expect("it runs");
    let document: Value = serde_json::from_str(&text.0).expect("JSON");
    let shown = document["traceEvents"].as_array().expect("a list");
    let complete = |events: &[Value]| events.iter().filter(|event| event["ph"] == "X").cloned().collect::<Vec<_>>();
    let inside = |event: &Value| {
        let (start, lasts) = (ns(event, "ts"), ns(event, "dur"));
        start < 120_000_000_000 && start + lasts > 100_000_000_000
    };
    let expected: Vec<Value> = complete(&whole).into_iter().filter(inside).collect();
    assert!(expected.len() > 100 && expected.len() < complete(&whole).len() / 2);
    assert_eq!(complete(shown), expected);
    assert_eq!(document["otherData"]["until_us"].as_f64(), Some(120e6));
    assert_eq!(config.digest(), spec(&WHOLE[2..]).digest(), "the keys of outputs are not part of the digest");
    assert!(outcome.document["config"]["output"]["timeline"].is_null());
}
