//! What keeps the order of a zone: erases that follow one another, padding that comes a few pages at a time, and pages that
//! wait for room in the write buffer.

use std::collections::VecDeque;

use pumice_ftl::{ResetErases, ZoneOperation};
use pumice_types::{FlashCommand, FlashOp, Lpn, RequestKind, ZoneCommand};

use super::access::{PageAccess, Waits};
use super::submit::Wait;
use super::{Controller, Moment};
use crate::error::SimError;
use crate::metrics::LatencyParts;

/// The commands of one zone operation.
#[derive(Clone)]
struct ZoneCommands {
    operation: ZoneOperation,
    /// The access that waits for them.
    token: u32,
    /// A page of the zone.
    page: Lpn,
    /// Commands that have not begun.
    left: VecDeque<FlashCommand>,
}

/// Zone operations whose commands follow one another.
#[derive(Clone)]
pub(super) struct InTurn {
    rule: ResetErases,
    /// Pages of a finish that are programmed at one time.
    padding: Option<u32>,
    zones: Vec<ZoneCommands>,
    /// Programs of buffered pages that begin when no zone is erased any more.
    held: Vec<(FlashCommand, Wait)>,
}

impl InTurn {
    /// As the layer's rules say, if its host knows of zones.
    pub(super) fn new(rules: Option<(ResetErases, Option<u32>)>) -> InTurn {
        let (rule, padding) = rules.unwrap_or((ResetErases::Together, None));
        InTurn { rule, padding, zones: Vec::new(), held: Vec::new() }
    }

    /// How many commands of an operation run at one time; `None` if all do.
    pub(super) fn at_once(&self, operation: ZoneOperation) -> Option<u32> {
        match operation {
            ZoneOperation::Reset => (self.rule != ResetErases::Together).then_some(1),
            ZoneOperation::Finish => self.padding,
        }
    }

    /// Whether an access programs a buffered page and may not begin now.
    #[inline]
    pub(super) fn holds(&self, access: &PageAccess) -> bool {
        self.rule == ResetErases::Alone && matches!(access.waits, Waits::Buffer(_)) && self.is_resetting()
    }

    fn is_resetting(&self) -> bool {
        self.zones.iter().any(|zone| zone.operation == ZoneOperation::Reset)
    }

    /// The commands of an operation that have not begun.
    fn left(&mut self, token: u32) -> Option<&mut VecDeque<FlashCommand>> {
        self.zones.iter_mut().find(|zone| zone.token == token).map(|zone| &mut zone.left)
    }
}

impl Controller {
    /// Begins the first commands of an operation in the plan, `at_once` of them; the others follow them. Returns for how
    /// many groups `request` waits.
    pub(super) fn begin_in_turn(
        &mut self,
        (request, page): (u32, Lpn),
        (operation, at_once): (ZoneOperation, u32),
        moment: &mut Moment,
    ) -> Result<u32, SimError> {
        let kind = RequestKind::Zone(ZoneCommand::Reset);
        let mut access = PageAccess::new(Waits::Request(request), page, kind, u64::MAX).in_last_stage();
        access.groups_left = self.join_erases();
        let token = self.accesses.insert(access);
        let left = self.plan.commands.drain(..).collect();
        self.in_turn.zones.push(ZoneCommands { operation, token, page, left });
        for _ in 0..at_once {
            self.begin_next(token, moment)?;
        }
        Ok(1)
    }

    /// Brings the erases of a die's planes together in the plan, where they run together. Returns how many commands follow
    /// one another then.
    fn join_erases(&mut self) -> u32 {
        let scheduler = &self.scheduler;
        let commands = &mut self.plan.commands;
        if scheduler.joins_erases() && commands.iter().all(|command| command.op == FlashOp::Erase) {
            commands.sort_by_key(|command| scheduler.die_of(command));
        }
        commands.chunk_by(|one, other| scheduler.run_joined(one, other)).count() as u32
    }

    /// Begins the next of the commands that an access waits for, if they follow one another.
    #[inline]
    pub(super) fn begin_next(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(next) = self.in_turn.left(token).and_then(VecDeque::pop_front) else { return Ok(()) };
        self.plan.clear();
        self.plan.push(next);
        while let Some(left) = self.in_turn.left(token)
            && left.front().is_some_and(|other| self.scheduler.run_joined(&next, other))
        {
            self.plan.commands.extend(left.pop_front());
        }
        self.submit_plan(&Wait::for_all(token), moment).map(drop)
    }

    /// Holds back the program in the plan, which has its place. Returns for how many groups is waited.
    pub(super) fn hold_program(&mut self, wait: Wait) -> u32 {
        self.in_turn.held.extend(self.plan.commands.iter().map(|&program| (program, wait)));
        self.plan.commands.len() as u32
    }

    /// Begins the programs that were held back: those to the zone of a page, or all.
    fn begin_held(&mut self, of: Option<Lpn>, moment: &mut Moment) -> Result<(), SimError> {
        for (program, wait) in std::mem::take(&mut self.in_turn.held) {
            if of.is_some_and(|page| !self.is_same_zone(page, program.lpn)) {
                self.in_turn.held.push((program, wait));
                continue;
            }
            self.plan.clear();
            self.plan.push(program);
            self.submit_plan(&wait, moment)?;
        }
        Ok(())
    }

    /// The last of the commands that an access waited for has ended: programs that were held back begin.
    #[inline]
    pub(super) fn operation_ended(&mut self, token: u32, moment: &mut Moment) -> Result<(), SimError> {
        let Some(at) = self.in_turn.zones.iter().position(|zone| zone.token == token) else { return Ok(()) };
        self.in_turn.zones.swap_remove(at);
        if self.in_turn.is_resetting() { Ok(()) } else { self.begin_held(None, moment) }
    }

    /// A write or command (`kind`) to the zone of a page is about to begin. Its pages that wait for room in the write
    /// buffer get their places at once, and are done when they are programmed; so do those of all zones if it is to be
    /// opened, because they may open or fill zones too. Commands of it wait for each other no longer, and no program is
    /// held back from a command.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn settle_zone(&mut self, kind: RequestKind, page: Lpn, moment: &mut Moment) -> Result<(), SimError> {
        for at in 0..self.in_turn.zones.len() {
            let ZoneCommands { token, page: erased, .. } = self.in_turn.zones[at];
            while self.is_same_zone(page, erased) && !self.in_turn.zones[at].left.is_empty() {
                self.begin_next(token, moment)?;
            }
        }
        if kind != RequestKind::Write {
            self.begin_held(None, moment)?;
        }
        let opens = self.opens_zone(kind, page);
        let mut at = 0;
        while let Some(&(access, since)) = self.waiting.get(at) {
            if !opens && !self.is_same_zone(page, access.lpn) {
                at += 1;
                continue;
            }
            self.waiting.remove(at);
            // They are programmed in this order.
            self.begin_held(Some(access.lpn), moment)?;
            let token = self.accesses.insert(access);
            *self.accesses.parts(token) = LatencyParts::waited_for_host(moment.now - since);
            if !self.proceed(token, moment)? {
                self.pages_done.extend(access.waits.request());
            }
        }
        Ok(())
    }

    /// Whether a request to the zone of a page opens it, if it may.
    fn opens_zone(&mut self, kind: RequestKind, page: Lpn) -> bool {
        match kind {
            RequestKind::Write | RequestKind::Zone(ZoneCommand::Append) => {
                self.host_zones().is_some_and(|zones| !zones.is_open(page))
            }
            RequestKind::Zone(ZoneCommand::Open) => true,
            RequestKind::Read | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => false,
        }
    }

    fn is_same_zone(&mut self, page: Lpn, other: Lpn) -> bool {
        self.host_zones().is_some_and(|zones| zones.is_same_zone(page, other))
    }
}
