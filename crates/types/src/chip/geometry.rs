//! `[geometry]`: channels, chips, dies, planes, blocks, pages, and where the pages of a block lie.

use std::fmt::Display;

use crate::key::{ANY, CHOSEN, PEN_TABLE_1, When, float, int};
use crate::refusal::{needs, quoted};
use crate::write_sequence::SUB_BLOCKS_MAX;
use crate::{
    BlockShape, Geometry, PageAddress, PageTypeOrder, PartialEraseUnit, ProgramOrder, SpecError, WriteSequence, keys,
    refuse,
};

use super::ChipKeys;
use super::partial_erase::LEAVES_APART;

const SFWS: &str = "Buddhanoy et al., GLSVLSI'24, section 2.1";

/// Most pages of a device.
const PAGES_MAX: u128 = PageAddress::COUNT_MAX as u128;

/// Most dies of a device: each has queues and clocks of its own, about 1.5 KiB.
const DIES_MAX: u64 = 1 << 16;

/// Most blocks of a device: each takes about 100 bytes before the first request.
const BLOCKS_MAX: u64 = 1 << 24;

/// How far a scale may be from a power of two, for decimal fractions.
const SCALE_TOLERANCE: f64 = 1e-9;

/// The order of a block's pages decides what is reclaimed apart, or how many errors a page has. Zones of sub-blocks have
/// an order of their own.
const WRITTEN_IN_SEQUENCE: When = When::Any(&[
    LEAVES_APART,
    When::Is("ftl.erase_unit", &["sub-block"]),
    When::All(&[When::On("erase.read_retry"), When::IsNot("ftl.kind", &["zns"])]),
    When::All(&[When::On("erase.read_retry"), When::IsNot("ftl.zns.unit", &["sub-block"])]),
]);

/// Pages differ in time.
const PAGE_TYPES: When = When::Any(&[When::List("timing.t_r_us"), When::List("timing.t_prog_us")]);

keys! {
    /// `[geometry]`
    pub struct GeometryKeys in "geometry" {
        channels: u32 = "8", int(1, 1024), "", PEN_TABLE_1, When::Always,
            "Channels of the device.";
        chips_per_channel: u32 = "2", int(1, 1024), "", PEN_TABLE_1, When::Always,
            "Chips on one channel.";
        dies_per_chip: u32 = "2", int(1, 64), "", PEN_TABLE_1, When::Always,
            "Dies of one chip. A die runs one command at a time.";
        planes_per_die: u32 = "2", int(1, 64), "", PEN_TABLE_1, When::Always,
            "Planes of one die.";
        blocks_per_plane: u32 = "1888", int(1, 1 << 20), "", PEN_TABLE_1, When::Always,
            "Blocks of one plane, bad ones included.";
        pages_per_block: u16 = "576", int(1, 16384), "pages", PEN_TABLE_1, When::Always,
            "Pages of one block.";
        page_bytes: u32 = "16384", int(512, 1 << 20), "bytes", PEN_TABLE_1, When::Always,
            "User bytes of one page; a multiple of 512.";
        spare_bytes: u32 = "1280", int(0, 1 << 16), "bytes", PEN_TABLE_1, When::Always,
            "Spare bytes of one page. A page transfer moves them too, a spare search only them.";
        layers: Option<u16> = "", int(1, 16384), "", SFWS, When::Always,
            "Layers (word lines) of a block: layers x sub_blocks x bits_per_cell = pages_per_block. Absent: the places of pages in the block are not modelled.";
        sub_blocks: Option<u16> = "", int(1, SUB_BLOCKS_MAX as i64), "", SFWS, When::Always,
            "Physical sub-blocks of a block: rows of pillars with select gates of their own. Given together with layers.";
        bits_per_cell: u8 = "1", int(1, 5), "pages of a cell", "chosen: the paper's example is SLC, its chip MLC", When::Any(&[When::Given("geometry.layers"), PAGE_TYPES]),
            "Bits, and so pages, of one cell. Matters with layers and sub_blocks, and where pages differ in time (timing.t_r_us, timing.t_prog_us).";
        page_types: PageTypeOrder = "\"one-shot\"", ANY, "", "chosen: charge-trap 3D NAND", PAGE_TYPES,
            "Order of page types in a block. one-shot: all pages of a word line, then the next. interleaved: higher pages after lower pages of later word lines, two word lines at a time, as in planar chips; needs partial_erase.unit = \"none\", no geometry.layers.";
        write_sequence: WriteSequence = "\"lfws\"", ANY, "", "Buddhanoy et al., GLSVLSI'24, section 4", WRITTEN_IN_SEQUENCE,
            "Order of a block's pages. lfws: layer first, all sub-blocks of a layer in turn. sfws: sub-block first, all layers of one in turn; needs layers and sub_blocks. Zones of sub-blocks (ftl.zns.unit) are always written sub-block first.";
        program_order: ProgramOrder = "\"any\"", ANY, "", "chosen: NFTL places by offset", When::Always,
            "in-order: pages of an erase unit are programmed in ascending order, gaps allowed. any: any erased page may be (unlike real 3D NAND; block-level FTLs need it).";
        bad_blocks_per_plane: u32 = "0", int(0, 1 << 20), "", CHOSEN, When::Always,
            "Blocks of each plane that are bad from the factory, drawn by the seed.";
        capacity_gib: Option<f64> = "", float(1e-6, 1e9), "GiB", "that of the shape", When::Always,
            "User capacity of a device made small: the fewest blocks a plane (for zones, pages a block) that hold it. Dies, channels, shares and the number of zones stay.";
    }
}

impl GeometryKeys {
    /// The device's shape, shrunk by `scale`: dies, then chips, then channels are halved.
    ///
    /// # Errors
    /// A scale that halving cannot reach, with the nearest one that it can.
    pub fn scaled(&self, scale: f64) -> Result<Geometry, SpecError> {
        let mut geometry = Geometry {
            channels: self.channels,
            chips_per_channel: self.chips_per_channel,
            dies_per_chip: self.dies_per_chip,
            planes_per_die: self.planes_per_die,
            blocks_per_plane: self.blocks_per_plane,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
            units_per_page: 1,
        };
        let mut legal = vec![1.0];
        let mut reached = 1.0;
        while (reached - scale).abs() > SCALE_TOLERANCE {
            let next = [&mut geometry.dies_per_chip, &mut geometry.chips_per_channel, &mut geometry.channels];
            let Some(factor) = next.into_iter().find(|factor| **factor % 2 == 0) else {
                let distance = |x: &f64| (x - scale).abs();
                let nearest = legal.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(1.0);
                return Err(refuse!(
                    "scale {scale} does not give a whole device by halving dies, then chips, then channels; nearest legal scale: {nearest}"
                ));
            };
            *factor /= 2;
            reached /= 2.0;
            legal.push(reached);
        }
        Ok(geometry)
    }

    /// Blocks of each plane that are not bad from the factory.
    pub fn good_blocks_per_plane(&self) -> u32 {
        self.blocks_per_plane - self.bad_blocks_per_plane
    }

    /// Where the pages of a block lie; `None` if the spec does not say.
    pub fn block_shape(&self) -> Option<BlockShape> {
        BlockShape::new(self.layers?, self.sub_blocks?, self.bits_per_cell, self.write_sequence)
    }

    /// Refuses a device that cannot be.
    ///
    /// # Errors
    /// The first impossibility, with what would be possible.
    pub fn check(&self) -> Result<(), SpecError> {
        if !self.page_bytes.is_multiple_of(512) {
            let (found, below) = (self.page_bytes, self.page_bytes / 512 * 512);
            return Err(refuse!(
                "geometry.page_bytes = {found} is not a multiple of 512; the nearest are {below} and {}",
                below + 512
            ));
        }
        let factors =
            [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die, self.blocks_per_plane];
        let pages = factors.iter().fold(u128::from(self.pages_per_block), |n, &factor| n * u128::from(factor));
        if pages > PAGES_MAX {
            return Err(refuse!(
                "geometry gives {pages} pages; at most {PAGES_MAX} can be addressed: use fewer or larger pages"
            ));
        }
        self.check_size()?;
        if self.bad_blocks_per_plane >= self.blocks_per_plane {
            return Err(refuse!(
                "geometry.bad_blocks_per_plane = {} leaves no good block of {} in a plane",
                self.bad_blocks_per_plane,
                self.blocks_per_plane
            ));
        }
        self.check_block_shape()
    }

    /// Refuses a device whose dies and blocks alone would fill a machine's memory.
    fn check_size(&self) -> Result<(), SpecError> {
        let product = |factors: &[u32]| factors.iter().map(|&factor| u64::from(factor)).product::<u64>();
        let dies = product(&[self.channels, self.chips_per_channel, self.dies_per_chip]);
        if dies > DIES_MAX {
            return Err(refuse!(
                "geometry.channels = {} x chips_per_channel = {} x dies_per_chip = {} gives {dies} dies; allowed: at most {DIES_MAX}",
                self.channels,
                self.chips_per_channel,
                self.dies_per_chip
            ));
        }
        let blocks = dies * product(&[self.planes_per_die, self.blocks_per_plane]);
        if blocks > BLOCKS_MAX {
            return Err(refuse!(
                "geometry.planes_per_die = {} x blocks_per_plane = {} on {dies} dies gives {blocks} blocks; allowed: at most {BLOCKS_MAX}",
                self.planes_per_die,
                self.blocks_per_plane
            ));
        }
        Ok(())
    }

    /// Sub-blocks that are written one after the other; `None` layer first.
    pub fn sub_blocks_in_turn(&self) -> Option<u16> {
        self.sub_blocks.filter(|_| self.write_sequence == WriteSequence::Sfws)
    }

    /// Refuses what restores partial blocks in place where their pages do not lie behind each other.
    ///
    /// # Errors
    /// What `wanted` needs, with the reason.
    pub fn check_partial_blocks(&self, wanted: impl Display) -> Result<(), SpecError> {
        match self.write_sequence {
            WriteSequence::Lfws => Ok(()),
            WriteSequence::Sfws => Err(refuse!(
                "{wanted} needs geometry.write_sequence = \"lfws\", found \"sfws\": a partial block is a range of layers, \
                 and sub-block first its pages are no run that can be restored in place"
            )),
        }
    }

    fn check_block_shape(&self) -> Result<(), SpecError> {
        let (layers, sub_blocks) = match (self.layers, self.sub_blocks) {
            (Some(layers), Some(sub_blocks)) => (u32::from(layers), u32::from(sub_blocks)),
            (None, None) if self.write_sequence == WriteSequence::Lfws => return Ok(()),
            (None, None) => {
                return Err(refuse!(
                    "geometry.write_sequence = \"{}\" needs geometry.layers and geometry.sub_blocks",
                    self.write_sequence
                ));
            }
            (Some(_), None) => return Err(given_alone("layers", "sub_blocks")),
            (None, Some(_)) => return Err(given_alone("sub_blocks", "layers")),
        };
        let pages = layers * sub_blocks * u32::from(self.bits_per_cell);
        if pages != u32::from(self.pages_per_block) {
            return Err(refuse!(
                "geometry.pages_per_block = {}, but layers {layers} x sub_blocks {sub_blocks} x bits_per_cell {} = {pages}; \
                 every page is one bit of the cells of one layer in one sub-block",
                self.pages_per_block,
                self.bits_per_cell
            ));
        }
        Ok(())
    }
}

impl ChipKeys {
    /// Refuses an order of page types in blocks of which parts are told apart: it goes across the parts.
    pub(super) fn check_page_types(&self) -> Result<(), SpecError> {
        let (geometry, unit) = (&self.geometry, self.partial_erase.unit);
        match geometry.page_types {
            PageTypeOrder::OneShot => Ok(()),
            PageTypeOrder::Interleaved => needs(
                "geometry.page_types = \"interleaved\"",
                [
                    (unit != PartialEraseUnit::None, "partial_erase.unit = \"none\"", quoted(unit)),
                    (geometry.layers.is_some(), "a block without geometry.layers", "layers".into()),
                ],
            ),
        }
    }
}

fn given_alone(given: &str, missing: &str) -> SpecError {
    refuse!("geometry.{given} is given without geometry.{missing}; allowed: both or none")
}
