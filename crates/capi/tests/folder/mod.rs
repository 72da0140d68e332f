//! C that is compiled for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that disappears with it.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pumice-capi-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A file with this text.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Compiles C with the headers of the crate; `flags` may make a shared object of it.
    pub fn compile(&self, name: &str, text: &str, flags: &[&str]) -> PathBuf {
        let (source, out) = (self.file(&format!("{name}.c"), text), self.0.join(name));
        let done = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-I"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .args(flags)
            .arg("-o")
            .args([&out, &source])
            .output()
            .expect("cc, which linking Rust needs too");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out
    }

    /// A shared object.
    pub fn shared(&self, name: &str, text: &str) -> PathBuf {
        self.compile(name, text, &["-shared", "-fPIC"])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
