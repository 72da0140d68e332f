//! Which parts of a device hold data.

use pumice_types::Lpn;

use super::Device;
use crate::protocol::transmission::DataExtent;
use crate::recording::operation::Place;

/// Most extents of one status reply. The client asks again behind the last one.
const EXTENTS_MAX: usize = 1 << 12;

/// Most pages that are looked at for one status reply.
const STATUS_PAGES_MAX: u64 = 1 << 18;

impl<T> Device<T> {
    /// Whether a logical page holds data.
    fn holds_data(&mut self, lpn: u32) -> bool {
        self.session.ssd.ftl().locate(Lpn(lpn)).is_some() || self.path().holds_in_ram(lpn)
    }

    /// Pages of a part of the device.
    fn pages_of(&self, place: Place) -> std::ops::Range<u64> {
        place.offset / self.page_bytes..(place.offset + u64::from(place.bytes)).div_ceil(self.page_bytes)
    }

    /// The common part of a place and a page.
    fn part(&self, place: Place, page: u64) -> Place {
        let (first, last) = (page * self.page_bytes, (page + 1) * self.page_bytes);
        let (start, end) = (place.offset.max(first), (place.offset + u64::from(place.bytes)).min(last));
        Place { offset: start, bytes: (end - start) as u32 }
    }

    /// Parts of a place that hold data.
    pub(super) fn left_in(&mut self, place: Place) -> Vec<Place> {
        let mut left: Vec<Place> = Vec::new();
        for page in self.pages_of(place) {
            if !self.holds_data(page as u32) {
                continue;
            }
            let part = self.part(place, page);
            match left.last_mut() {
                Some(last) if last.offset + u64::from(last.bytes) == part.offset => last.bytes += part.bytes,
                _ => left.push(part),
            }
        }
        left
    }

    /// Which parts of a place hold data, from its first byte on; perhaps not to its end.
    pub(super) fn status(&mut self, place: Place, one: bool) -> Vec<DataExtent> {
        let mut extents: Vec<DataExtent> = Vec::new();
        let pages = self.pages_of(place);
        let last = pages.end.min(pages.start + STATUS_PAGES_MAX);
        for page in pages.start..last {
            let (holds_data, part) = (self.holds_data(page as u32), self.part(place, page));
            let is_full = extents.len() == if one { 1 } else { EXTENTS_MAX };
            match extents.last_mut() {
                Some(extent) if extent.holds_data == holds_data => extent.bytes += part.bytes,
                _ if is_full => break,
                _ => extents.push(DataExtent { bytes: part.bytes, holds_data }),
            }
        }
        extents
    }
}
