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

/// Every preset, kind by kind.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "enterprise-tlc-4t",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2021),
        text: include_str!("../../../presets/enterprise-tlc-4t.toml"),
    },
    Preset {
        name: "client-tlc-240g",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2018),
        text: include_str!("../../../presets/client-tlc-240g.toml"),
    },
    Preset {
        name: "client-qlc-1t",
        kind: PresetKind::Drive,
        cells: Some("QLC"),
        year: Some(2021),
        text: include_str!("../../../presets/client-qlc-1t.toml"),
    },
    Preset {
        name: "zn540-like",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2020),
        text: include_str!("../../../presets/zn540-like.toml"),
    },
    Preset {
        name: "zn540",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2020),
        text: include_str!("../../../presets/zn540.toml"),
    },
    Preset {
        name: "pe8110",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2022),
        text: include_str!("../../../presets/pe8110.toml"),
    },
    Preset {
        name: "pm9a3",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2021),
        text: include_str!("../../../presets/pm9a3.toml"),
    },
    Preset {
        name: "cm7-r",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2022),
        text: include_str!("../../../presets/cm7-r.toml"),
    },
    Preset {
        name: "micron-7450-max",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2022),
        text: include_str!("../../../presets/micron-7450-max.toml"),
    },
    Preset {
        name: "fdp-samsung-7t",
        kind: PresetKind::Drive,
        cells: Some("TLC"),
        year: Some(2023),
        text: include_str!("../../../presets/fdp-samsung-7t.toml"),
    },
    Preset {
        name: "fdp-fadu-4t",
        kind: PresetKind::Drive,
        cells: None,
        year: None,
        text: include_str!("../../../presets/fdp-fadu-4t.toml"),
    },
    Preset {
        name: "nand/tlc-96",
        kind: PresetKind::Part,
        cells: Some("TLC"),
        year: Some(2018),
        text: include_str!("../../../presets/nand/tlc-96.toml"),
    },
    Preset {
        name: "nand/tlc-176",
        kind: PresetKind::Part,
        cells: Some("TLC"),
        year: Some(2021),
        text: include_str!("../../../presets/nand/tlc-176.toml"),
    },
    Preset {
        name: "nand/qlc-144",
        kind: PresetKind::Part,
        cells: Some("QLC"),
        year: Some(2021),
        text: include_str!("../../../presets/nand/qlc-144.toml"),
    },
    Preset {
        name: "pen-1tb",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-1tb.toml"),
    },
    Preset {
        name: "pen-1tb-m-merge",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-1tb-m-merge.toml"),
    },
    Preset {
        name: "pen-superblock-4-5",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-superblock-4-5.toml"),
    },
    Preset {
        name: "pen-superblock-4-5-m-merge",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-superblock-4-5-m-merge.toml"),
    },
    Preset {
        name: "pen-superblock-4-8",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-superblock-4-8.toml"),
    },
    Preset {
        name: "pen-superblock-4-8-m-merge",
        kind: PresetKind::Paper,
        cells: Some("MLC"),
        year: Some(2018),
        text: include_str!("../../../presets/pen-superblock-4-8-m-merge.toml"),
    },
    Preset {
        name: "lfws-256gb",
        kind: PresetKind::Paper,
        cells: Some("SLC"),
        year: Some(2024),
        text: include_str!("../../../presets/lfws-256gb.toml"),
    },
    Preset {
        name: "sfws-256gb",
        kind: PresetKind::Paper,
        cells: Some("SLC"),
        year: Some(2024),
        text: include_str!("../../../presets/sfws-256gb.toml"),
    },
    Preset {
        name: "superblock-2006-2g",
        kind: PresetKind::Paper,
        cells: Some("SLC"),
        year: Some(2006),
        text: include_str!("../../../presets/superblock-2006-2g.toml"),
    },
    Preset {
        name: "superblock-2006-4g",
        kind: PresetKind::Paper,
        cells: Some("SLC"),
        year: Some(2006),
        text: include_str!("../../../presets/superblock-2006-4g.toml"),
    },
    Preset {
        name: "aero-1tb",
        kind: PresetKind::Paper,
        cells: Some("TLC"),
        year: Some(2024),
        text: include_str!("../../../presets/aero-1tb.toml"),
    },
    Preset {
        name: "bench-64g",
        kind: PresetKind::Test,
        cells: None,
        year: None,
        text: include_str!("../../../presets/bench-64g.toml"),
    },
    Preset {
        name: "small",
        kind: PresetKind::Test,
        cells: None,
        year: None,
        text: include_str!("../../../presets/small.toml"),
    },
    Preset {
        name: "tiny",
        kind: PresetKind::Test,
        cells: None,
        year: None,
        text: include_str!("../../../presets/tiny.toml"),
    },
];

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
