//! Layers that map logical blocks, and merge them with the pages that were written since.

pub mod fast;
mod in_place;
pub mod log_block;
mod m_merge;
mod plane_book;
pub mod replacement_block;
pub mod striped;
pub mod striped_room;
pub mod superblock_2006;
