//! A translation layer of the user's own, as a spec asks for it and at work. Everything that it plans is checked
//! here first, so that it can neither name what the device does not have nor be counted wrongly.

use std::cell::RefCell;

use pumice_types::key::{Key, Keys, Value, Values};
use pumice_types::{BlockId, Cause, DieId, FILL_VERSION, FlashCommand, FlashOp, Geometry, Lpn, PageAddress};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::counters::GcCounters;
use crate::error::{FtlError, PluginFault};
use crate::fill::FillTarget;
use crate::layer::{Layer, LayerParts, LayerSpec, Reports, TranslationLayer, whole_share};
use crate::plan::Plan;
use crate::plugin::{OwnLayer, PLAN_COMMANDS_MAX, PluginDevice, PluginName};
use crate::recovery::Recovery;

/// What a spec says to a plug-in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginKeys {
    /// The plug-in, which is given with a spec and not in it.
    pub layer: Option<OwnLayer>,
    /// Its keys.
    pub values: Values,
}

/// The rows are those of the plug-in, so that none can stand here.
impl Keys for PluginKeys {
    fn rows() -> Vec<&'static Key> {
        Vec::new()
    }

    fn read(values: &Values) -> Result<PluginKeys, String> {
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
    fn layer(&self, kind: &str) -> Result<&OwnLayer, String> {
        self.layer.as_ref().ok_or_else(|| format!("ftl.kind = \"{kind}\" needs the plug-in of this name"))
    }
}

/// A plug-in at work in one run.
pub struct Plugged {
    own: OwnLayer,
    layer: Box<dyn TranslationLayer>,
    device: PluginDevice,
    blocks_per_die: u32,
    user_pages: u32,
    counters: GcCounters,
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

impl Layer for Plugged {
    type Keys = PluginKeys;
    type Running = Plugged;

    const READS: &'static [&'static str] = &["over_provisioning"];
    const RECOVERIES: &'static [Recovery] = &[Recovery::Off];
    const REPORTS: Reports = Reports { reclaims_victims: true, ..Reports::NOTHING };

    fn check(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), String> {
        Plugged::capacity(spec, keys, &spec.chip.geometry.scaled(1.0)?).map(|_| ())
    }

    fn check_retirement(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), String> {
        if keys.layer(spec.kind)?.source.retires_blocks() {
            return Ok(());
        }
        Err(format!("a translation layer that retires blocks, found \"{}\", which does not", spec.kind))
    }

    fn user_pages(spec: &LayerSpec, keys: &PluginKeys, geometry: &Geometry) -> u32 {
        Plugged::capacity(spec, keys, geometry).unwrap_or(0)
    }

    fn capacity(spec: &LayerSpec, keys: &PluginKeys, geometry: &Geometry) -> Result<u32, String> {
        let own = keys.layer(spec.kind)?;
        let device = PluginDevice::new(spec.chip, *geometry, spec.shared.over_provisioning)?;
        let pages = own.source.capacity(&device, &keys.values).map_err(|text| own.fault(text).to_string())?;
        let most = device.good_pages().min(u64::from(u32::MAX));
        if (1..=most).contains(&pages) {
            return Ok(pages as u32);
        }
        let text =
            format!("says that the host may address {pages} pages; allowed: 1 to {most}, the device's good pages");
        Err(own.fault(text).to_string())
    }

    fn build(parts: &LayerParts, keys: &PluginKeys, target: &mut dyn FillTarget) -> Result<Plugged, FtlError> {
        let own = keys.layer(parts.spec.kind).map_err(|text| PluginFault { plugin: parts.spec.kind, text })?;
        let fault = |text: String| own.fault(text);
        let over_provisioning = parts.spec.shared.over_provisioning;
        let device = PluginDevice::new(parts.spec.chip, parts.geometry, over_provisioning).map_err(fault)?;
        let device = PluginDevice { bad_blocks: parts.bad_blocks.to_vec(), seed: parts.seed, ..device };
        let layer = own.during(|| own.source.open(&device, &keys.values)).map_err(fault)?;
        let user_pages = Plugged::capacity(&parts.spec, keys, &parts.geometry).map_err(fault)?;
        let (counters, geometry) = (GcCounters::default(), parts.geometry);
        let blocks_per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        let mut plugged = Plugged {
            own: own.clone(),
            layer,
            device,
            blocks_per_die,
            user_pages,
            counters,
            fault: RefCell::default(),
        };
        plugged.fill(parts.spec.initial.fill, target)?;
        Ok(plugged)
    }
}

impl Plugged {
    /// Stores a share of the logical pages, from the first one on, by writes.
    fn fill(&mut self, share: f64, target: &mut dyn FillTarget) -> Result<(), FtlError> {
        let pages = whole_share(u64::from(self.user_pages), share);
        let mut plan = Plan::limited(PLAN_COMMANDS_MAX);
        for lpn in (0..pages).map(Lpn) {
            plan.clear();
            self.write(lpn, FILL_VERSION, &mut plan)?;
            for command in &plan.commands {
                let done = target.execute(command);
                done.map_err(|text| self.own.fault(format!("initial fill of logical page {}: {text}", lpn.0)))?;
            }
        }
        target.note_stored(Lpn(0), pages);
        self.counters = GcCounters::default();
        Ok(())
    }

    /// Checks and counts the commands of a plan. None of them has been executed.
    #[inline]
    fn take(&mut self, plan: &Plan) -> Result<(), FtlError> {
        let mut collects = false;
        for command in &plan.commands {
            let fits = self.fits(command);
            if !fits {
                return Err(self.refusal(command));
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

    /// Whether a command names only what there is, and is one that plug-ins may plan.
    #[inline]
    fn fits(&self, command: &FlashCommand) -> bool {
        let has_target = self.has(command.target);
        has_target
            && match command.op {
                FlashOp::Read | FlashOp::Program => command.lpn.0 < self.user_pages && command.cause == Cause::Host,
                FlashOp::Copy => {
                    let die = |page: PageAddress| page.block.0 / self.blocks_per_die;
                    let stays = self.has(command.source) && die(command.source) == die(command.target);
                    stays && command.lpn.0 < self.user_pages
                }
                FlashOp::Erase => command.target.page == 0,
                FlashOp::PartialErase => {
                    command.target.page == 0 && command.operand() < 1 << 16 && self.device.tree.contains(command.pb())
                }
                FlashOp::SubBlockErase => {
                    let sub_blocks = command.operand();
                    command.target.page == 0
                        && sub_blocks != 0
                        && u64::from(sub_blocks) >> self.device.sub_blocks.min(32) == 0
                }
                FlashOp::SpareSearch | FlashOp::Pause => false,
            }
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
            FlashOp::Erase => {
                counters.reclaimed.merges += 1;
                counters.reclaimed.block_erases += 1;
            }
            FlashOp::PartialErase => counters.reclaimed.partial_erases += 1,
            FlashOp::SubBlockErase => counters.reclaimed_sub_blocks += u64::from(command.operand().count_ones()),
            FlashOp::Read | FlashOp::Program | FlashOp::SpareSearch | FlashOp::Pause => {}
        }
    }

    /// What is wrong with a command that does not fit.
    #[cold]
    fn refusal(&self, command: &FlashCommand) -> FtlError {
        let FlashCommand { target, source, lpn, op, .. } = *command;
        let Geometry { pages_per_block, .. } = self.device.geometry;
        let (blocks, user_pages) = (self.device.geometry.blocks(), self.user_pages);
        let place = |what: &str, page: PageAddress| {
            format!(
                "planned {op:?} {what} block {} page {}; the device has {blocks} blocks of {pages_per_block} pages",
                page.block.0, page.page
            )
        };
        let text = match op {
            _ if !self.has(target) => place("at", target),
            FlashOp::Copy if !self.has(source) => place("from", source),
            FlashOp::Read | FlashOp::Program | FlashOp::Copy if lpn.0 >= user_pages => {
                format!("planned {op:?} of logical page {}; it has {user_pages}", lpn.0)
            }
            FlashOp::Copy => format!(
                "planned Copy from block {} to block {}, which is on another die",
                source.block.0, target.block.0
            ),
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase if target.page != 0 => {
                format!("planned {op:?} with page {}; an erase has page 0", target.page)
            }
            FlashOp::PartialErase => format!(
                "planned PartialErase of partial block {}; the device has {}",
                command.operand(),
                self.device.tree.pb_count()
            ),
            FlashOp::SubBlockErase => format!(
                "planned SubBlockErase of sub-blocks {:#x}; the device has {}",
                command.operand(),
                self.device.sub_blocks
            ),
            FlashOp::Read | FlashOp::Program | FlashOp::Erase | FlashOp::SpareSearch | FlashOp::Pause => {
                format!("planned {op:?} for {:?}, which plug-ins may not", command.cause)
            }
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
    fn user_pages(&self) -> u32 {
        self.user_pages
    }

    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let layer = &mut self.layer;
        self.own.during(|| layer.write(lpn, version, plan)).map_err(|error| self.own.named(error))?;
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

    fn spans_dies(&self) -> bool {
        true
    }

    fn works_when_idle(&self) -> bool {
        self.layer.works_when_idle()
    }

    fn internal_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        let layer = &mut self.layer;
        self.own.during(|| layer.internal_step(die, plan)).map_err(|error| self.own.named(error))?;
        self.take(plan)
    }

    fn note_failing(&mut self, block: BlockId) {
        let layer = &mut self.layer;
        self.own.during(|| layer.note_failing(block));
    }

    fn counters(&self) -> &GcCounters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = GcCounters::default();
    }

    fn take_fault(&mut self) -> Option<FtlError> {
        self.fault.take().or_else(|| self.layer.take_fault().map(|fault| self.own.named(fault)))
    }

    fn map_ram_bytes(&self) -> u64 {
        self.layer.map_ram_bytes()
    }

    fn state_bytes(&self) -> u64 {
        self.layer.state_bytes()
    }
}
