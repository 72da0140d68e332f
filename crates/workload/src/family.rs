//! What a kind of workload is made of. Each kind is one file, and one line in the registry.

use pumice_types::SpecError;
use pumice_types::key::Keys;

use crate::shared_keys::SharedWorkloadKeys;
use crate::source::error::TraceError;
use crate::source::placement::Placement;
use crate::source::request_source::RequestSource;
use crate::trace::bytes::recorded::SharedContent;

/// The run that a workload is opened for.
#[derive(Clone, Debug)]
pub struct OpenFor {
    /// The device.
    pub placement: Placement,
    /// Seed of every stream.
    pub seed: u64,
    /// Factor on the workload's length and size, above 0, at most 1.
    pub scale: f64,
    /// Bytes of a zone, if requests have the addresses of zones.
    pub zone_bytes: Option<u64>,
    /// What a recorded trace is read from in place of its file.
    pub content: Option<SharedContent>,
}

/// A kind of workload with all its members, such as the twins. A value is one member.
pub trait Family: Copy + 'static {
    /// What yields the requests.
    type Source: RequestSource;
    /// The keys that this kind alone reads; `()` if there are none.
    type Keys: Keys;

    /// Whether a member can be run without a file.
    const NEEDS_FILE: bool;

    /// Every member, in the order of the catalogue.
    fn members() -> Vec<Self>;

    /// The member's name, as `workload.kind` has it.
    fn name(self) -> String;

    /// What users may write when they mean the member, though it is not its name; by default nothing.
    fn slip(self) -> Option<String> {
        None
    }

    /// What the member is, in words.
    fn about(self) -> String;

    /// Refuses keys that contradict each other.
    ///
    /// # Errors
    /// Key, what was found and what is allowed.
    fn check(_: &Self::Keys) -> Result<(), SpecError> {
        Ok(())
    }

    /// Refuses a scale that the kind cannot have; by default none is refused here.
    ///
    /// # Errors
    /// The scale, and what is allowed.
    fn check_scale(_: f64) -> Result<(), SpecError> {
        Ok(())
    }

    /// Opens the member.
    ///
    /// # Errors
    /// A file that cannot be read, options outside their ranges, or a workload that does not fit the device.
    fn open(self, keys: &Self::Keys, shared: &SharedWorkloadKeys, run: &OpenFor) -> Result<Self::Source, TraceError>;
}
