//! What a layer does in a run, and how a spec asks for it.

use std::sync::LazyLock;

use pumice_types::key::Keys;
use pumice_types::{BlockId, ChipKeys, DieId, Geometry, Lpn, PageAddress, RequestKind};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::parts::{LayerParts, LayerSpec};
use super::recovery::{LogSize, Recovery, RecoveryCounts, Restart};
use super::shared_keys::{MapPlace, MergeMethod};
use super::zones::{ZoneOperation, ZoneReport};
use crate::plan::{EraseUnit, FillTarget, FtlError, GcCounters, Plan};

/// The counters of a layer that counts nothing.
static NOTHING_COUNTED: LazyLock<GcCounters> = LazyLock::new(GcCounters::default);

/// A translation layer at work: the controller's belief about where pages are. A call changes that belief at once and
/// appends the flash commands to a plan; the array, which executes them, checks whether the belief was true.
pub trait TranslationLayer {
    /// Appends the commands that store version `version` of `lpn`.
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room.
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError>;

    /// The same for a write of which the host names the stream; a layer that does not place data by streams takes no
    /// notice of it.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    #[inline]
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, _stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        self.write(lpn, version, plan)
    }

    /// Pages that can still be written to what a stream of the host has open, as a drive tells of the reclaim unit
    /// of a handle; 0 where streams are not placed.
    fn open_pages_of(&self, _stream: u8) -> u64 {
        0
    }

    /// Appends the commands that read `lpn`, which must return `version`. `false` if the page was
    /// never written and the controller answers alone.
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool;

    /// Where the layer believes the current page of `lpn` is.
    fn locate(&self, lpn: Lpn) -> Option<PageAddress>;

    /// Gives `lpn` up: it reads as never written. A layer that does nothing here keeps the page, as the
    /// standards allow.
    fn trim(&mut self, _lpn: Lpn) {}

    /// Appends what is due, after a trim, of what makes trims durable. Only of a layer that starts anew after power cuts
    /// and gives up what is trimmed.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn keep_trims(&mut self, _plan: &mut Plan) -> Result<(), FtlError> {
        Ok(())
    }

    /// Appends what makes all trims durable, because the host flushes. `again`: also those of the last flush, which is
    /// not done yet.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn flush_trims(&mut self, _again: bool, _plan: &mut Plan) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether a part of the map is read from flash by commands of its own before an access
    /// ([`TranslationLayer::load_map`]).
    fn loads_map(&self) -> bool {
        false
    }

    /// Appends the map accesses that must be done before `lpn` is read, written or trimmed: none if its
    /// entry is in RAM. `write`, `read` and `trim` then take the entry as loaded. Unlike theirs, these
    /// commands may be on several dies.
    ///
    /// # Errors
    /// [`FtlError`] if there is no room to write an entry back.
    fn load_map(&mut self, _lpn: Lpn, _kind: RequestKind, _plan: &mut Plan) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether the commands of one plan may lie on several dies. Each run of commands on one die is then queued for
    /// itself, and the access waits for the run in which it is complete.
    fn spans_dies(&self) -> bool {
        self.loads_map() || self.moves_between_dies()
    }

    /// Whether a part of the map is in spare areas, behind a cache.
    fn reads_map_in_spare(&self) -> bool {
        false
    }

    /// Whether the commands of one access follow each other on their die without anything between them.
    fn holds_die(&self) -> bool {
        true
    }

    /// Whether pages are moved by a read and a program on different dies ([`FlashCommand::moved`]). The commands of
    /// one access may then be on several dies.
    ///
    /// [`FlashCommand::moved`]: pumice_types::FlashCommand::moved
    fn moves_between_dies(&self) -> bool {
        false
    }

    /// Whether collection takes steps of its own on idle dies ([`TranslationLayer::internal_step`]).
    fn works_when_idle(&self) -> bool {
        false
    }

    /// Appends the next step of reclaiming that `die` may take while no host command waits for it:
    /// one page copied, or one block erased. Nothing if none is due.
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room.
    fn internal_step(&mut self, _die: DieId, _plan: &mut Plan) -> Result<(), FtlError> {
        Ok(())
    }

    /// The chip reports that the next erase of `block` will fail: the block must not be used after it. The
    /// report comes before that erase is decided, because nothing else touches the block before it ends.
    fn note_failing(&mut self, _block: BlockId) {}

    /// Prefetches the map entry of `lpn`, which the host will access; no effect on results.
    fn expect(&self, _lpn: Lpn) {}

    /// Prefetches what a write of `lpn` will change, once its map entry is in the cache; no effect on results.
    fn expect_overwrite(&self, _lpn: Lpn) {}

    /// Prefetches what a read of `lpn` will look at beside its map entry, once that is in the cache; no effect on results.
    /// Returns the page that it will probably find, if the layer can say that already.
    fn expect_look_up(&self, _lpn: Lpn) -> Option<PageAddress> {
        None
    }

    /// Appends the merges that leave no U-block in use. `false` if the layer cannot be asked for that.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn merge_all(&mut self, _plan: &mut Plan) -> Result<bool, FtlError> {
        Ok(false)
    }

    /// What garbage collection did so far. A plug-in needs no counters: the engine counts what its plans do.
    fn counters(&self) -> &GcCounters {
        &NOTHING_COUNTED
    }

    /// Starts counting anew.
    fn reset_counters(&mut self) {}

    /// Why an earlier call failed that could not say so, such as [`TranslationLayer::read`]. Only code of the user's
    /// own can fail there.
    fn take_fault(&mut self) -> Option<FtlError> {
        None
    }

    /// Blocks and RAM that its map takes for the case of a power cut.
    fn log_size(&self) -> LogSize {
        LogSize::default()
    }

    /// Appends the commands of the next zone operation that the last access made the host ask for; `None` if there is
    /// none. Its time is measured apart.
    fn next_operation(&mut self, _plan: &mut Plan) -> Option<ZoneOperation> {
        None
    }

    /// Its zones, if it has any.
    fn zones(&self) -> Option<ZoneReport> {
        None
    }

    /// Bytes of RAM that the map of controller or host needs; 0 if nobody says.
    fn map_ram_bytes(&self) -> u64 {
        0
    }

    /// Bytes of the simulator's own state of the layer, all of it counted as if touched; 0 if nobody says.
    fn state_bytes(&self) -> u64 {
        0
    }
}

/// Which figures of garbage collection a layer has; the others are null in its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reports {
    /// Full merges.
    pub full_merges: bool,
    /// Partial merges, switch merges, and blocks erased without a merge.
    pub partial_and_switch_merges: bool,
    /// Merges because a pair was full, or because a block without a U-block needed one.
    pub pair_triggers: bool,
    /// Merges inside a superblock, and between superblocks.
    pub superblock_triggers: bool,
    /// Victims reclaimed because free blocks ran low.
    pub reclaims_victims: bool,
    /// U-blocks in use.
    pub u_blocks: bool,
}

impl Reports {
    /// A layer of which nothing more is known.
    pub const NOTHING: Reports = Reports {
        full_merges: false,
        partial_and_switch_merges: false,
        pair_triggers: false,
        superblock_triggers: false,
        reclaims_victims: false,
        u_blocks: false,
    };

    /// Victims that a policy chooses.
    pub const VICTIMS: Reports = Reports { reclaims_victims: true, ..Reports::NOTHING };

    /// Pairs of a D-block and a U-block that are merged whole.
    pub const PAIRS: Reports = Reports { full_merges: true, pair_triggers: true, u_blocks: true, ..Reports::NOTHING };

    /// Pairs that are merged in whole, in part, or by a switch of roles.
    pub const HYBRID_PAIRS: Reports = Reports { partial_and_switch_merges: true, ..Reports::PAIRS };
}

/// A translation layer that specs can ask for. No value of the type is needed: a layer of its own
/// implements it for itself, a variant of another for an empty type.
pub trait Layer {
    /// Its own keys.
    type Keys: Keys;

    /// What runs. It can be written down and read again, so that a device that was aged once serves many runs.
    type Running: TranslationLayer + Serialize + DeserializeOwned;

    /// Names of the [`SharedKeys`] and [`SuperblockKeys`] that it reads, such as `u_blocks` or
    /// `superblock.logical`.
    const READS: &'static [&'static str];

    /// The merges that it knows.
    const MERGES: &'static [MergeMethod] = &[MergeMethod::BlockErase];

    /// Whether it reclaims victims by a policy ([`PolicyKeys`](crate::blocks::victims::PolicyKeys)).
    const CHOOSES_VICTIMS: bool = false;

    /// Whether it asks a user's own policy for victims, streams and moves that level wear.
    const ASKS_POLICIES: bool = false;

    /// Where its map may be.
    const MAP_PLACES: &'static [MapPlace] = &[MapPlace::Ram];

    /// Its own keys that every other layer refuses, unless they have their default, instead of ignoring them.
    const STRICT_KEYS: &'static [&'static str] = &[];

    /// How it can start anew after a power cut; [`Recovery::Off`] alone if it cannot.
    const RECOVERIES: &'static [Recovery];

    /// Whether all copies of a logical page lie on one die. A die runs its programs and erases in the order in which
    /// they are decided, so no erase needs to wait for programs on other dies.
    const COPIES_ON_ONE_DIE: bool = false;

    /// Whether writes of the host reach all of the device, wherever they go. Columns of its pages then lie in large pages.
    const WRITES_EVERYWHERE: bool = false;

    /// Whether it gives up pages that the host trims ([`TranslationLayer::trim`]).
    const GIVES_UP_TRIMMED: bool = false;

    /// Whether it writes down what it gives up, wherever it starts anew.
    const WRITES_DOWN_TRIMS: bool = false;

    /// The figures of garbage collection that it has.
    const REPORTS: Reports;

    /// What it erases apart.
    fn erase_unit(_keys: &Self::Keys) -> EraseUnit {
        EraseUnit::Block
    }

    /// Changes the chips, where the layer assumes other ones than the spec describes.
    fn adapt(_chip: &mut ChipKeys, _keys: &Self::Keys) {}

    /// Refuses a spec that the layer cannot serve.
    ///
    /// # Errors
    /// The first impossibility, with the nearest value that works.
    fn check(spec: &LayerSpec, keys: &Self::Keys) -> Result<(), String>;

    /// Refuses erases that can fail where the layer cannot retire blocks.
    ///
    /// # Errors
    /// What the layer would need, as `key = value, found "value"`.
    fn check_retirement(spec: &LayerSpec, _keys: &Self::Keys) -> Result<(), String> {
        Err(format!("ftl.kind = \"page\", which retires blocks, found \"{}\"", spec.kind))
    }

    /// Blocks that each plane has beyond the geometry of the spec.
    fn extra_blocks(_spec: &LayerSpec, _keys: &Self::Keys) -> u32 {
        0
    }

    /// Logical pages that the host may address on a device of this shape.
    ///
    /// # Errors
    /// Of a plug-in: it cannot tell, or says a number that the device cannot have.
    fn capacity(spec: &LayerSpec, keys: &Self::Keys, geometry: &Geometry) -> Result<u32, String>;

    /// Logical pages that the layer writes for itself beside so many of the host: those of a map in flash, and one
    /// that stands for all summaries of blocks.
    fn translation_pages(_spec: &LayerSpec, _keys: &Self::Keys, _user_pages: u32) -> u32 {
        0
    }

    /// Builds the layer from what the chips hold after a power cut.
    ///
    /// # Errors
    /// No room to work in.
    fn recover(
        _parts: &LayerParts,
        _keys: &Self::Keys,
        _restart: &mut Restart,
    ) -> Result<(Self::Running, RecoveryCounts), FtlError> {
        unreachable!("a spec that cuts the power of a layer which cannot start anew is refused")
    }

    /// Builds the layer and fills it; `target` hears of the fill.
    ///
    /// # Errors
    /// A fill that does not fit, which [`Layer::check`] rules out.
    fn build(parts: &LayerParts, keys: &Self::Keys, target: &mut dyn FillTarget) -> Result<Self::Running, FtlError>;
}
