//! The translation layers: one file or folder each, and the registry, in which each is one line.

pub mod fast;
pub mod gftl;
pub mod log_block;
pub mod nftl;
pub mod page;
pub mod pbe;
pub mod plane_book;
pub mod plugged;
pub mod replacement_block;
pub mod striped;
pub mod striped_room;
pub mod superblock_2006;
pub mod superblock_pen;
pub mod zns;

use pumice_types::key::{CHOSEN, Field, Key, Keys, Range, Value, ValueKind, Values, When, read_field};
use pumice_types::{BlockId, ChipKeys, Choice, DieId, Geometry, Lpn, PageAddress, PartialEraseUnit, RequestKind};

use crate::counters::GcCounters;
use crate::erase_units::EraseUnit;
use crate::error::FtlError;
use crate::fill::{FillTarget, InitialKeys};
use crate::layer::{
    Layer, LayerParts, LayerSpec, MapPlace, MergeMethod, Reports, SharedKeys, SuperblockKeys, TranslationLayer,
};
use crate::plan::Plan;
use crate::plugin::{OwnLayer, PluginName};
use crate::policy::{Decides, OwnPolicy};
use crate::recovery::{LogCounts, Recovery, RecoveryCounts, Restart};
use crate::victims::PolicyKeys;
use zns::report::{ZoneOperation, ZoneReport};

/// Makes the enum of layers and the names that users type. A line is: variant, name in `ftl.kind`, field of its own
/// keys, the type that implements [`Layer`], what it is. The layer of the last line has the names of plug-ins, which
/// are known only where their files are given.
macro_rules! registry {
    (
        $($variant:ident = $name:literal, $keys:ident: $layer:ty, $about:literal;)+
        @ $plugged:ident, $plugged_keys:ident: $plugged_layer:ty, $plugged_about:literal;
    ) => {
        /// Every translation layer that a spec can ask for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FtlKind { $(#[doc = $about] $variant,)+ #[doc = $plugged_about] $plugged(PluginName) }

        /// Those that are built in.
        impl Choice for FtlKind {
            const ALL: &'static [FtlKind] = &[$(FtlKind::$variant),+];
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn name(self) -> &'static str {
                match self { $(FtlKind::$variant => $name,)+ FtlKind::$plugged(name) => name.kind() }
            }
        }

        impl FtlKind {
            /// The plug-in, if it is one.
            pub fn plugin(self) -> Option<PluginName> {
                match self { $(FtlKind::$variant => None,)+ FtlKind::$plugged(name) => Some(name) }
            }
        }

        /// The row of `ftl.kind`.
        const KIND: Key = Key {
            path: "ftl.kind",
            shape: FtlKind::SHAPE,
            range: Range::None,
            unit: "",
            default: "\"nftl\"",
            source: CHOSEN,
            when: When::Always,
            text: concat!("Translation layer.", $(" ", $name, ": ", $about, "."),+),
            check: |value| FtlKind::read(Some(value)).map(|_| ()),
        };

        dispatch! {
            $($variant, $keys: $layer, $about;)+
            $plugged, $plugged_keys: $plugged_layer, $plugged_about;
        }
    };
}

/// Makes keys and dispatch from the registry's lines, that of plug-ins included.
macro_rules! dispatch {
    ($($variant:ident, $keys:ident: $layer:ty, $about:literal;)+) => {
        /// `[ftl]`: which layer, and the keys of all of them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FtlKeys {
            /// Which layer.
            pub kind: FtlKind,
            /// Keys that several layers read.
            pub shared: SharedKeys,
            /// Keys of layers with superblocks.
            pub superblock: SuperblockKeys,
            /// Victim policies and their keys.
            pub policies: PolicyKeys,
            /// The user's own policy, which is given with a spec and not in it.
            pub own_policy: Option<OwnPolicy>,
            $(#[doc = concat!("Keys of one layer alone: ", $about, ".")] pub $keys: <$layer as Layer>::Keys),+
        }

        impl Keys for FtlKeys {
            fn rows() -> Vec<&'static Key> {
                let mut rows = vec![&KIND];
                rows.extend(SharedKeys::rows());
                rows.extend(SuperblockKeys::rows());
                rows.extend(PolicyKeys::rows());
                $(rows.extend(<<$layer as Layer>::Keys as Keys>::rows());)+
                rows
            }

            fn read(values: &Values) -> Result<FtlKeys, String> {
                Ok(FtlKeys {
                    kind: read_field("ftl.kind", values)?,
                    shared: SharedKeys::read(values)?,
                    superblock: SuperblockKeys::read(values)?,
                    policies: PolicyKeys::read(values)?,
                    own_policy: None,
                    $($keys: Keys::read(values)?),+
                })
            }

            fn write(&self, values: &mut Values) {
                values.extend(self.kind.write().map(|kind| ("ftl.kind", kind)));
                self.shared.write(values);
                self.superblock.write(values);
                self.policies.write(values);
                $(self.$keys.write(values);)+
            }
        }

        impl FtlKind {
            /// The layer's own keys.
            pub fn own_keys(self) -> Vec<&'static Key> {
                match self { $(FtlKind::$variant { .. } => <<$layer as Layer>::Keys as Keys>::rows()),+ }
            }

            /// The shared keys that it reads, without `ftl.`.
            pub fn shared_keys(self) -> &'static [&'static str] {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::READS),+ }
            }

            /// Whether it reclaims victims by a policy.
            fn chooses_victims(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::CHOOSES_VICTIMS),+ }
            }

            /// Whether it asks a user's own policy.
            fn asks_policies(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::ASKS_POLICIES),+ }
            }

            /// The merges that it knows.
            pub fn merges(self) -> &'static [MergeMethod] {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::MERGES),+ }
            }

            /// Where its map may be.
            pub fn map_places(self) -> &'static [MapPlace] {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::MAP_PLACES),+ }
            }

            /// How it can start anew after a power cut.
            pub fn recoveries(self) -> &'static [Recovery] {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::RECOVERIES),+ }
            }

            /// See [`Layer::COPIES_ON_ONE_DIE`].
            pub fn copies_on_one_die(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::COPIES_ON_ONE_DIE),+ }
            }

            /// See [`Layer::WRITES_EVERYWHERE`].
            pub fn writes_everywhere(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::WRITES_EVERYWHERE),+ }
            }

            /// See [`Layer::GIVES_UP_TRIMMED`].
            pub fn gives_up_trimmed(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::GIVES_UP_TRIMMED),+ }
            }

            /// See [`Layer::WRITES_DOWN_TRIMS`].
            pub fn writes_down_trims(self) -> bool {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::WRITES_DOWN_TRIMS),+ }
            }

            /// Its own keys that other layers refuse instead of ignoring them.
            fn strict_keys(self) -> &'static [&'static str] {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::STRICT_KEYS),+ }
            }

            /// The figures of garbage collection that it has.
            pub fn reports(self) -> Reports {
                match self { $(FtlKind::$variant { .. } => <$layer as Layer>::REPORTS),+ }
            }
        }

        impl FtlKeys {
            /// The chips that the layer assumes.
            pub fn adapted(&self, chip: &ChipKeys) -> ChipKeys {
                let mut chip = chip.clone();
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::adapt(&mut chip, &self.$keys)),+ }
                chip
            }

            fn check_layer(&self, spec: &LayerSpec) -> Result<(), String> {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::check(spec, &self.$keys)),+ }
            }

            /// See [`Layer::check_retirement`]; `chip` are the chips that the layer assumes.
            ///
            /// # Errors
            /// As there.
            pub fn check_retirement(&self, chip: &ChipKeys, initial: &InitialKeys) -> Result<(), String> {
                let spec = &self.spec(chip, initial);
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::check_retirement(spec, &self.$keys)),+ }
            }

            /// See [`Layer::recover`].
            ///
            /// # Errors
            /// As there.
            pub fn recover(
                &self,
                parts: &LayerParts,
                restart: &mut Restart,
            ) -> Result<(Ftl, RecoveryCounts), FtlError> {
                Ok(match self.kind {
                    $(FtlKind::$variant { .. } => {
                        let (layer, counts) = <$layer as Layer>::recover(parts, &self.$keys, restart)?;
                        (Ftl::$variant(Box::new(layer)), counts)
                    }),+
                })
            }

            /// See [`Layer::extra_blocks`].
            pub fn extra_blocks(&self, spec: &LayerSpec) -> u32 {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::extra_blocks(spec, &self.$keys)),+ }
            }

            /// See [`Layer::capacity`].
            ///
            /// # Errors
            /// A plug-in that cannot tell.
            pub fn user_pages(&self, spec: &LayerSpec, geometry: &Geometry) -> Result<u32, String> {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::capacity(spec, &self.$keys, geometry)),+ }
            }

            /// See [`Layer::translation_pages`].
            pub fn translation_pages(&self, spec: &LayerSpec, user_pages: u32) -> u32 {
                match self.kind {
                    $(FtlKind::$variant { .. } => <$layer as Layer>::translation_pages(spec, &self.$keys, user_pages)),+
                }
            }

            /// Builds the layer and fills it.
            ///
            /// # Errors
            /// A fill that does not fit, which [`FtlKeys::check`] rules out.
            pub fn build(&self, parts: &LayerParts, target: &mut dyn FillTarget) -> Result<Ftl, FtlError> {
                Ok(match self.kind {
                    $(FtlKind::$variant { .. } => Ftl::$variant(Box::new(<$layer as Layer>::build(parts, &self.$keys, target)?))),+
                })
            }
        }

        /// Every translation layer at work. An enum and not a trait object: the choice is made once for each
        /// access, and what follows is compiled for the layer.
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum Ftl { $(#[doc = $about] $variant(Box<<$layer as Layer>::Running>)),+ }

        /// One call on whichever layer there is.
        macro_rules! each {
            ($self:ident, $ftl:ident => $call:expr) => {
                match $self { $(Ftl::$variant($ftl) => $call),+ }
            };
        }
    };
}

registry! {
    Nftl = "nftl", nftl: nftl::Nftl, "block-level mapping with one U-block a D-block";
    Page = "page", page: page::PageFtl, "one map entry a page";
    Gftl = "gftl", gftl: gftl::Gftl, "nftl that merges slot by slot, one slot of tBERS a page written, and buffers writes to blocks that wait (Choudhuri and Givargis, 2008)";
    Pbe = "pbe", pbe: pbe::Pbe, "nftl on chips without disturb that lose ftl.capacity_loss of their blocks (US 9,286,989)";
    SuperblockPen = "superblock-pen", superblock_pen: superblock_pen::SuperblockPen, "adjacent logical blocks share their blocks; map in RAM, intra and inter merges, M-Merge (PEN, FAST'18)";
    Superblock2006 = "superblock-2006", superblock_2006: superblock_2006::Superblock2006, "adjacent logical blocks share their blocks; switch, partial and full merges (EMSOFT'06)";
    ReplacementBlock = "replacement-block", replacement_block: replacement_block::ReplacementBlock, "chains of blocks programmed in place";
    LogBlock = "log-block", log_block: log_block::LogBlock, "a limited number of U-blocks, at most one a D-block";
    Fast = "fast", fast: fast::Fast, "log blocks that all logical blocks share";
    Zns = "zns", zns: zns::Zns, "zones over stripes of erase units (NVMe Zoned Namespaces), and a host that keeps a log of streams on them and cleans it";
    @ Plugin, plugin: plugged::Plugged, "a layer of the user's own";
}

impl std::fmt::Display for FtlKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Field for FtlKind {
    const SHAPE: ValueKind = ValueKind::Choice(FtlKind::NAMES);

    fn read(value: Option<&Value>) -> Result<FtlKind, String> {
        let name = value.and_then(Value::as_text).unwrap_or_default();
        let plugin = || PluginName::of_kind(name).map(FtlKind::Plugin);
        FtlKind::from_name(name).or_else(plugin).ok_or_else(|| "is not allowed".to_string())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_string()))
    }
}

impl Ftl {
    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        each!(self, ftl => ftl.user_pages())
    }
}

impl TranslationLayer for Ftl {
    #[inline]
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.write(lpn, version, plan))
    }

    #[inline]
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.write_to_stream(lpn, version, stream, plan))
    }

    fn open_pages_of(&self, stream: u8) -> u64 {
        each!(self, ftl => ftl.open_pages_of(stream))
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        each!(self, ftl => ftl.read(lpn, version, plan))
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.locate(lpn))
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        each!(self, ftl => ftl.trim(lpn));
    }

    fn keep_trims(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.keep_trims(plan))
    }

    fn flush_trims(&mut self, again: bool, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.flush_trims(again, plan))
    }

    fn loads_map(&self) -> bool {
        each!(self, ftl => ftl.loads_map())
    }

    #[inline]
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.load_map(lpn, kind, plan))
    }

    fn reads_map_in_spare(&self) -> bool {
        each!(self, ftl => ftl.reads_map_in_spare())
    }

    fn spans_dies(&self) -> bool {
        each!(self, ftl => ftl.spans_dies())
    }

    fn holds_die(&self) -> bool {
        each!(self, ftl => ftl.holds_die())
    }

    fn moves_between_dies(&self) -> bool {
        each!(self, ftl => ftl.moves_between_dies())
    }

    fn works_when_idle(&self) -> bool {
        each!(self, ftl => ftl.works_when_idle())
    }

    #[inline]
    fn internal_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.internal_step(die, plan))
    }

    fn note_failing(&mut self, block: BlockId) {
        each!(self, ftl => ftl.note_failing(block));
    }

    #[inline]
    fn expect(&self, lpn: Lpn) {
        each!(self, ftl => ftl.expect(lpn));
    }

    #[inline]
    fn expect_overwrite(&self, lpn: Lpn) {
        each!(self, ftl => ftl.expect_overwrite(lpn));
    }

    #[inline]
    fn expect_look_up(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.expect_look_up(lpn))
    }

    fn merge_all(&mut self, plan: &mut Plan) -> Result<bool, FtlError> {
        each!(self, ftl => ftl.merge_all(plan))
    }

    fn counters(&self) -> &GcCounters {
        each!(self, ftl => ftl.counters())
    }

    fn erased_again(&self) -> u64 {
        each!(self, ftl => ftl.erased_again())
    }

    fn log_counts(&self) -> LogCounts {
        each!(self, ftl => ftl.log_counts())
    }

    fn reset_counters(&mut self) {
        each!(self, ftl => ftl.reset_counters());
    }

    fn take_fault(&mut self) -> Option<FtlError> {
        each!(self, ftl => ftl.take_fault())
    }

    fn next_operation(&mut self, plan: &mut Plan) -> Option<ZoneOperation> {
        each!(self, ftl => ftl.next_operation(plan))
    }

    fn zones(&self) -> Option<ZoneReport> {
        each!(self, ftl => ftl.zones())
    }

    fn map_ram_bytes(&self) -> u64 {
        each!(self, ftl => ftl.map_ram_bytes())
    }

    fn state_bytes(&self) -> u64 {
        each!(self, ftl => ftl.state_bytes())
    }
}

impl FtlKind {
    /// Whether a run with this layer reads a key of `[ftl]`.
    pub fn reads(self, path: &str) -> bool {
        let shared = path.strip_prefix("ftl.").unwrap_or(path);
        ["kind", "merge", "map_place", "recovery"].contains(&shared)
            || self.shared_keys().contains(&shared)
            || self.chooses_victims() && PolicyKeys::rows().iter().any(|key| key.path == path)
            || self.own_keys().iter().any(|key| key.path == path)
            || self.plugin().is_some_and(|plugin| plugin.owns(path))
    }
}

/// Whether a key of one layer is refused by the others, unless it has its default, instead of being ignored.
pub fn is_strict(path: &str) -> bool {
    FtlKind::ALL.iter().any(|kind| kind.strict_keys().contains(&path))
}

/// Names of the layers that pass, as an error lists them.
pub fn kinds_that(pass: impl Fn(FtlKind) -> bool) -> String {
    let names: Vec<String> =
        FtlKind::ALL.iter().filter(|&&kind| pass(kind)).map(|kind| format!("\"{kind}\"")).collect();
    names.join(" | ")
}

impl FtlKeys {
    /// The layer's part of a spec; `chip` are the chips that it assumes ([`FtlKeys::adapted`]).
    pub fn spec<'a>(&'a self, chip: &'a ChipKeys, initial: &'a InitialKeys) -> LayerSpec<'a> {
        let FtlKeys { kind, shared, superblock, policies, .. } = self;
        LayerSpec { kind: kind.name(), chip, shared, superblock, policies, initial, decides: self.decides() }
    }

    /// Refuses what the layer does not know, and then what it cannot do; `chip` are the spec's chips.
    ///
    /// # Errors
    /// The first impossibility, with what would work.
    pub fn check(&self, chip: &ChipKeys, initial: &InitialKeys) -> Result<(), String> {
        let (kind, merge, place) = (self.kind, self.shared.merge, self.shared.map_place);
        if merge != MergeMethod::BlockErase && chip.partial_erase.unit != PartialEraseUnit::PartialBlock {
            return Err(format!(
                "ftl.merge = \"{merge}\" needs partial_erase.unit = \"partial-block\", found \"{}\"",
                chip.partial_erase.unit
            ));
        }
        if !kind.merges().contains(&merge) {
            let able = kinds_that(|kind| kind.merges().contains(&merge));
            return Err(format!("ftl.merge = \"{merge}\" needs ftl.kind = {able}, found \"{kind}\""));
        }
        if !kind.map_places().contains(&place) {
            let able = kinds_that(|kind| kind.map_places().contains(&place));
            return Err(format!("ftl.map_place = \"{place}\" needs ftl.kind = {able}, found \"{kind}\""));
        }
        let recovery = self.shared.recovery;
        if !self.recoveries().contains(&recovery) {
            let able = kinds_that(|kind| kind.recoveries().contains(&recovery));
            return Err(format!("ftl.recovery = \"{recovery}\" needs ftl.kind = {able}, found \"{kind}\""));
        }
        self.check_own_policy()?;
        self.check_strict_keys()?;
        let chip = self.adapted(chip);
        self.check_layer(&self.spec(&chip, initial))
    }

    /// Gives the layer of the user's own that the spec asks for, if it asks for one, to its keys.
    pub fn give_plugins(&mut self, plugins: &[OwnLayer]) {
        let asked = |layer: &&OwnLayer| Some(layer.source.name()) == self.kind.plugin();
        self.plugin.layer = plugins.iter().find(asked).cloned();
    }

    /// How the layer that runs can start anew after a power cut.
    pub fn recoveries(&self) -> &'static [Recovery] {
        match self.own_layer() {
            Some(own) if !own.source.recovers() => &[Recovery::Off],
            Some(_) | None => self.kind.recoveries(),
        }
    }

    /// The layer of the user's own that runs.
    pub fn own_layer(&self) -> Option<&OwnLayer> {
        self.plugin.layer.as_ref()
    }

    /// What the layer erases apart.
    pub fn erase_unit(&self) -> EraseUnit {
        match self.kind {
            FtlKind::Page => self.page.erase_unit,
            FtlKind::Zns => self.zns.unit,
            FtlKind::Nftl
            | FtlKind::Gftl
            | FtlKind::Pbe
            | FtlKind::SuperblockPen
            | FtlKind::Superblock2006
            | FtlKind::ReplacementBlock
            | FtlKind::LogBlock
            | FtlKind::Fast
            | FtlKind::Plugin(_) => EraseUnit::Block,
        }
    }

    /// What the user's own policy decides; nothing if there is none.
    pub fn decides(&self) -> Decides {
        self.own_policy.as_ref().map_or(Decides::default(), |policy| policy.0.decides())
    }

    /// Refuses a policy of the user's whose decisions nobody asks for.
    fn check_own_policy(&self) -> Result<(), String> {
        let Some(policy) = &self.own_policy else { return Ok(()) };
        let name = policy.0.name();
        if self.decides().concerns_ftl() && !self.kind.asks_policies() {
            let able = kinds_that(FtlKind::asks_policies);
            let decided = self.decides().names().join(", ");
            return Err(format!(
                "policy \"{name}\" decides {decided}: it needs ftl.kind = {able}, found \"{}\"",
                self.kind
            ));
        }
        Ok(())
    }

    /// Refuses keys of other layers that would change what the device is.
    fn check_strict_keys(&self) -> Result<(), String> {
        let mut values = Values::new();
        self.write(&mut values);
        for other in FtlKind::ALL.iter().filter(|&&other| other != self.kind) {
            for key in other.own_keys().iter().filter(|key| other.strict_keys().contains(&key.path)) {
                let value = values.get(key.path).map(ToString::to_string);
                if !self.kind.reads(key.path) && value.as_deref() != key.default_text() {
                    return Err(format!(
                        "{} = {} needs ftl.kind = \"{other}\", found \"{}\"",
                        key.path,
                        value.unwrap_or_default(),
                        self.kind
                    ));
                }
            }
        }
        Ok(())
    }
}
