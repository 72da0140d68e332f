//! Pages in which mapping units gather (`ftl.map_unit_bytes`).
//!
//! Maps, valid bits, victims and counts of this layer work on units, as if each were a page. A page of flash has several
//! and is programmed once. So what the layer appends for single units is made into commands for pages here: units gather
//! in the page that they were given, in the controller's RAM, and its program is appended when the last one is there.
//! Collection reads a page once for all units that it moves out of it.
//!
//! A unit of the host that gathers is in RAM. A unit that is moved still lies where it comes from: the erase of its block
//! waits for the program of the page that it goes to. So a power cut takes nothing that was programmed before. A block
//! whose erase waits counts as free; if it is needed, the page that its erase waits for is forced out. On a device that
//! may lose power no erase waits so: the page is forced out first, and so is one with a newer copy of what the block holds,
//! because RAM loses that in a cut.

use serde::{Deserialize, Serialize};

use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, PageUnit, PlaneId, SpareMark, UnitSource,
};

use crate::layers::page::collect::plane::WriteStream;
use crate::layers::page::{Allocation, PageFtl};
use crate::plan::{FtlError, Payload, Plan};
use crate::seam::{ForcedOut, GatheredUnits};

/// The pages of a device in which units gather.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct OpenPages {
    geometry: Geometry,
    planes: Vec<PlanePages>,
    /// The page that took the last unit of the host.
    last: Option<PageAddress>,
    /// Pages that were programmed, for their memory.
    #[serde(skip)]
    unused: Vec<OpenPage>,
    #[serde(skip)]
    singles: Vec<FlashCommand>,
}

/// Open pages of a plane, and what waits for them.
#[derive(Clone, Default, Serialize, Deserialize)]
struct PlanePages {
    open: Vec<OpenPage>,
    /// Blocks whose erase waits for the program of a page.
    held: Vec<BlockId>,
    /// The page that collection read last: its units are in RAM.
    last_read: Option<PageAddress>,
}

/// A page in which units gather.
#[derive(Clone, Default, Serialize, Deserialize)]
struct OpenPage {
    /// The first unit of the page.
    first: PageAddress,
    sequence: u32,
    mark: SpareMark,
    units: Vec<PageUnit>,
    /// What units of the layer's own hold. Its program comes behind all that were decided before.
    contents: Vec<(u16, Payload)>,
    waits: bool,
    /// Blocks that hold what units of the host replace. A device that may lose power does not erase them before.
    replaces: Vec<BlockId>,
}

impl OpenPage {
    /// Whether RAM alone has what it holds: units of the host, or of the layer's own.
    fn has_hosts(&self) -> bool {
        self.units.iter().any(|unit| unit.source == UnitSource::Host)
    }

    /// Whether a unit lies in this page of so many units.
    #[inline]
    fn holds(&self, place: PageAddress, units: u16) -> bool {
        is_in(self.first, place, units)
    }

    fn takes_from(&self, block: BlockId) -> bool {
        let comes_from = |unit: &PageUnit| matches!(unit.source, UnitSource::Copied(from) if from.block == block);
        self.replaces.contains(&block) || self.units.iter().any(comes_from)
    }
}

/// Whether a unit lies in the page of so many units that begins with `first`.
#[inline]
fn is_in(first: PageAddress, unit: PageAddress, units: u16) -> bool {
    unit.block == first.block && unit.page.wrapping_sub(first.page) < units
}

impl PlanePages {
    fn is_awaited(&self, block: BlockId) -> bool {
        self.open.iter().any(|page| page.takes_from(block))
    }
}

impl OpenPages {
    /// Nothing gathers yet. `None` where a page is one unit.
    pub(in crate::layers::page) fn new(geometry: &Geometry) -> Option<OpenPages> {
        let planes = vec![PlanePages::default(); geometry.planes() as usize];
        (geometry.units_per_page > 1).then(|| OpenPages {
            geometry: *geometry,
            planes,
            last: None,
            unused: Vec::new(),
            singles: Vec::new(),
        })
    }

    /// The unit that is to lie in a place whose page still gathers.
    fn unit_at(&self, place: PageAddress, plane: PlaneId) -> Option<PageUnit> {
        let units = self.geometry.units_per_page;
        let page = self.planes[plane.index()].open.iter().find(|page| page.holds(place, units))?;
        page.units.get(usize::from(place.page - page.first.page)).copied()
    }

    /// Where the chips hold what the layer has in a place: elsewhere, if it is being moved there. `None` for what only the
    /// controller's RAM holds.
    #[inline]
    pub(in crate::layers::page) fn source_of(&self, place: PageAddress, plane: PlaneId) -> Option<PageAddress> {
        match self.unit_at(place, plane).map(|unit| unit.source) {
            Some(UnitSource::Copied(source)) => Some(source),
            Some(UnitSource::Host | UnitSource::Padding) => None,
            None => Some(place),
        }
    }

    /// Makes the commands for single units from the `first` on into commands for pages.
    fn gather(&mut self, plane: PlaneId, first: usize, plan: &mut Plan) {
        let completes = plan.commands.len() > first && plan.completes() == Some(first);
        let mut singles = std::mem::take(&mut self.singles);
        match plan.commands.len() - first {
            1 => singles.extend(plan.commands.pop()),
            _ => singles.extend(plan.commands.drain(first..)),
        }
        let mut own = plan.contents.pop_if(|(at, ..)| *at >= first).map(|(.., content)| content);
        let mut programmed = None;
        for command in singles.drain(..) {
            match command.op {
                FlashOp::Program => {
                    let (lpn, version) = (command.lpn, command.version);
                    let unit = PageUnit { lpn, version, source: UnitSource::Host, written: plan.write_number };
                    programmed = self.add(plane, &command, (unit, own.take()), plan).or(programmed);
                }
                FlashOp::Copy => programmed = self.add_copy(plane, &command, plan).or(programmed),
                FlashOp::Erase => self.erase(plane, command, plan),
                FlashOp::Read
                | FlashOp::SpareSearch
                | FlashOp::PartialErase
                | FlashOp::SubBlockErase
                | FlashOp::Pause => plan.push(command),
            }
        }
        self.singles = singles;
        if completes {
            plan.complete_at_or_here(programmed);
        }
    }

    /// Puts a unit that is moved into its page. Returns the place of that page's program in the plan, if it is full.
    #[inline]
    pub(in crate::layers::page) fn add_copy(
        &mut self,
        plane: PlaneId,
        copy: &FlashCommand,
        plan: &mut Plan,
    ) -> Option<usize> {
        self.read_source(plane, copy, plan);
        let unit = PageUnit { lpn: copy.lpn, version: 0, source: UnitSource::Copied(copy.source), written: 0 };
        self.add(plane, copy, (unit, None), plan)
    }

    /// Notes that the unit which came last, into a place, replaces what a block holds.
    fn note_replaced(&mut self, place: PageAddress, plane: PlaneId, block: BlockId) {
        let units = self.geometry.units_per_page;
        let page = self.planes[plane.index()].open.iter_mut().find(|page| page.holds(place, units));
        page.into_iter().for_each(|page| page.replaces.push(block));
    }

    /// A page of any plane that the erase of a block waits for: its plane, and its number there.
    fn awaited(&self, block: BlockId) -> Option<(PlaneId, usize)> {
        let nth = |pages: &PlanePages| pages.open.iter().position(|page| page.takes_from(block));
        self.planes.iter().enumerate().find_map(|(plane, pages)| Some((PlaneId(plane as u32), nth(pages)?)))
    }

    /// Reads the page that a unit comes from, unless it was just read for another one.
    #[inline(always)]
    fn read_source(&mut self, plane: PlaneId, copy: &FlashCommand, plan: &mut Plan) {
        let last_read = &mut self.planes[plane.index()].last_read;
        if !last_read.is_some_and(|page| is_in(page, copy.source, self.geometry.units_per_page)) {
            *last_read = Some(self.geometry.page_of_unit(copy.source));
            plan.push(FlashCommand::read_of_moved(copy.source, copy.lpn));
        }
    }

    /// Puts a unit into its page, with what it holds if it is the layer's own. Returns the place of that page's program in
    /// the plan, if it is full.
    #[inline(always)]
    fn add(
        &mut self,
        plane: PlaneId,
        command: &FlashCommand,
        (unit, own): (PageUnit, Option<Payload>),
        plan: &mut Plan,
    ) -> Option<usize> {
        let (target, units) = (command.target, self.geometry.units_per_page);
        let open = &mut self.planes[plane.index()].open;
        let nth = open.iter().position(|page| page.holds(target, units)).unwrap_or(open.len());
        if nth == open.len() {
            let mut page = self.unused.pop().unwrap_or_default();
            (page.first, page.sequence, page.mark) = (target, command.sequence, command.mark);
            open.push(page);
        }
        let page = &mut open[nth];
        debug_assert_eq!(page.units.len(), usize::from(target.page % units), "units come in order");
        if unit.source == UnitSource::Host {
            self.last = Some(page.first);
            if !page.has_hosts() {
                plan.gathers = Some(page.first);
            }
        }
        page.waits |= command.waits_for_programs();
        if let Some(content) = own {
            page.contents.push((page.units.len() as u16, content));
        }
        page.units.push(unit);
        (page.units.len() == usize::from(units)).then(|| self.program(plane, nth, plan))
    }

    /// Appends the program of an open page, with padding where units are missing, and the erases that waited for it.
    /// Returns the place of the program in the plan.
    #[inline(never)]
    fn program(&mut self, plane: PlaneId, nth: usize, plan: &mut Plan) -> usize {
        let state = &mut self.planes[plane.index()];
        let mut page = state.open.swap_remove(nth);
        let hosts = page.has_hosts();
        let PageUnit { lpn, version, source, .. } = page.units[0];
        page.units.resize(usize::from(self.geometry.units_per_page), PageUnit::PADDING);
        let command = match source {
            _ if !page.contents.is_empty() => {
                FlashCommand::program(Cause::Map, page.first, lpn, version, page.sequence)
            }
            UnitSource::Copied(source) if !hosts => FlashCommand::moved(source, page.first, lpn, 0, page.sequence),
            UnitSource::Copied(_) | UnitSource::Host | UnitSource::Padding => {
                FlashCommand::program(Cause::Host, page.first, lpn, version, page.sequence)
            }
        };
        let command = if std::mem::take(&mut page.waits) { command.behind_programs() } else { command };
        let at = plan.commands.len();
        plan.push_units(command.with_mark(page.mark), &page.units);
        plan.contents.extend(page.contents.drain(..).map(|(nth, content)| (at, nth, content)));
        if plan.gathers == Some(page.first) {
            plan.gathers = None;
        }
        page.units.clear();
        page.replaces.clear();
        self.unused.push(page);
        let mut held = 0;
        while let Some(&block) = state.held.get(held) {
            if state.is_awaited(block) {
                held += 1;
            } else {
                state.held.remove(held);
                plan.push(FlashCommand::erase(block));
            }
        }
        at
    }

    /// Appends an erase, or keeps it until what its block still holds alone is programmed elsewhere.
    fn erase(&mut self, plane: PlaneId, command: FlashCommand, plan: &mut Plan) {
        let state = &mut self.planes[plane.index()];
        let block = command.target.block;
        debug_assert!(state.open.iter().all(|page| page.first.block != block), "no page of a victim gathers units");
        if state.last_read.is_some_and(|page| page.block == block) {
            state.last_read = None;
        }
        if state.is_awaited(block) {
            state.held.push(block);
        } else {
            plan.push(command);
        }
    }
}

impl PageFtl {
    /// Makes the commands for single units from the `first` on into commands for pages, if a page has several.
    #[inline]
    pub(in crate::layers::page) fn gather(&mut self, plane: PlaneId, first: usize, plan: &mut Plan) {
        if let Some(gathering) = &mut self.gathering {
            let units = plan.units.len();
            gathering.gather(plane, first, plan);
            self.note_programmed(&plan.units[units..]);
        }
    }

    /// Tells the log of the map of units that were programmed.
    fn note_programmed(&mut self, units: &[PageUnit]) {
        if let Some(log) = &mut self.log {
            let stored = units.iter().filter(|unit| unit.source != UnitSource::Padding);
            stored.for_each(|unit| log.note_change(unit.lpn));
        }
    }

    /// Units that are being moved: the map entry of the place that they come from, and of the one that they go to.
    pub(in crate::layers::page) fn units_that_move(&self) -> Vec<(Lpn, [u32; 2])> {
        let open = self.gathering.iter().flat_map(|gathering| &gathering.planes).flat_map(|plane| &plane.open);
        let units =
            open.flat_map(|page| (page.first.page..).zip(&page.units).map(|(at, unit)| (page.first.block, at, unit)));
        let moves = units.filter_map(|(block, at, unit)| match unit.source {
            UnitSource::Copied(from) => {
                let entry = |place| self.maps.physical(place) + 1;
                Some((unit.lpn, [from, PageAddress::new(block, at)].map(entry)))
            }
            UnitSource::Host | UnitSource::Padding => None,
        });
        moves.filter(|&(lpn, [_, place])| self.maps.entry(lpn) == place).collect()
    }

    /// Programs all pages that hold units of the host.
    pub(in crate::layers::page) fn close_host_pages(&mut self, plan: &mut Plan) {
        for plane in (0..self.config.geometry.planes()).map(PlaneId) {
            while let Some((nth, _)) = self.hosts_page(plane, &|_| true) {
                self.close_page(plane, nth, plan);
            }
        }
    }

    /// The plane of a unit that the host writes, if that is settled: pages go round the planes, not units.
    #[inline(never)]
    pub(in crate::layers::page) fn plane_of_unit(&self, lpn: Lpn) -> Option<PlaneId> {
        match self.config.allocation {
            Allocation::Static => {
                let page = lpn.index() / usize::from(self.config.geometry.units_per_page);
                Some(self.config.order[page % self.config.order.len()])
            }
            Allocation::Dynamic => {
                let gathering = self.gathering.as_ref()?;
                let last = gathering.last?;
                let plane = self.config.geometry.plane_of(last.block);
                let gathers = gathering.planes[plane.index()].open.iter().any(|page| page.first == last);
                gathers.then_some(plane)
            }
        }
    }

    /// Lets the erase of a block that is opened come before its first program.
    #[inline]
    pub(in crate::layers::page) fn release_erase(&mut self, block: BlockId, plan: &mut Plan) {
        if self.gathering.is_some() {
            self.force_out_for(block, plan);
        }
    }

    /// Notes where the old copy of a unit is that the host has just written to a place, if the device may lose power: until
    /// the new one is programmed, nothing may take the old one away.
    #[inline(never)]
    pub(in crate::layers::page) fn note_replaced(&mut self, old: Option<PageAddress>, place: PageAddress) {
        let (recovers, plane) = (self.config.recovers, self.config.geometry.plane_of(place.block));
        if let (true, Some(gathering), Some(old)) = (recovers, &mut self.gathering, old) {
            gathering.note_replaced(place, plane, old.block);
        }
    }

    /// Before an erase on a device that may lose power: programs the pages of all planes that it has to wait for. So what
    /// counts as free is erased, and a recovery finds as many blank blocks as it needs.
    pub(in crate::layers::page) fn force_out_before_erase(&mut self, block: BlockId, plan: &mut Plan) {
        if !self.config.recovers {
            return;
        }
        while let Some((plane, nth)) = self.gathering.as_ref().and_then(|gathering| gathering.awaited(block)) {
            self.close_page(plane, nth, plan);
        }
    }

    /// Programs all pages that gather units, also those that are only moved.
    pub(in crate::layers::page) fn close_pages(&mut self, plan: &mut Plan) {
        for plane in (0..self.config.geometry.planes()).map(PlaneId) {
            let gathers = |gathering: &OpenPages| !gathering.planes[plane.index()].open.is_empty();
            while self.gathering.as_deref().is_some_and(gathers) {
                self.close_page(plane, 0, plan);
            }
        }
    }

    /// Forces the pages out that the erase of a block waits for.
    #[inline(never)]
    fn force_out_for(&mut self, block: BlockId, plan: &mut Plan) {
        let plane = self.config.geometry.plane_of(block);
        while let Some(gathering) = &self.gathering
            && let Some(nth) = gathering.planes[plane.index()].open.iter().position(|page| page.takes_from(block))
        {
            self.close_page(plane, nth, plan);
        }
    }

    /// Programs an open page as it is: its other units are padding. Returns the place of the program in the plan.
    fn close_page(&mut self, plane: PlaneId, nth: usize, plan: &mut Plan) -> Option<usize> {
        let gathering = self.gathering.as_mut()?;
        let first = gathering.planes[plane.index()].open[nth].first;
        let units = plan.units.len();
        let at = gathering.program(plane, nth, plan);
        self.note_programmed(&plan.units[units..]);
        let end = first.page + self.config.geometry.units_per_page;
        let (stream, open) = self.planes[plane.index()].writing(first.block)?;
        open.next = end.into();
        self.end_page(plane, stream, end - 1, plan);
        Some(at)
    }

    /// The first page of a plane that gathers units of the host and is wanted, by its number, and its stream.
    fn hosts_page(&mut self, plane: PlaneId, is_wanted: &impl Fn(PageAddress) -> bool) -> Option<(usize, WriteStream)> {
        let open = &self.gathering.as_ref()?.planes[plane.index()].open;
        let nth = open.iter().position(|page| page.has_hosts() && is_wanted(page.first))?;
        let (stream, _) = self.planes[plane.index()].writing(open[nth].first.block)?;
        Some((nth, stream))
    }

    /// Programs the open pages of a plane that hold units of the host and that are wanted. Returns the place of the last
    /// program in the plan.
    fn program_wanted(
        &mut self,
        plane: PlaneId,
        is_wanted: impl Fn(PageAddress) -> bool,
        plan: &mut Plan,
    ) -> Result<Option<usize>, FtlError> {
        let mut programmed = None;
        while let Some((_, stream)) = self.hosts_page(plane, &is_wanted) {
            // Padding takes room of a block that copies may share. Collection may have filled the page.
            if self.config.hot_cold.shares_blocks() {
                self.make_room(plane, stream, plan)?;
            }
            if let Some((nth, _)) = self.hosts_page(plane, &is_wanted) {
                programmed = self.close_page(plane, nth, plan);
            }
        }
        Ok(programmed)
    }
}

impl GatheredUnits for PageFtl {
    fn gathers(&mut self, lpn: Lpn) -> bool {
        let Some((open, place)) = self.gathering.as_ref().zip(self.find(lpn)) else { return false };
        let unit = open.unit_at(place, self.config.geometry.plane_of(place.block));
        unit.is_some_and(|unit| unit.source == UnitSource::Host)
    }

    fn force_out(&mut self, forced: ForcedOut, plan: &mut Plan) -> Result<(), FtlError> {
        let (geometry, first) = (self.config.geometry, plan.commands.len());
        let wanted = match forced {
            ForcedOut::Unit(lpn) => self.find(lpn).map(|place| geometry.page_of_unit(place)),
            ForcedOut::Page(page) => Some(page),
            ForcedOut::All => {
                let mut planes = (0..geometry.planes()).map(PlaneId);
                planes.try_for_each(|plane| self.program_wanted(plane, |_| true, plan).map(drop))?;
                None
            }
        };
        if let Some(page) = wanted {
            let programmed = self.program_wanted(geometry.plane_of(page.block), |first| first == page, plan)?;
            // It may be on its way already: the page was full, or an erase behind the write has forced it out.
            let target = self.in_stripe(page);
            let is_its = |command: &FlashCommand| command.op == FlashOp::Program && command.target == target;
            let at = programmed.or_else(|| plan.commands.iter().rposition(is_its));
            if let (ForcedOut::Unit(_), Some(at)) = (forced, at) {
                plan.complete_at(at);
            }
        }
        self.translate(plan, first);
        Ok(())
    }
}
