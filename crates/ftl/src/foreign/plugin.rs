//! Translation layers of the user's own: what a plug-in's author writes ([`PluginLayer`]), and what a spec refers to
//! ([`OwnLayer`]).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pumice_types::key::{Key, Keys, Values};
use pumice_types::{
    BlockId, Geometry, PageAddress, PartialEraseUnit, PbTree, ProgramOrder, SpareArea, SpecError, interned,
};

use crate::plan::{FtlError, OwnFault, Plan};
use crate::seam::policy::CallCount;
use crate::seam::{LayerSpec, Recovery, TranslationLayer, check_name, whole_share};

/// The most commands that a plug-in may plan in one call.
pub const PLAN_COMMANDS_MAX: usize = 1 << 17;

/// What stands before a plug-in's name in `ftl.kind`.
const KIND_PREFIX: &str = "plugin:";

/// A translation layer in a plug-in. [`TranslationLayer`] is what it does in a run; this is how it is made.
///
/// A plug-in may plan reads, programs, copies and erases. Of its capabilities the engine asks for
/// [`Conduct::works_when_idle`], [`MemoryUse`] and [`Retirement`], and for what its [`Offers`] say: it keeps no zones, and
/// prefetches nothing.
///
/// [`Conduct::works_when_idle`]: crate::Conduct::works_when_idle
/// [`MemoryUse`]: crate::MemoryUse
/// [`Retirement`]: crate::Retirement
pub trait PluginLayer: TranslationLayer + Sized + 'static {
    /// Name of the layer: a spec asks for it by `ftl.kind = "plugin:NAME"`. Small letters, digits and `-`.
    const NAME: &'static str;

    /// Whether it stops using a block when [`Retirement::note_failing`](crate::Retirement::note_failing) names it. Without
    /// that, specs with erases that can fail are refused.
    const RETIRES_BLOCKS: bool = false;

    /// Whether it recovers after a power cut ([`PluginLayer::recover`]). Without that, specs with `ftl.recovery`
    /// are refused.
    const RECOVERS: bool = false;

    /// What it offers beyond that.
    const OFFERS: Offers = Offers::NOTHING;

    /// What it counts for itself ([`OwnCounts`](crate::OwnCounts)): a name and a meaning each, in the order of the counts.
    const COUNTS: &'static [(&'static str, &'static str)] = &[];

    /// Keys of the section `[ftl.NAME]`: a struct made by `keys!`, or `()`. Whole numbers, numbers, switches and
    /// choices, each read in every run.
    type Keys: Keys;

    /// Logical pages that the host may address. Called before a run, more than once; bad blocks and seed are not known
    /// yet.
    ///
    /// # Errors
    /// A device or keys that it cannot serve, in one line.
    fn capacity(device: &PluginDevice, keys: &Self::Keys) -> Result<u32, SpecError>;

    /// Pages that it writes for itself beside those of the host, such as pages of a map: logical pages from `user_pages`
    /// on, which it reads and programs for [`Cause::Map`](pumice_types::Cause::Map).
    fn own_pages(_keys: &Self::Keys, _user_pages: u32) -> u32 {
        0
    }

    /// Makes it for an erased device. The initial fill then comes as writes, without a clock.
    ///
    /// # Errors
    /// A device or keys that it cannot serve, in one line.
    fn new(device: &PluginDevice, keys: &Self::Keys) -> Result<Self, SpecError>;

    /// Makes the layer after a power cut. It knows nothing but what it reads from spare areas, and plans the
    /// copies and erases that must have ended before the host is served. The plan runs in its order on each die, and an
    /// erase waits for all programs and copies before it. The power may be cut again before the plan has ended.
    ///
    /// # Errors
    /// No room to work in.
    fn recover(
        _device: &PluginDevice,
        _keys: &Self::Keys,
        _chips: &mut dyn SpareAreas,
        _plan: &mut Plan,
    ) -> Result<Self, FtlError> {
        Err(FtlError::of_plugin("does not recover after a power cut"))
    }
}

/// Capabilities of a plug-in that cost time where it does not have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The layer reads flash before an access: pages of its map, and what it has predicted wrongly
    /// ([`MapLoads`](crate::MapLoads)).
    pub looks_up: bool,
    /// The layer holds pages that the host writes in RAM ([`GatheredUnits`](crate::GatheredUnits)).
    pub buffers: bool,
    /// The layer places data by the streams that the host names ([`Streams`](crate::Streams)).
    pub places_streams: bool,
    /// The layer hears of requests before their pages ([`RequestBorders`](crate::RequestBorders)).
    pub hears_requests: bool,
    /// The layer moves pages from die to die, by a read and a program
    /// ([`FlashCommand::moved`](pumice_types::FlashCommand::moved)).
    pub moves_between_dies: bool,
}

impl Offers {
    /// None of them.
    pub const NOTHING: Offers = Offers {
        looks_up: false,
        buffers: false,
        places_streams: false,
        hears_requests: false,
        moves_between_dies: false,
    };
}

/// The spare areas of the chips, as a recovering layer reads them. Nothing tells that a page or block which reads
/// well was being written or erased when the power was cut. A page that is blank takes no program before its block is
/// erased.
pub trait SpareAreas {
    /// Reads the spare area of one page. Costs a page read.
    fn page(&mut self, page: PageAddress) -> SpareArea;

    /// Reads the spare areas of all pages of a block in order, into `found`. Costs as many page reads as the block has pages.
    fn block(&mut self, block: BlockId, found: &mut Vec<SpareArea>);
}

/// The device that a plug-in is for.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDevice {
    /// Shape of the device.
    pub geometry: Geometry,
    /// In which order the pages of a block may be programmed.
    pub program_order: ProgramOrder,
    /// Partial blocks that can be erased; without a split if none can.
    pub tree: PbTree,
    /// Physical sub-blocks of a block that can be erased; 0 if none can.
    pub sub_blocks: u32,
    /// `ftl.over_provisioning`: the share of the raw capacity that the host shall not address.
    pub over_provisioning: f64,
    /// Bad blocks of each plane.
    pub bad_blocks_per_plane: u32,
    /// Bad blocks from the factory, which take no command. Empty while only the capacity is asked for.
    pub bad_blocks: Vec<BlockId>,
    /// Seed for choices that the layer draws. 0 while only the capacity is asked for.
    pub seed: u64,
    /// Whether the power may be cut (`ftl.recovery`).
    pub loses_power: bool,
}

impl PluginDevice {
    /// The device of a spec at a run's scale, without bad blocks and seed.
    pub(crate) fn new(spec: &LayerSpec, geometry: Geometry) -> Result<PluginDevice, SpecError> {
        let chip = spec.chip;
        let sub_blocks = match chip.partial_erase.unit {
            PartialEraseUnit::SubBlock => chip.geometry.sub_blocks.unwrap_or(0),
            PartialEraseUnit::None | PartialEraseUnit::PartialBlock => 0,
        };
        Ok(PluginDevice {
            geometry,
            program_order: chip.geometry.program_order,
            tree: chip.tree()?,
            sub_blocks: u32::from(sub_blocks),
            over_provisioning: spec.shared.over_provisioning,
            bad_blocks_per_plane: chip.geometry.bad_blocks_per_plane,
            bad_blocks: Vec::new(),
            seed: 0,
            loses_power: spec.shared.recovery != Recovery::Off,
        })
    }

    /// Pages of blocks that are not bad.
    pub fn good_pages(&self) -> u64 {
        let good = self.geometry.blocks_per_plane - self.bad_blocks_per_plane;
        u64::from(self.geometry.planes()) * u64::from(good) * u64::from(self.geometry.pages_per_block)
    }

    /// Pages that `ftl.over_provisioning` leaves to the host.
    pub fn pages_for_host(&self) -> u32 {
        whole_share(self.geometry.pages(), 1.0 - self.over_provisioning)
    }
}

/// The name of a plug-in, in the form that `ftl.kind` has: `plugin:NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginName(&'static str);

impl PluginName {
    /// The plug-in of this name.
    ///
    /// # Errors
    /// What no name of a plug-in can be.
    pub fn new(name: &str) -> Result<PluginName, SpecError> {
        check_name(name, '-', "plug-in")?;
        Ok(PluginName(interned::text(&format!("{KIND_PREFIX}{name}"))))
    }

    /// The plug-in that `ftl.kind` names; `None` if it names none.
    pub fn of_kind(kind: &str) -> Option<PluginName> {
        PluginName::new(kind.strip_prefix(KIND_PREFIX)?).ok()
    }

    /// As `ftl.kind` has it.
    pub fn kind(self) -> &'static str {
        self.0
    }

    /// The name alone.
    pub fn name(self) -> &'static str {
        &self.0[KIND_PREFIX.len()..]
    }

    /// The path of one of its keys.
    ///
    /// # Errors
    /// What no name of a key can be.
    pub fn key_path(self, key: &str) -> Result<&'static str, SpecError> {
        check_name(key, '_', "key")?;
        Ok(interned::text(&format!("ftl.{}.{key}", self.name())))
    }

    /// Whether a path is that of one of its keys.
    pub fn owns(self, path: &str) -> bool {
        let rest = path.strip_prefix("ftl.").and_then(|rest| rest.strip_prefix(self.name()));
        rest.is_some_and(|rest| rest.starts_with('.'))
    }
}

/// Where the plug-in of a spec comes from.
pub trait LayerSource: fmt::Debug + Send + Sync {
    /// Name of the plug-in.
    fn name(&self) -> PluginName;

    /// SHA-256 of the file that it comes from, in hexadecimal; empty if it is compiled into the program.
    fn sha256(&self) -> &str;

    /// Keys of the plug-in, with whole paths.
    fn keys(&self) -> &[Key];

    /// See [`PluginLayer::RETIRES_BLOCKS`].
    fn retires_blocks(&self) -> bool;

    /// See [`PluginLayer::RECOVERS`].
    fn recovers(&self) -> bool;

    /// See [`PluginLayer::OFFERS`].
    fn offers(&self) -> Offers;

    /// Names of what it counts for itself.
    fn counts(&self) -> &[String];

    /// See [`PluginLayer::own_pages`].
    fn own_pages(&self, keys: &Values, user_pages: u32) -> u64;

    /// See [`PluginLayer::capacity`].
    ///
    /// # Errors
    /// As there.
    fn capacity(&self, device: &PluginDevice, keys: &Values) -> Result<u64, SpecError>;

    /// See [`PluginLayer::new`].
    ///
    /// # Errors
    /// As there.
    fn open(&self, device: &PluginDevice, keys: &Values) -> Result<Box<dyn TranslationLayer>, SpecError>;

    /// See [`PluginLayer::recover`].
    ///
    /// # Errors
    /// As there.
    fn recover(
        &self,
        device: &PluginDevice,
        keys: &Values,
        chips: &mut dyn SpareAreas,
        plan: &mut Plan,
    ) -> Result<Box<dyn TranslationLayer>, FtlError>;
}

/// A user's own translation layer in a configuration. Two are equal if name and file are.
#[derive(Clone, Debug)]
pub struct OwnLayer {
    /// Where it comes from.
    pub source: Arc<dyn LayerSource>,
    calls: CallCount,
    /// What it said of its capacity.
    capacities: Arc<Mutex<Vec<Capacity>>>,
    /// What it said of its own pages.
    own_pages: Arc<Mutex<Vec<OwnPages>>>,
}

/// A device and keys, and the logical pages that a plug-in then has.
type Capacity = (PluginDevice, Values, Result<u64, SpecError>);

/// Keys and pages of the host, and the pages that a plug-in then has for itself.
type OwnPages = (Values, u32, u64);

impl OwnLayer {
    /// The plug-in of a source, not asked yet.
    pub fn new(source: impl LayerSource + 'static) -> OwnLayer {
        OwnLayer {
            source: Arc::new(source),
            calls: CallCount::default(),
            capacities: Arc::default(),
            own_pages: Arc::default(),
        }
    }

    /// One that is compiled into the program, without a shared object: for a test of it, or to measure what the
    /// interface costs.
    ///
    /// # Errors
    /// A name that no plug-in can have.
    pub fn compiled_in<T: PluginLayer>() -> Result<OwnLayer, SpecError> {
        let keys = T::Keys::rows().into_iter().copied().collect();
        let counts = T::COUNTS.iter().map(|(name, _)| (*name).to_string()).collect();
        let (name, layer) = (PluginName::new(T::NAME)?, std::marker::PhantomData);
        Ok(OwnLayer::new(CompiledIn::<T> { name, keys, counts, layer }))
    }

    /// See [`PluginLayer::capacity`]. A device is asked about once, so that no answer differs from an earlier one.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn capacity(&self, device: &PluginDevice, keys: &Values) -> Result<u64, SpecError> {
        let mut known = self.capacities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., pages)) = known.iter().find(|(other, values, _)| other == device && values == keys) {
            return pages.clone();
        }
        let pages = self.source.capacity(device, keys);
        known.push((device.clone(), keys.clone(), pages.clone()));
        pages
    }

    /// See [`PluginLayer::own_pages`]. Asked once, likewise.
    pub(crate) fn own_pages(&self, keys: &Values, user_pages: u32) -> u64 {
        let mut known = self.own_pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., pages)) = known.iter().find(|(values, host, _)| values == keys && *host == user_pages) {
            return *pages;
        }
        let pages = self.source.own_pages(keys, user_pages);
        known.push((keys.clone(), user_pages, pages));
        pages
    }

    /// The count of its calls, for a thread that watches whether they return.
    pub fn calls(&self) -> CallCount {
        self.calls.clone()
    }

    /// Makes a call that is counted.
    #[inline]
    pub(crate) fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        self.calls.during(call)
    }

    /// A fault of this plug-in, which bears its name from here on.
    #[cold]
    pub fn fault(&self, fault: impl Into<OwnFault>) -> FtlError {
        own_fault(self.source.name().name(), fault)
    }
}

// A panic cannot leave a source half changed: what changes is what it makes for each run.
impl std::panic::UnwindSafe for OwnLayer {}
impl std::panic::RefUnwindSafe for OwnLayer {}

impl PartialEq for OwnLayer {
    fn eq(&self, other: &OwnLayer) -> bool {
        self.source.name() == other.source.name() && self.source.sha256() == other.source.sha256()
    }
}

/// A fault of the plug-in of this name.
pub(super) fn own_fault(name: &str, fault: impl Into<OwnFault>) -> FtlError {
    fault.into().of("plug-in", name).into()
}

/// A plug-in that is compiled into the program.
struct CompiledIn<T> {
    name: PluginName,
    keys: Vec<Key>,
    counts: Vec<String>,
    layer: std::marker::PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for CompiledIn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompiledIn").field(&self.name).finish()
    }
}

impl<T: PluginLayer> LayerSource for CompiledIn<T> {
    fn name(&self) -> PluginName {
        self.name
    }

    fn sha256(&self) -> &str {
        ""
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn retires_blocks(&self) -> bool {
        T::RETIRES_BLOCKS
    }

    fn recovers(&self) -> bool {
        T::RECOVERS
    }

    fn offers(&self) -> Offers {
        T::OFFERS
    }

    fn counts(&self) -> &[String] {
        &self.counts
    }

    fn own_pages(&self, keys: &Values, user_pages: u32) -> u64 {
        T::Keys::read(keys).map_or(0, |keys| T::own_pages(&keys, user_pages).into())
    }

    fn capacity(&self, device: &PluginDevice, keys: &Values) -> Result<u64, SpecError> {
        T::capacity(device, &T::Keys::read(keys)?).map(u64::from)
    }

    fn open(&self, device: &PluginDevice, keys: &Values) -> Result<Box<dyn TranslationLayer>, SpecError> {
        Ok(Box::new(T::new(device, &T::Keys::read(keys)?)?))
    }

    fn recover(
        &self,
        device: &PluginDevice,
        keys: &Values,
        chips: &mut dyn SpareAreas,
        plan: &mut Plan,
    ) -> Result<Box<dyn TranslationLayer>, FtlError> {
        let keys = T::Keys::read(keys).map_err(FtlError::of_plugin)?;
        Ok(Box::new(T::recover(device, &keys, chips, plan)?))
    }
}

#[cfg(test)]
mod tests {
    use super::PluginName;

    #[test]
    fn t490_names_of_plug_ins_and_keys_are_those_that_a_spec_can_have() {
        let name = PluginName::new("my-log").expect("a name");
        assert_eq!((name.kind(), name.name()), ("plugin:my-log", "my-log"));
        assert_eq!(PluginName::of_kind("plugin:my-log"), Some(name));
        assert_eq!(name.key_path("hot_window"), Ok("ftl.my-log.hot_window"));
        assert!(name.owns("ftl.my-log.hot_window") && !name.owns("ftl.my-log2.x") && !name.owns("ftl.merge"));
        for refused in ["", "My", "a_b", "1a", "a.b", &"a".repeat(41)] {
            assert!(PluginName::new(refused).is_err(), "{refused}");
        }
        assert_eq!(PluginName::of_kind("page"), None);
        assert!(name.key_path("hot-window").is_err());
    }
}
