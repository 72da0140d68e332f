//! What holds for every layer's part of a spec: which keys it reads, and what is refused.

use pumice_types::key::{Keys, Values};
use pumice_types::refusal::{needs, quoted};
use pumice_types::{ChipKeys, Choice, Geometry, PartialEraseUnit, SpecError, refuse};

use super::zns::ZoneInterface;
use super::{FtlKeys, FtlKind};
use crate::blocks::victims::PolicyKeys;
use crate::foreign::plugin::OwnLayer;
use crate::plan::InitialKeys;
use crate::seam::policy::Decides;
use crate::seam::{LayerSpec, MergeMethod, Recovery};

impl FtlKind {
    /// Whether a run with this layer reads a key of `[ftl]`.
    pub fn reads(self, path: &str) -> bool {
        let shared = path.strip_prefix("ftl.").unwrap_or(path);
        ["kind", "merge", "map_place", "recovery"].contains(&shared)
            || self.facts().reads.contains(&shared)
            || self.facts().chooses_victims && PolicyKeys::rows().iter().any(|key| key.path == path)
            || self.own_keys().iter().any(|key| key.path == path)
            || self.plugin().is_some_and(|plugin| plugin.owns(path))
    }
}

/// Whether a key of one layer is refused by the others, unless it has its default, instead of being ignored.
pub fn is_strict(path: &str) -> bool {
    FtlKind::ALL.iter().any(|kind| kind.facts().strict_keys.contains(&path))
}

/// Names of the layers that pass, as an error lists them.
pub fn kinds_that(pass: impl Fn(FtlKind) -> bool) -> String {
    let names: Vec<String> =
        FtlKind::ALL.iter().filter(|&&kind| pass(kind)).map(|kind| format!("\"{kind}\"")).collect();
    names.join(" | ")
}

impl FtlKeys {
    /// Pages of a zone on a device of this shape, if requests have the addresses of zones.
    pub fn host_zone_pages(&self, geometry: &Geometry) -> Option<u32> {
        if self.kind == FtlKind::Zns { self.zns.host_zone_pages(geometry) } else { None }
    }

    /// Whether requests have the addresses of zones.
    pub fn has_host_zones(&self) -> bool {
        self.kind == FtlKind::Zns && self.zns.interface == ZoneInterface::Zones
    }

    /// The layer's part of a spec; `chip` are the chips that it assumes ([`FtlKeys::adapted`]).
    pub fn spec<'a>(&'a self, chip: &'a ChipKeys, initial: &'a InitialKeys) -> LayerSpec<'a> {
        let FtlKeys { kind, shared, superblock, policies, .. } = self;
        LayerSpec { kind: kind.name(), chip, shared, superblock, policies, initial, decides: self.decides() }
    }

    /// Refuses what the layer does not know, and then what it cannot do; `chip` are the spec's chips.
    ///
    /// # Errors
    /// The first impossibility, with what would work.
    pub fn check(&self, chip: &ChipKeys, initial: &InitialKeys) -> Result<(), SpecError> {
        let (kind, merge, place) = (self.kind, self.shared.merge, self.shared.map_place);
        if merge != MergeMethod::BlockErase {
            let (wanted, unit) = (format!("ftl.merge = \"{merge}\""), chip.partial_erase.unit);
            let rule = (unit != PartialEraseUnit::PartialBlock, "partial_erase.unit = \"partial-block\"", quoted(unit));
            needs(&wanted, [rule])?;
            chip.geometry.check_partial_blocks(wanted)?;
        }
        if !kind.facts().merges.contains(&merge) {
            let able = kinds_that(|kind| kind.facts().merges.contains(&merge));
            return Err(refuse!("ftl.merge = \"{merge}\" needs ftl.kind = {able}, found \"{kind}\""));
        }
        if !kind.facts().map_places.contains(&place) {
            let able = kinds_that(|kind| kind.facts().map_places.contains(&place));
            return Err(refuse!("ftl.map_place = \"{place}\" needs ftl.kind = {able}, found \"{kind}\""));
        }
        let recovery = self.shared.recovery;
        if !self.recoveries().contains(&recovery) {
            let able = kinds_that(|kind| kind.facts().recoveries.contains(&recovery));
            return Err(refuse!("ftl.recovery = \"{recovery}\" needs ftl.kind = {able}, found \"{kind}\""));
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

    /// How the layer that runs can recover after a power cut.
    pub fn recoveries(&self) -> &'static [Recovery] {
        match self.own_layer() {
            Some(own) if !own.source.recovers() => &[Recovery::Off],
            Some(_) | None => self.kind.facts().recoveries,
        }
    }

    /// The layer of the user's own that runs.
    pub fn own_layer(&self) -> Option<&OwnLayer> {
        self.plugin.layer.as_ref()
    }

    /// What the user's own policy decides; nothing if there is none.
    pub fn decides(&self) -> Decides {
        self.own_policy.as_ref().map_or(Decides::default(), |policy| policy.0.decides())
    }

    /// Refuses a policy of the user's whose decisions nobody asks for.
    fn check_own_policy(&self) -> Result<(), SpecError> {
        let Some(policy) = &self.own_policy else { return Ok(()) };
        let name = policy.0.name();
        if self.decides().concerns_ftl() && !self.kind.facts().asks_policies {
            let able = kinds_that(|kind| kind.facts().asks_policies);
            let decided = self.decides().names().join(", ");
            return Err(refuse!(
                "policy \"{name}\" decides {decided}: it needs ftl.kind = {able}, found \"{}\"",
                self.kind
            ));
        }
        Ok(())
    }

    /// Refuses keys of other layers that would change what the device is.
    fn check_strict_keys(&self) -> Result<(), SpecError> {
        let mut values = Values::new();
        self.write(&mut values);
        for other in FtlKind::ALL.iter().filter(|&&other| other != self.kind) {
            for key in other.own_keys().iter().filter(|key| other.facts().strict_keys.contains(&key.path)) {
                let value = values.get(key.path).map(ToString::to_string);
                if !self.kind.reads(key.path) && value.as_deref() != key.default_text() {
                    return Err(refuse!(
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
