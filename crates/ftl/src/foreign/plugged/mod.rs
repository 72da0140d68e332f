//! A translation layer of the user's own, as a spec asks for it and at work. Everything that it plans is checked
//! here first, so that it can neither name what the device does not have nor be counted wrongly.

mod capabilities;
mod plugged_recovery;

use std::cell::RefCell;

use pumice_types::key::{Key, Keys, Value, Values};
use pumice_types::{
    BlockId, Cause, DieId, FILL_VERSION, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, SpecError, Time, refuse,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::plugin::{Offers, OwnLayer, PLAN_COMMANDS_MAX, PluginDevice, PluginName, own_fault};
use crate::plan::{FillTarget, FtlError, GcCounters, Plan};
use crate::seam::{
    Conduct, CopiedLayer, Facts, Faults, Figures, ForcedOut, GatheredUnits, Layer, LayerParts, LayerSpec, MapLoads,
    MemoryUse, OwnCounts, Recovery, RecoveryCounts, Reports, RequestBorders, Restart, Retirement, Streams,
    TranslationLayer, whole_share,
};

/// What a spec says to a plug-in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginKeys {
    /// The plug-in, which is given with a spec and not in it.
    pub layer: Option<OwnLayer>,
    /// Values of the plug-in's keys.
    pub values: Values,
}

/// The rows are those of the plug-in, so that none can stand here.
impl Keys for PluginKeys {
    fn rows() -> Vec<&'static Key> {
        Vec::new()
    }

    fn read(values: &Values) -> Result<PluginKeys, SpecError> {
        let name = values.get("ftl.kind").and_then(Value::as_text).and_then(PluginName::of_kind);
        let is_own = |path: &str| name.is_some_and(|name| name.owns(path));
        let own = values.iter().filter(|(path, _)| is_own(path)).map(|(path, value)| (*path, value.clone()));
        Ok(PluginKeys { layer: None, values: own.collect() })
    }

    fn write(&self, values: &mut Values) {
        values.extend(self.values.iter().map(|(path, value)| (*path, value.clone())));
    }
}

impl PluginKeys {
    fn layer(&self, kind: &str) -> Result<&OwnLayer, SpecError> {
        self.layer.as_ref().ok_or_else(|| refuse!("ftl.kind = \"{kind}\" needs the plug-in of this name"))
    }
}

/// The largest state that a plug-in is believed to have: figures that it goes into must not overflow.
const STATE_BYTES_MAX: u64 = 1 << 48;

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

/// A plug-in at work in one run.
pub struct Plugged {
    own: OwnLayer,
    layer: Box<dyn TranslationLayer>,
    device: PluginDevice,
    blocks_per_die: u32,
    user_pages: u32,
    /// Logical pages of the host and of the layer.
    logical_pages: u32,
    offers: Offers,
    counters: GcCounters,
    /// What its own counts were when measuring began.
    counts_before: Vec<u64>,
    /// What a call found that could not return it.
    fault: RefCell<Option<FtlError>>,
}

/// What a plug-in keeps is its own affair: a device with one is never written down.
const NOT_WRITTEN_DOWN: &str = "the state of a plug-in cannot be written down";

impl Serialize for Plugged {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(NOT_WRITTEN_DOWN))
    }
}

impl<'de> Deserialize<'de> for Plugged {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Plugged, D::Error> {
        Err(serde::de::Error::custom(NOT_WRITTEN_DOWN))
    }
}

impl CopiedLayer for Plugged {
    fn copied(&self) -> Option<Plugged> {
        None
    }
}

impl Layer for Plugged {
    type Keys = PluginKeys;
    type Running = Plugged;

    /// Recoveries are those that some plug-ins have: which of them that of a spec has, it says itself
    /// ([`LayerSource::recovers`]). What is trimmed is nowhere written down.
    ///
    /// [`LayerSource::recovers`]: super::plugin::LayerSource::recovers
    const FACTS: Facts = Facts {
        reads: &["over_provisioning"],
        recoveries: &[Recovery::Off, Recovery::Scan],
        gives_up_trimmed: true,
        reports: Reports::VICTIMS,
        ..Facts::PLAIN
    };

    fn check(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), SpecError> {
        let own = keys.layer(spec.kind)?;
        if own.source.offers().buffers && spec.shared.recovery != Recovery::Off {
            return Err(refuse!(
                "ftl.recovery = \"{}\" needs a layer that holds no pages in RAM, found \"{}\", which does",
                spec.shared.recovery,
                spec.kind
            ));
        }
        Plugged::capacity(spec, keys, &spec.chip.geometry.scaled(1.0)?).map(|_| ())
    }

    fn translation_pages(_: &LayerSpec, keys: &PluginKeys, user_pages: u32) -> u32 {
        keys.layer.as_ref().map_or(0, |own| own.own_pages(&keys.values, user_pages) as u32)
    }

    fn check_retirement(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), SpecError> {
        if keys.layer(spec.kind)?.source.retires_blocks() {
            return Ok(());
        }
        Err(refuse!("a translation layer that retires blocks, found \"{}\", which does not", spec.kind))
    }

    fn capacity(spec: &LayerSpec, keys: &PluginKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        let own = keys.layer(spec.kind)?;
        let device = PluginDevice::new(spec, *geometry)?;
        let pages = own.capacity(&device, &keys.values).map_err(|text| own.fault(text).to_string())?;
        let most = device.good_pages().min(u64::from(u32::MAX));
        let own_pages = if pages <= most { own.own_pages(&keys.values, pages as u32) } else { 0 };
        if pages > 0 && pages.saturating_add(own_pages) <= most {
            return Ok(pages as u32);
        }
        let beside = if own_pages > 0 { format!(", beside {own_pages} of its own") } else { String::new() };
        let text = format!(
            "says that the host may address {pages} pages{beside}; allowed: 1 to {most}, the device's good pages"
        );
        Err(own.fault(text).to_string().into())
    }

    fn recover(
        parts: &LayerParts,
        keys: &PluginKeys,
        restart: &mut Restart,
    ) -> Result<(Plugged, RecoveryCounts), FtlError> {
        let (own, device) = Plugged::asked_for(parts, keys)?;
        plugged_recovery::recover_layer(own, device, parts, keys, restart)
    }

    fn build(parts: &LayerParts, keys: &PluginKeys, target: &mut dyn FillTarget) -> Result<Plugged, FtlError> {
        let (own, device) = Plugged::asked_for(parts, keys)?;
        let layer = own.during(|| own.source.open(&device, &keys.values)).map_err(|text| own.fault(text))?;
        let mut plugged = Plugged::at_work(own.clone(), layer, device, parts, keys)?;
        plugged.fill(parts.spec.initial.fill, target)?;
        Ok(plugged)
    }
}

impl Plugged {
    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.user_pages
    }

    /// The plug-in that a spec asks for, and its device.
    fn asked_for<'a>(parts: &LayerParts, keys: &'a PluginKeys) -> Result<(&'a OwnLayer, PluginDevice), FtlError> {
        let own = keys.layer(parts.spec.kind).map_err(|error| own_fault(parts.spec.kind, error))?;
        let device = PluginDevice::new(&parts.spec, parts.geometry).map_err(|text| own.fault(text))?;
        Ok((own, PluginDevice { bad_blocks: parts.bad_blocks.to_vec(), seed: parts.seed, ..device }))
    }

    /// What a plug-in has made, at work.
    fn at_work(
        own: OwnLayer,
        layer: Box<dyn TranslationLayer>,
        device: PluginDevice,
        parts: &LayerParts,
        keys: &PluginKeys,
    ) -> Result<Plugged, FtlError> {
        let user_pages = Plugged::capacity(&parts.spec, keys, &parts.geometry).map_err(|text| own.fault(text))?;
        let blocks_per_die = device.geometry.planes_per_die * device.geometry.blocks_per_plane;
        let own_pages = Plugged::translation_pages(&parts.spec, keys, user_pages);
        let (offers, counts) = (own.source.offers(), own.source.counts().len());
        Ok(Plugged {
            own,
            layer,
            device,
            blocks_per_die,
            user_pages,
            logical_pages: user_pages + own_pages,
            offers,
            counters: GcCounters::default(),
            counts_before: vec![0; counts],
            fault: RefCell::default(),
        })
    }

    /// Stores a share of the logical pages, from the first one on, by writes.
    fn fill(&mut self, share: f64, target: &mut dyn FillTarget) -> Result<(), FtlError> {
        let pages = whole_share(u64::from(self.user_pages), share);
        let mut plan = Plan::default();
        for lpn in (0..pages).map(Lpn) {
            plan.clear();
            self.write(lpn, FILL_VERSION, &mut plan)?;
            if lpn.0 + 1 == pages && self.offers.buffers {
                self.force_out(ForcedOut::All, &mut plan)?;
            }
            for command in &plan.commands {
                let done = target.execute(command);
                done.map_err(|text| self.own.fault(format!("initial fill of logical page {}: {text}", lpn.0)))?;
            }
        }
        target.note_stored(Lpn(0), pages);
        self.counters = GcCounters::default();
        Ok(())
    }

    /// Checks and counts what a call has planned that is no look-up.
    #[inline]
    fn take(&mut self, plan: &Plan) -> Result<(), FtlError> {
        if plan.look_up > Time::ZERO {
            return Err(self.own.fault("planned the time of a look-up in another call"));
        }
        self.take_commands(plan)
    }

    /// Checks and counts the commands of a plan. None of them has been executed.
    #[inline]
    fn take_commands(&mut self, plan: &Plan) -> Result<(), FtlError> {
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
    fn has(&self, page: PageAddress) -> bool {
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
    fn keep(&self, fault: FtlError, plan: &mut Plan) {
        plan.clear();
        self.fault.borrow_mut().get_or_insert(fault);
    }
}

impl TranslationLayer for Plugged {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let layer = &mut self.layer;
        self.own.during(|| layer.write(lpn, version, plan)).map_err(|error| self.own.fault(error))?;
        self.take(plan)
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let layer = &mut self.layer;
        let found = self.own.during(|| layer.read(lpn, version, plan));
        match self.take(plan) {
            Ok(()) => found,
            Err(fault) => {
                self.keep(fault, plan);
                false
            }
        }
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let page = self.own.during(|| self.layer.locate(lpn))?;
        if !self.has(page) {
            let text = format!(
                "locates logical page {} at block {} page {}, which the device does not have",
                lpn.0, page.block.0, page.page
            );
            self.fault.borrow_mut().get_or_insert(self.own.fault(text));
            return None;
        }
        Some(page)
    }

    fn trim(&mut self, lpn: Lpn) {
        let layer = &mut self.layer;
        self.own.during(|| layer.trim(lpn));
    }

    fn step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        let layer = &mut self.layer;
        self.own.during(|| layer.step(die, plan)).map_err(|error| self.own.fault(error))?;
        self.take(plan)
    }

    fn conduct(&self) -> Conduct {
        let own = self.own.during(|| self.layer.conduct());
        Conduct {
            spans_dies: true,
            works_when_idle: own.works_when_idle,
            moves_between_dies: self.offers.moves_between_dies,
            reads_map_in_spare: self.offers.looks_up,
            ..Conduct::default()
        }
    }

    crate::seam::capabilities!(figures, faults);

    #[inline]
    fn memory(&self) -> Option<&dyn MemoryUse> {
        self.layer.memory()?;
        Some(self)
    }

    #[inline]
    fn retirement(&mut self) -> Option<&mut dyn Retirement> {
        self.layer.retirement()?;
        Some(self)
    }

    #[inline]
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        if self.offers.places_streams { Some(self) } else { None }
    }

    #[inline]
    fn open_pages(&mut self) -> Option<&mut dyn GatheredUnits> {
        if self.offers.buffers { Some(self) } else { None }
    }

    #[inline]
    fn map_loads(&mut self) -> Option<&mut dyn MapLoads> {
        if self.offers.looks_up { Some(self) } else { None }
    }

    #[inline]
    fn requests(&mut self) -> Option<&mut dyn RequestBorders> {
        if self.offers.hears_requests { Some(self) } else { None }
    }

    fn own_counts(&self) -> Option<&dyn OwnCounts> {
        if self.counts_before.is_empty() { None } else { Some(self) }
    }
}

impl Figures for Plugged {
    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = GcCounters::default();
        let counts = self.layer.own_counts().map(|own| self.own.during(|| own.counts()));
        for (before, count) in self.counts_before.iter_mut().zip(counts.into_iter().flatten()) {
            *before = count;
        }
    }
}

impl MemoryUse for Plugged {
    fn map_ram_bytes(&self) -> u64 {
        self.layer.memory().map_or(0, |layer| self.own.during(|| layer.map_ram_bytes()))
    }

    fn state_bytes(&self) -> u64 {
        self.layer.memory().map_or(0, |layer| self.own.during(|| layer.state_bytes()).min(STATE_BYTES_MAX))
    }
}

impl Retirement for Plugged {
    fn note_failing(&mut self, block: BlockId) {
        if let Some(layer) = self.layer.retirement() {
            self.own.during(|| layer.note_failing(block));
        }
    }
}

impl Faults for Plugged {
    fn take_fault(&mut self) -> Option<FtlError> {
        self.fault.take().or_else(|| self.layer.faults()?.take_fault().map(|fault| self.own.fault(fault)))
    }
}
