//! A translation layer of the user's own at work. Everything that it plans is checked first ([`plan_rules`]), so that it can
//! neither name what the device does not have nor be counted wrongly.

mod capabilities;
mod plan_rules;
mod plugged_recovery;
mod plugged_spec;

use std::cell::RefCell;

use pumice_types::{BlockId, DieId, FILL_VERSION, Lpn, PageAddress};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::plugin::{Offers, OwnLayer, PluginDevice, own_fault};
use crate::plan::{FillTarget, FtlError, GcCounters, Plan};
use crate::seam::{
    Conduct, CopiedLayer, Faults, Figures, ForcedOut, GatheredUnits, Layer, LayerParts, MapLoads, MemoryUse, OwnCounts,
    RequestBorders, Retirement, Streams, TranslationLayer, whole_share,
};

pub use plugged_spec::PluginKeys;

/// The largest state that a plug-in is believed to have: figures that it goes into must not overflow.
const STATE_BYTES_MAX: u64 = 1 << 48;

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
