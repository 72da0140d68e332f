//! What a plug-in may offer beyond reads and writes, asked of it and checked.

use pumice_types::{Lpn, RequestKind};

use super::Plugged;
use crate::plan::{FtlError, Plan};
use crate::seam::{BegunRequest, ForcedOut, GatheredUnits, MapLoads, OwnCounts, RequestBorders, Streams};

impl Streams for Plugged {
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let layer = &mut self.layer;
        let written = self.own.during(|| match layer.streams() {
            Some(streams) => streams.write_to_stream(lpn, version, stream, plan),
            None => layer.write(lpn, version, plan),
        });
        written.map_err(|error| self.own.fault(error))?;
        self.take(plan)
    }
}

impl MapLoads for Plugged {
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(map) = self.layer.map_loads() else { return Ok(()) };
        self.own.during(|| map.load_map(lpn, kind, plan)).map_err(|error| self.own.fault(error))?;
        self.take_commands(plan)
    }
}

impl GatheredUnits for Plugged {
    fn gathers(&mut self, lpn: Lpn) -> bool {
        self.layer.open_pages().is_some_and(|buffer| self.own.during(|| buffer.gathers(lpn)))
    }

    fn force_out(&mut self, forced: ForcedOut, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(buffer) = self.layer.open_pages() else { return Ok(()) };
        self.own.during(|| buffer.force_out(forced, plan)).map_err(|error| self.own.fault(error))?;
        if let ForcedOut::Unit(lpn) = forced
            && self.gathers(lpn)
        {
            return Err(self.own.fault(format!("still holds logical page {} in RAM after it was forced out", lpn.0)));
        }
        self.take(plan)
    }
}

impl RequestBorders for Plugged {
    fn begin(&mut self, request: &BegunRequest) {
        if let Some(requests) = self.layer.requests() {
            self.own.during(|| requests.begin(request));
        }
    }
}

impl OwnCounts for Plugged {
    fn counts(&self) -> Vec<u64> {
        let counts = self.layer.own_counts().map(|own| self.own.during(|| own.counts())).unwrap_or_default();
        let since = |(nth, before): (usize, &u64)| counts.get(nth).copied().unwrap_or(0).saturating_sub(*before);
        self.counts_before.iter().enumerate().map(since).collect()
    }
}
