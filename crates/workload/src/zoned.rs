//! Jobs of a host that knows of zones: each writes, reads or resets the zones of its addresses.
//!
//! A writer has several zones in hand and writes to them in turn, each from its start to its end. When one is written as
//! far as it is to be, the writer finishes it if anything is left of it, and takes the next zone of its addresses; zones
//! that it comes to again are reset before.

use pumice_types::key::{CHOSEN, When, float, int};
use pumice_types::{Choice, HostRequest, RequestKind, ZoneCommand, keys};

use crate::family::{Family, OpenFor};
use crate::shared_keys::{KIND, SharedWorkloadKeys};
use crate::source::arrival::ArrivalClock;
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::random::RandomStream;
use crate::source::request_source::{RequestSource, share_of_requests};
use crate::source::zone_job::ZoneJob;

/// The workload writes zones.
const WRITES: When = When::All(&[When::Requests, When::Is(KIND, &["zone-write", "zone-append"])]);

/// The workload moves data to or from zones.
const MOVES: When = When::All(&[When::Requests, When::Is(KIND, &["zone-write", "zone-append", "zone-read"])]);

keys! {
    /// Keys of jobs on zones.
    pub struct ZoneJobKeys in "workload" {
        zone_request_bytes: u32 = "131072", int(512, 1 << 30), "bytes", CHOSEN, MOVES,
            "Size of a request of a job on zones, in whole pages; the last of a zone may be shorter.";
        zones_at_once: u32 = "1", int(1, 65536), "zones", CHOSEN, WRITES,
            "Zones that a job writes in turn, a request each.";
        zone_share: f64 = "1.0", float(1e-9, 1.0), "share of a zone", CHOSEN, MOVES,
            "Share of each zone that a job reads, or writes before it finishes the zone.";
    }
}

/// The requests of one job.
#[derive(Debug)]
pub struct ZoneRequests {
    job: ZoneJob,
    clock: ArrivalClock,
    addresses: RandomStream,
    /// Bytes of a request, of a zone, and of the part of it that is used.
    bytes: [u64; 3],
    /// Zones of the addresses.
    zones: u64,
    /// Zones in hand, each with the bytes written.
    in_hand: Vec<(u64, u64)>,
    /// Which of them is written next.
    turn: usize,
    /// Zones taken so far.
    taken: u64,
    issued: u64,
    requests: u64,
}

impl Family for ZoneJob {
    type Source = ZoneRequests;
    type Keys = ZoneJobKeys;

    const NEEDS_FILE: bool = false;

    fn members() -> Vec<ZoneJob> {
        ZoneJob::ALL.to_vec()
    }

    fn name(self) -> String {
        Choice::name(self).to_owned()
    }

    fn about(self) -> String {
        match self {
            ZoneJob::Write => {
                "writes zones from end to end, zones_at_once in turn; resets those that it comes to again"
            }
            ZoneJob::Append => "as zone-write, by Zone Append",
            ZoneJob::Read => "reads at random in its zones",
            ZoneJob::Finish => "finishes one zone after the other",
            ZoneJob::Reset => "resets one zone after the other",
        }
        .to_owned()
    }

    fn open(self, keys: &ZoneJobKeys, shared: &SharedWorkloadKeys, run: &OpenFor) -> Result<ZoneRequests, TraceError> {
        let Some(zone_bytes) = run.zone_bytes else {
            let name = Choice::name(self);
            return Err(TraceError::option(format!(
                "workload.kind = \"{name}\" needs ftl.kind = \"zns\" and ftl.zns.interface = \"zones\""
            )));
        };
        let page = u64::from(run.placement.page_bytes);
        let request = u64::from(keys.zone_request_bytes);
        let zones = run.placement.capacity_bytes / zone_bytes;
        let used = ((zone_bytes as f64 * keys.zone_share) as u64 / page * page).max(page);
        let (at_once, moves) = match self {
            ZoneJob::Write | ZoneJob::Append => (u64::from(keys.zones_at_once), true),
            ZoneJob::Read => (0, true),
            ZoneJob::Finish | ZoneJob::Reset => (0, false),
        };
        if moves && (!request.is_multiple_of(page) || request > used) || at_once > zones {
            return Err(TraceError::option(format!(
                "workload.zone_request_bytes = {request}, workload.zones_at_once = {} found; allowed are whole pages of \
                 {page} bytes up to {used}, and up to {zones} zones",
                keys.zones_at_once
            )));
        }
        Ok(ZoneRequests {
            job: self,
            clock: ArrivalClock::new(shared.arrival_at(run.scale), run.seed)?,
            addresses: RandomStream::new(run.seed, "addresses"),
            bytes: [request, zone_bytes, used],
            zones,
            in_hand: (0..at_once).map(|zone| (zone, 0)).collect(),
            turn: 0,
            taken: at_once,
            issued: 0,
            requests: shared.requests_at(run.scale),
        })
    }
}

impl ZoneRequests {
    /// The next step of a writer: a command or a piece of data.
    fn write(&mut self, data: RequestKind) -> (RequestKind, u64, u64) {
        let [request, zone_bytes, used] = self.bytes;
        let (zone, written) = self.in_hand[self.turn];
        if written < used {
            let bytes = request.min(used - written);
            self.in_hand[self.turn].1 += bytes;
            let ends = written + bytes == used;
            if !ends {
                self.turn = (self.turn + 1) % self.in_hand.len();
            } else if used == zone_bytes {
                self.take_next_zone();
            }
            return (data, zone * zone_bytes + written, bytes);
        }
        // Written as far as it is to be, but not full.
        self.take_next_zone();
        (RequestKind::Zone(ZoneCommand::Finish), zone * zone_bytes, 0)
    }

    /// Puts the next zone in the place of the one that was written; one that was written before has to be reset first.
    fn take_next_zone(&mut self) {
        let zone = self.taken % self.zones;
        self.in_hand[self.turn] = (zone, if self.taken < self.zones { 0 } else { TO_RESET });
        self.taken += 1;
        self.turn = (self.turn + 1) % self.in_hand.len();
    }

    fn next_zone(&mut self) -> u64 {
        let zone = self.taken % self.zones;
        self.taken += 1;
        zone * self.bytes[1]
    }

    fn draw(&mut self) -> (RequestKind, u64, u64) {
        match self.job {
            ZoneJob::Write | ZoneJob::Append if self.in_hand[self.turn].1 == TO_RESET => {
                self.in_hand[self.turn].1 = 0;
                (RequestKind::Zone(ZoneCommand::Reset), self.in_hand[self.turn].0 * self.bytes[1], 0)
            }
            ZoneJob::Write => self.write(RequestKind::Write),
            ZoneJob::Append => self.write(RequestKind::Zone(ZoneCommand::Append)),
            ZoneJob::Read => {
                let [request, zone_bytes, used] = self.bytes;
                let place = self.addresses.below(self.zones * (used / request));
                let (zone, nth) = (place / (used / request), place % (used / request));
                (RequestKind::Read, zone * zone_bytes + nth * request, request)
            }
            ZoneJob::Finish => (RequestKind::Zone(ZoneCommand::Finish), self.next_zone(), 0),
            ZoneJob::Reset => (RequestKind::Zone(ZoneCommand::Reset), self.next_zone(), 0),
        }
    }
}

/// Stands for the bytes written to a zone that has to be reset before it is written.
const TO_RESET: u64 = u64::MAX;

impl RequestSource for ZoneRequests {
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        if self.issued == self.requests {
            return Ok(false);
        }
        let (kind, offset_bytes, bytes) = self.draw();
        // What a zone needs between its data comes at the same time, and is none of the requests.
        self.issued += u64::from(bytes > 0 || matches!(self.job, ZoneJob::Finish | ZoneJob::Reset));
        let arrival = self.clock.tick();
        *request = HostRequest { arrival, offset_bytes, bytes: bytes as u32, kind, fua: false, stream: 0, flow: 0 };
        Ok(true)
    }

    fn skip_arrivals(&mut self) {
        self.clock.stop();
    }

    fn requests_expected(&self) -> Option<u64> {
        None
    }

    fn progress(&self) -> Option<f64> {
        share_of_requests(self.issued, self.requests)
    }

    fn notes(&self) -> Notes {
        Notes::default()
    }

    fn facts(&self) -> Vec<(&'static str, Fact)> {
        let [request, zone_bytes, used] = self.bytes;
        vec![
            ("requests", Fact::Count(self.requests)),
            ("zone_request_bytes", Fact::Count(request)),
            ("zone_bytes", Fact::Count(zone_bytes)),
            ("zone_used_bytes", Fact::Count(used)),
            ("zones", Fact::Count(self.zones)),
            ("zones_at_once", Fact::Count(self.in_hand.len() as u64)),
        ]
    }
}
