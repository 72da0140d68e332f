//! The kinds of workloads: one line each in the registry below.
//!
//! A kind implements [`Family`] for the type of its members. What can run, under which name, which keys it reads,
//! the catalogue and the contract tests go through the registry.

use std::fmt;
use std::path::Path;

use pumice_types::key::{ANY, CHOSEN, Field, Key, Keys, Value, ValueKind, Values, When};
use pumice_types::{HostRequest, SpecError, refuse};
use serde::{Serialize, Serializer};

use crate::family::{Family, OpenFor};
use crate::fat::file_system::FileSystemName;
use crate::generator::hot_writes::HotWrites;
use crate::generator::patterns::PatternKind;
use crate::shared_keys::{KIND, SharedWorkloadKeys};
use crate::source::error::{TraceError, nearest};
use crate::source::fact::Fact;
use crate::source::key_group::key_group;
use crate::source::notes::Notes;
use crate::source::request_source::RequestSource;
use crate::source::zone_job::ZoneJob;
use crate::trace::bytes::recorded::SharedContent;
use crate::trace::kind::RecordedTrace;
use crate::trace::options::TraceOptions;
use crate::trace::requests::Trace;
use crate::twins::names::TwinName;

/// Makes [`WorkloadKind`], [`Workload`] and [`WorkloadKeys`] of lines of kind, type of its members, field of its
/// keys, and predicate.
macro_rules! families {
    ($($(#[$doc:meta])* $kind:ident($members:ident), $field:ident, $is:ident;)+) => {
        /// A kind of workload, as `workload.kind` names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum WorkloadKind { $($(#[$doc])* $kind($members)),+ }

        /// A source of host requests in the order of their arrival; the first arrives at 0.
        #[derive(Debug)]
        pub enum Workload { $($(#[$doc])* $kind(Box<<$members as Family>::Source>)),+ }

        key_group! {
            /// Everything that workloads read of `[workload]`.
            pub struct WorkloadKeys {
                /// Which workload it is.
                pub choice: KindKeys,
                /// What several kinds read.
                pub shared: SharedWorkloadKeys,
                $($(#[$doc])* pub $field: <$members as Family>::Keys,)+
            }
        }

        impl WorkloadKind {
            /// Every workload by name, in the order of the catalogue.
            pub fn all() -> Vec<WorkloadKind> {
                let mut all = Vec::new();
                $(all.extend(<$members as Family>::members().into_iter().map(WorkloadKind::$kind));)+
                all
            }

            /// The name, as `workload.kind` has it.
            pub fn name(self) -> String {
                match self { $(WorkloadKind::$kind(member) => Family::name(member)),+ }
            }

            /// What the workload is, in words.
            pub fn about(self) -> String {
                match self { $(WorkloadKind::$kind(member) => Family::about(member)),+ }
            }

            /// Whether the workload needs a file to run.
            pub fn needs_file(self) -> bool {
                match self { $(WorkloadKind::$kind(_) => <$members as Family>::NEEDS_FILE),+ }
            }

            /// What users may write when they mean it, though it is not its name.
            fn slip(self) -> Option<String> {
                match self { $(WorkloadKind::$kind(member) => Family::slip(member)),+ }
            }

            $(
                #[doc = concat!("Whether it is one of `WorkloadKind::", stringify!($kind), "`.")]
                pub fn $is(self) -> bool {
                    matches!(self, WorkloadKind::$kind(_))
                }
            )+

            /// Refuses a scale that the workload cannot have.
            ///
            /// # Errors
            /// The scale, and what is allowed.
            pub fn check_scale(self, scale: f64) -> Result<(), SpecError> {
                match self { $(WorkloadKind::$kind(_) => <$members as Family>::check_scale(scale)),+ }
            }
        }

        impl WorkloadKeys {
            /// Refuses keys of the chosen kind that contradict each other.
            fn check_own(&self) -> Result<(), SpecError> {
                match self.kind() { $(WorkloadKind::$kind(_) => <$members as Family>::check(&self.$field)),+ }
            }

            /// Opens the workload that the keys ask for.
            ///
            /// # Errors
            /// Keys that contradict each other, a scale that the workload cannot have, a file that cannot be read,
            /// options outside their ranges, or a workload that does not fit the device.
            pub fn open(&self, run: &OpenFor) -> Result<Workload, TraceError> {
                let kind = self.kind();
                kind.check_scale(run.scale).and_then(|()| self.check()).map_err(TraceError::option)?;
                match kind {
                    $(WorkloadKind::$kind(member) => {
                        let source = Family::open(member, &self.$field, &self.shared, run)?;
                        Ok(Workload::$kind(Box::new(source)))
                    })+
                }
            }
        }

        impl Workload {
            /// The next request, `None` after the last. Arrivals never decrease.
            ///
            /// # Errors
            /// A bad line of a trace, or a request that does not fit the device.
            pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
                match self { $(Workload::$kind(source) => RequestSource::next_request(source.as_mut())),+ }
            }

            /// Puts the next request into `request`; `false` after the last. Arrivals never decrease.
            ///
            /// # Errors
            /// As [`Workload::next_request`].
            #[inline]
            pub fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
                match self { $(Workload::$kind(source) => RequestSource::take_next(source.as_mut(), request)),+ }
            }

            /// Tells the workload that nobody reads when requests arrive, so that it need not draw it; they may then
            /// all arrive at 0. What the requests are does not change.
            pub fn skip_arrivals(&mut self) {
                match self { $(Workload::$kind(source) => RequestSource::skip_arrivals(source.as_mut())),+ }
            }

            /// Number of requests in all, if it is known beforehand: never for a trace or a file system.
            pub fn requests_expected(&self) -> Option<u64> {
                match self { $(Workload::$kind(source) => RequestSource::requests_expected(source.as_ref())),+ }
            }

            /// How many streams the host names for what it writes; 1 if it names none.
            /// A trace knows only of those that it has read so far.
            pub fn streams(&self) -> u16 {
                match self { $(Workload::$kind(source) => RequestSource::streams(source.as_ref())),+ }
            }

            /// Whether the host names streams at all.
            pub fn names_streams(&self) -> bool {
                match self { $(Workload::$kind(source) => RequestSource::names_streams(source.as_ref())),+ }
            }

            /// Share of the work done, 0 to 1: bytes of the file read, pages written by a file system, or requests
            /// issued. `None` if the file's length is unknown (a pipe).
            pub fn progress(&self) -> Option<f64> {
                match self { $(Workload::$kind(source) => RequestSource::progress(source.as_ref())),+ }
            }

            /// The file that its requests come from, if it is long enough to be read ahead on a thread of its own.
            pub(crate) fn long_file(&self) -> Option<&Path> {
                match self { $(Workload::$kind(source) => RequestSource::long_file(source.as_ref())),+ }
            }

            /// What was changed or overlooked so far.
            pub fn notes(&self) -> Notes {
                match self { $(Workload::$kind(source) => RequestSource::notes(source.as_ref())),+ }
            }

            /// What is known about the workload, by name: a twin's parameters and published figures, a generator's
            /// options, a trace's path, format, compression and (once it was read to its end) the SHA-256 of the
            /// file's bytes.
            pub fn facts(&self) -> Vec<(&'static str, Fact)> {
                match self { $(Workload::$kind(source) => RequestSource::facts(source.as_ref())),+ }
            }
        }
    };
}

// The catalogue lists them in this order.
families! {
    /// Synthetic stand-ins for traces.
    Twin(TwinName), twin, is_twin;
    /// File systems in use.
    FileSystem(FileSystemName), file_system, is_file_system;
    /// Generators whose requests the spec describes.
    Drawn(PatternKind), drawn, is_drawn;
    /// Generators of one-page writes, which say themselves what their requests are: w10 to w40.
    HotWrites(HotWrites), hot_writes, is_hot_writes;
    /// Jobs of a host that knows of zones.
    Zoned(ZoneJob), zoned, is_zoned;
    /// Recorded traces.
    Trace(RecordedTrace), trace, is_trace;
}

pumice_types::keys! {
    /// Which workload runs.
    pub struct KindKeys in "workload" {
        kind: WorkloadKind = "\"twin:prn_1\"", ANY, "", CHOSEN, When::Requests, "twin:NAME (a stand-in for a trace), trace, the name of a file system in use, or of a generator; `pumice workloads` lists all.";
    }
}

impl WorkloadKeys {
    /// Which workload runs.
    pub fn kind(&self) -> WorkloadKind {
        self.choice.kind
    }

    /// The smallest capacity in bytes on which the recorded trace keeps its addresses, or under
    /// `workload.address = "compact"` its regions. `content` is read in place of its file.
    ///
    /// # Errors
    /// Another workload, or a trace that cannot be read.
    pub fn trace_extent(&self, content: Option<SharedContent>) -> Result<u64, TraceError> {
        self.check().map_err(TraceError::option)?;
        if !self.kind().is_trace() {
            return Err(TraceError::option(format!(
                "--fit-device belongs to a recorded trace, found workload.kind = \"{}\"; --scale makes such a workload and \
                 its device smaller",
                self.kind()
            )));
        }
        let path = self.trace.path.as_deref().unwrap_or_default();
        let options = TraceOptions { content, ..self.trace.options() };
        Trace::extent(Path::new(path), &options, self.shared.address)
    }

    /// Refuses keys that contradict each other.
    ///
    /// # Errors
    /// Key, what was found and what is allowed.
    pub fn check(&self) -> Result<(), SpecError> {
        let kind = self.kind();
        let given = [
            ("path", self.trace.path.is_some()),
            ("format", self.trace.format.is_some()),
            ("columns", self.trace.columns.is_some()),
        ];
        match given.into_iter().find(|&(_, is_given)| is_given && !kind.is_trace()) {
            Some((key, _)) => {
                Err(refuse!("workload.{key} belongs to workload.kind = \"trace\", found kind = \"{kind}\""))
            }
            None => self.check_own().and_then(|()| self.check_shares()),
        }
    }

    /// Whether its requests are drawn, as many as are asked for.
    pub fn is_endless(&self) -> bool {
        self.kind().is_drawn() || self.kind().is_hot_writes()
    }

    /// Whether there is any write among requests that are drawn without end.
    pub fn draws_writes(&self) -> bool {
        let reads = if self.kind().is_drawn() { self.drawn.mix.read_fraction } else { 0.0 };
        reads + self.shared.trim_fraction < 1.0
    }

    /// Refuses reads and trims that are more than all requests.
    fn check_shares(&self) -> Result<(), SpecError> {
        let (reads, trims) = (self.drawn.mix.read_fraction, self.shared.trim_fraction);
        match self.kind().is_drawn() && reads + trims > 1.0 {
            true => Err(refuse!(
                "workload.trim_fraction = {trims} beside workload.read_fraction = {reads}; allowed: a sum of at most 1"
            )),
            false => Ok(()),
        }
    }
}

impl WorkloadKind {
    /// The workload of a name.
    ///
    /// # Errors
    /// An unknown name. The text ends a sentence that begins with the key and the name, and gives the nearest name.
    pub fn parse(name: &str) -> Result<WorkloadKind, SpecError> {
        let all = WorkloadKind::all();
        if let Some(&kind) = all.iter().find(|kind| kind.name() == name) {
            return Ok(kind);
        }
        // No workload has a dot or a slash in its name: this is a file that somebody wants to replay.
        if name.contains(['.', '/']) {
            return Err(
                "is no workload; a trace is replayed by --trace FILE, in a spec by kind = \"trace\" with path; a job of fio's is run by --fio-job FILE".into()
            );
        }
        let names: Vec<[String; 2]> =
            all.iter().map(|kind| [kind.slip().unwrap_or_else(|| kind.name()), kind.name()]).collect();
        let near = nearest(name, names.iter().flatten().map(String::as_str));
        let near = names.iter().find(|names| names.iter().any(|known| Some(known.as_str()) == near));
        let near = near.map(|[_, name]| format!("nearest: \"{name}\"; ")).unwrap_or_default();
        Err(refuse!("does not exist; {near}`pumice workloads` lists all"))
    }

    /// The keys of `[workload]` that a run of the workload may read; whether it does can depend on other keys.
    pub fn keys(self) -> Vec<&'static Key> {
        let values = Values::from([(KIND, Value::Text(self.name()))]);
        WorkloadKeys::rows().into_iter().filter(|key| may_hold(&key.when, &values)).collect()
    }
}

/// The workloads that need no file: name and description.
pub fn catalogue() -> Vec<(String, String)> {
    let without_file = WorkloadKind::all().into_iter().filter(|kind| !kind.needs_file());
    without_file.map(|kind| (kind.name(), kind.about())).collect()
}

/// Whether a condition can hold for the kind that `values` give, which hold no other key.
fn may_hold(when: &When, values: &Values) -> bool {
    match *when {
        When::Is(KIND, _) | When::IsNot(KIND, _) => when.idle(values).is_none(),
        When::All(conditions) => conditions.iter().all(|condition| may_hold(condition, values)),
        When::Any(conditions) => conditions.iter().any(|condition| may_hold(condition, values)),
        When::Always
        | When::Requests
        | When::Is(..)
        | When::IsNot(..)
        | When::On(_)
        | When::Given(_)
        | When::NotGiven(_)
        | When::Positive(_)
        | When::List(_) => true,
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// As its name.
impl Serialize for WorkloadKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A kind of workload can be the value of a key.
impl Field for WorkloadKind {
    const SHAPE: ValueKind = ValueKind::Text;

    fn read(value: Option<&Value>) -> Result<WorkloadKind, SpecError> {
        WorkloadKind::parse(value.and_then(Value::as_text).unwrap_or_default())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name()))
    }
}
