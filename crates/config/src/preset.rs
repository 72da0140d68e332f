//! The presets, compiled in from the `presets` folder of the project.

use pumice_types::choice;

choice! {
    /// Kind of device that a preset is.
    pub enum PresetKind {
        /// A drive, or a class of drives.
        Drive = "drive",
        /// A part to start a device from: the die of a NAND chip.
        Part = "part",
        /// The device of a paper.
        Paper = "paper",
        /// A device for tests and first tries.
        Test = "test",
    }
}

/// A preset.
pub struct Preset {
    /// Name, as `preset` and `--preset` take it.
    pub name: &'static str,
    /// Sort of preset: a drive, a part, or a device of a paper.
    pub kind: PresetKind,
    /// Cells of its flash, if they are those of a real chip.
    pub cells: Option<&'static str>,
    /// Year in which the device or part was shown; of a paper, in which it was printed.
    pub year: Option<u16>,
    /// TOML of the preset.
    pub text: &'static str,
}

/// Declares [`PRESETS`]: a line has the kind, the name, and of real flash the cells and the year.
macro_rules! presets {
    ($($kind:ident, $name:literal $(, $cells:ident, $year:literal)?;)+) => {
        /// Every preset, kind by kind.
        pub const PRESETS: &[Preset] = &[$(Preset {
            kind: PresetKind::$kind,
            $(cells: Some(stringify!($cells)), year: Some($year),)?
            ..Preset::plain($name, include_str!(concat!("../../../presets/", $name, ".toml")))
        }),+];
    };
}

impl Preset {
    /// A preset whose line says nothing of real flash.
    const fn plain(name: &'static str, text: &'static str) -> Preset {
        Preset { name, kind: PresetKind::Test, cells: None, year: None, text }
    }
}

presets! {
    Drive, "enterprise-tlc-4t", TLC, 2021;
    Drive, "client-tlc-240g", TLC, 2018;
    Drive, "client-qlc-1t", QLC, 2021;
    Drive, "zn540-like", TLC, 2020;
    Drive, "zn540", TLC, 2020;
    Drive, "pe8110", TLC, 2022;
    Drive, "pm9a3", TLC, 2021;
    Drive, "cm7-r", TLC, 2022;
    Drive, "micron-7450-max", TLC, 2022;
    Drive, "fdp-samsung-7t", TLC, 2023;
    Drive, "fdp-fadu-4t";
    Part, "nand/tlc-96", TLC, 2018;
    Part, "nand/tlc-176", TLC, 2021;
    Part, "nand/qlc-144", QLC, 2021;
    Paper, "pen-1tb", MLC, 2018;
    Paper, "pen-1tb-m-merge", MLC, 2018;
    Paper, "pen-superblock-4-5", MLC, 2018;
    Paper, "pen-superblock-4-5-m-merge", MLC, 2018;
    Paper, "pen-superblock-4-8", MLC, 2018;
    Paper, "pen-superblock-4-8-m-merge", MLC, 2018;
    Paper, "lfws-256gb", SLC, 2024;
    Paper, "sfws-256gb", SLC, 2024;
    Paper, "superblock-2006-2g", SLC, 2006;
    Paper, "superblock-2006-4g", SLC, 2006;
    Paper, "aero-1tb", TLC, 2024;
    Test, "bench-64g";
    Test, "small";
    Test, "tiny";
}

/// Names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// TOML text of a preset.
pub fn text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.text)
}

/// The preset with the most similar name.
pub fn nearest(name: &str) -> Option<&'static str> {
    names().filter_map(|known| Some((crate::near(name, known)?, known))).min().map(|(_, known)| known)
}
