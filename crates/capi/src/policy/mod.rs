//! `pumice_policy.h`: policies of the user's own, from shared objects and from addresses of functions.

mod flat;
mod table;

use std::mem::offset_of;
use std::path::Path;
use std::ptr;

use libloading::Library;
use pumice_ftl::OwnFault;
use pumice_ftl::policy::{Decides, Decisions, DeviceShape, OwnPolicy, PolicySource, key_path};
use pumice_types::key::{Key, Values};
use pumice_types::{SpecError, refuse};

use crate::InterfaceVersion;
use crate::declared_keys::{KeyOwner, c_value, keys_of};
use crate::foreign;
use crate::shared_object::{self, Interface, Loaded};
pub use flat::{
    Addresses, FlatDecisions, FlatErase, FlatPage, FlatPlane, StateErase, StatePage, StatePlane, at_addresses,
};
pub use table::{AboutErase, AboutPage, AboutPlane, CDecisions, CDevice, CErase, CPage, CPlane, CPolicy};

/// Version of the interface.
pub const POLICY_VERSION: InterfaceVersion = InterfaceVersion::new(1, 1);

/// What a shared object exports.
const INTERFACE: Interface = Interface {
    header: "pumice_policy.h",
    version: POLICY_VERSION,
    table_bytes: &[offset_of!(CPolicy, key), size_of::<CPolicy>()],
    entry: "pumice_policy",
    lacks: "so it is no policy",
};

/// Longest name of a policy, in characters.
const NAME_CHARS: usize = 80;

/// A policy from a shared object. The object stays loaded as long as this lives.
#[derive(Debug)]
struct SharedObject {
    name: String,
    sha256: String,
    decides: Decides,
    keys: Vec<Key>,
    table: CPolicy,
    /// Stays loaded; none for a table that is a part of this program.
    _library: Option<Library>,
}

// SAFETY: the table is a copy that nobody changes; its pointers are to functions and to a text that was read already.
// One run calls them from one thread; the header says that two runs may call them at the same time with two contexts.
unsafe impl Send for SharedObject {}
// SAFETY: as above.
unsafe impl Sync for SharedObject {}

/// Loads the policy of a shared object.
///
/// # Errors
/// One line: there is no such file, it is not a shared object or none with a policy, or one for another version.
pub fn load(path: &Path) -> Result<OwnPolicy, SpecError> {
    let Loaded { library, sha256, table } = shared_object::load::<CPolicy>(path, &INTERFACE)?;
    let object = SharedObject::new(table, sha256, Some(library));
    object.map(OwnPolicy::new).map_err(|error| refuse!("{}: {error}", path.display()))
}

/// The policy of a table that is a part of this program: for tests of the interface.
///
/// # Errors
/// As for the table of a shared object.
///
/// # Safety
/// The table keeps what the header promises, as long as the policy lives.
pub unsafe fn from_table(table: &CPolicy) -> Result<OwnPolicy, SpecError> {
    SharedObject::new(*table, String::new(), None).map(OwnPolicy::new)
}

impl SharedObject {
    /// What a table declares.
    fn new(table: CPolicy, sha256: String, library: Option<Library>) -> Result<SharedObject, SpecError> {
        let (decides, name) = (table.decides()?, name_of(&table)?);
        let owner = KeyOwner { path: &key_path, source: &format!("policy \"{name}\"") };
        // SAFETY: the table says how long the list is; the header asks for texts.
        let keys = unsafe { keys_of((table.key, table.keys), &owner) };
        let keys = keys.map_err(|error| refuse!("{}: {error}", owner.source))?;
        Ok(SharedObject { name, sha256, decides, keys, table, _library: library })
    }
}

/// The name in a table.
fn name_of(table: &CPolicy) -> Result<String, SpecError> {
    // SAFETY: the header asks for a text that ends with a zero byte.
    let name = unsafe { foreign::text(table.name, "the name of its policy") }?.ok_or("its policy has no name")?;
    if name.is_empty() || name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
        return Err(refuse!(
            "the name of its policy is empty, longer than {NAME_CHARS} characters or has control characters"
        ));
    }
    Ok(name)
}

impl PolicySource for SharedObject {
    fn name(&self) -> &str {
        &self.name
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }

    fn decides(&self) -> Decides {
        self.decides
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn open(&self, shape: &DeviceShape, values: &Values) -> Result<Box<dyn Decisions>, OwnFault> {
        let mut context = ptr::null_mut();
        if let Some(create) = self.table.create {
            let c_values: Vec<_> = self.keys.iter().map(|key| c_value(key, values.get(key.path))).collect();
            let device = CDecisions::device(shape, &c_values);
            // SAFETY: the structure lives during the call.
            context = unsafe { create(&raw const device) };
            if context.is_null() {
                return Err("create returned a null pointer".into());
            }
        }
        Ok(Box::new(CDecisions::new(self.table, context)))
    }
}
