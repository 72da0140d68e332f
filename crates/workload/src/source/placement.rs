//! Where a workload's addresses go on the device: as they are, modulo its capacity, or compacted.

use std::collections::HashMap;

use pumice_types::choice;
use thiserror::Error;

choice! {
    /// What happens to addresses that the device does not have.
    pub enum AddressPolicy {
        /// Addresses stay as they are; one beyond the device is an error.
        Exact = "exact",
        /// Addresses are taken modulo the device's capacity. A request that would cross the end is
        /// moved back so that it ends there.
        Wrap = "wrap",
        /// Regions of 1 MiB are laid out densely in the order in which they are first touched.
        Compact = "compact",
    }
}

/// The device as a workload sees it.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The device's user capacity in bytes.
    pub capacity_bytes: u64,
    /// Bytes of a page: the grain of the generators' addresses.
    pub page_bytes: u32,
    /// What happens to addresses beyond the capacity.
    pub policy: AddressPolicy,
}

/// Bytes of the regions that [`AddressPolicy::Compact`] moves as a whole.
pub const COMPACT_REGION_BYTES: u64 = 1 << REGION_SHIFT;
const REGION_SHIFT: u32 = 20;
/// Bits that the number of a region can take; a volume's number stands above them.
const VOLUME_SHIFT: u32 = 64 - REGION_SHIFT;

/// Why a request has no place. `Display` is the sentence after `file:line: `.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Misfit {
    #[error(
        "bytes {first} to {last} lie beyond the device's user capacity of {capacity} bytes; set \
         workload.address = \"wrap\" or \"compact\", or let --fit-device find a device that is large enough"
    )]
    Beyond { first: u64, last: u64, capacity: u64 },
    #[error(
        "a request of {bytes} bytes is longer than the device's user capacity of {capacity} bytes; use a \
         larger device"
    )]
    LongerThanDevice { bytes: u32, capacity: u64 },
    #[error(
        "even compacted, the 1 MiB regions touched up to here exceed the device's user capacity of \
         {capacity} bytes; set workload.address = \"wrap\", or let --fit-device find a device that is large enough"
    )]
    TooManyRegions { capacity: u64 },
    /// The second reading of a file found what the first did not.
    #[error("the file changed while it was read; a file that rests is needed")]
    Changed,
}

/// Applies one policy to a stream of requests and counts what it changed.
#[derive(Debug)]
pub(crate) struct Placer {
    capacity: u64,
    policy: AddressPolicy,
    /// Region of the trace (with its volume) → region of the device. Only looked up, never iterated, so that the
    /// map's random order cannot reach a result.
    regions: HashMap<u64, u64>,
    /// Requests whose address was taken modulo the capacity.
    pub wrapped: u64,
    /// Requests moved back because what follows their start does not belong to them.
    pub moved: u64,
}

impl Placer {
    /// Bytes of the regions laid out so far.
    pub fn compacted_bytes(&self) -> u64 {
        (self.regions.len() as u64) << REGION_SHIFT
    }

    pub fn new(placement: &Placement) -> Placer {
        let Placement { capacity_bytes: capacity, policy, .. } = *placement;
        Placer { capacity, policy, regions: HashMap::new(), wrapped: 0, moved: 0 }
    }

    /// Device offset of a request; `bytes` is not 0 and `offset + bytes` does not overflow.
    #[inline]
    pub fn place(&mut self, offset: u64, bytes: u32) -> Result<u64, Misfit> {
        let fits = offset + u64::from(bytes) <= self.capacity;
        match self.policy {
            AddressPolicy::Exact | AddressPolicy::Wrap if fits => Ok(offset),
            AddressPolicy::Exact => {
                Err(Misfit::Beyond { first: offset, last: offset + u64::from(bytes) - 1, capacity: self.capacity })
            }
            AddressPolicy::Wrap => self.wrap(offset, bytes),
            AddressPolicy::Compact => self.compact(0, offset, bytes),
        }
    }

    /// Device offset of a request to one of several volumes whose regions are compacted.
    #[inline]
    pub fn place_in(&mut self, volume: u16, offset: u64, bytes: u32) -> Result<u64, Misfit> {
        self.compact(u64::from(volume) << VOLUME_SHIFT, offset, bytes)
    }

    /// Pieces of the device, as offset and bytes, that a trim concerns; `volume` is 0 where volumes share one
    /// address space. Nothing but what the trim names is given up: it is split where other requests would be moved
    /// back, and under [`AddressPolicy::Compact`] regions that nothing touched are left out.
    pub fn place_trim(&mut self, volume: u16, offset: u64, bytes: u32) -> Result<Vec<(u64, u32)>, Misfit> {
        let end = offset + u64::from(bytes);
        match self.policy {
            AddressPolicy::Exact => self.place(offset, bytes).map(|start| vec![(start, bytes)]),
            AddressPolicy::Wrap if end <= self.capacity => Ok(vec![(offset, bytes)]),
            AddressPolicy::Wrap if u64::from(bytes) > self.capacity => {
                Err(Misfit::LongerThanDevice { bytes, capacity: self.capacity })
            }
            AddressPolicy::Wrap => {
                self.wrapped += 1;
                let start = offset % self.capacity;
                let first = (self.capacity - start).min(u64::from(bytes)) as u32;
                let pieces = [(start, first), (0, bytes - first)];
                Ok(pieces.into_iter().filter(|&(_, bytes)| bytes > 0).collect())
            }
            AddressPolicy::Compact => Ok(self.touched(u64::from(volume) << VOLUME_SHIFT, offset, end)),
        }
    }

    /// Where the touched parts of bytes `offset..end` lie.
    fn touched(&self, volume_bits: u64, offset: u64, end: u64) -> Vec<(u64, u32)> {
        let mut pieces: Vec<(u64, u32)> = Vec::new();
        let mut at = offset;
        while at < end {
            let next = end.min(((at >> REGION_SHIFT) + 1) << REGION_SHIFT);
            if let Some(place) = self.regions.get(&(volume_bits | (at >> REGION_SHIFT))) {
                let start = (place << REGION_SHIFT) + (at & (COMPACT_REGION_BYTES - 1));
                let bytes = (next - at) as u32;
                match pieces.last_mut() {
                    Some((first, length)) if *first + u64::from(*length) == start => *length += bytes,
                    _ => pieces.push((start, bytes)),
                }
            }
            at = next;
        }
        pieces
    }

    fn wrap(&mut self, offset: u64, bytes: u32) -> Result<u64, Misfit> {
        if u64::from(bytes) > self.capacity {
            return Err(Misfit::LongerThanDevice { bytes, capacity: self.capacity });
        }
        self.wrapped += 1;
        let start = offset % self.capacity;
        let latest = self.capacity - u64::from(bytes);
        self.moved += u64::from(start > latest);
        Ok(start.min(latest))
    }

    /// Neighbouring regions first touched together (or one after the other) are neighbours on the device too. Where
    /// they are not, the request must not continue into a region that holds other data. It is moved back so that it
    /// ends with the last region that does follow its first one.
    fn compact(&mut self, volume_bits: u64, offset: u64, bytes: u32) -> Result<u64, Misfit> {
        let last = volume_bits | ((offset + u64::from(bytes) - 1) >> REGION_SHIFT);
        let first = volume_bits | (offset >> REGION_SHIFT);
        let home = self.region(first)?;
        let mut end = home;
        let mut adjacent = true;
        for region in first + 1..=last {
            let place = self.region(region)?;
            adjacent &= place == end + 1;
            end += u64::from(adjacent);
        }
        let start = (home << REGION_SHIFT) + (offset & (COMPACT_REGION_BYTES - 1));
        if adjacent {
            return Ok(start);
        }
        self.moved += 1;
        Ok(((end + 1) << REGION_SHIFT).saturating_sub(u64::from(bytes)).min(start))
    }

    fn region(&mut self, region: u64) -> Result<u64, Misfit> {
        if let Some(&place) = self.regions.get(&region) {
            return Ok(place);
        }
        let next = self.regions.len() as u64;
        if (next + 1) << REGION_SHIFT > self.capacity {
            return Err(Misfit::TooManyRegions { capacity: self.capacity });
        }
        self.regions.insert(region, next);
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn placer(capacity_bytes: u64, policy: AddressPolicy) -> Placer {
        Placer::new(&Placement { capacity_bytes, page_bytes: 16_384, policy })
    }

    #[test]
    fn w010_exact_refuses_and_names_both_ways_out() {
        let mut exact = placer(MIB, AddressPolicy::Exact);
        assert_eq!(exact.place(MIB - 512, 512), Ok(MIB - 512));
        let message = exact.place(MIB - 512, 1024).expect_err("one sector beyond").to_string();
        for part in ["1048064 to 1049087", "1048576 bytes", "workload.address = \"wrap\" or \"compact\""] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn w011_wrap_keeps_every_request_inside() {
        let mut wrap = placer(10_000, AddressPolicy::Wrap);
        assert_eq!(wrap.place(25_000, 1_000), Ok(5_000));
        assert_eq!(wrap.place(19_500, 1_000), Ok(9_000));
        assert_eq!((wrap.wrapped, wrap.moved), (2, 1));
        assert_eq!(wrap.place(0, 10_001), Err(Misfit::LongerThanDevice { bytes: 10_001, capacity: 10_000 }));
    }

    #[test]
    fn w012_compact_lays_regions_out_in_order_of_first_touch() {
        let mut compact = placer(4 * MIB, AddressPolicy::Compact);
        assert_eq!(compact.place(900 * MIB + 7, 100), Ok(7));
        assert_eq!(compact.place(5 * MIB + 9, 100), Ok(MIB + 9));
        assert_eq!(compact.place(901 * MIB - 512, 1024), Ok(MIB - 1024), "its tail's region lies elsewhere");
        assert_eq!(compact.moved, 1);
        assert_eq!(compact.place(901 * MIB, 512), Ok(2 * MIB));
        assert_eq!(compact.place(6 * MIB - 512, 1024), Ok(2 * MIB - 1024));
        assert_eq!(compact.place(700 * MIB, 512), Err(Misfit::TooManyRegions { capacity: 4 * MIB }));
    }

    #[test]
    fn w013_regions_first_touched_together_stay_together() {
        let mut compact = placer(8 * MIB, AddressPolicy::Compact);
        assert_eq!(compact.place(50 * MIB - 4096, 8192), Ok(MIB - 4096));
        assert_eq!(compact.place(50 * MIB, 3 << 20), Ok(MIB));
        assert_eq!(compact.moved, 0);
    }

    #[test]
    fn w015_a_trim_gives_up_what_it_names_and_nothing_else() {
        let trim = |placer: &mut Placer, offset, bytes| placer.place_trim(0, offset, bytes);
        let mut exact = placer(MIB, AddressPolicy::Exact);
        assert_eq!(trim(&mut exact, 512, 1024), Ok(vec![(512, 1024)]));
        assert!(matches!(trim(&mut exact, MIB, 512), Err(Misfit::Beyond { .. })));
        let mut wrap = placer(10_000, AddressPolicy::Wrap);
        assert_eq!(trim(&mut wrap, 19_500, 1_000), Ok(vec![(9_500, 500), (0, 500)]));
        assert_eq!(trim(&mut wrap, 20_000, 10_000), Ok(vec![(0, 10_000)]));
        assert!(matches!(trim(&mut wrap, 0, 10_001), Err(Misfit::LongerThanDevice { .. })));
        let mut compact = placer(4 * MIB, AddressPolicy::Compact);
        assert_eq!(trim(&mut compact, 7 * MIB, 512), Ok(vec![]));
        for region in [9, 5, 6] {
            compact.place(region * MIB, 512).expect("room");
        }
        assert_eq!(trim(&mut compact, 5 * MIB + 512, 5 << 20), Ok(vec![(MIB + 512, (2 << 20) - 512), (0, 1 << 20)]));
        assert_eq!(compact.place_trim(1, 5 * MIB, 512), Ok(vec![]), "another volume's");
    }

    #[test]
    fn w014_a_compacted_request_ends_inside_the_device() {
        let mut compact = placer(3 * MIB, AddressPolicy::Compact);
        assert_eq!(compact.place(9 * MIB, 512), Ok(0));
        assert_eq!(compact.place(8 * MIB, 512), Ok(MIB));
        assert_eq!(compact.place(8 * MIB, 2 << 20), Ok(0), "8 lies behind 9: ends with region 8");
    }
}
