//! What the user of a volume does: creates, replaces, updates and deletes files.

use std::io;

use crate::fat::catalogue::{FULL, FatFacts, FileKind, Habit, ROOM, UPDATE};
use crate::fat::disk::SECTOR;
use crate::fat::volume::Volume;
use crate::random::RandomStream as Stream;

/// Bytes of a static file.
const STILL_BYTES: u64 = 4 << 20;

/// The files of a volume by what happens to them, and the next thing to do with them.
#[derive(Debug)]
pub(super) struct User {
    kinds: &'static [FileKind],
    /// Files of each kind that are replaced or updated.
    kept: Vec<Vec<u32>>,
    /// Files that are deleted when there is no room.
    collected: Vec<u32>,
    choices: Stream,
    sizes: Stream,
}

impl User {
    /// Brings a fresh volume into use: static files, scattered small files on `fragmentation` of
    /// the clusters, the files that are kept, and then as much writing as fills the volume once.
    pub fn move_in(volume: &mut Volume, facts: &FatFacts, fragmentation: f64, seed: u64) -> io::Result<User> {
        let mut user = User {
            kinds: facts.kinds,
            kept: vec![Vec::new(); facts.kinds.len()],
            collected: Vec::new(),
            choices: Stream::new(seed, "fat-choices"),
            sizes: Stream::new(seed, "fat-sizes"),
        };
        let still = (volume.capacity() as f64 * facts.still) as u64 / STILL_BYTES;
        for _ in 0..still {
            volume.create(STILL_BYTES)?;
        }
        scatter(volume, fragmentation, seed)?;
        for (kind, kept) in facts.kinds.iter().zip(0..) {
            let (count, fixed) = match kind.habit {
                Habit::Collected => continue,
                Habit::Replaced(count) => (count, None),
                Habit::Updated(count) => (count, Some(kind.bytes.1)),
            };
            let paper = (u64::from(facts.storage_mib) << 20) as f64;
            let here = libm::round(f64::from(count) * volume.capacity() as f64 / paper) as u32;
            for _ in 0..here.max(1) {
                let bytes = fixed.unwrap_or_else(|| user.size(kind.bytes));
                user.kept[kept].push(volume.create(bytes)?);
            }
        }
        let mut written = 0;
        while written < volume.capacity() {
            written += user.act(volume)?;
        }
        Ok(user)
    }

    /// Does one thing; returns the bytes of file data written.
    pub fn act(&mut self, volume: &mut Volume) -> io::Result<u64> {
        let kind = self.draw_kind();
        let FileKind { bytes, habit, .. } = self.kinds[kind];
        match habit {
            Habit::Collected => {
                let bytes = self.size(bytes);
                self.make_room(volume, bytes)?;
                self.collected.push(volume.create(bytes)?);
                Ok(bytes)
            }
            Habit::Replaced(_) => {
                let place = self.choices.below(self.kept[kind].len() as u64) as usize;
                let bytes = self.size(bytes);
                volume.remove(self.kept[kind][place])?;
                self.make_room(volume, bytes)?;
                self.kept[kind][place] = volume.create(bytes)?;
                Ok(bytes)
            }
            Habit::Updated(_) => self.update(volume, kind),
        }
    }

    fn update(&mut self, volume: &mut Volume, kind: usize) -> io::Result<u64> {
        let (most, grain) = UPDATE;
        let file_bytes = self.kinds[kind].bytes.1;
        // File ⌊n · u³⌋ of n: an eighth of the files takes half of the updates.
        let u = self.choices.unit();
        let skewed = u * u * u * self.kept[kind].len() as f64;
        let bytes = (self.sizes.below(most / grain) + 1) * grain;
        let offset = self.choices.below((file_bytes - bytes) / grain + 1) * grain;
        volume.overwrite(self.kept[kind][skewed as usize], offset, bytes)?;
        Ok(bytes)
    }

    /// A kind, so often that each writes its share of the bytes.
    fn draw_kind(&mut self) -> usize {
        let weights = self.kinds.iter().map(|kind| kind.share / mean_bytes(kind));
        let mut left = self.choices.unit() * weights.clone().sum::<f64>();
        for (place, weight) in weights.enumerate() {
            if left < weight {
                return place;
            }
            left -= weight;
        }
        self.kinds.len() - 1
    }

    /// A size in whole sectors.
    fn size(&mut self, (low, high): (u64, u64)) -> u64 {
        (low + self.sizes.below(high - low)).next_multiple_of(SECTOR)
    }

    /// Deletes collected files, drawn evenly, if the volume is full.
    fn make_room(&mut self, volume: &mut Volume, bytes: u64) -> io::Result<()> {
        let limit = |share: f64| (volume.capacity() as f64 * share) as u64;
        let (full, room) = (limit(FULL), limit(ROOM));
        if volume.used() + bytes <= full {
            return Ok(());
        }
        while volume.used() + bytes > room && !self.collected.is_empty() {
            let place = self.choices.below(self.collected.len() as u64) as usize;
            volume.remove(self.collected.swap_remove(place))?;
        }
        Ok(())
    }
}

fn mean_bytes(kind: &FileKind) -> f64 {
    match kind.habit {
        Habit::Updated(_) => (UPDATE.0 + UPDATE.1) as f64 / 2.0,
        Habit::Collected | Habit::Replaced(_) => (kind.bytes.0 + kind.bytes.1) as f64 / 2.0,
    }
}

/// Puts files of one cluster on a share of the clusters, at random places: filler files take what
/// lies between them and are removed at the end.
fn scatter(volume: &mut Volume, share: f64, seed: u64) -> io::Result<()> {
    if share == 0.0 {
        return Ok(());
    }
    let mut places = Stream::new(seed, "fat-fragmentation");
    let end = (volume.capacity() as f64 * FULL) as u64;
    let mut fillers = Vec::new();
    while volume.used() < end {
        // Geometric gaps: every cluster is taken with the same chance.
        let gap = libm::floor(places.exponential() / -libm::log1p(-share)) as u64;
        let gap = gap.min((end - volume.used()) / volume.cluster());
        if gap > 0 {
            fillers.push(volume.create(gap * volume.cluster())?);
        }
        volume.create(volume.cluster())?;
    }
    fillers.into_iter().try_for_each(|filler| volume.remove(filler))
}
