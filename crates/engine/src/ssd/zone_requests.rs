//! Requests of a host that knows of zones: a zone checks each before any of its pages begins, and may refuse it.

use pumice_ftl::ZoneError;
use pumice_types::{HostRequest, Lpn, RequestKind, ZoneCommand};

use crate::controller::Moment;
use crate::error::SimError;
use crate::observe::ObserverSlot;
use crate::ssd::Ssd;

/// What is to be done for a request that its zone takes.
enum Admitted {
    /// Pages of the request; those of an append lie where the zone's write pointer stands.
    Pages(HostRequest),
    /// The command to the zone of this page.
    Command(ZoneCommand, Lpn),
}

impl<O: ObserverSlot> Ssd<O> {
    /// Whether a zone has to check the request.
    #[inline]
    pub(crate) fn is_for_zones(&self, request: &HostRequest) -> bool {
        self.controller.has_host_zones() || matches!(request.kind, RequestKind::Zone(_))
    }

    /// Begins a request in its zone. Returns what is left to begin: its pages, or nothing.
    ///
    /// # Errors
    /// A device without zones; a broken rule or belief.
    pub(crate) fn begin_in_zone(&mut self, id: u32, request: &HostRequest) -> Result<Option<HostRequest>, SimError> {
        if request.kind != RequestKind::Read {
            let page = self.host.pages.first_of(request);
            let moment =
                &mut Moment { now: self.now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
            self.controller.settle_zone(request.kind, page, moment)?;
        }
        let done = match self.admit(request)? {
            Ok(Admitted::Pages(pages)) => {
                if pages.kind == RequestKind::Write {
                    self.observer.observer().admitted(id, pages.offset_bytes);
                }
                return Ok(Some(pages));
            }
            Ok(Admitted::Command(command, page)) => {
                let moment =
                    &mut Moment { now: self.now, oracle: &mut self.host.oracle, observer: self.observer.observer() };
                self.controller.begin_zone_command(id, (command, page), moment)?
            }
            Err(refusal) => Err(refusal),
        };
        match done {
            Ok(groups) => (0..groups).for_each(|_| self.host.page_begun(id)),
            Err(refusal) => {
                self.host.refuse(id, refusal);
                self.observer.observer().refused(id, refusal);
            }
        }
        Ok(None)
    }

    /// Runs a request in its zone without a clock. Returns as [`Ssd::begin_in_zone`] does, and whether it was refused.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn run_in_zone(
        &mut self,
        request: &HostRequest,
    ) -> Result<Result<Option<HostRequest>, ZoneError>, SimError> {
        Ok(match self.admit(request)? {
            Ok(Admitted::Pages(pages)) => Ok(Some(pages)),
            Ok(Admitted::Command(command, page)) => {
                let (oracle, observer) = (&mut self.host.oracle, &mut self.observer.observer());
                self.controller.run_zone_command((command, page), oracle, observer)?.map(|()| None)
            }
            Err(refusal) => Err(refusal),
        })
    }

    /// What a request's zone lets it do. Pages are written whole: a zone has no half of one.
    fn admit(&mut self, request: &HostRequest) -> Result<Result<Admitted, ZoneError>, SimError> {
        let page_bytes = self.host.pages.page_bytes();
        let HostRequest { kind, offset_bytes, bytes, .. } = *request;
        let first = self.host.pages.first_of(request);
        let pages = (offset_bytes % page_bytes + u64::from(bytes)).div_ceil(page_bytes) as u32;
        let is_whole = offset_bytes.is_multiple_of(page_bytes) && u64::from(bytes).is_multiple_of(page_bytes);
        let stores = matches!(kind, RequestKind::Write | RequestKind::Zone(ZoneCommand::Append));
        let Some(zones) = self.controller.host_zones() else { return Err(no_zones(kind)) };
        let mut admitted = zones.admit(kind, first, pages);
        // As a write off the pointer: only the state of the zone is told before.
        if stores && !is_whole && !admitted.is_err_and(ZoneError::is_of_state) {
            admitted = Err(ZoneError::ZoneInvalidWrite);
        }
        Ok(admitted.map(|first| match kind {
            RequestKind::Zone(ZoneCommand::Append) => {
                let offset_bytes = u64::from(first.0) * page_bytes;
                Admitted::Pages(HostRequest { kind: RequestKind::Write, offset_bytes, ..*request })
            }
            RequestKind::Zone(command) => Admitted::Command(command, first),
            RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush => {
                Admitted::Pages(*request)
            }
        }))
    }
}

#[cold]
fn no_zones(kind: RequestKind) -> SimError {
    SimError::Simulation(format!(
        "the workload asks for a zone {}, which needs ftl.kind = \"zns\" and ftl.zns.interface = \"zones\"",
        kind.name()
    ))
}
