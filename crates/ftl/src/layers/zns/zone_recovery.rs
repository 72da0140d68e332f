//! Zones and their host recover after a power cut: the spare area of every page that is written is read.
//!
//! A spare area holds the logical page and the number of the program, which the host gives with its data. A page that
//! is moved gets a new number, so of each logical page the largest number counts.
//!
//! - The *device* finds which zones hold something. Pages of a zone go to many dies, so it may have holes: pages that
//!   were appended and never programmed, before others that were. Its end is behind the last page that is not blank.
//!   The pages behind that may hide a program that was cut. So the device writes no zone further that holds something:
//!   it is full, finished by the controller.
//! - The *host* finds its map. A zone without a page that counts is reset.
//!
//! A program that was cut may read well now and fail later. A die does one thing at a time, so this can only be its page
//! with the largest number, the *suspect*. If it counts, the host moves it to another zone before anybody is served. If
//! its program was cut, what counted before it is still sound: an erase waits for all programs that were decided
//! before it. That older page is the *fallback*. No zone with a fallback is erased before the suspects are moved.
//!
//! Every move takes a page of an empty zone, and each recovery opens one. So only moves may open [`RESERVE`] of the
//! zones, and the host cleans until it has them again before the host is served.
//!
//! Lost: which stream wrote a zone, so that of all zones counts as the first one; and how many pages were written since a
//! zone was full, which is counted in numbers of programs again.

use pumice_types::{BlockId, DieId, Lpn, PageAddress, SpareArea, bits};

use super::clean::ZoneVictim;
use super::device::ResetTime;
use super::device::erase::Work;
use super::maps::ZonePage;
use super::{Zns, ZnsConfig};
use crate::plan::{FtlError, Plan};
use crate::recovery::survey::CutArea;
use crate::seam::{Proofs, RecoveryCounts, Restart};

/// Empty zones that only moves may open, on a device that may lose power.
pub(super) const RESERVE: u32 = 3;

/// Bytes that a spare area needs for this: the logical page, and a number of 48 bits.
pub(super) const SPARE_BYTES: u32 = 4 + 6;

/// A page with data of the host that can be read.
#[derive(Clone, Copy)]
struct FoundZonePage {
    place: ZonePage,
    page: PageAddress,
    lpn: Lpn,
    number: u64,
}

/// A block of a zone that is not blank.
#[derive(Clone, Copy)]
pub(super) struct FoundUnit {
    pub(super) block: BlockId,
    /// Place of the unit in the zone.
    pub(super) place: u32,
    /// Pages of the unit up to the last one that is not blank.
    pub(super) pages: u32,
}

/// What was found of a zone.
#[derive(Clone, Default)]
pub(super) struct FoundZone {
    /// Pages of the zone up to the last one that is not blank.
    pub(super) end: u32,
    /// The largest number in it.
    pub(super) last: u64,
    /// Erase units of the zone that are not blank.
    pub(super) units: Vec<FoundUnit>,
}

/// Everything that the spare areas say.
pub(super) struct ZoneSurvey {
    pages: Vec<FoundZonePage>,
    pub(super) zones: Vec<FoundZone>,
    /// The largest number and its page, if that is data, in each area in which a cut meets one operation at most.
    last: Vec<(u64, Option<usize>)>,
    counts: RecoveryCounts,
}

/// Which pages count.
struct Counting {
    /// The stored page of each logical page, among those found.
    pages: Vec<usize>,
    /// Pages of stored logical pages that may be unfinished.
    suspects: Vec<usize>,
    /// A bit a zone: it holds a fallback of a suspect.
    fallbacks: Vec<u64>,
}

impl ZoneSurvey {
    /// Reads the first page of every block that a zone has, and the whole block if that page is not blank.
    fn read(zns: &Zns, restart: &mut Restart) -> ZoneSurvey {
        let (layout, geometry) = (&zns.zoned.layout, &zns.config.layout.geometry);
        let areas = (0..geometry.dies()).flat_map(|die| CutArea::all_of(geometry, DieId(die), restart.planes_apart));
        let mut area_of = vec![0; geometry.planes() as usize];
        let mut last = Vec::new();
        for (nth, area) in areas.enumerate() {
            area.planes().for_each(|plane| area_of[plane.index()] = nth);
            last.push((0, None));
        }
        let zones = vec![FoundZone::default(); layout.zones() as usize];
        let mut survey = ZoneSurvey { pages: Vec::new(), zones, last, counts: RecoveryCounts::default() };
        let mut spares = Vec::new();
        for place in 0..layout.zones() * layout.units_per_zone() {
            let block = layout.unit_at(place).block;
            if restart.chips.spare(PageAddress::new(block, 0)) == SpareArea::Blank {
                continue;
            }
            restart.chips.spares(block, &mut spares);
            survey.note_block(zns, place, &spares, area_of[geometry.plane_of(block).index()]);
        }
        survey
    }

    /// Notes what the spare areas of the block at a place among those of all zones say.
    fn note_block(&mut self, zns: &Zns, place: u32, spares: &[SpareArea], area: usize) {
        let layout = &zns.zoned.layout;
        let (block, units) = (layout.unit_at(place).block, layout.units_per_zone());
        let (zone, in_zone) = (place / units, place % units);
        let end = spares.iter().rposition(|&spare| spare != SpareArea::Blank).map_or(0, |at| at as u32 + 1);
        let found = &mut self.zones[zone as usize];
        found.end = found.end.max(layout.offset_in(in_zone, end - 1) + 1);
        found.units.push(FoundUnit { block, place: in_zone, pages: end });
        self.counts.abandoned_blocks += u64::from(end < spares.len() as u32);
        for (rank, spare) in spares.iter().enumerate() {
            let entry = match *spare {
                SpareArea::Blank => continue,
                SpareArea::Unreadable => {
                    self.counts.unreadable_pages += 1;
                    continue;
                }
                SpareArea::Written(entry) => entry,
            };
            found.last = found.last.max(entry.programmed);
            // Padding holds nothing: whatever becomes of it, no data depends on it.
            let is_data = entry.lpn.0 < zns.config.user_pages;
            let at = is_data.then_some(self.pages.len());
            if entry.programmed > self.last[area].0 {
                self.last[area] = (entry.programmed, at);
            }
            let place = ZonePage { zone, offset: layout.offset_in(in_zone, rank as u32) };
            let page = PageAddress::new(block, rank as u16);
            let number = entry.programmed;
            self.pages.extend(is_data.then_some(FoundZonePage { place, page, lpn: entry.lpn, number }));
        }
    }

    /// Chooses the pages that count among `user_pages` logical ones. `trusted`: none is unfinished.
    fn choose(&self, user_pages: u32, trusted: bool) -> Counting {
        // Numbers of pages found plus one: what counts, and what counted before it.
        let mut chosen = vec![[0usize; 2]; user_pages as usize];
        let number = |at: usize| if at == 0 { None } else { Some(self.pages[at - 1].number) };
        for (nth, found) in self.pages.iter().enumerate() {
            let [counts, before] = &mut chosen[found.lpn.index()];
            if number(*counts).is_none_or(|known| found.number > known) {
                (*counts, *before) = (nth + 1, *counts);
            } else if number(*before).is_none_or(|known| found.number > known) {
                *before = nth + 1;
            }
        }
        let mut suspects: Vec<usize> = self.last.iter().filter_map(|&(_, at)| at).collect();
        suspects.retain(|&at| !trusted && chosen[self.pages[at].lpn.index()][0] == at + 1);
        let mut fallbacks = vec![0; bits::words_for(self.zones.len())];
        for &at in &suspects {
            let before = chosen[self.pages[at].lpn.index()][1];
            if before > 0 {
                bits::set(&mut fallbacks, self.pages[before - 1].place.zone as usize);
            }
        }
        let pages = chosen.into_iter().filter(|[counts, _]| *counts > 0).map(|[counts, _]| counts - 1).collect();
        Counting { pages, suspects, fallbacks }
    }
}

impl Zns {
    /// Device and host that know what the chips hold. The plan takes what must be done before users are served.
    ///
    /// # Errors
    /// No empty zone to move pages to.
    pub(super) fn recover(
        config: ZnsConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(Zns, RecoveryCounts), FtlError> {
        let mut zns = Zns::new(config, bad);
        let survey = ZoneSurvey::read(&zns, restart);
        let trusted = restart.protection.ends_operations();
        let counting = survey.choose(zns.config.user_pages, trusted);
        (zns.counters, zns.zoned.counters) = (restart.counters, restart.zones);
        let proofs = if trusted { Proofs::held } else { Proofs::lost };
        zns.zoned.proofs = proofs(zns.config.layout.geometry.blocks());
        for found in counting.pages.iter().map(|&at| &survey.pages[at]) {
            let version = restart.chips.version(found.page);
            zns.maps.place(found.lpn, version, found.place, &zns.zoned.layout);
        }
        let going_on = if trusted { zns.zones_to_go_on(&survey) } else { Vec::new() };
        let held = zns.adopt(&survey, &counting.fallbacks, &going_on);
        zns.go_on(&going_on, &survey, restart.plan);
        let mut counts = survey.counts;
        for found in counting.suspects.iter().map(|&at| &survey.pages[at]) {
            zns.move_page(found.place, restart.plan)?;
            counts.moved_pages += 1;
        }
        zns.reset_found(&survey, held, restart.plan);
        zns.restore_room(restart.plan)?;
        Ok((zns, counts))
    }

    /// Takes over the zones. Those without a page that counts are empty, blank ones first; but not yet those with a
    /// fallback, which are returned. Those of `going_on` are closed, others full.
    fn adopt(&mut self, survey: &ZoneSurvey, fallbacks: &[u64], going_on: &[u32]) -> Vec<u32> {
        self.empty.clear();
        let (mut superseded, mut held) = (Vec::new(), Vec::new());
        for (zone, found) in (0..).zip(&survey.zones) {
            if self.maps.valid_pages(zone) > 0 {
                self.zoned.adopt(zone, found.end, !going_on.contains(&zone));
                self.filled_at[zone as usize] = found.last;
                found.units.iter().for_each(|unit| self.zoned.proofs.note_in_use(unit.block));
            } else if found.units.is_empty() {
                self.empty.push_back(zone);
            } else {
                found.units.iter().for_each(|unit| self.zoned.proofs.note_superseded(unit.block));
                let list = if bits::get(fallbacks, zone as usize) { &mut held } else { &mut superseded };
                list.push(zone);
            }
            self.written = self.written.max(found.last);
        }
        self.empty.extend(superseded);
        held
    }

    /// Resets the zones in which something was found, and nothing counts; `held` become empty with that.
    fn reset_found(&mut self, survey: &ZoneSurvey, held: Vec<u32>, plan: &mut Plan) {
        self.empty.extend(held);
        match self.config.resets {
            ResetTime::WhenOpened => {}
            ResetTime::AtOnce => {
                let empty: Vec<u32> = self.empty.iter().copied().collect();
                let found = empty.iter().flat_map(|&zone| &survey.zones[zone as usize].units);
                let work = &mut Work { maps: &self.maps, gc: &mut self.counters, plan };
                found.for_each(|unit| self.zoned.prove(unit.block, work));
            }
            ResetTime::Idle => {
                let empty = self.empty.iter();
                let found = empty.flat_map(|&zone| &survey.zones[zone as usize].units);
                found.for_each(|unit| self.zoned.erase_when_idle(unit.block));
            }
        }
    }

    /// Cleans until there are as many empty zones as the host needs to go on, and those that are kept for the next start.
    fn restore_room(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        self.carry_out(plan);
        while self.empty.len() < self.config.reserve + 2 {
            if !self.begin_cleaning(ZoneVictim::Greedy) {
                return Err(FtlError::NoEmptyZone);
            }
            self.finish_cleaning(plan)?;
            self.carry_out(plan);
        }
        Ok(())
    }

    /// Appends what zone commands make the device do.
    fn carry_out(&mut self, plan: &mut Plan) {
        let mut work = Work { maps: &self.maps, gc: &mut self.counters, plan };
        while self.zoned.next_operation(&mut work).is_some() {}
    }
}
