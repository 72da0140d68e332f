//! What a plug-in may plan, and what its plans count as.

use pumice_types::{Cause, FlashCommand, FlashOp, PageAddress, Time};

use super::Plugged;
use crate::foreign::plugin::{PLAN_COMMANDS_MAX, PluginDevice};
use crate::plan::{FtlError, Plan};

/// Whether commands read the page that is moved.
fn is_read(moved: &FlashCommand, before: &[FlashCommand]) -> bool {
    let reads = |read: &FlashCommand| read.reads_for_move() && read.target == moved.source && read.lpn == moved.lpn;
    before.iter().rev().any(reads)
}

/// What can be wrong with a command that a plug-in plans.
#[derive(Clone, Copy)]
enum Wrong {
    /// The target is no page of the device.
    Target,
    /// The source is no page of the device.
    Source,
    /// The host has no such logical page.
    LogicalPage,
    /// The copy goes to another die.
    OtherDie,
    /// The erase names a page.
    ErasePage,
    /// The device has no such partial block.
    PartialBlock,
    /// The device has no such sub-blocks.
    SubBlocks,
    /// A page is moved that the plan has not read before.
    NotRead,
    /// A plug-in plans no such command, or not for this cause.
    NotAllowed,
}

impl Plugged {
    /// Checks and counts what a call has planned that is no look-up.
    #[inline]
    pub(super) fn take(&mut self, plan: &Plan) -> Result<(), FtlError> {
        if plan.look_up > Time::ZERO {
            return Err(self.own.fault("planned the time of a look-up in another call"));
        }
        self.take_commands(plan)
    }

    /// Checks and counts the commands of a plan. None of them has been executed.
    #[inline]
    pub(super) fn take_commands(&mut self, plan: &Plan) -> Result<(), FtlError> {
        let mut collects = false;
        for (at, command) in plan.commands.iter().enumerate() {
            let wrong = self.wrong(command);
            let wrong = wrong
                .or_else(|| (command.is_move() && !is_read(command, &plan.commands[..at])).then_some(Wrong::NotRead));
            if let Some(wrong) = wrong {
                return Err(self.refusal(wrong, command));
            }
            collects |= command.cause == Cause::Gc;
            self.count(command);
        }
        self.counters.trigger_free_blocks += u64::from(collects);
        if plan.commands.len() > PLAN_COMMANDS_MAX {
            let text = format!("planned {} commands in one call; allowed: {PLAN_COMMANDS_MAX}", plan.commands.len());
            return Err(self.own.fault(text));
        }
        Ok(())
    }

    /// What is wrong with a command, if anything is.
    #[inline]
    fn wrong(&self, command: &FlashCommand) -> Option<Wrong> {
        let FlashCommand { target, source, lpn, op, cause, .. } = *command;
        let die = |page: PageAddress| page.block.0 / self.blocks_per_die;
        // Pages of the host stand before those of the layer.
        let (is_host_page, is_none) = (lpn.0 < self.user_pages, lpn.0 >= self.logical_pages);
        let rules: &[(bool, Wrong)] = match op {
            _ if !self.has(target) => &[(true, Wrong::Target)],
            FlashOp::Read | FlashOp::Program => match cause {
                Cause::Host => &[(!is_host_page, Wrong::LogicalPage)],
                Cause::Map => &[(is_host_page || is_none, Wrong::LogicalPage)],
                Cause::Gc => &[
                    (!self.offers.moves_between_dies, Wrong::NotAllowed),
                    (is_none, Wrong::LogicalPage),
                    (op == FlashOp::Program && !self.has(source), Wrong::Source),
                ],
                Cause::Rmw | Cause::Padding => &[(true, Wrong::NotAllowed)],
            },
            FlashOp::SpareSearch => {
                &[(is_none, Wrong::LogicalPage), (*command != FlashCommand::look(target, lpn), Wrong::NotAllowed)]
            }
            FlashOp::Copy => &[
                (!self.has(source), Wrong::Source),
                (is_none, Wrong::LogicalPage),
                (die(source) != die(target), Wrong::OtherDie),
            ],
            FlashOp::Erase => &[(target.page != 0, Wrong::ErasePage)],
            FlashOp::PartialErase => &[
                (target.page != 0, Wrong::ErasePage),
                (command.operand() >= 1 << 16 || !self.device.tree.contains(command.pb()), Wrong::PartialBlock),
            ],
            FlashOp::SubBlockErase => {
                &[(target.page != 0, Wrong::ErasePage), (!self.has_sub_blocks(command.operand()), Wrong::SubBlocks)]
            }
            FlashOp::Pause => &[(true, Wrong::NotAllowed)],
        };
        rules.iter().find(|(applies, _)| *applies).map(|&(_, wrong)| wrong)
    }

    /// Whether a set of physical sub-blocks, a bit each, is one that can be erased.
    #[inline]
    fn has_sub_blocks(&self, set: u32) -> bool {
        set != 0 && u64::from(set) >> self.device.sub_blocks.min(32) == 0
    }

    #[inline]
    pub(super) fn has(&self, page: PageAddress) -> bool {
        page.block.0 < self.device.geometry.blocks() && page.page < self.device.geometry.pages_per_block
    }

    #[inline]
    fn count(&mut self, command: &FlashCommand) {
        let counters = &mut self.counters;
        match command.op {
            FlashOp::Copy => counters.copied_pages += 1,
            FlashOp::Program if command.is_move() => counters.copied_pages += 1,
            FlashOp::Erase => {
                counters.reclaimed.merges += 1;
                counters.reclaimed.block_erases += 1;
            }
            FlashOp::PartialErase => counters.reclaimed.partial_erases += 1,
            FlashOp::SubBlockErase => counters.reclaimed_sub_blocks += u64::from(command.operand().count_ones()),
            FlashOp::Read | FlashOp::Program | FlashOp::SpareSearch | FlashOp::Pause => {}
        }
    }

    /// Says what is wrong with a command.
    #[cold]
    fn refusal(&self, wrong: Wrong, command: &FlashCommand) -> FtlError {
        let FlashCommand { target, source, lpn, op, .. } = *command;
        let PluginDevice { geometry, tree, sub_blocks, .. } = &self.device;
        let place = |what: &str, page: PageAddress| {
            format!(
                "planned {op:?} {what} block {} page {}; the device has {} blocks of {} pages",
                page.block.0,
                page.page,
                geometry.blocks(),
                geometry.pages_per_block
            )
        };
        let text = match wrong {
            Wrong::Target => place("at", target),
            Wrong::Source => place("from", source),
            Wrong::LogicalPage => match self.logical_pages - self.user_pages {
                0 => format!("planned {op:?} of logical page {}; it has {}", lpn.0, self.user_pages),
                own => format!(
                    "planned {op:?} for {:?} of logical page {}; the host has {}, then come {own} of its own",
                    command.cause, lpn.0, self.user_pages
                ),
            },
            Wrong::NotRead => format!(
                "moves logical page {} from block {} page {}, which its plan has not read before",
                lpn.0, source.block.0, source.page
            ),
            Wrong::OtherDie => {
                let (from, to) = (source.block.0, target.block.0);
                format!("planned {op:?} from block {from} to block {to}, which is on another die")
            }
            Wrong::ErasePage => format!("planned {op:?} with page {}; an erase has page 0", target.page),
            Wrong::PartialBlock => {
                let (asked, has) = (command.operand(), tree.pb_count());
                format!("planned {op:?} of partial block {asked}; the device has {has}")
            }
            Wrong::SubBlocks => {
                format!("planned {op:?} of sub-blocks {:#x}; the device has {sub_blocks}", command.operand())
            }
            Wrong::NotAllowed => format!("planned {op:?} for {:?}, which plug-ins may not", command.cause),
        };
        self.own.fault(text)
    }

    /// Keeps what a call found that cannot return it, and forgets the call's plan.
    #[cold]
    pub(super) fn keep(&self, fault: FtlError, plan: &mut Plan) {
        plan.clear();
        self.fault.borrow_mut().get_or_insert(fault);
    }
}
