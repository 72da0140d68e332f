//! 6xx: the commands that FTLs with U-blocks emit, and their order. 5xx: triggers and victims.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the variants that it is about")]
mod gftl;
mod nftl;
mod small;
mod superblock;
mod zns;
