//! A chip in a file: what its pages hold, how worn its blocks are, what cuts have left.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pumice_engine::chip::erase::{Eraser, WornBlocks};
use pumice_nand::CheckedArray;
use pumice_types::{BlockId, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cells::WrittenPage;
use crate::power::Supply;
use crate::{Chip, ChipFailure};

/// First bytes of a file.
const MAGIC: &[u8] = b"pumice chip image 1\n";

/// Bytes of the digest at the end of a file.
const DIGEST_BYTES: usize = 32;

/// A chip, its parts borrowed to be written and owned when they are read.
#[derive(Serialize, Deserialize)]
struct Image<C, W> {
    checked: C,
    worn: Option<W>,
    pages: Vec<WrittenPage>,
    now: Time,
    failing: BTreeSet<BlockId>,
    is_powered: bool,
}

impl Chip {
    /// Writes the chip into a file. Its counts and what is planned for it are left out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ChipFailure> {
        let state = &self.state;
        let image = Image {
            checked: &state.chips.checked,
            worn: state.chips.eraser.as_ref().map(Eraser::worn_blocks),
            pages: state.cells.written(),
            now: state.now,
            failing: state.failing.clone(),
            is_powered: self.is_powered(),
        };
        let body = postcard::to_stdvec(&(self.identity(), image)).map_err(|error| said(path, &error.to_string()))?;
        let whole = [MAGIC, &Sha256::digest(&body)[..], &body[..]].concat();
        fs::write(path, whole).map_err(|error| said(path, &error.to_string()))
    }

    /// Becomes the chip that a file holds, of the same spec, seed and options. Counts go on.
    ///
    /// # Errors
    /// One line on the file that is not there, damaged, or of another chip. Nothing has changed then.
    pub fn load(&mut self, path: &Path) -> Result<(), ChipFailure> {
        let whole = fs::read(path).map_err(|error| said(path, &error.to_string()))?;
        let rest = whole.strip_prefix(MAGIC).ok_or_else(|| said(path, "is no image of a chip"))?;
        let (digest, body) =
            rest.split_at_checked(DIGEST_BYTES).ok_or_else(|| said(path, "is an image that is cut short"))?;
        if Sha256::digest(body)[..] != *digest {
            return Err(said(path, "is an image that is damaged"));
        }
        let (identity, rest): (String, &[u8]) =
            postcard::take_from_bytes(body).map_err(|_| said(path, "is no image of a chip"))?;
        if identity != self.identity() {
            return Err(said(path, "is an image of a chip of another spec or seed, or with other options"));
        }
        let image: Image<CheckedArray, WornBlocks> =
            postcard::from_bytes(rest).map_err(|_| said(path, "is no image of a chip"))?;
        let mut cells = self.state.cells.clone();
        cells.put_back(image.pages).ok_or_else(|| said(path, "is no image of this chip"))?;
        let state = &mut self.state;
        state.cells = cells;
        state.chips.checked = image.checked;
        if let (Some(eraser), Some(worn)) = (&mut state.chips.eraser, image.worn) {
            eraser.restore(worn);
        }
        (state.now, state.failing) = (image.now, image.failing);
        state.supply = if image.is_powered { Supply::On } else { Supply::Off };
        (state.cut, state.failure, state.settling) = (None, None, None);
        Ok(())
    }

    /// What two chips have in common that can take each other's image.
    fn identity(&self) -> String {
        format!("{:?} {:?} {:?}", self.seed, self.keys, self.options)
    }
}

fn said(path: &Path, text: &str) -> ChipFailure {
    ChipFailure::Usage(format!("{}: {text}", path.display()))
}
