//! Where pages are: the map in RAM or in flash, its log, and what is trimmed.

pub mod cached_map;
pub mod map_cache;
pub mod map_log;
pub mod page_maps;
pub mod trim_map;
