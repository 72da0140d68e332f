//! Replays a command log into an array of its own: every rule of the chip, every tag that a command expects, and that
//! no die starts a command while it is busy.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use pumice_nand::{CheckedArray, DieClock, check_multi_plane, check_read_beside, reads_one_page};
use pumice_types::{BlockId, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, PageUnit, Time, UnitSource};
use serde::Serialize;
use thiserror::Error;

use crate::header::LogHeader;
use crate::record::{LogRecord, RECORD_BYTES};

/// First bytes of a file compressed with zstd.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Records between two looks at whether to go on.
const PROGRESS_EVERY: u64 = 1 << 16;

/// A log that cannot be replayed to its end, in one line with the place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// The file is no log, or damaged.
    #[error("{0}")]
    Damaged(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The first command that the chip would have refused, or that did not find the tag that it expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Number of the record, from 0.
    pub record: u64,
    /// When it started.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// What is wrong with it.
    pub text: String,
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The log's head.
    pub header: LogHeader,
    /// Commands replayed, the broken one included and pauses left out.
    pub commands: u64,
    /// Distinct logical pages that returned corrupt data: no broken rule, but worth knowing.
    pub corrupt_pages: u64,
    /// The first broken rule; the replay ends there.
    pub broken: Option<Broken>,
}

/// Commands of one die that started together.
#[derive(Default)]
struct DieState {
    clock: DieClock,
    started: Time,
    ended: Time,
    together: Vec<FlashCommand>,
}

/// A replay under way.
struct Replay {
    header: LogHeader,
    geometry: Geometry,
    chips: CheckedArray,
    dies: Vec<DieState>,
    has_fill: Vec<bool>,
    /// The page of the layer's own that came last before the first command.
    last_own: Option<PageAddress>,
    has_begun: bool,
    commands: u64,
    /// Mapping units of the program that comes next, as far as they are told.
    units: Vec<PageUnit>,
}

/// Replays the log in a file, plain or compressed with zstd.
///
/// # Errors
/// As [`verify`], with the file's name before it.
pub fn verify_file(path: &Path, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Verification, LogError> {
    let name = path.display();
    let in_file = |text: &dyn fmt::Display| LogError::Damaged(format!("{name}: {text}"));
    let unreadable = |error: io::Error| in_file(&error.to_string().to_lowercase());
    let mut file = File::open(path).map_err(unreadable)?;
    let mut head = Vec::new();
    file.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
    let is_zstd = head == ZSTD_MAGIC;
    let whole = io::Cursor::new(head).chain(file);
    let result = match is_zstd {
        true => {
            let plain = zstd::stream::read::Decoder::new(whole).map_err(unreadable)?;
            verify(&mut BufReader::with_capacity(1 << 16, plain), go_on)
        }
        false => verify(&mut BufReader::with_capacity(1 << 16, whole), go_on),
    };
    result.map_err(|error| match error {
        LogError::Damaged(text) => in_file(&text),
        LogError::Interrupted => LogError::Interrupted,
    })
}

/// Replays a log. `go_on` is called now and then with the records so far; `false` stops the replay.
///
/// # Errors
/// [`LogError`]: no log, damaged or cut off, with the byte; or stopped.
pub fn verify(log: &mut impl Read, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Verification, LogError> {
    let (header, head_bytes) = LogHeader::read(log).map_err(LogError::Damaged)?;
    let mut replay = Replay::new(header).map_err(LogError::Damaged)?;
    let mut number = 0;
    let broken = loop {
        let damaged = |text: &dyn fmt::Display| {
            let byte = head_bytes + number * RECORD_BYTES as u64;
            LogError::Damaged(format!("record {number} (byte {byte}): {text}"))
        };
        if number % PROGRESS_EVERY == 0 && !go_on(number) {
            return Err(LogError::Interrupted);
        }
        let record = next_record(log).map_err(|text| damaged(&text))?;
        match record {
            LogRecord::End { records } if records == number => break None,
            LogRecord::End { records } => {
                return Err(damaged(&format!("the log ends after {number} records and had {records}")));
            }
            LogRecord::Unit { place, unit } => replay.unit(place, unit).map_err(|text| damaged(&text))?,
            LogRecord::Command { start, end, command } => {
                let command = replay.with_units(command).map_err(|text| damaged(&text))?;
                if let Err(text) = replay.command([start, end], &command) {
                    break Some(Broken { record: number, start, text });
                }
            }
            initial @ (LogRecord::BadBlock(_) | LogRecord::Fill { .. } | LogRecord::Own { .. }) => {
                replay.initial(&initial).map_err(|text| damaged(&text))?;
            }
        }
        number += 1;
    };
    Ok(Verification {
        header: replay.header,
        commands: replay.commands,
        corrupt_pages: replay.chips.corrupt_pages,
        broken,
    })
}

/// The next record of a log.
fn next_record(log: &mut impl Read) -> Result<LogRecord, String> {
    let mut bytes = [0; RECORD_BYTES];
    let mut filled = 0;
    while filled < RECORD_BYTES {
        match log.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Err("the log stops without its end: it was cut off".into()),
            Ok(0) => return Err("the log stops inside a record: it was cut off".into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("cannot be read on: {}", error.to_string().to_lowercase())),
        }
    }
    LogRecord::decode(&bytes)
}

impl Replay {
    fn new(header: LogHeader) -> Result<Replay, String> {
        let geometry = header.geometry();
        // Any page that a spare area can name has its place, also one that a damaged log made up.
        let chips = CheckedArray::new(header.array()?, header.lpns());
        let dies = (0..geometry.dies()).map(|_| DieState::default()).collect();
        let has_fill = vec![false; geometry.blocks() as usize];
        Ok(Replay {
            header,
            geometry,
            chips,
            dies,
            has_fill,
            last_own: None,
            has_begun: false,
            commands: 0,
            units: Vec::new(),
        })
    }

    /// Takes a record of a mapping unit.
    fn unit(&mut self, place: PageAddress, unit: PageUnit) -> Result<(), String> {
        let nth = self.units.len();
        let is_first = unit.source != UnitSource::Padding || nth > 0;
        if self.units_per_page() == 1 || usize::from(place.page) % self.units_per_page() != nth || !is_first {
            return Err(format!("no program has block {} page {} as its unit {nth}", place.block.0, place.page));
        }
        self.units.push(unit);
        Ok(())
    }

    fn units_per_page(&self) -> usize {
        usize::from(self.geometry.units_per_page)
    }

    /// Gives the chips the units that were told before a program, which has them all.
    fn with_units(&mut self, command: FlashCommand) -> Result<FlashCommand, String> {
        let expected =
            if command.op == FlashOp::Program && self.units_per_page() > 1 { self.units_per_page() } else { 0 };
        if self.units.len() != expected {
            return Err(format!(
                "{:?} behind {} records of units; its page has {expected}",
                command.op,
                self.units.len()
            ));
        }
        if expected == 0 {
            return Ok(command);
        }
        let list = self.chips.array.stage_units(&self.units, command.sequence);
        self.units.clear();
        Ok(command.with_units(list))
    }

    /// Takes a record of the initial state.
    fn initial(&mut self, record: &LogRecord) -> Result<(), String> {
        if self.has_begun {
            return Err("initial state after the first command".into());
        }
        match *record {
            LogRecord::BadBlock(block) => {
                self.check_untouched(block)?;
                self.chips.array.mark_bad(block);
            }
            LogRecord::Fill { block, lpns: [first, stride], pages, sequence } => {
                self.check_untouched(block)?;
                let (units, behind) = (self.geometry.units_per_page, pages.saturating_sub(1));
                let (of_page, of_unit) = (u64::from(behind / units), u64::from(behind.min(units - 1)));
                let last = u64::from(first) + u64::from(stride) * of_page + of_unit;
                if pages > self.geometry.pages_per_block || last >= u64::from(self.header.lpns()) {
                    return Err(format!("block {} is filled beyond its pages or the device's", block.0));
                }
                self.chips.array.fill_block(block, [first, stride], pages, sequence);
            }
            LogRecord::Own { place, lpn } => self.own_page(place, lpn)?,
            LogRecord::Unit { .. } | LogRecord::Command { .. } | LogRecord::End { .. } => {}
        }
        Ok(())
    }

    /// Takes a page of the layer's own.
    fn own_page(&mut self, place: PageAddress, lpn: Lpn) -> Result<(), String> {
        if self.last_own.is_none_or(|last| last.block != place.block || last.page >= place.page) {
            self.check_untouched(place.block)?;
        }
        if place.page >= self.geometry.pages_per_block || lpn.0 >= self.header.lpns() {
            return Err(format!("block {} has a page beyond its pages or the device's", place.block.0));
        }
        self.last_own = Some(place);
        self.chips.array.fill_own(place, lpn, [].into());
        Ok(())
    }

    /// Refuses a block that does not exist or has an initial state already; notes that it has one.
    fn check_untouched(&mut self, block: BlockId) -> Result<(), String> {
        match self.has_fill.get_mut(block.index()) {
            None => Err(format!("block {} does not exist", block.0)),
            Some(true) => Err(format!("block {} has an initial state already", block.0)),
            Some(untouched) => {
                *untouched = true;
                Ok(())
            }
        }
    }

    /// Replays a command.
    fn command(&mut self, [start, end]: [Time; 2], command: &FlashCommand) -> Result<(), String> {
        self.commands += u64::from(command.op != FlashOp::Pause);
        self.has_begun = true;
        self.chips.execute(command).map_err(|error| error.to_string())?;
        if end < start {
            return Err(format!("{:?} ends at {} ns, before its start at {} ns", command.op, end.0, start.0));
        }
        let geometry = &self.geometry;
        let die = &mut self.dies[geometry.die_of(geometry.plane_of(command.target.block)).index()];
        let copyback = self.header.copyback;
        let is_sensed = || die.together.iter().any(|other| reads_one_page(geometry, [other, command]));
        let may_join = self.header.multi_plane || is_sensed();
        let joins = may_join && start < end && (start, end) == (die.started, die.ended);
        if joins {
            die.together.push(*command);
            return check_multi_plane(geometry, &die.together, copyback).map_err(|violation| violation.to_string());
        }
        // Reads rode on this copy: they started with it, and their data went out first.
        let is_ridden = self.header.multi_plane && !copyback && start == die.started && end > die.ended;
        let reads = die.together.iter().all(|other| other.op == FlashOp::Read);
        let begins = match is_ridden && reads && command.op == FlashOp::Copy {
            true => {
                let checks = die.together.iter().map(|read| check_read_beside(geometry, command, read));
                checks.collect::<Result<(), _>>().map_err(|violation| violation.to_string())?;
                die.ended
            }
            false => start,
        };
        die.together.clear();
        die.together.push(*command);
        (die.started, die.ended) = (start, end);
        let free_at = die.clock.free_at();
        die.clock.occupy(begins, end, command).map_err(|violation| {
            format!("{violation}: it starts at {} ns, and the die is busy until {} ns", start.0, free_at.0)
        })
    }
}
