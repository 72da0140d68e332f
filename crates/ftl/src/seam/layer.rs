//! How a spec asks for a layer.

use pumice_types::key::Keys;
use pumice_types::{ChipKeys, Geometry, SpecError, refuse};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::facts::Facts;
use super::parts::{LayerParts, LayerSpec};
use super::recovery::{RecoveryCounts, Restart};
use super::translation_layer::TranslationLayer;
use crate::plan::{EraseUnit, FillTarget, FtlError};

/// A layer at work of which there can be a second one in the same state.
pub trait CopiedLayer: Sized {
    /// The second one, which goes on alone; `None` if what the layer keeps is its own affair.
    fn copied(&self) -> Option<Self>;
}

impl<T: Clone> CopiedLayer for T {
    fn copied(&self) -> Option<T> {
        Some(self.clone())
    }
}

/// A translation layer that specs can ask for. No value of the type is needed: a layer of its own
/// implements it for itself, a variant of another for an empty type.
pub trait Layer {
    /// Keys of this layer alone.
    type Keys: Keys;

    /// What runs. It can be written down and read again, so that a device that was aged once serves many runs.
    type Running: TranslationLayer + CopiedLayer + Serialize + DeserializeOwned;

    /// What is fixed of it.
    const FACTS: Facts;

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
    fn check(spec: &LayerSpec, keys: &Self::Keys) -> Result<(), SpecError>;

    /// Refuses erases that can fail where the layer cannot retire blocks.
    ///
    /// # Errors
    /// What the layer would need, as `key = value, found "value"`.
    fn check_retirement(spec: &LayerSpec, _keys: &Self::Keys) -> Result<(), SpecError> {
        Err(refuse!("ftl.kind = \"page\", found \"{}\"", spec.kind))
    }

    /// Blocks that each plane has beyond the geometry of the spec.
    fn extra_blocks(_spec: &LayerSpec, _keys: &Self::Keys) -> u32 {
        0
    }

    /// Logical pages that the host may address on a device of this shape.
    ///
    /// # Errors
    /// Of a plug-in: it cannot tell, or says a number that the device cannot have.
    fn capacity(spec: &LayerSpec, keys: &Self::Keys, geometry: &Geometry) -> Result<u32, SpecError>;

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
        unreachable!("a spec that cuts the power of a layer which cannot recover is refused")
    }

    /// Builds the layer and fills it; `target` hears of the fill.
    ///
    /// # Errors
    /// A fill that does not fit, which [`Layer::check`] rules out.
    fn build(parts: &LayerParts, keys: &Self::Keys, target: &mut dyn FillTarget) -> Result<Self::Running, FtlError>;
}
