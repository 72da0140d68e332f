//! What the user of a volume does: creates, replaces, updates and deletes files.

use std::io;

use crate::fat::catalogue::{FULL, FileKind, Habit, ROOM, UPDATE_GRAIN_KIB};
use crate::fat::disk::SECTOR;
use crate::fat::volume::Volume;
use crate::source::random::RandomStream as Stream;

/// Updates in place begin and end at multiples of so many bytes.
const GRAIN: u64 = (UPDATE_GRAIN_KIB as u64) << 10;

/// What a user does with a volume.
#[derive(Debug)]
pub(super) struct Profile {
    /// Kinds of files.
    pub kinds: Vec<FileKind>,
    /// Bytes of the volume for which the numbers of kept files hold.
    pub volume_bytes: u64,
    /// Most bytes that one update in place touches.
    pub update_bytes: u64,
    /// Share of the clusters that static data holds at random places.
    pub fragmentation: f64,
    pub seed: u64,
}

/// The files of a volume by what happens to them, and the next thing to do with them.
#[derive(Debug)]
pub(super) struct User {
    profile: Profile,
    /// Files of each kind that are replaced or updated.
    kept: Vec<Vec<u32>>,
    /// Files that are deleted when there is no room.
    collected: Vec<u32>,
    choices: Stream,
    sizes: Stream,
}

impl User {
    /// Brings a fresh volume into use: static data on a share of the clusters, the files that are
    /// kept, and then as much writing as fills the volume once.
    pub fn move_in(volume: &mut Volume, profile: Profile) -> io::Result<User> {
        scatter(volume, profile.fragmentation, profile.seed)?;
        let mut user = User {
            kept: vec![Vec::new(); profile.kinds.len()],
            collected: Vec::new(),
            choices: Stream::new(profile.seed, "fat-choices"),
            sizes: Stream::new(profile.seed, "fat-sizes"),
            profile,
        };
        for kind in 0..user.profile.kinds.len() {
            user.unpack(volume, kind)?;
        }
        let mut written = 0;
        while written < volume.capacity() {
            written += user.act(volume)?;
        }
        Ok(user)
    }

    /// Creates the files of a kind that are kept.
    fn unpack(&mut self, volume: &mut Volume, kind: usize) -> io::Result<()> {
        let FileKind { bytes, habit, .. } = self.profile.kinds[kind];
        let (count, fixed) = match habit {
            Habit::Collected => return Ok(()),
            Habit::Replaced(count) | Habit::Saved { files: count, .. } => (count, None),
            Habit::Updated(count) => (count, Some(bytes.1)),
        };
        let share = volume.capacity() as f64 / self.profile.volume_bytes as f64;
        for _ in 0..(libm::round(f64::from(count) * share) as u32).max(1) {
            let bytes = fixed.unwrap_or_else(|| self.size(bytes));
            self.kept[kind].push(volume.create(bytes)?);
        }
        Ok(())
    }

    /// Does one thing; returns the bytes of file data written.
    pub fn act(&mut self, volume: &mut Volume) -> io::Result<u64> {
        let kind = self.draw_kind();
        let FileKind { bytes, habit, .. } = self.profile.kinds[kind];
        match habit {
            Habit::Collected => {
                let bytes = self.size(bytes);
                self.make_room(volume, bytes)?;
                self.collected.push(volume.create(bytes)?);
                Ok(bytes)
            }
            Habit::Replaced(_) => Ok(self.replace(volume, kind)?.1),
            Habit::Saved { times, .. } => {
                let (file, bytes) = self.replace(volume, kind)?;
                for _ in 1..times {
                    volume.overwrite(file, 0, bytes)?;
                }
                Ok(bytes * u64::from(times))
            }
            Habit::Updated(_) => self.update(volume, kind),
        }
    }

    /// Removes a file of a kind and creates another one; returns its number and its bytes.
    fn replace(&mut self, volume: &mut Volume, kind: usize) -> io::Result<(u32, u64)> {
        let place = self.choices.below(self.kept[kind].len() as u64) as usize;
        let bytes = self.size(self.profile.kinds[kind].bytes);
        volume.remove(self.kept[kind][place])?;
        self.make_room(volume, bytes)?;
        self.kept[kind][place] = volume.create(bytes)?;
        Ok((self.kept[kind][place], bytes))
    }

    fn update(&mut self, volume: &mut Volume, kind: usize) -> io::Result<u64> {
        let (most, grain) = (self.profile.update_bytes, GRAIN);
        let file_bytes = self.profile.kinds[kind].bytes.1;
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
        let weights = self.profile.kinds.iter().map(|kind| kind.share / self.profile.mean_bytes(kind));
        let mut left = self.choices.unit() * weights.clone().sum::<f64>();
        for (place, weight) in weights.enumerate() {
            if left < weight {
                return place;
            }
            left -= weight;
        }
        self.profile.kinds.len() - 1
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

impl Profile {
    /// Bytes written at once to files of a kind.
    fn mean_bytes(&self, kind: &FileKind) -> f64 {
        let (low, high) = match kind.habit {
            Habit::Updated(_) => (GRAIN, self.update_bytes),
            Habit::Saved { times, .. } => (kind.bytes.0 * u64::from(times), kind.bytes.1 * u64::from(times)),
            Habit::Collected | Habit::Replaced(_) => kind.bytes,
        };
        (low + high) as f64 / 2.0
    }
}

/// Puts static data on a share of the clusters, at random places.
fn scatter(volume: &mut Volume, share: f64, seed: u64) -> io::Result<()> {
    if share == 0.0 {
        return Ok(());
    }
    let mut places = Stream::new(seed, "fat-fragmentation");
    let mut left = (volume.capacity() as f64 * FULL) as u64 / volume.cluster();
    // Geometric gaps: every cluster is taken with the same chance.
    volume.scatter(std::iter::from_fn(|| {
        let gap = libm::floor(places.exponential() / -libm::log1p(-share)) as u64;
        left = left.checked_sub(gap + 1)?;
        Some(gap)
    }))
}
