//! The head of a command log: what a reader needs to build the array that took its commands.
//!
//! Eight bytes `PUMICLOG`, the version of the format and the length of the whole head as 32-bit numbers
//! (little-endian), then JSON text filled up with spaces. Records follow to the end of the file.

use std::io::Read;

use pumice_nand::{ArrayConfig, NandArray};
use pumice_types::{BlockShape, Choice, Geometry, PageAddress, PbTree, ProgramOrder, TagFormat, WriteSequence};
use serde::{Deserialize, Serialize};

use crate::record::RECORD_BYTES;

/// First bytes of every log.
const MAGIC: &[u8; 8] = b"PUMICLOG";

/// Version of the format.
const VERSION: u32 = 1;

/// Bytes of magic, version and length.
const PREFIX_BYTES: usize = 16;

/// The head ends at a multiple of this.
const ALIGNMENT: usize = 64;

/// Longest head that a reader accepts.
const HEAD_BYTES_MAX: u32 = 1 << 20;

/// Most bits of a logical page that a reader accepts: its tables of them must fit into memory.
const LPN_BITS_MAX: u32 = 32;

/// Most pages of a device that a reader accepts, as a spec does.
const PAGES_MAX: u64 = PageAddress::COUNT_MAX;

/// What a log says of its run. Names are those of the spec where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHeader {
    /// Version of the engine that wrote it.
    pub engine: String,
    /// Digest of the spec, as in the result document.
    pub config_sha256: String,
    /// Seed of the run.
    pub seed: u64,
    /// Scale of the run.
    pub scale: f64,
    /// Bytes of a record.
    pub record_bytes: usize,
    /// Whether commands carry times.
    pub timed: bool,
    /// Channels, chips per channel, dies per chip, planes per die, blocks per plane.
    pub shape: [u32; 5],
    /// Pages of a block; where units are smaller than pages, units of a block, and so below.
    pub pages_per_block: u16,
    /// Mapping units of a page; absent: a page is one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units_per_page: u16,
    /// User bytes of a page.
    pub page_bytes: u32,
    /// Spare bytes of a page.
    pub spare_bytes: u32,
    /// Pages that the host can address.
    pub user_pages: u32,
    /// Bits of a logical page in a spare area, which names pages of the map besides those of the host.
    pub lpn_bits: u32,
    /// `in-order` or `any`.
    pub program_order: String,
    /// Halvings of a block in the tree of partial blocks; 0 if there are none.
    pub max_splits: u8,
    /// Runs of pages of a partial block.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub leaf_runs: u16,
    /// Shape of a block whose sub-blocks can be erased.
    pub sub_blocks: Option<SubBlockShape>,
    /// Disturbs that a leaf survives.
    pub disturb_tolerance: u8,
    /// Programs in other sub-blocks on its word line that a page survives; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_block_disturb: Option<u32>,
    /// Whether copies stay in their plane.
    pub copyback: bool,
    /// Whether one command may use several planes of a die.
    pub multi_plane: bool,
}

fn one() -> u16 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_one(units: &u16) -> bool {
    *units == 1
}

/// Layers, physical sub-blocks and bits of a block whose sub-blocks can be erased. Names are those of the spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubBlockShape {
    /// Layers.
    pub layers: u16,
    /// Physical sub-blocks.
    pub sub_blocks: u16,
    /// Pages of a cell.
    pub bits_per_cell: u8,
    /// `lfws` or `sfws`.
    pub write_sequence: String,
}

impl SubBlockShape {
    fn of(shape: BlockShape) -> SubBlockShape {
        SubBlockShape {
            layers: shape.layers(),
            sub_blocks: shape.sub_blocks(),
            bits_per_cell: shape.bits_per_cell(),
            write_sequence: shape.sequence().name().into(),
        }
    }

    fn shape(&self) -> Result<BlockShape, String> {
        let SubBlockShape { layers, sub_blocks, bits_per_cell, write_sequence } = self;
        WriteSequence::from_name(write_sequence)
            .and_then(|sequence| BlockShape::new(*layers, *sub_blocks, *bits_per_cell, sequence))
            .ok_or_else(|| {
                format!(
                    "its head describes no device: a block of {layers} layers x {sub_blocks} sub-blocks x {bits_per_cell} bits, \
                     written \"{write_sequence}\""
                )
            })
    }
}

/// What a log's head says of a run besides the shape of its array.
#[derive(Clone, Debug)]
pub struct LoggedRun {
    /// Digest of the spec.
    pub config_sha256: String,
    /// Seed.
    pub seed: u64,
    /// Scale.
    pub scale: f64,
    /// Whether there is a clock.
    pub timed: bool,
    /// Whether one command may use several planes of a die.
    pub multi_plane: bool,
    /// Pages that the host can address.
    pub user_pages: u32,
}

impl LogHeader {
    /// The head of a run's log.
    pub fn of(run: LoggedRun, array: &NandArray) -> LogHeader {
        let config = array.config();
        let g = &config.geometry;
        LogHeader {
            engine: env!("CARGO_PKG_VERSION").into(),
            config_sha256: run.config_sha256,
            seed: run.seed,
            scale: run.scale,
            record_bytes: RECORD_BYTES,
            timed: run.timed,
            shape: [g.channels, g.chips_per_channel, g.dies_per_chip, g.planes_per_die, g.blocks_per_plane],
            pages_per_block: g.pages_per_block,
            units_per_page: g.units_per_page,
            page_bytes: g.page_bytes,
            spare_bytes: g.spare_bytes,
            user_pages: run.user_pages,
            lpn_bits: config.tags.lpn_bits(),
            program_order: config.program_order.name().into(),
            max_splits: config.tree.max_splits(),
            leaf_runs: config.tree.runs(),
            sub_blocks: config.sub_blocks.map(SubBlockShape::of),
            disturb_tolerance: config.disturb_tolerance,
            sub_block_disturb: config.sub_block_disturb.filter(|_| config.sub_blocks.is_some()),
            copyback: config.copyback,
            multi_plane: run.multi_plane,
        }
    }

    /// The head's bytes.
    pub fn encode(&self) -> Vec<u8> {
        // Serialising plain fields cannot fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        let length = (PREFIX_BYTES + text.len()).next_multiple_of(ALIGNMENT);
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((length as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.resize(length, b' ');
        bytes
    }

    /// Reads the head; returns it with its length in bytes.
    ///
    /// # Errors
    /// In one line what is wrong, and where.
    pub fn read(log: &mut impl Read) -> Result<(LogHeader, u64), String> {
        let mut prefix = [0; PREFIX_BYTES];
        log.read_exact(&mut prefix).map_err(|_| "ends inside its head (byte 0)".to_string())?;
        if prefix[..8] != MAGIC[..] {
            return Err("is not a command log: it does not begin with PUMICLOG (byte 0)".into());
        }
        let number = |at: usize| u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]);
        let (version, length) = (number(8), number(12));
        if version != VERSION {
            return Err(format!("is a command log of version {version}; this engine reads version {VERSION} (byte 8)"));
        }
        if !(PREFIX_BYTES as u32..=HEAD_BYTES_MAX).contains(&length) {
            return Err(format!("its head has {length} bytes; allowed: at most {HEAD_BYTES_MAX} (byte 12)"));
        }
        let mut text = vec![0; length as usize - PREFIX_BYTES];
        log.read_exact(&mut text).map_err(|_| format!("ends inside its head of {length} bytes"))?;
        let header: LogHeader =
            serde_json::from_slice(&text).map_err(|error| format!("its head cannot be read: {error} (byte 16)"))?;
        header.check()?;
        Ok((header, u64::from(length)))
    }

    /// The device's shape.
    pub fn geometry(&self) -> Geometry {
        let [channels, chips_per_channel, dies_per_chip, planes_per_die, blocks_per_plane] = self.shape;
        Geometry {
            channels,
            chips_per_channel,
            dies_per_chip,
            planes_per_die,
            blocks_per_plane,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
            units_per_page: self.units_per_page,
        }
    }

    /// An array with every page erased. Call only on a head that was read or made by this engine.
    pub fn array(&self) -> Result<NandArray, String> {
        let tree = PbTree::new(self.pages_per_block, self.max_splits);
        let tree = tree.and_then(|tree| tree.in_runs(self.leaf_runs));
        let tree = tree.ok_or_else(|| format!("its head says max_splits = {}, which no block has", self.max_splits))?;
        let order = ProgramOrder::from_name(&self.program_order);
        let order = order.ok_or_else(|| format!("its head says program_order = \"{}\"", self.program_order))?;
        Ok(NandArray::new(ArrayConfig {
            geometry: self.geometry(),
            tags: self.tags(),
            tree,
            sub_blocks: self.sub_blocks()?,
            program_order: order,
            disturb_tolerance: self.disturb_tolerance,
            sub_block_disturb: self.sub_block_disturb,
            copyback: self.copyback,
        }))
    }

    /// How the spare areas of its pages hold logical page and version.
    pub fn tags(&self) -> TagFormat {
        TagFormat::new(self.lpns())
    }

    /// Logical pages that a spare area can name, as far as 32 bits can tell.
    pub fn lpns(&self) -> u32 {
        1u32.checked_shl(self.lpn_bits).unwrap_or(u32::MAX)
    }

    fn sub_blocks(&self) -> Result<Option<BlockShape>, String> {
        let Some(given) = &self.sub_blocks else { return Ok(None) };
        let shape = given.shape()?;
        match shape.pages_per_block() == self.pages_per_block && self.max_splits == 0 {
            true => Ok(Some(shape)),
            false => Err("its head describes no device: its sub-blocks do not make up its blocks".into()),
        }
    }

    /// Refuses what no device has, before memory is taken for it.
    fn check(&self) -> Result<(), String> {
        let pages =
            self.shape.iter().try_fold(u64::from(self.pages_per_block), |n, &factor| n.checked_mul(u64::from(factor)));
        let user_pages = u64::from(self.user_pages);
        match pages {
            Some(pages) if (1..=PAGES_MAX).contains(&pages) && (1..=pages).contains(&user_pages) => {}
            _ => return Err("its head describes no device: pages and user pages do not fit each other".into()),
        }
        if self.units_per_page == 0 || !self.pages_per_block.is_multiple_of(self.units_per_page) {
            return Err(format!("its head describes no device: units_per_page = {}", self.units_per_page));
        }
        if self.leaf_runs == 0 || !self.pages_per_block.is_multiple_of(self.leaf_runs) {
            return Err(format!("its head describes no device: leaf_runs = {}", self.leaf_runs));
        }
        if self.lpn_bits > LPN_BITS_MAX || self.lpns() < self.user_pages {
            return Err(format!("its head says lpn_bits = {}, which does not fit its pages", self.lpn_bits));
        }
        if self.record_bytes != RECORD_BYTES {
            return Err(format!("its records have {} bytes; this engine reads {RECORD_BYTES}", self.record_bytes));
        }
        Ok(())
    }
}
