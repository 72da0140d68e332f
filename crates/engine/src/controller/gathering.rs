//! Mapping units that gather in open pages: what is done when one has come, and when pages are forced out.

use pumice_ftl::{ForcedOut, Plan};
use pumice_nand::NandArray;
use pumice_types::{FlashCommand, FlashOp, PageAddress, PageUnit};

use super::access::PageAccess;
use super::submit::Wait;
use super::{Controller, Moment};
use crate::error::SimError;
use crate::observe::ObserverRef;

impl Controller {
    /// Gives the chips what the programs of the plan put into the units of their pages, and counts it.
    #[inline(never)]
    pub(super) fn stage_units(&mut self, observer: &mut ObserverRef) {
        let Controller { plan, tally, scheduler, .. } = self;
        let array = &mut scheduler.chips.checked.array;
        stage(plan, array, observer, |command, units| tally.note_units(command, units));
        plan.units.clear();
    }

    /// Makes a plan of a device that recovers ready for the chips: numbers, and what goes into units.
    pub fn prepare_recovery(&mut self, plan: &mut Plan, observer: &mut ObserverRef) {
        if !plan.units.is_empty() {
            stage(plan, &mut self.scheduler.chips.checked.array, observer, |_, _| ());
        }
        self.number(plan);
    }

    /// Gives the write of a unit that is planned next its number, if spare areas keep it: units are written in the order in
    /// which they come, and not in that of the programs of their pages.
    #[inline]
    pub(super) fn number_write(&mut self) {
        if let Some(next) = self.next_number.as_mut().filter(|_| self.rules.gathers) {
            self.plan.write_number = *next;
            *next += 1;
        }
    }

    /// Notes that a unit of the host has gone into an open page; a write with force unit access forces the page out.
    pub(super) fn note_gathering(&mut self, access: &PageAccess) -> Result<(), SimError> {
        if let Some(open) = self.ftl.layer_mut().open_pages().filter(|_| access.fua) {
            open.force_out(ForcedOut::Unit(access.lpn), &mut self.plan)?;
        }
        self.opened.extend(self.plan.gathers);
        Ok(())
    }

    /// Programs a page whose time to gather units is over, if it still does.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn force_out_page(&mut self, page: PageAddress, moment: &mut Moment) -> Result<(), SimError> {
        self.plan.clear();
        if let Some(open) = self.ftl.layer_mut().open_pages() {
            open.force_out(ForcedOut::Page(page), &mut self.plan)?;
        }
        self.submit_plan(&Wait::NOBODY, moment).map(drop)
    }

    /// Programs all pages in which units of the host gather.
    pub(super) fn force_out_all(&mut self, moment: &mut Moment) -> Result<(), SimError> {
        self.plan.clear();
        if let Some(open) = self.ftl.layer_mut().open_pages() {
            open.force_out(ForcedOut::All, &mut self.plan)?;
        }
        self.submit_plan(&Wait::NOBODY, moment).map(drop)
    }

    /// Lets a flush wait for all programs under way. Units of programs that have not been decided yet will not gather.
    /// Returns for how much it waits.
    pub(super) fn await_open_pages(&mut self, request: u32, moment: &mut Moment) -> Result<u32, SimError> {
        self.accesses.force_buffered();
        self.scheduler.wait_for_programs(request, moment.now, &mut moment.observer)
    }

    /// Programs all pages in which units of the host gather, without a clock.
    pub(super) fn force_out_untimed(&mut self, observer: &mut ObserverRef) -> Result<(), SimError> {
        self.plan.clear();
        if let Some(open) = self.ftl.layer_mut().open_pages() {
            open.force_out(ForcedOut::All, &mut self.plan)?;
        }
        self.execute_plan(observer)
    }
}

/// Gives the chips what the programs of a plan put into the units of their pages; `note` is told of each.
#[inline(always)]
fn stage(
    plan: &mut Plan,
    array: &mut NandArray,
    observer: &mut ObserverRef,
    mut note: impl FnMut(&FlashCommand, &[PageUnit]),
) {
    let units = usize::from(array.config().geometry.units_per_page);
    for command in plan.commands.iter_mut().filter(|command| command.op == FlashOp::Program) {
        let units = &plan.units[command.units() as usize * units..][..units];
        note(command, units);
        let list = array.stage_units(units, command.sequence);
        *command = command.with_units(list);
        observer.stages_units(list, units);
    }
}
