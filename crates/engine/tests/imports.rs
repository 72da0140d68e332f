//! Who may import whom: the table in `crates/README.md` against every `Cargo.toml`, and names that
//! no crate or module may have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Workspace crates by name, with the workspace crates that each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Names that do not say what belongs inside.
const FORBIDDEN_NAMES: [&str; 5] = ["util", "common", "core", "helpers", "misc"];

/// What every package of this workspace is called.
const PREFIX: &str = "pumice-";

/// Folders of a crate that hold Rust source.
const SOURCE_FOLDERS: [&str; 4] = ["src", "tests", "examples", "benches"];

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/sim lies in crates").to_path_buf()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    list.map(|entry| entry.expect("a readable folder").path()).collect()
}

/// Folders of `crates` that hold a crate.
fn crate_folders() -> Vec<PathBuf> {
    entries(&crates_folder()).into_iter().filter(|path| path.join("Cargo.toml").is_file()).collect()
}

fn manifest(folder: &Path) -> toml::Table {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn package_name(manifest: &toml::Table) -> String {
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    name.expect("a package has a name").to_string()
}

/// Workspace crates that a manifest, or one platform's part of it, depends on under their own names.
fn workspace_dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for section in ["dependencies", "build-dependencies"] {
        let Some(list) = manifest.get(section).and_then(toml::Value::as_table) else { continue };
        for (name, value) in list {
            let real = value.get("package").and_then(toml::Value::as_str).unwrap_or(name);
            if real.starts_with(PREFIX) {
                found.insert(real.to_string());
            }
        }
    }
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    for platform in platforms.into_iter().flatten().filter_map(|(_, part)| part.as_table()) {
        found.extend(workspace_dependencies(platform));
    }
    found
}

/// Texts between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The table of allowed imports: rows of two cells whose first is a crate's name in backticks.
fn allowed_imports() -> Imports {
    let path = crates_folder().join("README.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = text.lines().filter_map(|line| {
        let (name, imports) = line.strip_prefix('|')?.strip_suffix('|')?.split_once('|')?;
        let name = quoted(name).into_iter().find(|name| name.starts_with(PREFIX))?;
        let imports = quoted(imports);
        assert!(!imports.is_empty() || line.contains("nothing"), "no imports and not \"nothing\": {line}");
        Some((name, imports))
    });
    rows.collect()
}

#[test]
fn t920_crates_import_what_the_table_allows_and_nothing_else() {
    let found: Imports = crate_folders()
        .iter()
        .map(|folder| manifest(folder))
        .map(|manifest| (package_name(&manifest), workspace_dependencies(&manifest)))
        .collect();
    assert!(found.len() >= 6, "the crates are found: {found:?}");
    assert_eq!(found, allowed_imports(), "Cargo.toml files (left) and the table in crates/README.md (right)");
}

/// Every Rust source file and folder below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        if path.is_dir() {
            found.extend(sources(&path));
            found.push(path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn t921_no_crate_or_module_has_a_name_that_says_nothing() {
    for folder in crate_folders() {
        let package = package_name(&manifest(&folder));
        let own = package.strip_prefix(PREFIX).unwrap_or(&package);
        assert!(!FORBIDDEN_NAMES.contains(&own), "crate {package}: name what belongs inside");
        let of_crate = SOURCE_FOLDERS.iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
        for path in of_crate.flat_map(|path| sources(&path)).chain([folder.clone()]) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("file names are text");
            assert!(!FORBIDDEN_NAMES.contains(&stem), "{}: name what belongs inside", path.display());
        }
    }
}
