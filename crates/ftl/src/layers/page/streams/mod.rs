//! Pages that are written apart: by heat, or by the handle that the host names.

pub mod handles;
pub mod heat;
