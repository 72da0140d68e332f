//! 6xx: the commands that FTLs with U-blocks emit, and their order. 5xx: triggers and victims.

mod gftl;
mod nftl;
mod small;
mod superblock;
