//! PEN's superblock FTL recovers after a power cut.
//!
//! Stored in spare areas, beyond the logical page: the number of the write that brought the data, that of the program,
//! and whether a part of the block had been erased since it was last erased whole. The paper keeps map and validity
//! in RAM and says nothing of power cuts; two numbers of 48 bits and this role are the addition.
//!
//! Map and validity follow from the numbers. A superblock that owns more than M blocks, as every one that was being
//! merged, is brought down to M by copies ([`crate::recovery`]). Blocks that stay are not written further before they
//! are erased, wholly or in part.
//!
//! Lost: disturb counters. A full block without a restored page has had no partial erase. Every other one, and those
//! of a superblock that was found with more than M blocks, are taken to be at their tolerance. The count W begins at 0.

use pumice_types::{BlockId, DieId, PageAddress};

use super::{SuperblockPen, SuperblockPenConfig};
use crate::plan::FtlError;
use crate::recovery::{KeptUnit, UnitRecovery, UnitShape};
use crate::seam::{RecoveryCounts, Restart};

impl SuperblockPen {
    /// A layer that knows what the chips hold. The plan takes what must be done before the host is served.
    ///
    /// # Errors
    /// No room to copy a superblock.
    pub(super) fn recover(
        config: SuperblockPenConfig,
        bad: &[BlockId],
        restart: &mut Restart,
    ) -> Result<(SuperblockPen, RecoveryCounts), FtlError> {
        let geometry = config.geometry;
        let shape = UnitShape { geometry, blocks: config.logical, in_place: false };
        let mut ftl = SuperblockPen::new(config, bad);
        let mut recovery = UnitRecovery::new(shape, bad);
        for die in (0..geometry.dies()).map(DieId) {
            recovery.die(die, restart)?.iter().for_each(|found| ftl.adopt(found));
        }
        (ftl.pool, ftl.proofs, ftl.counters) = (recovery.pool, recovery.proofs, restart.counters);
        Ok((ftl, recovery.counts))
    }

    /// Takes over the blocks of a superblock.
    fn adopt(&mut self, found: &KeptUnit) {
        let superblock = found.unit as usize;
        for kept in &found.blocks {
            self.blocks.adopt(kept, found, self.span);
            for page in &kept.pages {
                self.map[page.lpn.index()] = self.physical(PageAddress::new(kept.block, page.page)) + 1;
            }
            self.own(superblock, kept.block, kept.sequence);
        }
        let blocks = self.members_of(superblock).iter();
        self.superblocks[superblock].invalid = blocks.map(|&block| self.blocks.invalid_count(block)).sum();
        self.note_victim(superblock);
    }
}
