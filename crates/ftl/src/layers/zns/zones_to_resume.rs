//! Zones that are written further after a power cut that left nothing half done, because the device has energy of its
//! own for that.
//!
//! What looks erased is erased then, so a zone that was being written keeps its write pointer: it comes back closed, and
//! a stream of the host goes on in it. Its holes are filled first: pages that were appended and never programmed, before
//! others that were. With that, everything before the write pointer is written.
//!
//! The ends of several zones may have been queued, so that more are open than the host has streams. Then those that
//! were written last go on, and the others come back full, like those that the host had finished. A block whose erase was
//! still queued when the zone was opened keeps what it holds: nothing of it counts.

use pumice_types::{Cause, FlashCommand};

use super::Zns;
use super::zone_recovery::ZoneSurvey;
use crate::plan::Plan;

impl Zns {
    /// Zones that hold something and are written further, one for each stream: those that were written last.
    pub(super) fn zones_to_go_on(&self, survey: &ZoneSurvey) -> Vec<u32> {
        let is_open = |&zone: &u32| {
            let is_finished = survey.zones[zone as usize].end >= self.config.used_pages;
            self.maps.valid_pages(zone) > 0 && !is_finished
        };
        let mut zones: Vec<u32> = (0..self.zoned.table.len()).filter(is_open).collect();
        zones.sort_by_key(|&zone| std::cmp::Reverse(survey.zones[zone as usize].last));
        zones.truncate(usize::from(self.config.streams));
        zones
    }

    /// A stream writes each of these zones further; nothing tells which stream it was. Their holes are filled.
    pub(super) fn go_on(&mut self, zones: &[u32], survey: &ZoneSurvey, plan: &mut Plan) {
        for (stream, &zone) in (0..).zip(zones) {
            self.current[usize::from(stream)] = Some(zone);
            self.streams[zone as usize] = stream;
            self.fill_holes(zone, survey, plan);
        }
    }

    /// Fills what is blank before the end of a zone.
    fn fill_holes(&self, zone: u32, survey: &ZoneSurvey, plan: &mut Plan) {
        let (layout, found) = (&self.zoned.layout, &survey.zones[zone as usize]);
        let pages = layout.config.units.pages_per_unit() as u32;
        for place in 0..layout.units_per_zone() {
            let written = found.units.iter().find(|unit| unit.place == place).map_or(0, |unit| unit.pages);
            let behind = (written..pages).map(|rank| layout.offset_in(place, rank));
            for offset in behind.take_while(|&offset| offset < found.end) {
                let (page, sequence) = (layout.page(zone, offset), self.zoned.sequences[zone as usize]);
                plan.push(FlashCommand::program(Cause::Padding, page, self.zoned.rules.padding, 0, sequence));
            }
        }
    }
}
