//! A plug-in recovers after a power cut. What it asks the chips and what it plans is checked here.

use std::collections::BTreeSet;

use pumice_types::{BlockId, Cause, FlashCommand, FlashOp, Geometry, PageAddress, SpareArea};

use super::{Plugged, PluginKeys};
use crate::foreign::plugin::{OwnLayer, PluginDevice, SpareAreas};
use crate::plan::{FtlError, Plan};
use crate::seam::{ChipPort, LayerParts, RecoveryCounts, Restart};

/// How often a plug-in may read each spare area of the device, on average. More is a loop without end.
const READS_OF_EACH_PAGE: u64 = 16;

/// The chips, as a plug-in reads them. A place that does not exist reads as unreadable, and ends the run afterwards.
struct ReadByPlugin<'a> {
    chips: &'a mut dyn ChipPort,
    geometry: Geometry,
    reads_left: u64,
    unreadable: BTreeSet<PageAddress>,
    fault: Option<FtlError>,
}

impl ReadByPlugin<'_> {
    /// Whether so many pages from this one on can be read.
    fn can_read(&mut self, page: PageAddress, pages: u16) -> bool {
        let Geometry { pages_per_block, .. } = self.geometry;
        let (blocks, left) = (self.geometry.blocks(), self.reads_left.checked_sub(pages.into()));
        let fault = if page.block.0 >= blocks || page.page >= pages_per_block {
            format!(
                "reads the spare area of block {} page {}; the device has {blocks} blocks of {pages_per_block} pages",
                page.block.0, page.page
            )
        } else if let Some(left) = left {
            self.reads_left = left;
            return true;
        } else {
            format!("reads more than {READS_OF_EACH_PAGE} times as many spare areas as the device has")
        };
        self.fault.get_or_insert(FtlError::of_plugin(fault));
        false
    }

    fn note(&mut self, page: PageAddress, area: SpareArea) {
        if area == SpareArea::Unreadable {
            self.unreadable.insert(page);
        }
    }
}

impl SpareAreas for ReadByPlugin<'_> {
    fn page(&mut self, page: PageAddress) -> SpareArea {
        if !self.can_read(page, 1) {
            return SpareArea::Unreadable;
        }
        let area = self.chips.spare(page);
        self.note(page, area);
        area
    }

    fn block(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
        let pages = self.geometry.pages_per_block;
        if !self.can_read(PageAddress::new(block, 0), pages) {
            found.clear();
            found.resize(pages.into(), SpareArea::Unreadable);
            return;
        }
        self.chips.spares(block, found);
        found.iter().enumerate().for_each(|(page, &area)| self.note(PageAddress::new(block, page as u16), area));
    }
}

/// Lets a plug-in recover, and takes over what it plans.
pub(super) fn recover_layer(
    own: &OwnLayer,
    device: PluginDevice,
    parts: &LayerParts,
    keys: &PluginKeys,
    restart: &mut Restart,
) -> Result<(Plugged, RecoveryCounts), FtlError> {
    let mut chips = ReadByPlugin {
        chips: &mut *restart.chips,
        geometry: device.geometry,
        reads_left: device.geometry.pages() * READS_OF_EACH_PAGE,
        unreadable: BTreeSet::new(),
        fault: None,
    };
    let mut plan = Plan::default();
    let made = own.during(|| own.source.recover(&device, &keys.values, &mut chips, &mut plan));
    let ReadByPlugin { unreadable, fault, .. } = chips;
    // What it read wrongly comes first: a failure may only follow from it.
    let layer = fault.map_or(made, Err).map_err(|error| own.fault(error))?;
    let mut plugged = Plugged::at_work(own.clone(), layer, device, parts, keys)?;
    plugged.counters = restart.counters;
    if let Some(command) = plan.commands.iter().find(|command| !may_start_with(command)) {
        return Err(own.fault(format!("planned {:?} to recover with; allowed: copies and erases", command.op)));
    }
    plugged.take(&plan)?;
    let counts = RecoveryCounts {
        unreadable_pages: unreadable.len() as u64,
        // Which blocks it writes no further, it does not tell.
        abandoned_blocks: 0,
        moved_pages: plan.commands.iter().filter(|command| command.op == FlashOp::Copy).count() as u64,
    };
    restart.plan.commands.append(&mut plan.commands);
    Ok((plugged, counts))
}

/// Whether a command may run before the host is served.
fn may_start_with(command: &FlashCommand) -> bool {
    match command.op {
        FlashOp::Copy | FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => command.cause == Cause::Gc,
        FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program | FlashOp::Pause => false,
    }
}
