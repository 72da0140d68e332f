//! How a session's device comes into a used state before its first request: by writes, or by wear alone.

use std::convert::Infallible;

use pumice_config::aged::{AgedIdentity, SharedAgedDevices};
use pumice_config::{Flow, SpecError};
use pumice_ftl::{AgedBy, InitialKeys};
use pumice_types::{HostRequest, Lpn, RequestKind, refuse};
use pumice_workload::{RandomStream, Workload};

use super::Session;
use super::steady_state::SteadyState;
use crate::chip::erase::Eraser;
use crate::error::SimError;
use crate::observe::ObserverSlot;
use crate::session::lookahead::Lookahead;
use crate::workload;

/// What ages a device before its first request, without a clock.
pub enum Ageing {
    /// Random writes of one page, known a few pages before they are due. Before them those that lead to the steady state,
    /// if that is drawn.
    Pages(Option<Box<SteadyState>>, RandomPages, Box<Lookahead<Infallible>>),
    /// What its workload writes.
    Requests(AgeingRequests),
}

/// Pages that are written to bring a device into a used state.
pub struct RandomPages {
    random: RandomStream,
    /// Pages that they fall on, from the first.
    footprint: u64,
    left: u64,
}

/// Writes and trims of a workload that bring its device into a used state.
pub struct AgeingRequests {
    workload: Workload,
    lookahead: Box<Lookahead<SimError>>,
    /// Bytes to write.
    left: u64,
    /// The workload has given a write since it was opened.
    writes: bool,
}

impl AgeingRequests {
    fn of(workload: Workload, left: u64) -> AgeingRequests {
        AgeingRequests { workload, lookahead: Box::new(Lookahead::new(None)), left, writes: false }
    }
}

impl RandomPages {
    /// The page that is written next; `None` when none is left.
    pub fn next_page(&mut self) -> Option<Lpn> {
        self.left = self.left.checked_sub(1)?;
        Some(Lpn(self.random.below(self.footprint) as u32))
    }
}

impl<O: ObserverSlot> Session<O> {
    /// The writes that the spec wants before the first request; `None` if it wants none, or if the device was made one
    /// that was aged before.
    ///
    /// # Errors
    /// A workload that is to age the device, and cannot be read.
    pub fn ageing(&mut self) -> Result<Option<Ageing>, SimError> {
        let InitialKeys { age_writes, aged_by, .. } = self.config.initial;
        if age_writes == 0.0 || self.take_aged() {
            return Ok(None);
        }
        Ok(Some(match aged_by {
            AgedBy::Pages => Ageing::Pages(None, self.ageing_by(age_writes), Box::new(Lookahead::new(None))),
            AgedBy::Drawn => {
                let steady = self.steady_state()?;
                Ageing::Pages(Some(steady), self.ageing_by(age_writes), Box::new(Lookahead::new(None)))
            }
            AgedBy::Requests => {
                let workload = workload::open_behind(&self.config, self.scale, self.capacity())?;
                let left = (self.capacity() as f64 * age_writes) as u64;
                Ageing::Requests(AgeingRequests::of(workload, left))
            }
        }))
    }

    /// So many user capacities of writes. A device is aged by the same writes, whether its spec says so or it is told to
    /// before its first request; each time it is aged again, they are others.
    pub fn ageing_by(&mut self, writes: f64) -> RandomPages {
        let nth = self.course.aged;
        self.course.aged += 1;
        let stream = if nth == 0 { "ageing".to_string() } else { format!("ageing-{nth}") };
        let random = RandomStream::new(self.config.seed, &stream);
        let left = (f64::from(self.ssd.ftl().user_pages()) * writes) as u64;
        RandomPages { random, footprint: self.aged_pages(), left }
    }

    /// Pages that random writes age, from the first.
    fn aged_pages(&self) -> u64 {
        let user_pages = f64::from(self.ssd.ftl().user_pages());
        ((user_pages * self.config.workload.shared.footprint) as u64).max(1)
    }

    /// Refuses wear that the device cannot take.
    ///
    /// # Errors
    /// In one line: blocks of this device do not wear, or would wear beyond what is counted.
    pub fn check_wear(&self, cycles: u32) -> Result<(), String> {
        let keys = &self.config.chip.erase;
        let max = u32::from(self.ssd.controller.check_wear(cycles)?) + self.ssd.controller.most_worn();
        let factor = |pec| keys.scheme.program_time_factor(pec);
        if factor(max).to_bits() != factor(u32::from(keys.initial_pec)).to_bits() {
            return Err(format!(
                "erase.scheme = \"{}\": wear changes its program time, which is settled when the device is built; serve it with erase.initial_pec",
                keys.scheme
            ));
        }
        Ok(())
    }

    /// Wears every block by so many P/E cycles, as if it had been erased so often; what it holds stays. No command is
    /// under way.
    ///
    /// # Errors
    /// As [`Session::check_wear`].
    pub fn wear(&mut self, cycles: u32) -> Result<(), String> {
        self.ssd.controller.wear(cycles)
    }

    /// Mean P/E cycles of the blocks; `None` if they do not wear.
    pub fn mean_pec(&self) -> Option<f64> {
        self.ssd.controller.scheduler.chips.eraser.as_ref().map(Eraser::mean_pec)
    }

    /// Where aged devices are kept, and the identity of this one; `None` if it has to be aged here.
    fn kept_as(&mut self) -> Option<(SharedAgedDevices, AgedIdentity)> {
        let devices = self.config.aged_devices.clone().filter(|_| !self.ssd.observer.observer().watches_ageing());
        devices.zip(AgedIdentity::of(&self.config, self.scale))
    }

    /// Makes the device one that was aged before to the same state, if there is one. Returns whether it did.
    fn take_aged(&mut self) -> bool {
        let Some((devices, identity)) = self.kept_as() else { return false };
        let Some(device) = devices.0.find(&identity) else { return false };
        let restored = self.ssd.restore(&self.config, &device);
        if let Err(why) = &restored {
            devices.0.refuse(why);
        }
        restored.is_ok()
    }

    /// Keeps the device, which was just aged, for others. A layer that cannot be written down is aged each time.
    fn keep_aged(&mut self) {
        if let Some((devices, identity)) = self.kept_as()
            && let Ok(device) = self.ssd.written_down()
        {
            devices.0.keep(&identity, device);
        }
    }

    /// Does one of these writes, without a clock and uncounted. `false` when none is left: measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age(&mut self, ageing: &mut Ageing) -> Result<bool, SimError> {
        let goes_on = match ageing {
            Ageing::Pages(steady, pages, lookahead) => self.age_next_page((steady, pages), lookahead)?,
            Ageing::Requests(requests) => self.age_request(requests)?,
        };
        if !goes_on {
            self.end_ageing()?;
            self.keep_aged();
        }
        Ok(goes_on)
    }

    /// The writes of the workload from the first request on, drawn without end or over and over; none is due yet.
    ///
    /// # Errors
    /// A workload that cannot be read.
    pub fn endless_writes(&self) -> Result<AgeingRequests, SimError> {
        let workload = workload::open_endless(&self.config, self.scale, self.capacity())?;
        Ok(AgeingRequests::of(workload, 0))
    }

    /// Does so many bytes more of a workload's writes, without a clock, and its trims between them.
    ///
    /// # Errors
    /// A broken rule or belief; [`SimError::WornOut`] if the device is read-only from here on.
    pub fn write_on(&mut self, requests: &mut AgeingRequests, bytes: u64) -> Result<(), SimError> {
        requests.left = bytes;
        while self.age_request(requests)? {}
        Ok(())
    }

    /// Does what the next request of the workload writes or trims. `false` when enough is written.
    fn age_request(&mut self, ageing: &mut AgeingRequests) -> Result<bool, SimError> {
        let AgeingRequests { workload, lookahead, left, writes } = ageing;
        if *left == 0 {
            return Ok(false);
        }
        let take = |place: &mut HostRequest| {
            *place = loop {
                if let Some(request) = workload.next_request()? {
                    break request;
                }
                if !std::mem::take(writes) {
                    return Err(SpecError(workload::NOTHING_WRITTEN.into()).into());
                }
                *workload = workload::open(&self.config, self.scale, self.capacity())?;
            };
            *writes |= place.kind == RequestKind::Write;
            Ok(true)
        };
        let Some(request) = lookahead.next(take, &self.ssd)? else { return Ok(false) };
        match request.kind {
            RequestKind::Write => {
                *left = left.saturating_sub(u64::from(request.bytes));
                self.ssd.run_untimed(request, false)?;
            }
            RequestKind::Trim => self.ssd.run_untimed(request, false)?,
            RequestKind::Read | RequestKind::Flush | RequestKind::Zone(_) => {}
        }
        self.course.work += 1 + u64::from(request.bytes / self.geometry.page_bytes);
        Ok(true)
    }

    /// Writes the next of these pages. `false` when none is left.
    fn age_next_page(
        &mut self,
        (steady, pages): (&mut Option<Box<SteadyState>>, &mut RandomPages),
        lookahead: &mut Lookahead<Infallible>,
    ) -> Result<bool, SimError> {
        let take = |place: &mut HostRequest| {
            let next = steady.as_mut().and_then(|steady| steady.next_page()).or_else(|| pages.next_page());
            Ok(next.map(|lpn| *place = self.write_of(lpn)).is_some())
        };
        let Ok(next) = lookahead.next(take, &self.ssd);
        let Some(write) = next else { return Ok(false) };
        let lpn = self.ssd.host.pages.first_of(write);
        let before = steady.is_some().then(|| self.ssd.ftl().locate(lpn));
        self.ssd.run_untimed(write, false)?;
        if let (Some(steady), Some(before)) = (steady, before) {
            steady.note_written(lpn, before, |lpn| self.ssd.ftl().locate(lpn));
        }
        self.course.work += 1;
        Ok(true)
    }

    /// The steady state of random writes for this device, which was just built and holds nothing.
    fn steady_state(&self) -> Result<Box<SteadyState>, SimError> {
        let ftl = self.ssd.ftl();
        let room = ftl.layer().figures().and_then(|figures| figures.fresh_room());
        let room = room.ok_or_else(|| {
            refuse!("initial.aged_by = \"drawn\" needs collection that takes the block with the fewest valid pages")
        })?;
        let (is_dealt, random) = (ftl.layer().homes().is_none(), RandomStream::new(self.config.seed, "steady-state"));
        Ok(Box::new(SteadyState::new(self.aged_pages(), room, &self.geometry, (is_dealt, random))))
    }

    /// Writes a page, without a clock and uncounted.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn age_page(&mut self, lpn: Lpn) -> Result<(), SimError> {
        let write = self.write_of(lpn);
        self.ssd.run_untimed(&write, false)?;
        self.course.work += 1;
        Ok(())
    }

    /// The write of a whole page that ages the device.
    fn write_of(&self, lpn: Lpn) -> HostRequest {
        HostRequest::page_write(lpn, self.geometry.page_bytes, self.stream_of(lpn))
    }

    /// The stream of the first flow that has the page among its addresses and names one; 0 of a page without.
    fn stream_of(&self, lpn: Lpn) -> u8 {
        let user_pages = self.ssd.ftl().user_pages();
        let has_page = |flow: &&Flow| {
            let [first, end] = flow.pages(user_pages, 1);
            (first..end).contains(&lpn.0)
        };
        let mut placed = self.config.flows.iter().filter(|flow| flow.stream().is_some());
        placed.find(has_page).and_then(Flow::stream).unwrap_or(0)
    }

    /// The writes are done: what is buffered is programmed, and measuring starts.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn end_ageing(&mut self) -> Result<(), SimError> {
        self.ssd.flush_untimed()?;
        self.restart_measuring(self.ssd.now);
        Ok(())
    }
}
