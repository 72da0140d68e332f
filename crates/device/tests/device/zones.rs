//! Zones under random commands, many of them under way: each answer, each place of an append and the states at the end are
//! those of a model that shares no code with the device.

use pumice_device::{Device, DeviceRequest, SpecSource, Status, ZoneCommand, ZoneError};
use pumice_workload::RandomStream;
use serde_json::Value;

const PAGE: u64 = 4096;

/// What is drawn for a device.
const DRAWN: &[(&str, &[&str])] = &[
    ("ftl.zns.max_open", &["1", "2", "3"]),
    ("ftl.zns.max_active", &["3", "4"]),
    ("ftl.zns.finish", &["pad", "leave"]),
    ("ftl.zns.finish_pace", &["at-once", "shared"]),
    ("ftl.zns.first_plane", &["same", "drawn"]),
    ("program.pages_per_command", &["1", "4"]),
    ("ftl.zns.reset_erases", &["together", "in-turn", "alone"]),
    ("host.write_buffer_kib", &["4", "16", "64"]),
    ("host.read_priority", &["true", "false"]),
    ("host.link_mb_per_s", &["200", "5000"]),
    ("controller.t_request_us", &["0", "30"]),
    ("controller.t_command_us", &["0", "7"]),
];

#[derive(Clone, Copy, PartialEq)]
enum State {
    Empty,
    Implicit,
    Explicit,
    Closed,
    Full,
}

/// Zones as the NVMe standard and docs/models/zns.md have them.
struct Zones {
    states: Vec<State>,
    written: Vec<u64>,
    capacity: u64,
    /// Most open zones, and most open or closed ones.
    limits: [usize; 2],
    /// Implicitly opened zones in the order in which they were.
    implicit: Vec<usize>,
}

impl Zones {
    fn count(&self, states: &[State]) -> usize {
        self.states.iter().filter(|state| states.contains(state)).count()
    }

    fn set(&mut self, zone: usize, state: State) {
        self.implicit.retain(|&other| other != zone);
        self.implicit.extend((state == State::Implicit).then_some(zone));
        self.states[zone] = state;
    }

    fn open(&mut self, zone: usize, state: State) -> Result<(), ZoneError> {
        let open = [State::Implicit, State::Explicit];
        if self.states[zone] == State::Empty && self.count(&open) + self.count(&[State::Closed]) >= self.limits[1] {
            return Err(ZoneError::TooManyActiveZones);
        }
        if self.count(&open) >= self.limits[0] {
            let first = *self.implicit.first().ok_or(ZoneError::TooManyOpenZones)?;
            self.set(first, State::Closed);
        }
        self.set(zone, state);
        Ok(())
    }

    fn write(&mut self, zone: usize, at: u64, pages: u64) -> Result<(), ZoneError> {
        match self.states[zone] {
            State::Full => return Err(ZoneError::ZoneIsFull),
            _ if at != self.written[zone] => return Err(ZoneError::ZoneInvalidWrite),
            _ if at + pages > self.capacity => return Err(ZoneError::ZoneBoundaryError),
            State::Empty | State::Closed => self.open(zone, State::Implicit)?,
            State::Implicit | State::Explicit => {}
        }
        self.written[zone] += pages;
        if self.written[zone] == self.capacity {
            self.set(zone, State::Full);
        }
        Ok(())
    }

    fn command(&mut self, command: ZoneCommand, zone: usize) -> Result<(), ZoneError> {
        match (command, self.states[zone]) {
            (ZoneCommand::Open, State::Full) | (ZoneCommand::Close, State::Full | State::Empty) => {
                return Err(ZoneError::InvalidZoneStateTransition);
            }
            (ZoneCommand::Open, State::Empty | State::Closed) => self.open(zone, State::Explicit)?,
            (ZoneCommand::Open, State::Implicit | State::Explicit) => self.set(zone, State::Explicit),
            (ZoneCommand::Close, _) => self.set(zone, State::Closed),
            (ZoneCommand::Finish, _) => self.set(zone, State::Full),
            (ZoneCommand::Reset, _) => {
                self.set(zone, State::Empty);
                self.written[zone] = 0;
            }
            (ZoneCommand::Append, _) => unreachable!("appends are written"),
        }
        Ok(())
    }

    /// A random request, what is answered to it, and the first byte that the answer names.
    fn draw(&mut self, random: &mut RandomStream, zones: u64) -> (DeviceRequest, Result<(), ZoneError>, u64) {
        let zone = random.below(zones) as usize;
        let (start, written) = (zone as u64 * self.capacity, self.written[zone] % self.capacity);
        let pages = [1, 1, 2, 3, self.capacity][random.below(5) as usize];
        let [first, here] = [start, start + written].map(|page| page * PAGE);
        match random.below(20) {
            0..8 => {
                let request =
                    DeviceRequest { fua: random.below(5) == 0, ..DeviceRequest::write(here, (pages * PAGE) as u32) };
                (request, self.write(zone, written, pages), here)
            }
            8..12 => {
                let at = self.written[zone];
                let answer = self.write(zone, at, pages);
                let place = if answer.is_ok() { (start + at) * PAGE } else { first };
                (DeviceRequest::zone(ZoneCommand::Append, first, (pages * PAGE) as u32), answer, place)
            }
            12 => {
                let is_full = self.states[zone] == State::Full;
                let error = if is_full { ZoneError::ZoneIsFull } else { ZoneError::ZoneInvalidWrite };
                (DeviceRequest::write(here, 512), Err(error), here)
            }
            13..15 => (DeviceRequest::read(first, PAGE as u32), Ok(()), first),
            15 => (DeviceRequest::flush(), Ok(()), 0),
            nth => {
                let all = [ZoneCommand::Open, ZoneCommand::Close, ZoneCommand::Finish, ZoneCommand::Reset];
                let command = all[nth as usize - 16];
                (DeviceRequest::zone(command, first, 0), self.command(command, zone), first)
            }
        }
    }
}

/// A small zoned device with settings drawn at random.
fn drawn_device(random: &mut RandomStream) -> Device {
    let drawn = DRAWN.iter().map(|(key, values)| (*key, values[random.below(values.len() as u64) as usize]));
    let fixed =
        [("ftl.kind", "zns"), ("ftl.zns.interface", "zones"), ("initial.fill", "0.0"), ("run.check", "integrity")];
    let shape = [("geometry.pages_per_block", "8"), ("partial_erase.max_splits", "0"), ("ftl.zns.zone_planes", "2")];
    let sets: Vec<_> = drawn.chain(fixed).chain(shape).map(|(key, value)| (key.into(), value.into())).collect();
    let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
    Device::open(&source).expect("a device")
}

/// Writes that waited for room in the buffer did not count where a later request opened a zone; they overtook what an erase
/// held back of their zone. Both ended the device.
#[test]
fn a017_zones_answer_as_the_standard_says_whatever_is_under_way() {
    let mut random = RandomStream::new(5, "zones");
    for nth in 0..150 {
        let mut device = drawn_device(&mut random);
        let before = device.result().expect("a result");
        let of = |path: &str| before.pointer(path).and_then(Value::as_u64).expect("a number") as usize;
        let mut zones = Zones {
            states: vec![State::Empty; of("/zones/count")],
            written: vec![0; of("/zones/count")],
            capacity: of("/zones/capacity_pages") as u64,
            limits: [of("/config/ftl/zns/max_open"), of("/config/ftl/zns/max_active")],
            implicit: Vec::new(),
        };
        let (mut expected, mut done) = (Vec::new(), Vec::new());
        for _ in 0..120 {
            let (request, answer, place) = zones.draw(&mut random, 5);
            device.submit(device.now(), &request).expect("it is taken");
            expected.push((answer.map_or_else(Status::ZoneRefused, |()| Status::Done), place));
            if expected.len() % (1 + nth % 9) == 0 {
                device.advance_for(Device::NEVER, 1).expect("time passes");
                done.extend(device.take_completions());
            }
        }
        device.advance_for(Device::NEVER, expected.len()).expect("time passes");
        done.extend(device.take_completions());
        done.sort_by_key(|completion| completion.id);
        let found: Vec<_> = done.iter().map(|one| (one.status, one.offset_bytes)).collect();
        assert_eq!(found, expected, "device {nth}");
        let states = &device.finish().expect("it ends well")["zones"]["states"];
        let of = |names: &[&str]| names.iter().filter_map(|&name| states[name].as_u64()).sum::<u64>() as usize;
        assert_eq!(of(&["empty"]), zones.count(&[State::Empty]), "device {nth}");
        assert_eq!(of(&["full"]), zones.count(&[State::Full]), "device {nth}");
        assert_eq!(of(&["explicitly_opened"]), zones.count(&[State::Explicit]), "device {nth}");
        // What waits for room may open its zone behind a command to another one, and then need not close a third.
        let others = [State::Implicit, State::Closed];
        assert_eq!(of(&["implicitly_opened", "closed"]), zones.count(&others), "device {nth}");
    }
}
