//! Blocks of several planes written, reclaimed and erased as one: the superblocks, or reclaim units, of controllers.
//!
//! The layer itself works on *joined* planes, whose blocks are stripes over the planes of a group: page p of a stripe
//! lies in plane p mod n of the group, in its page p / n, with all of its mapping units. What leaves the layer is
//! translated here, so nothing else of it knows of groups.

use pumice_types::{BlockId, FlashCommand, FlashOp, Geometry, PageAddress, PlaneId, UnitSource, choice};
use serde::{Deserialize, Serialize};

use crate::plan::{InitialBlock, Plan};

choice! {
    /// What collection reclaims and erases as one.
    pub enum EraseGroup {
        /// A block of one plane.
        Plane = "plane",
        /// A stripe of blocks over the planes of a die.
        Die = "die",
        /// A stripe of blocks over all planes.
        Device = "device",
    }
}

impl EraseGroup {
    /// Planes of a group.
    pub(in crate::layers::page) fn planes(self, geometry: &Geometry) -> u32 {
        match self {
            EraseGroup::Plane => 1,
            EraseGroup::Die => geometry.planes_per_die,
            EraseGroup::Device => geometry.planes(),
        }
    }
}

/// The stripes of a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stripes {
    geometry: Geometry,
    /// Planes of a group.
    members: u32,
    /// The planes, group by group, in the order in which a stripe visits them.
    planes: Vec<PlaneId>,
}

impl Stripes {
    /// The stripes over groups of planes; `None` for groups of one. `order`: all planes in the order in which writes
    /// visit them.
    pub(in crate::layers::page) fn new(group: EraseGroup, geometry: &Geometry, order: &[PlaneId]) -> Option<Stripes> {
        let members = group.planes(geometry);
        let mut planes = order.to_vec();
        // Planes of a group have neighbouring numbers; the sort keeps their order of writing.
        planes.sort_by_key(|plane| plane.0 / members);
        (members > 1).then_some(Stripes { geometry: *geometry, members, planes })
    }

    /// The device as the layer sees it: one plane a group, blocks as long as a stripe.
    pub(in crate::layers::page) fn joined(&self) -> Geometry {
        let Geometry { pages_per_block, planes_per_die, .. } = self.geometry;
        let pages_per_block = (u32::from(pages_per_block) * self.members) as u16;
        if self.members == planes_per_die {
            return Geometry { planes_per_die: 1, pages_per_block, ..self.geometry };
        }
        let one = Geometry { channels: 1, chips_per_channel: 1, dies_per_chip: 1, planes_per_die: 1, ..self.geometry };
        Geometry { pages_per_block, ..one }
    }

    /// Blocks of a stripe.
    pub(in crate::layers::page) fn members(&self) -> u32 {
        self.members
    }

    /// The stripe that a block belongs to.
    pub(in crate::layers::page) fn stripe_of(&self, block: BlockId) -> BlockId {
        let group = self.geometry.plane_of(block).0 / self.members;
        BlockId(group * self.geometry.blocks_per_plane + self.geometry.index_in_plane(block))
    }

    /// A block of a stripe.
    fn member(&self, stripe: BlockId, member: u32) -> BlockId {
        let blocks = self.geometry.blocks_per_plane;
        let plane = self.planes[(stripe.0 / blocks * self.members + member) as usize];
        self.geometry.block(plane, stripe.0 % blocks)
    }

    /// Where a mapping unit of a stripe lies.
    #[inline]
    pub(in crate::layers::page) fn unit(&self, place: PageAddress) -> PageAddress {
        let per_page = u32::from(self.geometry.units_per_page);
        let (page, unit) = (u32::from(place.page) / per_page, u32::from(place.page) % per_page);
        let (row, member) = (page / self.members, page % self.members);
        PageAddress::new(self.member(place.block, member), (row * per_page + unit) as u16)
    }

    /// Translates the commands of a plan from the `first` on; an erase becomes one of each block.
    pub(in crate::layers::page) fn translate(&self, plan: &mut Plan, first: usize) {
        if self.geometry.units_per_page > 1 {
            self.translate_sources(plan, first);
        }
        let is_erase = |command: &FlashCommand| command.op == FlashOp::Erase;
        let made = |command: &FlashCommand, nth: u32| {
            let mut made = *command;
            if is_erase(command) {
                made.target = PageAddress::new(self.member(command.target.block, nth), 0);
                return made;
            }
            made.target = self.unit(command.target);
            if command.op == FlashOp::Copy || command.is_move() {
                made.source = self.unit(command.source);
            }
            made
        };
        plan.expand(first, made, |command| if is_erase(command) { self.members } else { 1 });
    }

    /// Translates where the units come from that the programs of a plan put into their pages.
    fn translate_sources(&self, plan: &mut Plan, first: usize) {
        let per_page = usize::from(self.geometry.units_per_page);
        for program in plan.commands[first..].iter().filter(|command| command.op == FlashOp::Program) {
            let list = program.units() as usize * per_page;
            for unit in &mut plan.units[list..list + per_page] {
                if let UnitSource::Copied(source) = &mut unit.source {
                    *source = self.unit(*source);
                }
            }
        }
    }

    /// The blocks of a stripe that the initial fill programs.
    pub(in crate::layers::page) fn filled(&self, stripe: &InitialBlock) -> impl Iterator<Item = InitialBlock> {
        let (members, stripe) = (self.members, *stripe);
        (0..members).map(move |member| InitialBlock {
            block: self.member(stripe.block, member),
            first: pumice_types::Lpn(stripe.first.0 + member * stripe.stride),
            stride: stripe.stride * members,
            pages: (u32::from(stripe.pages) / members) as u16,
            ..stripe
        })
    }
}
