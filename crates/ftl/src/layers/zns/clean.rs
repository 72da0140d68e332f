//! The host's cleaning: it takes a full zone with little valid data, moves that data, and resets the zone.
//!
//! Why the host never runs out of empty zones: let there be Z zones of C pages, or of C pages that the host uses where it
//! finishes zones early, S streams, and U logical pages.
//! A victim has at most C valid pages, all of which go to one stream, so moving them opens at most one zone, and the
//! reset gives one back. The host's own data opens a zone only while two are empty, so one is left for the pages that
//! are moved. If no full zone has an invalid page, the full zones are at most U / C, at most S are being written, and
//! the others are empty: the spec is refused unless these are more than the threshold at which cleaning starts.
//! Every victim has an invalid page, so cleaning ends. A device that may lose power has R more zones than that, and the
//! host's own data opens a zone only while 2 + R are empty.

use pumice_types::{Cause, FlashCommand, choice};
use serde::{Deserialize, Serialize};

use super::Zns;
use super::maps::ZonePage;
use super::state::ZoneState;
use crate::plan::{FtlError, Plan};

choice! {
    /// Which zone the host cleans.
    pub enum ZoneVictim {
        /// The one with the fewest valid pages.
        Greedy = "greedy",
        /// The one with the most won for what it costs, weighed by its age.
        CostBenefit = "cost-benefit",
    }
}

choice! {
    /// How fast the host cleans.
    pub enum CleaningPace {
        /// With each page that it writes, as many pages as keep the number of empty zones.
        Paced = "paced",
        /// A whole zone at a time.
        WholeZone = "whole-zone",
    }
}

/// A zone that is being cleaned.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ZoneCleaning {
    zone: u32,
    /// Pages before this one are moved, or were not valid.
    next: u32,
    /// Valid pages at the start, and pages won: so many are moved for so many written.
    valid: u32,
    won: u32,
    /// Pages written since, times `valid`, less pages moved, times `won`.
    credit: u64,
}

impl Zns {
    /// Cleans before a page of the host's own data: as much as the pace says.
    #[inline]
    pub(super) fn clean_for_write(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        if self.cleaning.is_none()
            && (self.empty.len() > self.config.clean_start || !self.begin_cleaning(self.config.victim))
        {
            return Ok(());
        }
        match self.config.pace {
            CleaningPace::WholeZone => self.finish_cleaning(plan),
            CleaningPace::Paced => self.clean_share(plan),
        }
    }

    /// Moves the share of pages that one written page pays for.
    fn clean_share(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        if let Some(job) = &mut self.cleaning {
            job.credit += u64::from(job.valid);
        }
        while let Some(job) = &mut self.cleaning {
            if job.credit < u64::from(job.won) && self.maps.valid_pages(job.zone) > 0 {
                break;
            }
            job.credit = job.credit.saturating_sub(u64::from(job.won));
            self.clean_step(plan)?;
        }
        Ok(())
    }

    /// Cleans until a zone for the host's own data can be opened and one is left, beside the reserve.
    pub(super) fn make_room(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        while self.empty.len() < self.config.reserve + 2 {
            if self.cleaning.is_none() && !self.begin_cleaning(self.config.victim) {
                return Err(FtlError::NoEmptyZone);
            }
            self.zoned.counters.urgent += 1;
            self.finish_cleaning(plan)?;
        }
        Ok(())
    }

    /// Cleans the zone in work to its end.
    pub(super) fn finish_cleaning(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        while self.cleaning.is_some() {
            self.clean_step(plan)?;
        }
        Ok(())
    }

    /// Chooses the next zone to clean; `false` if no full zone has an invalid page.
    pub(super) fn begin_cleaning(&mut self, victim: ZoneVictim) -> bool {
        let capacity = self.config.used_pages;
        let full = (0..self.zoned.table.len()).filter(|&zone| self.zoned.table.state(zone) == ZoneState::Full);
        let candidates = full.filter(|&zone| self.maps.valid_pages(zone) < capacity);
        // Of equals the one that was filled first.
        let age = |zone: u32| self.written - self.filled_at[zone as usize];
        let victim = match victim {
            ZoneVictim::Greedy => {
                candidates.min_by_key(|&zone| (self.maps.valid_pages(zone), u64::MAX - age(zone), zone))
            }
            ZoneVictim::CostBenefit => candidates.min_by_key(|&zone| {
                let (valid, age) = (u128::from(self.maps.valid_pages(zone)), u128::from(age(zone)) + 1);
                let all = u128::from(capacity);
                (u128::MAX - (((all - valid) * age) << 32) / (all + valid), zone)
            }),
        };
        let Some(zone) = victim else { return false };
        let valid = self.maps.valid_pages(zone);
        self.counters.trigger_free_blocks += 1;
        self.counters.note_victim(valid as usize, capacity as usize);
        self.cleaning = Some(ZoneCleaning { zone, next: 0, valid, won: capacity - valid, credit: 0 });
        true
    }

    /// Moves the next valid page of the zone in work, or resets it if there is none.
    fn clean_step(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(ZoneCleaning { zone, next, .. }) = self.cleaning else { return Ok(()) };
        match self.maps.next_valid(ZonePage { zone, offset: next }) {
            Some(page) => {
                self.move_page(page, plan)?;
                if let Some(job) = &mut self.cleaning {
                    job.next = page.offset + 1;
                }
                Ok(())
            }
            None => {
                self.cleaning = None;
                self.reset(zone)
            }
        }
    }

    /// Reads a page and appends it to the stream of data that lives longer.
    pub(super) fn move_page(&mut self, page: ZonePage, plan: &mut Plan) -> Result<(), FtlError> {
        let lpn = self.maps.owner(page, &self.zoned.layout);
        let version = self.maps.version(lpn);
        let source = self.zoned.layout.page(page.zone, page.offset);
        plan.push(FlashCommand::read(Cause::Gc, source, lpn, version));
        let stream = (self.streams[page.zone as usize] + 1).min(self.config.streams - 1);
        let target = self.append(stream, true, plan)?;
        self.maps.place(lpn, version, target.place, &self.zoned.layout);
        self.counters.copied_pages += 1;
        self.zoned.counters.moved_pages += 1;
        plan.push(FlashCommand::moved(source, target.page, lpn, version, target.sequence));
        Ok(())
    }

    fn reset(&mut self, zone: u32) -> Result<(), FtlError> {
        let result = self.zoned.reset(zone);
        result.map_err(|error| FtlError::Zone { zone, command: "Reset Zone", error })?;
        self.counters.reclaimed.merges += 1;
        self.empty.push_back(zone);
        Ok(())
    }
}
