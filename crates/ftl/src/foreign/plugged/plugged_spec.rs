//! A translation layer of the user's own, as a spec asks for it.

use pumice_types::key::{Key, Keys, Value, Values};
use pumice_types::{Geometry, SpecError, refuse};

use super::{Plugged, plugged_recovery};
use crate::foreign::plugin::{OwnLayer, PluginDevice, PluginName};
use crate::plan::{FillTarget, FtlError};
use crate::seam::{Facts, Layer, LayerParts, LayerSpec, Recovery, RecoveryCounts, Reports, Restart};

/// What a spec says to a plug-in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginKeys {
    /// The plug-in, which is given with a spec and not in it.
    pub layer: Option<OwnLayer>,
    /// Values of the plug-in's keys.
    pub values: Values,
}

/// The rows are those of the plug-in, so that none can stand here.
impl Keys for PluginKeys {
    fn rows() -> Vec<&'static Key> {
        Vec::new()
    }

    fn read(values: &Values) -> Result<PluginKeys, SpecError> {
        let name = values.get("ftl.kind").and_then(Value::as_text).and_then(PluginName::of_kind);
        let is_own = |path: &str| name.is_some_and(|name| name.owns(path));
        let own = values.iter().filter(|(path, _)| is_own(path)).map(|(path, value)| (*path, value.clone()));
        Ok(PluginKeys { layer: None, values: own.collect() })
    }

    fn write(&self, values: &mut Values) {
        values.extend(self.values.iter().map(|(path, value)| (*path, value.clone())));
    }
}

impl PluginKeys {
    pub(super) fn layer(&self, kind: &str) -> Result<&OwnLayer, SpecError> {
        self.layer.as_ref().ok_or_else(|| refuse!("ftl.kind = \"{kind}\" needs the plug-in of this name"))
    }
}

impl Layer for Plugged {
    type Keys = PluginKeys;
    type Running = Plugged;

    /// Recoveries are those that some plug-ins have: which of them that of a spec has, it says itself
    /// ([`LayerSource::recovers`]). What is trimmed is nowhere written down.
    ///
    /// [`LayerSource::recovers`]: crate::foreign::plugin::LayerSource::recovers
    const FACTS: Facts = Facts {
        reads: &["over_provisioning"],
        recoveries: &[Recovery::Off, Recovery::Scan],
        gives_up_trimmed: true,
        reports: Reports::VICTIMS,
        ..Facts::PLAIN
    };

    fn check(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), SpecError> {
        let own = keys.layer(spec.kind)?;
        if own.source.offers().buffers && spec.shared.recovery != Recovery::Off {
            return Err(refuse!(
                "ftl.recovery = \"{}\" needs a layer that holds no pages in RAM, found \"{}\", which does",
                spec.shared.recovery,
                spec.kind
            ));
        }
        Plugged::capacity(spec, keys, &spec.chip.geometry.scaled(1.0)?).map(|_| ())
    }

    fn translation_pages(_: &LayerSpec, keys: &PluginKeys, user_pages: u32) -> u32 {
        keys.layer.as_ref().map_or(0, |own| own.own_pages(&keys.values, user_pages) as u32)
    }

    fn check_retirement(spec: &LayerSpec, keys: &PluginKeys) -> Result<(), SpecError> {
        if keys.layer(spec.kind)?.source.retires_blocks() {
            return Ok(());
        }
        Err(refuse!("a translation layer that retires blocks, found \"{}\", which does not", spec.kind))
    }

    fn capacity(spec: &LayerSpec, keys: &PluginKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        let own = keys.layer(spec.kind)?;
        let device = PluginDevice::new(spec, *geometry)?;
        let pages = own.capacity(&device, &keys.values).map_err(|text| own.fault(text).to_string())?;
        let most = device.good_pages().min(u64::from(u32::MAX));
        let own_pages = if pages <= most { own.own_pages(&keys.values, pages as u32) } else { 0 };
        if pages > 0 && pages.saturating_add(own_pages) <= most {
            return Ok(pages as u32);
        }
        let beside = if own_pages > 0 { format!(", beside {own_pages} of its own") } else { String::new() };
        let text = format!(
            "says that the host may address {pages} pages{beside}; allowed: 1 to {most}, the device's good pages"
        );
        Err(own.fault(text).to_string().into())
    }

    fn recover(
        parts: &LayerParts,
        keys: &PluginKeys,
        restart: &mut Restart,
    ) -> Result<(Plugged, RecoveryCounts), FtlError> {
        let (own, device) = Plugged::asked_for(parts, keys)?;
        plugged_recovery::recover_layer(own, device, parts, keys, restart)
    }

    fn build(parts: &LayerParts, keys: &PluginKeys, target: &mut dyn FillTarget) -> Result<Plugged, FtlError> {
        let (own, device) = Plugged::asked_for(parts, keys)?;
        let layer = own.during(|| own.source.open(&device, &keys.values)).map_err(|text| own.fault(text))?;
        let mut plugged = Plugged::at_work(own.clone(), layer, device, parts, keys)?;
        plugged.fill(parts.spec.initial.fill, target)?;
        Ok(plugged)
    }
}
