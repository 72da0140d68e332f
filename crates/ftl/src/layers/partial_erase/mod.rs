//! Layers that merge pairs of blocks and may erase a part of a block.

pub mod gftl;
pub mod nftl;
pub mod pbe;
pub mod superblock_pen;
