//! 6xx: events that only dies notice are handled in one go. What comes of it is what handling them instant by instant brings.

use pumice_config::Config;
use pumice_engine::observe::{Observer, ObserverRef, RequestRecord};
use pumice_engine::{Session, open_workload};
use pumice_types::{FlashCommand, Time};

use crate::support::{run_seen_by, spec};

/// Everything that an observer is told with a time.
#[derive(Default, PartialEq, Eq)]
struct Log {
    commands: Vec<(Time, Time, FlashCommand)>,
    suspended: Vec<(Time, Time)>,
    requests: Vec<RequestRecord>,
}

impl Observer for Log {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.commands.push((start, end, *command));
    }

    fn suspended(&mut self, start: Time, end: Time, _command: &FlashCommand) {
        self.suspended.push((start, end));
    }

    fn request(&mut self, record: &RequestRecord) {
        self.requests.push(*record);
    }
}

/// The log of a run in which time is passed on from one event to the next.
fn instant_by_instant(config: &Config) -> Log {
    let mut log = Log::default();
    let mut session = Session::new(config, 1.0, ObserverRef::of(&mut log)).expect("a device");
    let mut workload = open_workload(config, 1.0, session.capacity()).expect("a workload");
    while let Some(request) = workload.next_request().expect("a request") {
        pass(&mut session, request.arrival);
        session.submit(&request, request.arrival).expect("no rule is broken");
    }
    session.end_requests();
    pass(&mut session, Time::NEVER);
    log
}

fn pass(session: &mut Session<ObserverRef>, until: Time) {
    let next = |session: &Session<ObserverRef>| session.ssd.next_event().map_or(until, |next| next.min(until));
    while session.run_until(next(session)).expect("no rule is broken") {}
}

#[test]
fn t696_events_handled_in_one_go_are_those_handled_instant_by_instant() {
    const PAGE_LEVEL: &[(&str, &str)] = &[("ftl.kind", "page"), ("geometry.program_order", "in-order")];
    const FAST: &[(&str, &str)] = &[("workload.mean_interarrival_us", "900.0"), ("workload.footprint", "1.0")];
    const LINK: &[(&str, &str)] = &[("host.link_mb_per_s", "1000.0"), ("host.overhead_us", "5.0")];
    const BUFFER: &[(&str, &str)] = &[("host.write_buffer_kib", "64"), ("host.flush", "lru")];
    let no_copyback = [("timing.copyback", "false")];
    let priority = [("host.read_priority", "true")];
    let in_steps = [("ftl.gc_mode", "preemptible")];
    let m_merge = [("ftl.merge", "m-merge")];
    let devices: [Vec<&[(&str, &str)]>; 7] = [
        vec![PAGE_LEVEL, FAST],
        vec![PAGE_LEVEL, FAST, &no_copyback],
        vec![PAGE_LEVEL, FAST, &no_copyback, &priority, LINK],
        vec![PAGE_LEVEL, FAST, &no_copyback, &in_steps, BUFFER],
        vec![&no_copyback, BUFFER, LINK],
        vec![&m_merge],
        vec![&m_merge, &priority, LINK],
    ];
    for sets in devices {
        let config = spec(&sets.concat());
        let mut log = Log::default();
        run_seen_by(&config, &mut log).expect("the run ends well");
        assert!(log.commands.len() > 20_000 && log.requests.len() == 20_000, "{sets:?}");
        assert!(log == instant_by_instant(&config), "{sets:?}");
    }
}
