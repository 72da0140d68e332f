//! Spellings that are no longer valid, and other names that people type: each is told what to write.

/// What to write instead of a key that is gone; `None` if the key never was one.
pub fn key(path: &str) -> Option<&'static str> {
    match path {
        "ftl.comparator" => Some("write ftl.kind = \"gftl\" or ftl.kind = \"pbe\""),
        "ftl.superblock.variant" => Some("write ftl.kind = \"superblock-pen\" or ftl.kind = \"superblock-2006\""),
        _ => None,
    }
}

/// What to write instead of a value that is gone, given as its plain text.
pub fn value(path: &str, value: &str) -> Option<&'static str> {
    match (path, value) {
        ("ftl.kind", "superblock") => Some("\"superblock-pen\" (map in RAM, M-Merge) or \"superblock-2006\""),
        ("ftl.kind", "bast") => Some("\"log-block\""),
        ("timing.multi_plane", "false") => Some("\"off\""),
        ("timing.multi_plane", "true") => Some("\"neighbours\""),
        _ => None,
    }
}

/// A name that stands for values of several keys.
pub struct Alias {
    /// Keys and values, as TOML text.
    pub values: &'static [(&'static str, &'static str)],
    /// One line that says so.
    pub note: &'static str,
}

/// What a value stands for, if it is an alias.
pub fn alias(path: &str, value: &str) -> Option<Alias> {
    match (path, value) {
        ("ftl.kind", "dftl") => Some(Alias {
            values: &[("ftl.kind", "\"page\""), ("ftl.map_place", "\"cached\"")],
            note: "ftl.kind = \"dftl\" stands for ftl.kind = \"page\" with ftl.map_place = \"cached\"",
        }),
        _ => None,
    }
}
