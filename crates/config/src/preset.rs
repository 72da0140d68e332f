//! The presets, compiled in from the `presets` folder of the project.

const PRESETS: &[(&str, &str)] = &[
    ("pen-1tb", include_str!("../../../presets/pen-1tb.toml")),
    ("pen-1tb-m-merge", include_str!("../../../presets/pen-1tb-m-merge.toml")),
    ("pen-superblock-4-5", include_str!("../../../presets/pen-superblock-4-5.toml")),
    ("pen-superblock-4-5-m-merge", include_str!("../../../presets/pen-superblock-4-5-m-merge.toml")),
    ("pen-superblock-4-8", include_str!("../../../presets/pen-superblock-4-8.toml")),
    ("pen-superblock-4-8-m-merge", include_str!("../../../presets/pen-superblock-4-8-m-merge.toml")),
    ("lfws-256gb", include_str!("../../../presets/lfws-256gb.toml")),
    ("sfws-256gb", include_str!("../../../presets/sfws-256gb.toml")),
    ("superblock-2006-2g", include_str!("../../../presets/superblock-2006-2g.toml")),
    ("superblock-2006-4g", include_str!("../../../presets/superblock-2006-4g.toml")),
    ("aero-1tb", include_str!("../../../presets/aero-1tb.toml")),
    ("fdp-samsung-7t", include_str!("../../../presets/fdp-samsung-7t.toml")),
    ("fdp-fadu-4t", include_str!("../../../presets/fdp-fadu-4t.toml")),
    ("zn540-like", include_str!("../../../presets/zn540-like.toml")),
    ("bench-64g", include_str!("../../../presets/bench-64g.toml")),
    ("tiny", include_str!("../../../presets/tiny.toml")),
    ("small", include_str!("../../../presets/small.toml")),
];

/// Names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// TOML text of a preset.
pub fn text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The preset with the most similar name.
pub fn nearest(name: &str) -> Option<&'static str> {
    names().filter_map(|known| Some((crate::near(name, known)?, known))).min().map(|(_, known)| known)
}
