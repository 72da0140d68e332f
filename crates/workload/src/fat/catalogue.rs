//! The six workloads of the 2006 paper, and everything that was chosen where it is silent.
//!
//! J.-U. Kang, H. Jo, J.-S. Kim, J. Lee, "A superblock-based flash translation layer for NAND flash
//! memory", EMSOFT 2006, Table 1 and section 5.1: storage size, number of pages written, and what
//! kinds of files were created and deleted on FAT32. Not published, so chosen here: everything
//! else. docs/WORKLOADS.md gives the reasons.

/// Bytes of the pages in which Table 1 counts.
pub(super) const PAGE: u64 = 2048;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A workload of Table 1.
#[derive(Clone, Copy, Debug)]
pub struct FatFacts {
    /// Name, as `workload.kind` has it.
    pub name: &'static str,
    /// Storage size in MiB.
    pub storage_mib: u32,
    /// Pages of 2 KiB written.
    pub pages_written: u64,
    /// What it is, in words.
    pub description: &'static str,
    /// KiB of file data after which tables and directories are written, unless asked otherwise.
    pub(super) flush_kib: u32,
    pub(super) files: Files,
}

/// What kinds of files a workload has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Files {
    /// A list of kinds.
    Of(&'static [FileKind]),
    /// A notebook's, in shares that an option may change.
    Mixture,
}

/// Files of one kind and what happens to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileKind {
    /// Share of the file bytes written.
    pub share: f64,
    /// Sizes: evenly distributed between these, in bytes.
    pub bytes: (u64, u64),
    pub habit: Habit,
}

/// What happens to the files of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    /// Created until the volume is full, then deleted at random until there is room.
    Collected,
    /// So many files on a volume of the paper's size, in proportion on others; each write replaces
    /// one, drawn evenly, by one of another size.
    Replaced(u32),
    /// So many files likewise; each is written so often in a row, the first time in place of another one and then over
    /// itself as a whole.
    Saved { files: u32, times: u32 },
    /// So many files of the largest size, likewise; each write overwrites a part of one of them,
    /// drawn with skew.
    Updated(u32),
}

/// The volume is filled with collected files up to this share of its clusters.
pub(super) const FULL: f64 = 0.90;

/// Files of the full volume are deleted down to this share.
pub(super) const ROOM: f64 = 0.75;

const fn collected(share: f64, low: u64, high: u64) -> FileKind {
    FileKind { share, bytes: (low, high), habit: Habit::Collected }
}

const PICTURES: (u64, u64) = (MIB / 2, 3 * MIB / 2);
const SONGS: (u64, u64) = (5 * MIB / 2, 15 * MIB / 2);
const MOVIES: (u64, u64) = (15 * MIB, 30 * MIB);

const PIC: &[FileKind] = &[collected(1.0, PICTURES.0, PICTURES.1)];
const MP3: &[FileKind] = &[collected(1.0, SONGS.0, SONGS.1)];
const MOV: &[FileKind] = &[collected(1.0, MOVIES.0, MOVIES.1)];
const PMP: &[FileKind] = &[
    collected(1.0 / 3.0, PICTURES.0, PICTURES.1),
    collected(1.0 / 3.0, SONGS.0, SONGS.1),
    collected(1.0 / 3.0, MOVIES.0, MOVIES.1),
];

/// The notebook's mixture: shares of the file bytes that web surfing, documents and updates in place
/// write; the rest is songs and movies, half each. The updates' share, and with it [`UPDATE_KIB`], is
/// fitted to Figure 10's baselines, log block and FAST, and to nothing else.
pub(super) const MIXTURE: [f64; 3] = [0.05, 0.10, 0.09];

/// Updates in place begin and end at multiples of so many KiB.
pub(super) const UPDATE_GRAIN_KIB: u32 = 4;

/// KiB of the longest update in place, unless asked otherwise.
pub(super) const UPDATE_KIB: u32 = 64;

/// KiB of a file that is updated in place.
pub(super) const UPDATE_KIB_MAX: u32 = 1024;

/// KiB of file data between writes of the tables of a player, which may be unplugged at any time.
const PLAYER_FLUSH_KIB: u32 = 32;

/// KiB of file data between writes of the tables of a notebook, whose system writes late.
const PC_FLUSH_KIB: u32 = 256;

const UPDATED: u64 = UPDATE_KIB_MAX as u64 * KIB;

/// Kinds of a notebook's files in these shares.
fn notebook([web, documents, updates]: [f64; 3], times: u32) -> Vec<FileKind> {
    let rest = (1.0 - web - documents - updates).max(0.0);
    vec![
        // Web surfing: a browser's cache.
        FileKind { share: web, bytes: (2 * KIB, 62 * KIB), habit: Habit::Replaced(2_000) },
        // Word processing and presentations: documents saved again and again.
        FileKind { share: documents, bytes: (64 * KIB, 2 * MIB), habit: Habit::Saved { files: 100, times } },
        // The system's own: paging, registry, mail, databases, saved games.
        FileKind { share: updates, bytes: (UPDATED, UPDATED), habit: Habit::Updated(256) },
        collected(rest / 2.0, SONGS.0, SONGS.1),
        collected(rest / 2.0, MOVIES.0, MOVIES.1),
    ]
}

impl FatFacts {
    /// The kinds of files; `mixture` and how often a document is saved in a row go for a notebook alone.
    pub(super) fn kinds(&self, mixture: [f64; 3], saves: u32) -> Vec<FileKind> {
        match self.files {
            Files::Of(kinds) => kinds.to_vec(),
            Files::Mixture => notebook(mixture, saves),
        }
    }
}

/// Table 1.
pub(super) const TABLE_1: &[FatFacts] = &[
    FatFacts {
        name: "pic",
        storage_mib: 2048,
        pages_written: 1_121_352,
        description: "digital camera: pictures of 1 MB on average are created and deleted",
        flush_kib: PLAYER_FLUSH_KIB,
        files: Files::Of(PIC),
    },
    FatFacts {
        name: "mp3",
        storage_mib: 2048,
        pages_written: 1_437_522,
        description: "MP3 player: songs of 5 MB on average are created and deleted",
        flush_kib: PLAYER_FLUSH_KIB,
        files: Files::Of(MP3),
    },
    FatFacts {
        name: "mov",
        storage_mib: 2048,
        pages_written: 1_832_613,
        description: "movie player: movies of 15 to 30 MB are created and deleted",
        flush_kib: PLAYER_FLUSH_KIB,
        files: Files::Of(MOV),
    },
    FatFacts {
        name: "pmp-2g",
        storage_mib: 2048,
        pages_written: 1_222_218,
        description: "portable media player: pictures, songs and movies are created and deleted",
        flush_kib: PLAYER_FLUSH_KIB,
        files: Files::Of(PMP),
    },
    FatFacts {
        name: "pmp-4g",
        storage_mib: 4096,
        pages_written: 2_403_474,
        description: "portable media player: pictures, songs and movies are created and deleted",
        flush_kib: PLAYER_FLUSH_KIB,
        files: Files::Of(PMP),
    },
    FatFacts {
        name: "pc",
        storage_mib: 4096,
        pages_written: 2_724_393,
        description: "notebook: web surfing, documents, the system's own files, songs and movies; a mixture",
        flush_kib: PC_FLUSH_KIB,
        files: Files::Mixture,
    },
];
