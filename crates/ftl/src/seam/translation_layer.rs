//! What a layer does in a run: five operations that every layer has, and capabilities that it offers or not.

use std::ops::Range;

use pumice_types::{BlockId, DieId, Lpn, PageAddress, PlaneId, RequestKind, Time, ZoneCommand};

use super::recovery::LogSize;
use super::zones::{FinishPace, ResetErases, ZoneOperation, ZoneReport};
use crate::plan::{FtlError, GcCounters, Plan, ZoneError};

/// A translation layer at work: the controller's belief about where pages are. A call changes that belief at once and
/// appends the flash commands to a plan; the array, which executes them, checks whether the belief was true.
///
/// Below the five operations stand the capabilities. A layer returns those that it has, and is asked for nothing of
/// the others.
pub trait TranslationLayer: Send {
    /// Appends the commands that store version `version` of `lpn`.
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room.
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError>;

    /// Appends the commands that read `lpn`, which must return `version`. `false` if the page was
    /// never written and the controller answers alone.
    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool;

    /// Where the layer believes the current page of `lpn` is.
    fn locate(&self, lpn: Lpn) -> Option<PageAddress>;

    /// Gives `lpn` up: it reads as never written. A layer that does nothing here keeps the page, as the
    /// standards allow.
    fn trim(&mut self, _lpn: Lpn) {}

    /// Appends the next step of reclaiming that `die` may take while no host command waits for it:
    /// one page copied, or one block erased. Nothing if none is due. Asked of a layer that works when idle
    /// ([`Conduct::works_when_idle`]).
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room.
    fn step(&mut self, _die: DieId, _plan: &mut Plan) -> Result<(), FtlError> {
        Ok(())
    }

    /// How its commands lie on the dies.
    fn conduct(&self) -> Conduct {
        Conduct::default()
    }

    /// Where logical pages are at home, if each stays in the plane that its number names, with every command of its
    /// accesses, and nothing elsewhere changes what the layer decides there.
    fn homes(&self) -> Option<Homes> {
        None
    }

    /// Counts of the layer; those of a plug-in the engine takes from its plans.
    fn figures(&self) -> Option<&dyn Figures> {
        None
    }

    /// Counts of the layer, to begin them at zero.
    fn figures_mut(&mut self) -> Option<&mut dyn Figures> {
        None
    }

    /// The memory that it needs.
    fn memory(&self) -> Option<&dyn MemoryUse> {
        None
    }

    /// Prefetches for accesses to come.
    fn look_ahead(&self) -> Option<&dyn LookAhead> {
        None
    }

    /// Data placed by the streams that a host names.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// Trims that outlast power cuts.
    fn durable_trims(&mut self) -> Option<&mut dyn DurableTrims> {
        None
    }

    /// Pages in which mapping units gather.
    fn open_pages(&mut self) -> Option<&mut dyn GatheredUnits> {
        None
    }

    /// A map that is partly read from flash, by commands of its own.
    fn map_loads(&mut self) -> Option<&mut dyn MapLoads> {
        None
    }

    /// Blocks that can be retired.
    fn retirement(&mut self) -> Option<&mut dyn Retirement> {
        None
    }

    /// Zones whose host asks for operations.
    fn zone_operations(&mut self) -> Option<&mut dyn ZoneOperations> {
        None
    }

    /// Zones whose addresses the host's requests have.
    fn host_zones(&mut self) -> Option<&mut dyn HostZones> {
        None
    }

    /// U-blocks that can be merged away.
    fn merging(&mut self) -> Option<&mut dyn Merging> {
        None
    }

    /// Requests of the host, of which the layer hears before their pages come.
    fn requests(&mut self) -> Option<&mut dyn RequestBorders> {
        None
    }

    /// What the layer counts for itself. Only code of the user's own has such counts.
    fn own_counts(&self) -> Option<&dyn OwnCounts> {
        None
    }

    /// Calls that can fail and have no error to return. Only code of the user's own has them.
    fn faults(&mut self) -> Option<&mut dyn Faults> {
        None
    }
}

/// How a layer's commands lie on the dies. It stays as it is while the layer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// The commands of one plan may lie on several dies. Each run of commands on one die is then queued for itself, and
    /// the access waits for the run in which it is complete.
    pub spans_dies: bool,
    /// The commands of one access follow each other on their die without anything between them.
    pub holds_die: bool,
    /// Pages are moved by a read and a program on different dies ([`FlashCommand::moved`]).
    ///
    /// [`FlashCommand::moved`]: pumice_types::FlashCommand::moved
    pub moves_between_dies: bool,
    /// Collection takes steps of its own on idle dies ([`TranslationLayer::step`]).
    pub works_when_idle: bool,
    /// A part of the map is read from spare areas.
    pub reads_map_in_spare: bool,
}

impl Default for Conduct {
    fn default() -> Conduct {
        Conduct {
            spans_dies: false,
            holds_die: true,
            moves_between_dies: false,
            works_when_idle: false,
            reads_map_in_spare: false,
        }
    }
}

/// The planes that logical pages are at home in: units of so many pages are dealt out to them in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    /// Logical pages of a unit.
    pub unit_pages: u32,
    /// The planes in their turn.
    pub order: Vec<PlaneId>,
}

/// Logical pages that are written to an empty device before it collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshRoom {
    /// Pages in all.
    pub pages: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Planes that are written as one.
    pub joined_planes: u32,
}

/// What a layer counts.
pub trait Figures {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters;

    /// Counts of collection, to add to them.
    fn counters_mut(&mut self) -> &mut GcCounters;

    /// U-blocks in use; 0 for a layer that has none.
    fn u_blocks_used(&self) -> u64 {
        0
    }

    /// Starts counting anew.
    fn reset_counters(&mut self) {
        *self.counters_mut() = GcCounters { u_blocks_max: self.u_blocks_used(), ..GcCounters::default() };
    }

    /// Blocks and RAM that its map takes for the case of a power cut; `None` if it keeps no log.
    fn log_size(&self) -> Option<LogSize> {
        None
    }

    /// Pages that can still be written to what a stream of the host has open, as a drive tells of the reclaim unit
    /// of a handle; 0 where streams are not placed.
    fn open_pages_of(&self, _stream: u8) -> u64 {
        0
    }

    /// What an empty device takes before it collects; `None` of a layer that does not know.
    fn fresh_room(&self) -> Option<FreshRoom> {
        None
    }

    /// Zones of the layer, if it has any.
    fn zones(&self) -> Option<ZoneReport> {
        None
    }
}

/// The memory that a layer needs.
pub trait MemoryUse {
    /// Bytes of RAM that the map of controller or host needs.
    fn map_ram_bytes(&self) -> u64;

    /// Bytes of the simulator's own state of the layer, all of it counted as if touched.
    fn state_bytes(&self) -> u64;
}

/// Prefetches for accesses to come; no effect on results.
pub trait LookAhead {
    /// Prefetches the map entry of `lpn`, which the host will access.
    fn expect(&self, lpn: Lpn);

    /// Prefetches what a write of `lpn` will change, once its map entry is in the cache.
    fn expect_overwrite(&self, _lpn: Lpn) {}

    /// Prefetches what a read of `lpn` will look at beside its map entry, once that is in the cache.
    /// Returns the page that it will probably find, if the layer can say that already.
    fn expect_look_up(&self, _lpn: Lpn) -> Option<PageAddress> {
        None
    }
}

/// Data placed by the streams that a host names.
pub trait Streams {
    /// Appends the commands of a write to a stream that the host names.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError>;
}

/// Trims that outlast power cuts: the layer gives up what is trimmed, and writes that down.
pub trait DurableTrims {
    /// Appends what is due, after a trim, of what makes trims durable.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn keep_trims(&mut self, plan: &mut Plan) -> Result<(), FtlError>;

    /// Appends what makes all trims durable, because the host flushes. `again`: also those of the last flush, which is
    /// not done yet.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn flush_trims(&mut self, again: bool, plan: &mut Plan) -> Result<(), FtlError>;
}

/// What is programmed of pages that gather units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForcedOut {
    /// The page that gathers the newest data of a logical page, if one does; the access is complete with it. All pages,
    /// where one cannot be alone.
    Unit(Lpn),
    /// This page, if it gathers units of the host. Nothing where what gathers has no page yet.
    Page(PageAddress),
    /// All pages that gather units of the host.
    All,
}

/// Pages in which mapping units gather in the controller's RAM until they are full, or until they are forced out: the
/// units that are missing are then padding.
pub trait GatheredUnits {
    /// Whether the newest data of `lpn` gathers, so that flash does not hold it yet.
    fn gathers(&mut self, lpn: Lpn) -> bool;

    /// Appends the programs of pages that gather units.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn force_out(&mut self, forced: ForcedOut, plan: &mut Plan) -> Result<(), FtlError>;
}

/// A map that is partly read from flash, by commands of its own before an access.
pub trait MapLoads {
    /// Appends the map accesses that must be done before `lpn` is read, written or trimmed: none if its
    /// entry is in RAM. `write`, `read` and `trim` then take the entry as loaded. Unlike theirs, these
    /// commands may be on several dies. A look-up that costs time without them says so in [`Plan::look_up`]; both pass
    /// at once.
    ///
    /// # Errors
    /// [`FtlError`] if there is no room to write an entry back.
    fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError>;
}

/// Blocks that can be retired.
pub trait Retirement {
    /// The chip reports that the next erase of `block` will fail: the block must not be used after it. The
    /// report comes before that erase is decided, because nothing else touches the block before it ends.
    fn note_failing(&mut self, block: BlockId);
}

/// Zones whose addresses the host's requests have: a host that knows of zones writes each from its start to its end.
pub trait HostZones {
    /// Whether two pages lie in one zone.
    fn is_same_zone(&self, page: Lpn, other: Lpn) -> bool;

    /// Whether the zone of a page is open.
    fn is_open(&self, page: Lpn) -> bool;

    /// Open zones.
    fn open_zones(&self) -> u32;

    /// How the erases of a zone that the host resets follow one another, and how fast one that it finishes is filled.
    fn in_turn(&self) -> (ResetErases, FinishPace);

    /// Checks a read, write or append of `pages` pages from `first` on; the pages follow with nothing between. Returns the
    /// first page of the access, which for an append is where the zone's write pointer stands.
    ///
    /// # Errors
    /// The standard's; nothing has changed.
    fn admit(&mut self, kind: RequestKind, first: Lpn, pages: u32) -> Result<Lpn, ZoneError>;

    /// Carries out a command other than an append to the zone of a page. Returns the pages that are given up: those of a
    /// zone that is emptied.
    ///
    /// # Errors
    /// The standard's; nothing has changed.
    fn command(&mut self, command: ZoneCommand, page: Lpn) -> Result<Range<u32>, ZoneError>;
}

/// Zones whose host asks for operations.
pub trait ZoneOperations {
    /// Appends the commands of the next zone operation that the last access made the host ask for; `None` if there is
    /// none. Its time is measured apart.
    fn next_operation(&mut self, plan: &mut Plan) -> Option<ZoneOperation>;
}

/// U-blocks that can be merged away.
pub trait Merging {
    /// Appends the merges that leave no U-block in use.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    fn merge_all(&mut self, plan: &mut Plan) -> Result<(), FtlError>;
}

/// A request of the host whose pages come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunRequest {
    /// What is asked for. A flush has no pages.
    pub kind: RequestKind,
    /// First page.
    pub first: Lpn,
    /// Number of pages.
    pub pages: u32,
    /// The stream that the host names.
    pub stream: u8,
    /// Simulated time; zero in a run without a clock.
    pub now: Time,
}

/// Requests of the host. A page comes later than its request where the write buffer holds it.
pub trait RequestBorders {
    /// A request begins.
    fn begin(&mut self, request: &BegunRequest);
}

/// Counts of a layer's own, which the result lists.
pub trait OwnCounts {
    /// Counts since the layer was made, in the order of their names.
    fn counts(&self) -> Vec<u64>;
}

/// Calls that can fail and have no error to return.
pub trait Faults {
    /// Why an earlier call failed that could not say so, such as [`TranslationLayer::read`].
    fn take_fault(&mut self) -> Option<FtlError>;
}
