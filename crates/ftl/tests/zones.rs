//! 56x: the state machine of zones against the standard: every command in every state, every limit, and random
//! commands against a second, slower account of the same rules.

use proptest::prelude::*;
use pumice_ftl::{FtlError, Written, ZoneError, ZoneLimits, ZoneState, ZoneTable};
use pumice_types::Choice;

use ZoneError::{
    InvalidZoneStateTransition, TooManyActiveZones, TooManyOpenZones, ZoneBoundaryError, ZoneInvalidWrite, ZoneIsFull,
    ZoneIsOffline, ZoneIsReadOnly,
};
use ZoneState::{Closed, Empty, ExplicitlyOpened, Full, ImplicitlyOpened, Offline, ReadOnly};

const ANY_NUMBER: ZoneLimits = ZoneLimits { open: u32::MAX, active: u32::MAX };
const CAPACITY: u32 = 6;
const SIZE: u32 = 8;

/// A table whose zone 0 is in `state` with two pages written, or none if it is empty.
fn in_state(state: ZoneState) -> ZoneTable {
    let mut table = ZoneTable::new(3, [CAPACITY, SIZE], ANY_NUMBER);
    if state != Empty {
        table.append(0, 2).expect("an empty zone is written");
    }
    match state {
        Empty | ImplicitlyOpened => {}
        ExplicitlyOpened => table.open(0).map(|_| ()).expect("legal"),
        Closed => table.close(0).expect("legal"),
        Full => table.finish(0).map(|_| ()).expect("legal"),
        ReadOnly | Offline => table.fail(0, state),
    }
    assert_eq!(table.state(0), state);
    table
}

/// What a command answers in each state, in the order of [`ZoneState`]: the state after it, or the error.
type Row = [Result<ZoneState, ZoneError>; 7];

/// One command on zone 0.
type Command = fn(&mut ZoneTable) -> Result<(), ZoneError>;

/// The state machine, the writes and the Zone Management Send command of the Zoned Namespace Command Set.
#[rustfmt::skip]
const TABLE: &[(&str, Command, Row)] = &[
    // Empty, implicitly opened, explicitly opened, closed, full, read only, offline
    ("append", |table| table.append(0, 1).map(|_| ()),
        [Ok(ImplicitlyOpened), Ok(ImplicitlyOpened), Ok(ExplicitlyOpened), Ok(ImplicitlyOpened), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("append up to the capacity", |table| { let left = CAPACITY - table.written(0); table.append(0, left).map(|_| ()) },
        [Ok(Full), Ok(Full), Ok(Full), Ok(Full), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("append beyond the capacity", |table| table.append(0, CAPACITY + 1).map(|_| ()),
        [Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("write at the pointer", |table| { let at = table.written(0); table.write(0, at, 1).map(|_| ()) },
        [Ok(ImplicitlyOpened), Ok(ImplicitlyOpened), Ok(ExplicitlyOpened), Ok(ImplicitlyOpened), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("write behind the pointer", |table| { let at = table.written(0) + 1; table.write(0, at, 1).map(|_| ()) },
        [Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("write again", |table| { let at = table.written(0); table.write(0, at.wrapping_sub(1), 1).map(|_| ()) },
        [Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneInvalidWrite), Err(ZoneIsFull), Err(ZoneIsReadOnly), Err(ZoneIsOffline)]),
    ("open", |table| table.open(0).map(|_| ()),
        [Ok(ExplicitlyOpened), Ok(ExplicitlyOpened), Ok(ExplicitlyOpened), Ok(ExplicitlyOpened), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition)]),
    ("close", |table| table.close(0),
        [Err(InvalidZoneStateTransition), Ok(Closed), Ok(Closed), Ok(Closed), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition)]),
    ("finish", |table| table.finish(0).map(|_| ()),
        [Ok(Full), Ok(Full), Ok(Full), Ok(Full), Ok(Full), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition)]),
    ("reset", |table| table.reset(0).map(|_| ()),
        [Ok(Empty), Ok(Empty), Ok(Empty), Ok(Empty), Ok(Empty), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition)]),
    ("take offline", |table| table.take_offline(0),
        [Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Err(InvalidZoneStateTransition), Ok(Offline), Ok(Offline)]),
    ("read", |table| table.read(0, 0, SIZE),
        [Ok(Empty), Ok(ImplicitlyOpened), Ok(ExplicitlyOpened), Ok(Closed), Ok(Full), Ok(ReadOnly), Err(ZoneIsOffline)]),
    ("read beyond the zone", |table| table.read(0, 1, SIZE),
        [Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneBoundaryError), Err(ZoneIsOffline)]),
];

#[test]
fn t563_every_command_in_every_state_does_what_the_standard_says() {
    for (name, command, row) in TABLE {
        for (&state, expected) in ZoneState::ALL.iter().zip(row) {
            let mut table = in_state(state);
            let before = format!("{table:?}");
            let answer = command(&mut table);
            assert_eq!(answer.map(|()| table.state(0)), *expected, "{name} of a zone that is {state}");
            assert!(answer.is_ok() || format!("{table:?}") == before, "{name}: a refused command changes nothing");
        }
    }
}

#[test]
fn t564_open_and_active_zones_are_limited_and_the_controller_closes_what_was_opened_implicitly_first() {
    let mut table = ZoneTable::new(6, [CAPACITY, SIZE], ZoneLimits { open: 2, active: 3 });
    table.append(0, 1).expect("the first open zone");
    table.append(1, 1).expect("the second");
    let third = table.append(2, 1).expect("zone 0 is closed for it");
    assert_eq!(third, Written { at: 0, was_empty: true, fills: false, closed: Some(0) });
    assert_eq!((table.state(0), table.open_zones(), table.active_zones()), (Closed, 2, 3));
    assert_eq!(table.append(3, 1), Err(TooManyActiveZones));
    assert_eq!(table.open(3), Err(TooManyActiveZones));
    assert_eq!(table.append(0, 1).expect("a closed zone is active").closed, Some(1));
    table.finish(1).expect("a closed zone");
    assert_eq!(table.open(3), Ok(Some(2)), "a full zone takes no resource");
    assert_eq!(table.open(0), Ok(None), "it was open already");
    assert_eq!(table.append(2, 1), Err(TooManyOpenZones), "explicitly opened zones are not closed");
    table.close(3).expect("open");
    assert_eq!(table.append(2, 1).expect("one open resource is free").closed, None);
    table.reset(2).expect("legal");
    table.fail(0, ReadOnly);
    assert_eq!((table.open_zones(), table.active_zones()), (0, 1), "zone 3 is closed");
    assert_eq!(table.states(), [3, 0, 0, 1, 1, 1, 0]);
}

#[test]
fn t565_a_finish_tells_what_was_not_written_and_a_reset_what_was() {
    let mut table = ZoneTable::new(2, [CAPACITY, SIZE], ANY_NUMBER);
    table.append(0, 4).expect("legal");
    assert_eq!((table.finish(0), table.finish(0)), (Ok(2), Ok(0)));
    assert_eq!((table.reset(0), table.reset(0)), (Ok(4), Ok(0)));
    assert_eq!(table.finish(1), Ok(CAPACITY));
}

#[test]
fn t566_errors_have_the_names_and_codes_of_the_standard() {
    let refused = FtlError::Zone { zone: 3, command: "Write", error: ZoneInvalidWrite };
    assert_eq!(refused.to_string(), "zone 3 answers Write with Zone Invalid Write (BCh)");
    let all = [
        ZoneBoundaryError,
        ZoneIsFull,
        ZoneIsReadOnly,
        ZoneIsOffline,
        ZoneInvalidWrite,
        TooManyActiveZones,
        TooManyOpenZones,
        InvalidZoneStateTransition,
    ];
    assert_eq!(all.map(ZoneError::code), [0xB8, 0xB9, 0xBA, 0xBB, 0xBC, 0xBD, 0xBE, 0xBF]);
}

/// The rules of the zone table without counts: everything is looked for again.
struct Reference {
    zones: Vec<(ZoneState, u32)>,
    limits: ZoneLimits,
    /// Implicitly opened zones in the order in which they were opened.
    implicit: Vec<usize>,
}

impl Reference {
    fn number(&self, is_counted: impl Fn(ZoneState) -> bool) -> u32 {
        self.zones.iter().filter(|(state, _)| is_counted(*state)).count() as u32
    }

    fn set(&mut self, zone: usize, state: ZoneState) {
        let before = std::mem::replace(&mut self.zones[zone].0, state);
        if before != state {
            self.implicit.retain(|&open| open != zone);
            self.implicit.extend((state == ImplicitlyOpened).then_some(zone));
        }
    }

    fn make_open(&mut self, zone: usize, state: ZoneState) -> Result<(), ZoneError> {
        if self.zones[zone].0 == Empty && self.number(ZoneState::is_active) == self.limits.active {
            return Err(TooManyActiveZones);
        }
        if self.number(ZoneState::is_open) == self.limits.open {
            let Some(&first) = self.implicit.first() else { return Err(TooManyOpenZones) };
            self.set(first, Closed);
        }
        self.set(zone, state);
        Ok(())
    }

    /// Writes pages to a zone, from its pointer on or from where the host says.
    fn write(&mut self, zone: usize, from: Option<u32>, pages: u32) -> Result<(), ZoneError> {
        let (state, written) = self.zones[zone];
        let refused = [(Full, ZoneIsFull), (ReadOnly, ZoneIsReadOnly), (Offline, ZoneIsOffline)];
        if let Some((_, error)) = refused.iter().find(|(refused, _)| *refused == state) {
            return Err(*error);
        }
        if from.is_some_and(|from| from != written) {
            return Err(ZoneInvalidWrite);
        }
        if written + pages > CAPACITY {
            return Err(ZoneBoundaryError);
        }
        if !state.is_open() {
            self.make_open(zone, ImplicitlyOpened)?;
        }
        self.zones[zone].1 += pages;
        if written + pages == CAPACITY {
            self.set(zone, Full);
        }
        Ok(())
    }

    fn run(&mut self, zone: usize, command: u8, pages: u32) -> Result<(), ZoneError> {
        let state = self.zones[zone].0;
        match command {
            0..=3 => self.write(zone, (command == 3).then_some(pages), pages),
            4 if state == ImplicitlyOpened => {
                self.set(zone, ExplicitlyOpened);
                Ok(())
            }
            4 if matches!(state, Empty | Closed) => self.make_open(zone, ExplicitlyOpened),
            4 if state == ExplicitlyOpened => Ok(()),
            5 if state.is_active() => {
                self.set(zone, Closed);
                Ok(())
            }
            6 if !matches!(state, ReadOnly | Offline) => {
                self.set(zone, Full);
                Ok(())
            }
            7 if !matches!(state, ReadOnly | Offline) => {
                self.set(zone, Empty);
                self.zones[zone].1 = 0;
                Ok(())
            }
            8 => {
                if state != Offline {
                    self.set(zone, ReadOnly);
                }
                Ok(())
            }
            9 if matches!(state, ReadOnly | Offline) => {
                self.set(zone, Offline);
                Ok(())
            }
            _ => Err(InvalidZoneStateTransition),
        }
    }
}

proptest! {
    #[test]
    fn t567_random_commands_agree_with_an_account_without_counts(
        commands in prop::collection::vec((0usize..5, 0u8..10, 1u32..4), 1..300), open in 1u32..4, more in 0u32..3
    ) {
        let limits = ZoneLimits { open, active: open + more };
        let mut table = ZoneTable::new(5, [CAPACITY, SIZE], limits);
        let mut reference = Reference { zones: vec![(Empty, 0); 5], limits, implicit: Vec::new() };
        for (zone, command, pages) in commands {
            let at = zone as u32;
            let answer = match command {
                0..=2 => table.append(at, pages).map(|_| ()),
                3 => table.write(at, pages, pages).map(|_| ()),
                4 => table.open(at).map(|_| ()),
                5 => table.close(at),
                6 => table.finish(at).map(|_| ()),
                7 => table.reset(at).map(|_| ()),
                8 => { table.fail(at, ReadOnly); Ok(()) }
                _ => table.take_offline(at),
            };
            prop_assert_eq!(answer, reference.run(zone, command, pages), "command {} on zone {}", command, zone);
            for (zone, &(state, written)) in (0..).zip(&reference.zones) {
                prop_assert_eq!((table.state(zone), table.written(zone)), (state, written));
            }
            prop_assert_eq!(table.open_zones(), reference.number(ZoneState::is_open));
            prop_assert_eq!(table.active_zones(), reference.number(ZoneState::is_active));
        }
    }
}
