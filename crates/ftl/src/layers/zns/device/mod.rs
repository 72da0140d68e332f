//! The zoned device: zones, the erase units under them, and the flash commands that zone commands become.

pub(super) mod erase;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use pumice_types::{BlockId, Cause, DieId, FlashCommand, Lpn, PageAddress, UnitSet, bits, choice};

use super::layout::{EraseUnitId, ZoneLayout};
use super::state::{ZoneState, ZoneTable};
use crate::plan::{Plan, ZoneError};
use crate::seam::{Proofs, ZoneCounters, ZoneOperation};
use erase::{SharedBlocks, UnitKind, Work};

choice! {
    /// When the units of a zone that was reset are erased.
    pub enum ResetTime {
        /// With the reset.
        AtOnce = "at-once",
        /// When the zone is next written.
        WhenOpened = "when-opened",
        /// One by one on idle dies, and at the latest when the zone is next written.
        Idle = "idle",
    }
}

choice! {
    /// What the device fills when a zone is finished.
    pub enum FinishFill {
        /// All that was not written.
        Pad = "pad",
        /// What was not written of the erase units that hold something.
        PadUnits = "pad-units",
        /// Nothing.
        Leave = "leave",
    }
}

choice! {
    /// Which erase units a zone consists of.
    pub enum ZoneMapping {
        /// Always the same.
        Fixed = "fixed",
        /// The blocks that no zone has needed for longest, when it is first written; what it leaves blank goes back when it
        /// is finished.
        OnDemand = "on-demand",
    }
}

/// A page of a zone that is about to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Appended {
    pub(super) page: PageAddress,
    /// From the start of the zone.
    pub(super) offset: u32,
    /// When the zone was opened, counted in zones opened.
    pub(super) sequence: u32,
    /// The zone is full now.
    pub(super) fills: bool,
}

/// When the device erases, and what it fills.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeviceRules {
    pub(super) units: UnitKind,
    pub(super) mapping: ZoneMapping,
    pub(super) resets: ResetTime,
    pub(super) finish: FinishFill,
    /// The logical page that padding carries: none of the host's.
    pub(super) padding: Lpn,
}

/// The device.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ZonedDevice {
    pub(super) layout: ZoneLayout,
    pub(super) table: ZoneTable,
    pub(super) counters: ZoneCounters,
    pub(super) rules: DeviceRules,
    /// A bit an erase unit: it must be erased before it is written.
    pub(super) to_erase: Vec<u64>,
    /// Units of each die that wait for their erase until the die is idle; some were erased meanwhile.
    idle: Vec<VecDeque<EraseUnitId>>,
    /// Zone commands that are to be carried out behind the write that runs.
    operations: VecDeque<(ZoneOperation, u32)>,
    /// Whether each zone was filled when it was finished.
    padded: Vec<bool>,
    /// Units of each plane that no zone has, those in front first in use again. Empty if zones keep theirs.
    pool: Vec<VecDeque<EraseUnitId>>,
    /// Blocks that zones share.
    pub(super) shared: SharedBlocks,
    /// After a power cut: blocks of which nothing proves that they are erased.
    pub(super) proofs: Proofs,
    /// The number that each zone's pages carry.
    pub(super) sequences: Vec<u32>,
    next_sequence: u32,
}

impl ZonedDevice {
    /// A device of empty zones whose units are erased.
    pub(super) fn new(layout: ZoneLayout, table: ZoneTable, rules: DeviceRules) -> ZonedDevice {
        let geometry = layout.config.geometry;
        let units = geometry.blocks() as usize * layout.config.units.units();
        let dies = if rules.resets == ResetTime::Idle { geometry.dies() as usize } else { 0 };
        ZonedDevice {
            to_erase: vec![0; bits::words_for(units)],
            idle: vec![VecDeque::new(); dies],
            operations: VecDeque::new(),
            padded: vec![false; layout.zones() as usize],
            pool: Vec::new(),
            shared: SharedBlocks::default(),
            proofs: Proofs::default(),
            sequences: vec![0; layout.zones() as usize],
            next_sequence: 0,
            counters: ZoneCounters::default(),
            layout,
            table,
            rules,
        }
    }

    /// Whether units are erased on idle dies.
    pub(super) fn erases_when_idle(&self) -> bool {
        self.rules.resets == ResetTime::Idle
    }

    /// Bytes of the columns.
    pub(super) fn state_bytes(&self) -> u64 {
        let columns = size_of_val(&self.to_erase[..]) + size_of_val(&self.sequences[..]) + self.padded.len();
        columns as u64 + self.shared.state_bytes() + self.layout.state_bytes() + self.table.state_bytes()
    }

    /// The number that the pages of a zone carry that was written before the first command.
    pub(super) fn begin_filled(&mut self, zone: u32) -> u32 {
        self.table.note_filled(zone, self.layout.capacity());
        self.begin(zone)
    }

    /// A zone was found after a power cut with something in it, up to `end`. It is full, or else closed.
    pub(super) fn adopt(&mut self, zone: u32, end: u32, is_full: bool) {
        if is_full {
            self.table.note_filled(zone, end);
        } else {
            self.table.note_closed(zone, end);
        }
        self.begin(zone);
    }

    fn begin(&mut self, zone: u32) -> u32 {
        self.next_sequence += 1;
        self.sequences[zone as usize] = self.next_sequence;
        self.next_sequence
    }

    /// Appends one page to a zone: where it will lie. Units that wait for their erase are erased first.
    ///
    /// # Errors
    /// The standard's, of a Zone Append.
    #[inline]
    pub(super) fn append(&mut self, zone: u32, work: &mut Work) -> Result<Appended, ZoneError> {
        if self.table.written(zone) == 0 && self.is_unwritten(zone) {
            self.counters.opened += 1;
            self.begin(zone);
            self.take_units(zone);
            self.erase_zone(zone, work);
            self.prove_zone(zone, work);
        }
        let written = self.table.append(zone, 1)?;
        self.counters.closed_by_controller += u64::from(written.closed.is_some());
        let (page, sequence) = (self.layout.page(zone, written.at), self.sequences[zone as usize]);
        Ok(Appended { page, offset: written.at, sequence, fills: written.fills })
    }

    /// Opens a zone by a command: its units that wait for their erase are erased when it is first written. Returns the
    /// zone that the controller closed for it.
    ///
    /// # Errors
    /// The standard's, of an Open Zone.
    pub(super) fn open(&mut self, zone: u32) -> Result<Option<u32>, ZoneError> {
        self.table.open(zone)
    }

    /// Whether a zone takes its first page next.
    fn is_unwritten(&self, zone: u32) -> bool {
        match self.table.state(zone) {
            ZoneState::Empty | ZoneState::ExplicitlyOpened | ZoneState::Closed => self.table.written(zone) == 0,
            ZoneState::ImplicitlyOpened | ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => false,
        }
    }

    /// A zone that nobody has written is about to be finished: what waits for its erase is erased before it is filled.
    pub(super) fn begin_unwritten(&mut self, zone: u32) {
        if self.is_unwritten(zone) {
            self.begin(zone);
            self.operations.push_back((ZoneOperation::Reset, zone));
        }
    }

    /// Resets a zone. Its units are erased when the device's rule says so.
    ///
    /// # Errors
    /// The standard's, of a Reset Zone.
    pub(super) fn reset(&mut self, zone: u32) -> Result<(), ZoneError> {
        let written: Vec<bool> = (0..self.layout.units_per_zone()).map(|at| self.programmed(zone, at) > 0).collect();
        self.table.reset(zone)?;
        self.padded[zone as usize] = false;
        self.counters.resets += 1;
        for (place, _) in written.into_iter().enumerate().filter(|(_, is_written)| *is_written) {
            let unit = self.layout.units_of(zone)[place];
            self.give_back(unit);
            let number = self.number(unit);
            bits::set(&mut self.to_erase, number);
            if self.rules.resets == ResetTime::Idle {
                let geometry = &self.layout.config.geometry;
                self.idle[geometry.die_of(geometry.plane_of(unit.block)).index()].push_back(unit);
            }
        }
        if self.rules.resets == ResetTime::AtOnce {
            self.operations.push_back((ZoneOperation::Reset, zone));
        }
        Ok(())
    }

    /// Finishes a zone. What the device's rule says is filled.
    ///
    /// # Errors
    /// The standard's, of a Finish Zone.
    pub(super) fn finish(&mut self, zone: u32) -> Result<(), ZoneError> {
        let unwritten = self.table.finish(zone)?;
        self.counters.finishes += 1;
        self.counters.unwritten_pages += u64::from(unwritten);
        let keeps = match self.rules.finish {
            FinishFill::Pad => self.layout.capacity(),
            FinishFill::PadUnits | FinishFill::Leave => self.table.written(zone),
        };
        for place in (0..self.layout.units_per_zone()).rev() {
            if self.layout.first_page(place) >= keeps {
                self.give_back(self.layout.units_of(zone)[place as usize]);
            }
        }
        match self.rules.finish {
            FinishFill::Pad | FinishFill::PadUnits => self.operations.push_back((ZoneOperation::Finish, zone)),
            FinishFill::Leave => {}
        }
        Ok(())
    }

    /// Lets zones take their units from a pool, if they do: at the start all that hold nothing.
    pub(super) fn fill_pool(&mut self) {
        match self.rules.mapping {
            ZoneMapping::Fixed => return,
            ZoneMapping::OnDemand => {
                self.pool = vec![VecDeque::new(); self.layout.config.geometry.planes() as usize];
            }
        }
        for zone in 0..self.table.len() {
            if self.table.state(zone) == ZoneState::Empty {
                let units = self.layout.units_of(zone).to_vec();
                units.into_iter().for_each(|unit| self.give_back(unit));
            }
        }
    }

    /// Gives a zone that is to be written units from the pool, if there is one.
    fn take_units(&mut self, zone: u32) {
        if self.pool.is_empty() {
            return;
        }
        let units = self.layout.units_per_zone();
        for place in 0..units {
            let plane = self.layout.config.geometry.plane_of(self.layout.units_of(zone)[place as usize].block);
            let Some(unit) = self.pool[plane.index()].pop_front() else {
                unreachable!("the pool holds the units of all zones that hold nothing");
            };
            self.put(unit, zone * units + place);
        }
    }

    /// Puts a unit into the pool, if there is one.
    fn give_back(&mut self, unit: EraseUnitId) {
        if !self.pool.is_empty() {
            let plane = self.layout.config.geometry.plane_of(unit.block);
            self.pool[plane.index()].push_back(unit);
            self.take_away(unit);
        }
    }

    /// Appends the commands of the next zone command that makes the device program or erase.
    pub(super) fn next_operation(&mut self, work: &mut Work) -> Option<ZoneOperation> {
        while let Some((operation, zone)) = self.operations.pop_front() {
            match operation {
                ZoneOperation::Reset => self.erase_zone(zone, work),
                ZoneOperation::Finish => self.pad(zone, work.plan),
            }
            // A zone that was opened again at once has been erased already.
            if !work.plan.commands.is_empty() {
                return Some(operation);
            }
        }
        None
    }

    /// Fills the pages of a finished zone that were not written.
    fn pad(&mut self, zone: u32, plan: &mut Plan) {
        let (written, sequence) = (self.table.written(zone), self.sequences[zone as usize]);
        for offset in written..self.layout.capacity() {
            let place = self.layout.place_of(offset);
            if self.rules.finish == FinishFill::Pad || self.layout.first_page(place) < written {
                let page = self.layout.page(zone, offset);
                plan.push(FlashCommand::program(Cause::Padding, page, self.rules.padding, 0, sequence));
            }
        }
        self.padded[zone as usize] = true;
    }

    /// Pages from the start of a zone up to which its unit at `place` is programmed.
    pub(super) fn programmed_until(&self, zone: u32, place: u32) -> u32 {
        let written = self.table.written(zone);
        match (self.padded[zone as usize], self.rules.finish) {
            (true, FinishFill::Pad) => self.layout.capacity(),
            (true, FinishFill::PadUnits) if self.layout.first_page(place) < written => self.layout.capacity(),
            (_, FinishFill::Pad | FinishFill::PadUnits | FinishFill::Leave) => written,
        }
    }

    /// Erases the next unit of an idle die, if one waits.
    pub(super) fn idle_step(&mut self, die: DieId, work: &mut Work) {
        while let Some(unit) = self.idle.get_mut(die.index()).and_then(VecDeque::pop_front) {
            if self.take_to_erase(unit) {
                self.counters.erased_when_idle += 1;
                return self.erase_units(unit.block, UnitSet::one(usize::from(unit.unit)), work);
            }
            if self.proofs.is_lost(unit.block) {
                self.counters.erased_when_idle += 1;
                return self.prove(unit.block, work);
            }
        }
    }

    /// Erases the blocks of a zone of which nothing proves that they are erased.
    fn prove_zone(&mut self, zone: u32, work: &mut Work) {
        for place in 0..self.layout.units_per_zone() {
            self.prove(self.layout.units_of(zone)[place as usize].block, work);
        }
    }

    /// Erases a block if nothing proves that it is erased, after a power cut.
    pub(super) fn prove(&mut self, block: BlockId, work: &mut Work) {
        if self.proofs.is_lost(block) {
            work.gc.reclaimed.block_erases += 1;
            self.proofs.prove(block, work.plan);
        }
    }

    /// Erases a block with nothing that counts on an idle die.
    pub(super) fn erase_when_idle(&mut self, block: BlockId) {
        let geometry = &self.layout.config.geometry;
        self.idle[geometry.die_of(geometry.plane_of(block)).index()].push_back(EraseUnitId { block, unit: 0 });
    }

    /// Whether a unit must be erased; it counts as erased from now on.
    pub(super) fn take_to_erase(&mut self, unit: EraseUnitId) -> bool {
        let number = self.number(unit);
        let must = bits::get(&self.to_erase, number);
        bits::clear(&mut self.to_erase, number);
        must
    }

    /// The number of a unit among those of the device.
    pub(super) fn number(&self, unit: EraseUnitId) -> usize {
        unit.block.index() * self.layout.config.units.units() + usize::from(unit.unit)
    }
}
