//! How a controller begins: with a new device, and anew after a power cut.

use std::collections::VecDeque;

use pumice_config::{FlushPolicy, HostKeys, PartialPage};
use pumice_ftl::{CutProtection, Recovery};
use pumice_ftl::{Ftl, Plan};

use super::access::AccessTable;
use super::buffer::WriteBuffer;
use super::operations::ZoneTimes;
use super::zone_order::InTurn;
use super::{Controller, Rules};
use crate::chip::erase::Eraser;
use crate::metrics::CommandTally;
use crate::scheduler::Scheduler;

/// Room for the commands of the largest merge seen in practice; the plan grows if it must.
pub(super) const PLAN_COMMANDS: usize = 4096;

impl Controller {
    /// A controller of these chips, nothing in flight.
    pub fn new(host: &HostKeys, page_bytes: u32, mut ftl: Ftl, scheduler: Scheduler) -> Controller {
        let buffer_pages = (host.write_buffer_kib * 1024 / u64::from(page_bytes)) as usize;
        let conduct = ftl.layer().conduct();
        let rules = ftl.layer_mut().host_zones().map(|zones| zones.in_turn());
        let dies = if buffer_pages > 0 { scheduler.chips.checked.array.config().geometry.dies() } else { 0 };
        let in_turn = InTurn::new(rules, dies, scheduler.chips.timing.pages.pages_together());
        let rules = Rules {
            reads_old_copy: host.partial_page == PartialPage::Rmw,
            loads_map: ftl.layer_mut().map_loads().is_some(),
            spans_dies: conduct.spans_dies,
            has_zones: ftl.layer_mut().zone_operations().is_some(),
            has_host_zones: ftl.layer_mut().host_zones().is_some(),
            erases_end_blocks: scheduler.chips.eraser.as_ref().is_some_and(Eraser::can_end_blocks),
            works_when_idle: conduct.works_when_idle,
            ignores_flushes: buffer_pages > 0 && host.flush == FlushPolicy::Ignored,
            keeps_buffer: false,
            gathers: ftl.layer_mut().open_pages().is_some(),
            hears_requests: ftl.layer_mut().requests().is_some(),
        };
        let mut controller = Controller {
            ftl,
            scheduler,
            tally: CommandTally::default(),
            zone_times: ZoneTimes::default(),
            uncounted_commands: 0,
            handed_over: 0,
            rules,
            next_number: None,
            plan: Plan::with_capacity(PLAN_COMMANDS),
            accesses: AccessTable::default(),
            buffer: (buffer_pages > 0).then(|| WriteBuffer::new(buffer_pages, host.flush)),
            waiting: VecDeque::new(),
            pages_done: VecDeque::new(),
            held_back: Vec::new(),
            opened: Vec::new(),
            looking_up: Vec::new(),
            in_turn,
            has_released: false,
        };
        controller.tell_failing();
        controller
    }

    /// Numbers the controller's commands if the device can recover from a power cut.
    #[must_use]
    pub fn numbering(mut self, recovery: Recovery) -> Controller {
        self.next_number = (recovery != Recovery::Off).then_some(1);
        self
    }

    /// Lets the write buffer outlast power cuts if the device's own energy is enough for it.
    #[must_use]
    pub fn protected_by(mut self, protection: CutProtection) -> Controller {
        self.rules.keeps_buffer = self.next_number.is_some() && protection.empties_queues();
        self
    }

    /// Counts also in windows of this share of the user capacity.
    #[must_use]
    pub fn with_write_series(mut self, share: Option<f64>) -> Controller {
        let pages = self.ftl.user_pages();
        self.tally = CommandTally::new(&self.scheduler.chips.timing.pages, share, pages);
        self
    }

    /// Power has come back: a new translation layer, nothing in flight, and nothing buffered. Numbers go on from
    /// `next_number`.
    pub fn restart(&mut self, ftl: Ftl, next_number: u64) {
        self.ftl = ftl;
        self.buffer = self.buffer.take().map(WriteBuffer::emptied);
        self.next_number = Some(next_number);
        self.accesses = AccessTable::default();
        self.waiting.clear();
        self.pages_done.clear();
        self.held_back.clear();
        self.opened.clear();
        self.looking_up.clear();
        self.handed_over = 0;
    }

    /// The power is cut: writes that waited for room in the buffer are lost.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Starts measuring: everything counted so far is warm-up.
    pub fn restart_measuring(&mut self) {
        self.uncounted_commands += self.tally.counts.flash_commands();
        self.tally.restart();
        self.zone_times = ZoneTimes::default();
        self.scheduler.chips.restart_measuring();
        if let Some(figures) = self.ftl.layer_mut().figures_mut() {
            figures.reset_counters();
        }
    }
}
