//! A translation layer of functions in C, at work in one run.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use pumice_ftl::plugin::PLAN_COMMANDS_MAX;
use pumice_ftl::{
    BegunRequest, Conduct, Faults, ForcedOut, FtlError, GatheredUnits, MapLoads, MemoryUse, OwnCounts, OwnFault, Plan,
    RequestBorders, Retirement, Streams, TranslationLayer,
};
use pumice_types::{BlockId, Cause, DieId, FlashCommand, FlashOp, Lpn, PageAddress, RequestKind, Time};

use super::table::{
    ALL, AT_ONCE, CCommand, CLayer, CPageAddress, CPlan, CRequest, FindsPage, KINDS, LAST, NOT_STORED, OK, PlansAccess,
    TakesNote, Tells,
};
use crate::foreign;

/// The functions of a plug-in that work on a state.
#[derive(Clone, Copy, Debug)]
pub struct PlanningFunctions {
    pub write: PlansAccess,
    pub read: PlansAccess,
    pub locate: FindsPage,
    /// Functions that a layer may do without.
    pub table: CLayer,
}

impl PlanningFunctions {
    /// Why a call failed, in one line.
    pub fn why(&self, state: *mut c_void, call: &str) -> String {
        // SAFETY: the state is that of the call, or null where there is none, as the header says; so is it that the text
        // ends with a zero byte.
        let said = self.table.failure.and_then(|failure| unsafe { foreign::failure(failure(state)) });
        said.map_or_else(|| format!("{call} failed"), |said| format!("{call} failed: {said}"))
    }
}

/// Appends what a call has planned, any number of commands.
///
/// # Errors
/// What is wrong with the plan.
///
/// # Safety
/// The plan is one that a call of the plug-in has just filled: it says where so many commands lie.
#[inline(never)]
pub unsafe fn take_all(c_plan: &CPlan, plan: &mut Plan) -> Result<(), OwnFault> {
    let count = c_plan.commands as usize;
    if count > PLAN_COMMANDS_MAX || count > 0 && c_plan.command.is_null() {
        return Err(format!("planned {count} commands in one call; allowed: {PLAN_COMMANDS_MAX}").into());
    }
    if c_plan.completes == AT_ONCE {
        plan.complete_here();
    } else if c_plan.completes != LAST && c_plan.completes >= c_plan.commands {
        return Err(format!("completes an access at command {} of {count}", c_plan.completes).into());
    }
    plan.look_up = Time(c_plan.look_up_ns.into());
    for nth in 0..count {
        // SAFETY: the caller's promise; a list of the plug-in's own may lie anywhere.
        let command = unsafe { c_plan.command.add(nth).read_unaligned() };
        plan.push(command.command().ok_or_else(|| command.refusal())?);
        if c_plan.completes == nth as u32 {
            plan.complete_here();
        }
    }
    Ok(())
}

/// An empty plan with this room.
#[inline]
pub fn plan_in(room: &mut [CCommand]) -> CPlan {
    CPlan { command: room.as_mut_ptr(), room: room.len() as u32, commands: 0, completes: LAST, look_up_ns: 0 }
}

/// Room for the commands of a call.
pub fn room() -> Vec<CCommand> {
    vec![CCommand::default(); PLAN_COMMANDS_MAX]
}

/// A layer of C and its state.
pub struct LayerOfC {
    functions: PlanningFunctions,
    state: *mut c_void,
    commands: Vec<CCommand>,
    /// What a call found that could not return it.
    fault: RefCell<Option<FtlError>>,
}

// SAFETY: the header says that calls for one state come one after the other, and not from which thread. Whoever has the
// layer alone calls it, and nothing else has its state.
unsafe impl Send for LayerOfC {}

impl LayerOfC {
    /// The layer of a state that the plug-in made, and room for the commands of a call.
    pub fn new(functions: PlanningFunctions, state: *mut c_void, commands: Vec<CCommand>) -> LayerOfC {
        LayerOfC { functions, state, commands, fault: RefCell::default() }
    }

    /// A plan for a call to fill.
    #[inline]
    fn plan(&mut self) -> CPlan {
        plan_in(&mut self.commands)
    }

    #[cold]
    #[inline(never)]
    fn failed(&self, call: &str) -> FtlError {
        FtlError::of_plugin(self.functions.why(self.state, call))
    }

    #[cold]
    #[inline(never)]
    fn keep(&self, fault: FtlError) {
        self.fault.borrow_mut().get_or_insert(fault);
    }

    /// Appends what a call has planned.
    ///
    /// # Safety
    /// The plan is one that a call of the plug-in has just filled: it says where so many commands lie.
    #[inline]
    unsafe fn take(&self, c_plan: &CPlan, plan: &mut Plan) -> Result<(), FtlError> {
        let is_plain = c_plan.commands == 1 && c_plan.completes == LAST && c_plan.look_up_ns == 0;
        if is_plain && !c_plan.command.is_null() && c_plan.command.is_aligned() {
            // SAFETY: the caller's promise.
            if let Some(command) = unsafe { (*c_plan.command).command() } {
                plan.push(command);
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { take_all(c_plan, plan) }?)
    }

    /// Looks for the program of a write or the read of a read: without it the access has done nothing, whether anybody
    /// notices or not. A page that RAM holds needs none.
    #[inline]
    fn check_planned(
        &mut self,
        op: FlashOp,
        (lpn, version): (Lpn, u8),
        planned: &[FlashCommand],
    ) -> Result<(), FtlError> {
        let is_it = |command: &FlashCommand| {
            command.op == op && command.lpn == lpn && command.cause == Cause::Host && command.version == version
        };
        // It stands last unless the layer reclaims behind it.
        if planned.iter().rev().any(is_it) || self.functions.table.holds.is_some() && self.gathers(lpn) {
            return Ok(());
        }
        let (what, of) = if op == FlashOp::Program { ("program", "write") } else { ("read", "read") };
        Err(FtlError::of_plugin(format!(
            "planned no {what} of logical page {} in version {version} in the {of} of that page",
            lpn.0
        )))
    }

    /// Makes a call that plans and can fail, and takes what it has planned.
    fn plan_by(
        &mut self,
        call: &str,
        plan: &mut Plan,
        function: impl FnOnce(*mut c_void, *mut CPlan) -> c_int,
    ) -> Result<(), FtlError> {
        let mut c_plan = self.plan();
        if function(self.state, &raw mut c_plan) != OK {
            return Err(self.failed(call));
        }
        // SAFETY: the call has filled the plan.
        unsafe { self.take(&c_plan, plan) }
    }

    /// Calls a function that takes a note.
    fn note(&self, function: Option<TakesNote>, call: &str, number: u32) {
        if let Some(function) = function {
            // SAFETY: the state is one that the plug-in made and that has not been ended.
            let status = unsafe { function(self.state, number) };
            if status != OK {
                self.keep(self.failed(call));
            }
        }
    }

    fn tell(&self, function: Option<Tells<u64>>) -> u64 {
        // SAFETY: the state is one that the plug-in made and that has not been ended.
        function.map_or(0, |function| unsafe { function(self.state) })
    }
}

impl TranslationLayer for LayerOfC {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let mut c_plan = self.plan();
        // SAFETY: the state is the plug-in's own, and the plan has the room that it says.
        let status = unsafe { (self.functions.write)(self.state, lpn.0, version.into(), &raw mut c_plan) };
        if status != OK {
            return Err(self.failed("write"));
        }
        let before = plan.commands.len();
        // SAFETY: the call has filled the plan.
        unsafe { self.take(&c_plan, plan) }?;
        self.check_planned(FlashOp::Program, (lpn, version), &plan.commands[before..])
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let mut c_plan = self.plan();
        // SAFETY: as in `write`.
        let status = unsafe { (self.functions.read)(self.state, lpn.0, version.into(), &raw mut c_plan) };
        let taken = match status {
            // SAFETY: the call has filled the plan.
            OK => unsafe { self.take(&c_plan, plan) }
                .and_then(|()| self.check_planned(FlashOp::Read, (lpn, version), &plan.commands))
                .map(|()| true),
            NOT_STORED => Ok(false),
            _ => Err(self.failed("read")),
        };
        taken.unwrap_or_else(|fault| {
            plan.clear();
            self.keep(fault);
            false
        })
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let mut page = CPageAddress::default();
        // SAFETY: the state is the plug-in's own, and the page is writable.
        let status = unsafe { (self.functions.locate)(self.state, lpn.0, &raw mut page) };
        match status {
            // A page beyond the largest is one that no device has.
            OK => Some(PageAddress::new(BlockId(page.block), u16::try_from(page.page).unwrap_or(u16::MAX))),
            NOT_STORED => None,
            _ => {
                self.keep(self.failed("locate"));
                None
            }
        }
    }

    fn trim(&mut self, lpn: Lpn) {
        self.note(self.functions.table.trim, "trim", lpn.0);
    }

    fn step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(step) = self.functions.table.step else { return Ok(()) };
        // SAFETY: as in `write`.
        self.plan_by("step", plan, |state, c_plan| unsafe { step(state, die.0, c_plan) })
    }

    fn conduct(&self) -> Conduct {
        let works_when_idle = match (self.functions.table.step, self.functions.table.works_when_idle) {
            // SAFETY: the state is one that the plug-in made and that has not been ended.
            (Some(_), Some(works)) => unsafe { works(self.state) != 0 },
            (Some(_), None) => true,
            (None, _) => false,
        };
        Conduct { works_when_idle, ..Conduct::default() }
    }

    fn memory(&self) -> Option<&dyn MemoryUse> {
        self.functions.table.map_ram_bytes.or(self.functions.table.state_bytes)?;
        Some(self)
    }

    fn retirement(&mut self) -> Option<&mut dyn Retirement> {
        self.functions.table.note_failing?;
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        self.functions.table.write_to_stream?;
        Some(self)
    }

    fn open_pages(&mut self) -> Option<&mut dyn GatheredUnits> {
        self.functions.table.holds?;
        Some(self)
    }

    fn map_loads(&mut self) -> Option<&mut dyn MapLoads> {
        self.functions.table.look_up?;
        Some(self)
    }

    fn requests(&mut self) -> Option<&mut dyn RequestBorders> {
        self.functions.table.begin_request?;
        Some(self)
    }

    fn own_counts(&self) -> Option<&dyn OwnCounts> {
        self.functions.table.counts?;
        Some(self)
    }

    fn faults(&mut self) -> Option<&mut dyn Faults> {
        Some(self)
    }
}

impl Streams for LayerOfC {
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(write) = self.functions.table.write_to_stream else { return self.write(lpn, version, plan) };
        let before = plan.commands.len();
        // SAFETY: as in `write`.
        self.plan_by("write_to_stream", plan, |state, c_plan| unsafe {
            write(state, lpn.0, version.into(), stream.into(), c_plan)
        })?;
        self.check_planned(FlashOp::Program, (lpn, version), &plan.commands[before..])
    }
}

impl MapLoads for LayerOfC {
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        let Some(look_up) = self.functions.table.look_up else { return Ok(()) };
        // SAFETY: as in `write`.
        self.plan_by("look_up", plan, |state, c_plan| unsafe { look_up(state, lpn.0, kind_of(kind), c_plan) })
    }
}

impl GatheredUnits for LayerOfC {
    fn gathers(&mut self, lpn: Lpn) -> bool {
        // SAFETY: the state is one that the plug-in made and that has not been ended.
        self.functions.table.holds.is_some_and(|holds| unsafe { holds(self.state, lpn.0) != 0 })
    }

    fn force_out(&mut self, forced: ForcedOut, plan: &mut Plan) -> Result<(), FtlError> {
        let lpn = match forced {
            ForcedOut::Unit(lpn) => lpn.0,
            ForcedOut::All => ALL,
            // What gathers has no page yet.
            ForcedOut::Page(_) => return Ok(()),
        };
        let Some(force_out) = self.functions.table.force_out else { return Ok(()) };
        // SAFETY: as in `write`.
        self.plan_by("force_out", plan, |state, c_plan| unsafe { force_out(state, lpn, c_plan) })
    }
}

impl RequestBorders for LayerOfC {
    fn begin(&mut self, request: &BegunRequest) {
        let Some(begin) = self.functions.table.begin_request else { return };
        let BegunRequest { kind, first, pages, stream, now } = *request;
        let c_request = CRequest { now_ns: now.0, lpn: first.0, pages, kind: kind_of(kind), stream: stream.into() };
        // SAFETY: the state is the plug-in's own, and the request lives during the call.
        if unsafe { begin(self.state, &raw const c_request) } != OK {
            self.keep(self.failed("begin_request"));
        }
    }
}

impl OwnCounts for LayerOfC {
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.functions.table.counters as usize];
        if let Some(tell) = self.functions.table.counts {
            // SAFETY: the state is the plug-in's own, and there is a place for each of its counts.
            if unsafe { tell(self.state, counts.as_mut_ptr()) } != OK {
                self.keep(self.failed("counts"));
            }
        }
        counts
    }
}

/// The number of a kind of request.
fn kind_of(kind: RequestKind) -> u32 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len()) as u32
}

impl MemoryUse for LayerOfC {
    fn map_ram_bytes(&self) -> u64 {
        self.tell(self.functions.table.map_ram_bytes)
    }

    fn state_bytes(&self) -> u64 {
        self.tell(self.functions.table.state_bytes)
    }
}

impl Retirement for LayerOfC {
    fn note_failing(&mut self, block: BlockId) {
        self.note(self.functions.table.note_failing, "note_failing", block.0);
    }
}

impl Faults for LayerOfC {
    fn take_fault(&mut self) -> Option<FtlError> {
        self.fault.take()
    }
}

impl Drop for LayerOfC {
    fn drop(&mut self) {
        if let Some(destroy) = self.functions.table.destroy {
            // SAFETY: the state is one that the plug-in made; it is ended once.
            unsafe { destroy(self.state) };
        }
    }
}
