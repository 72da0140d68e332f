//! Decisions that a user's own code takes in place of the built-in policies: which block is reclaimed, which stream
//! a page joins, whether an erase is suspended now, and which block's data is moved to level wear.
//!
//! A [`PolicySource`] is what a spec refers to; it makes the [`Decisions`] of one run. [`Decider`] stands between them
//! and the engine: it checks every answer, and an error bears the policy's name. The built-in victim policies look at
//! the same [`ClosedBlocks`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pumice_types::key::{Key, Values};
use pumice_types::{BlockId, DieId, Lpn, PlaneId, SpecError, Time, interned};

use super::names::check_name;
use crate::blocks::victims::ClosedBlocks;
pub use crate::plan::STREAMS_MAX;
use crate::plan::{FtlError, OwnFault};

/// Which decisions a policy takes; the engine's own code takes the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decides {
    /// Which block of a plane is reclaimed.
    pub victim: bool,
    /// Streams that its placement names, at most [`STREAMS_MAX`]; 0: it places nothing.
    pub streams: u8,
    /// Whether an erase is suspended where it can be.
    pub suspend: bool,
    /// Which block's data is moved to level wear.
    pub wear_swap: bool,
}

impl Decides {
    /// The names of the decisions, in the order in which documents list them.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            ("victim", self.victim),
            ("placement", self.streams > 0),
            ("suspend", self.suspend),
            ("wear_swap", self.wear_swap),
        ];
        all.into_iter().filter(|&(_, decided)| decided).map(|(name, _)| name).collect()
    }

    /// Whether the translation layer asks for any of them.
    pub fn concerns_ftl(self) -> bool {
        self.victim || self.streams > 0 || self.wear_swap
    }
}

/// The device that a policy decides for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceShape {
    /// Planes of the whole device.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Logical pages that the host may address.
    pub user_pages: u32,
    /// Seed for whatever the policy draws.
    pub seed: u64,
}

/// A plane that asks its policy.
pub struct AskingPlane<'a> {
    /// The plane that asks.
    pub plane: PlaneId,
    /// Pages written to it so far: its clock.
    pub now: u64,
    /// Closed blocks of the plane.
    pub blocks: &'a mut ClosedBlocks,
}

/// A page that is about to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageToPlace {
    /// The logical page.
    pub lpn: Lpn,
    /// The plane that it goes to.
    pub plane: PlaneId,
    /// Pages written to that plane so far: its clock.
    pub now: u64,
    /// The stream of the block that collection copies it from; `None`: the host writes it.
    pub copied_from: Option<u8>,
}

/// An erase that can be suspended for an access that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspensionPoint {
    /// The die that erases.
    pub die: DieId,
    /// Simulated time.
    pub now: Time,
    /// How much of the erase is done where it would stop.
    pub done: Time,
    /// Time of the whole erase.
    pub total: Time,
    /// How often it was suspended so far.
    pub suspensions: u32,
    /// Reads that wait for the die.
    pub waiting_reads: u32,
    /// A write waits for the block.
    pub is_urgent: bool,
}

/// A policy at work in one run. It is asked only for what its source says it decides.
pub trait Decisions: Send {
    /// The block of the plane to reclaim next, by its index in the plane. Asked only if a closed block of the plane has
    /// an invalid page.
    ///
    /// # Errors
    /// The policy failed.
    fn victim(&mut self, _plane: &mut AskingPlane) -> Result<u32, OwnFault> {
        Err("decides no victim".into())
    }

    /// The stream that a page joins, below the number of streams.
    ///
    /// # Errors
    /// The policy failed.
    fn placement(&mut self, _page: &PageToPlace) -> Result<u8, OwnFault> {
        Err("places no page".into())
    }

    /// Whether an erase stops for the access that waits. If not, the next point at which it could is asked for when it
    /// comes into question.
    ///
    /// # Errors
    /// The policy failed.
    fn suspend(&mut self, _erase: &SuspensionPoint) -> Result<bool, OwnFault> {
        Err("decides no suspension".into())
    }

    /// The closed block of the plane to move data from, to level wear, by its index in the plane. Asked after
    /// each block that was reclaimed.
    ///
    /// # Errors
    /// The policy failed.
    fn wear_swap(&mut self, _plane: &mut AskingPlane) -> Result<Option<u32>, OwnFault> {
        Err("swaps no blocks".into())
    }
}

/// A user's policy as a run is given it.
pub trait PolicySource: fmt::Debug + Send + Sync {
    /// Name of the policy, as errors and results have it.
    fn name(&self) -> &str;

    /// SHA-256 of the file or source that it comes from, in hexadecimal.
    fn sha256(&self) -> &str;

    /// Decisions of the policy.
    fn decides(&self) -> Decides;

    /// Keys of the section `[policy]`, with whole paths ([`key_path`]).
    fn keys(&self) -> &[Key] {
        &[]
    }

    /// Makes the policy of one run, with the values of its keys.
    ///
    /// # Errors
    /// The policy cannot be made; the text is one line.
    fn open(&self, shape: &DeviceShape, values: &Values) -> Result<Box<dyn Decisions>, OwnFault>;

    /// Ends a call that does not return, as far as that is possible. Called in another thread than that of the run,
    /// which is given up.
    fn stop(&self) {}
}

/// What stands before the name of a policy's key in a spec.
const SECTION: &str = "policy.";

/// The path of a policy's key.
///
/// # Errors
/// What no name of a key can be.
pub fn key_path(name: &str) -> Result<&'static str, SpecError> {
    check_name(name, '_', "key")?;
    Ok(interned::text(&format!("{SECTION}{name}")))
}

/// A user's policy in a configuration. Two are equal if name, source and values are.
#[derive(Clone, Debug)]
pub struct OwnPolicy(pub Arc<dyn PolicySource>, CallCount, Values);

impl OwnPolicy {
    /// A source's policy, not asked yet.
    pub fn new(source: impl PolicySource + 'static) -> OwnPolicy {
        OwnPolicy(Arc::new(source), CallCount::default(), Values::new())
    }

    /// The policy with the values that a spec has for its keys.
    #[must_use]
    pub fn with_values(&self, values: &Values) -> OwnPolicy {
        let own = values.iter().filter(|(path, _)| path.starts_with(SECTION));
        OwnPolicy(Arc::clone(&self.0), self.1.clone(), own.map(|(path, value)| (*path, value.clone())).collect())
    }

    /// Values of its keys.
    pub fn values(&self) -> &Values {
        &self.2
    }

    /// The count of its calls, for a thread that watches whether they return.
    pub fn calls(&self) -> CallCount {
        self.1.clone()
    }
}

/// Counts calls of a user's own code, for a thread that watches whether they return. Cloning shares the count.
#[derive(Clone, Debug, Default)]
pub struct CallCount(Arc<AtomicU64>);

impl CallCount {
    /// The number of the call that goes on now; `None` if none does.
    pub fn going_on(&self) -> Option<u64> {
        let count = self.0.load(Relaxed);
        (count % 2 == 1).then_some(count)
    }

    /// Makes a call. Only one thread calls.
    #[inline]
    pub(crate) fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        during(&self.0, call)
    }
}

/// Makes a call, counted before and behind it.
#[inline]
fn during<T>(calls: &AtomicU64, call: impl FnOnce() -> T) -> T {
    let before = calls.load(Relaxed);
    calls.store(before + 1, Relaxed);
    let answer = call();
    calls.store(before + 2, Relaxed);
    answer
}

// A panic cannot leave a source half changed: what changes is what it makes for each run.
impl std::panic::UnwindSafe for OwnPolicy {}
impl std::panic::RefUnwindSafe for OwnPolicy {}

impl PartialEq for OwnPolicy {
    fn eq(&self, other: &OwnPolicy) -> bool {
        self.0.name() == other.0.name() && self.0.sha256() == other.0.sha256() && self.2 == other.2
    }
}

/// A policy that is asked for the streams of pages that lie one behind the other.
pub struct Placing<'a> {
    decider: &'a Decider,
    policy: MutexGuard<'a, Box<dyn Decisions>>,
    calls: &'a AtomicU64,
}

impl Placing<'_> {
    #[inline]
    fn ask(&mut self, page: &PageToPlace) -> Result<u8, OwnFault> {
        during(self.calls, || self.policy.placement(page))
    }

    /// Asks for the stream of a page. `None`: it is `stream`, which those before it have; else what the policy has
    /// answered, as [`Decider::placement`] has it.
    #[inline]
    pub fn other_than(&mut self, stream: u8, page: &PageToPlace) -> Option<Result<u8, FtlError>> {
        match self.ask(page) {
            Ok(named) if named == stream => None,
            answer => Some(self.decider.other_stream(answer)),
        }
    }
}

fn named(policy: &OwnPolicy, fault: OwnFault) -> OwnFault {
    fault.of("policy", policy.0.name())
}

/// A policy at work, asked by the translation layer and the scheduler of one device.
#[derive(Clone)]
pub struct Decider {
    source: OwnPolicy,
    decides: Decides,
    /// Never waited for: one thread has the device, and a call ends before the next.
    policy: Arc<Mutex<Box<dyn Decisions>>>,
}

impl fmt::Debug for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decider").field(&self.source).finish()
    }
}

impl Decider {
    /// Makes a source's policy for a device.
    ///
    /// # Errors
    /// [`OwnFault`]: it cannot be made.
    pub fn open(source: &OwnPolicy, shape: &DeviceShape) -> Result<Decider, OwnFault> {
        let policy = source.1.during(|| source.0.open(shape, source.values())).map_err(|fault| named(source, fault))?;
        Ok(Decider { source: source.clone(), decides: source.0.decides(), policy: Arc::new(Mutex::new(policy)) })
    }

    /// Decisions of the policy.
    #[inline]
    pub fn decides(&self) -> Decides {
        self.decides
    }

    /// A fault of this policy, which bears its name from here on.
    pub fn fault(&self, fault: impl Into<OwnFault>) -> OwnFault {
        named(&self.source, fault.into())
    }

    /// See [`Decisions::victim`]. The block is one of the plane's closed ones.
    ///
    /// # Errors
    /// The policy failed, or named another block.
    pub fn victim(&self, plane: &mut AskingPlane) -> Result<u32, FtlError> {
        let answer = self.source.1.during(|| self.at_work().victim(plane));
        let block = answer.map_err(|fault| self.fault(fault))?;
        self.check_block("victim", plane, block)?;
        Ok(block)
    }

    /// See [`Decisions::wear_swap`]. The block is one of the plane's closed ones.
    ///
    /// # Errors
    /// As [`Decider::victim`].
    pub fn wear_swap(&self, plane: &mut AskingPlane) -> Result<Option<u32>, FtlError> {
        let answer = self.source.1.during(|| self.at_work().wear_swap(plane));
        let Some(block) = answer.map_err(|fault| self.fault(fault))? else { return Ok(None) };
        self.check_block("wear_swap", plane, block)?;
        Ok(Some(block))
    }

    /// See [`Decisions::placement`]. The stream is one of those that the policy has.
    ///
    /// # Errors
    /// The policy failed, or named another stream.
    #[inline]
    pub fn placement(&self, page: &PageToPlace) -> Result<u8, FtlError> {
        match self.placing().ask(page) {
            Ok(stream) if stream < self.decides.streams => Ok(stream),
            answer => self.other_stream(answer),
        }
    }

    /// Begins to place several pages, one after the other.
    #[inline]
    pub fn placing(&self) -> Placing<'_> {
        Placing { decider: self, policy: self.at_work(), calls: &self.source.1.0 }
    }

    #[inline]
    fn at_work(&self) -> MutexGuard<'_, Box<dyn Decisions>> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an answer that is not the usual one comes to.
    #[cold]
    fn other_stream(&self, answer: Result<u8, OwnFault>) -> Result<u8, FtlError> {
        let stream = answer.map_err(|fault| self.fault(fault))?;
        if stream < self.decides.streams {
            return Ok(stream);
        }
        let text = format!("placement named stream {stream}; allowed: 0 to {}", self.decides.streams - 1);
        Err(self.fault(text).into())
    }

    /// See [`Decisions::suspend`].
    ///
    /// # Errors
    /// The policy failed.
    pub fn suspend(&self, erase: &SuspensionPoint) -> Result<bool, OwnFault> {
        let answer = self.source.1.during(|| self.at_work().suspend(erase));
        answer.map_err(|fault| self.fault(fault))
    }

    /// Refuses a block that is not one of the plane's closed ones.
    fn check_block(&self, decision: &str, plane: &AskingPlane, block: u32) -> Result<(), FtlError> {
        if plane.blocks.valid_of_any(block).is_some() {
            return Ok(());
        }
        let (number, blocks) = (plane.plane.0, plane.blocks.blocks());
        let found = if block < blocks {
            "which is no closed block: it is free, being written, being reclaimed or bad".into()
        } else {
            format!("which the plane does not have: it has {blocks}")
        };
        Err(self.fault(format!("{decision} named block {block} of plane {number}, {found}")).into())
    }

    /// The error of a policy that reclaims only blocks which hold nothing but valid pages.
    pub fn wins_nothing(&self, block: BlockId, times: u32) -> FtlError {
        let text = format!(
            "victim named a block without an invalid page {times} times in a row, last block {}; collection cannot end that way",
            block.0
        );
        self.fault(text).into()
    }
}
