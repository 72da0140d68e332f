//! What a spec may ask of the layer, and how the layer begins.

pub mod check;
pub mod config;
mod map_units;
pub mod page_fill;
pub mod page_layer;
pub mod page_spec;
