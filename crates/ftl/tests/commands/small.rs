//! The device that these tests share, small enough to know every block, and what they ask of commands.

use pumice_ftl::merge::restore::{MMergeSettings, MergeCosts};
use pumice_ftl::merge::superblock::RestoreScope;
use pumice_ftl::{FtlError, MergePolicy, Plan};
use pumice_types::{BlockId, FlashCommand, FlashOp, Geometry, PageAddress, Time};

pub const PAGES: u16 = 8;

/// One plane of ten blocks.
pub fn geometry() -> Geometry {
    Geometry {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 10,
        pages_per_block: PAGES,
        page_bytes: 4096,
        spare_bytes: 64,
        units_per_page: 1,
    }
}

pub fn costs() -> MergeCosts {
    MergeCosts { copy: Time(10), block_erase: Time(20), partial_erase: vec![Time(20); 4] }
}

pub fn m_merge() -> MergePolicy {
    let settings = MMergeSettings { disturb_tolerance: 1, disturb_aware: true, wear_limit: 16 };
    MergePolicy::MMerge { costs: costs(), settings, scope: RestoreScope::Superseded }
}

/// The commands of an access that succeeds.
pub fn commands(access: impl FnOnce(&mut Plan) -> Result<(), FtlError>) -> Vec<FlashCommand> {
    let mut plan = Plan::default();
    access(&mut plan).expect("there is room");
    plan.commands
}

pub fn ops(commands: &[FlashCommand]) -> Vec<FlashOp> {
    commands.iter().map(|command| command.op).collect()
}

pub fn at(block: u32, page: u16) -> PageAddress {
    PageAddress::new(BlockId(block), page)
}
