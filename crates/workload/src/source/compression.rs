//! How trace files are compressed.

use std::path::Path;

use pumice_types::choice;

choice! {
    /// How a trace file is compressed.
    pub enum Compression {
        /// Not at all.
        None = "none",
        /// gzip.
        Gzip = "gzip",
        /// zstd.
        Zstd = "zstd",
        /// xz.
        Xz = "xz",
    }
}

impl Compression {
    /// What a file's name promises: `.gz`, `.zst`, `.xz`, in any case; anything else is plain.
    pub fn of_name(path: &Path) -> Compression {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            Some("xz") => Compression::Xz,
            _ => Compression::None,
        }
    }
}
