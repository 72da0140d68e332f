//! The plan of the house: who may import whom (the table in `crates/README.md` against every `Cargo.toml`), no
//! circles of files inside a crate, one meaning a type name, names that no crate or module may have, and errors that
//! are types.

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
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/engine lies in crates").to_path_buf()
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

/// A module by its path inside its crate, such as `scheduler::die`; the root is empty.
fn module_of(source_folder: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(source_folder).expect("below the folder").with_extension("");
    let mut names: Vec<&str> = inside.iter().map(|name| name.to_str().expect("file names are text")).collect();
    if names.last().is_some_and(|&name| ["mod", "lib", "main"].contains(&name)) {
        names.pop();
    }
    names.join("::")
}

/// Every path that the `use` lines of a text name, with groups written out.
fn used_paths(text: &str) -> Vec<String> {
    fn expand(prefix: &str, tree: &str, out: &mut Vec<String>) {
        let tree = tree.trim();
        let Some(open) = tree.find('{') else {
            out.push(format!("{prefix}{}", tree.split_whitespace().next().unwrap_or_default()));
            return;
        };
        let prefix = format!("{prefix}{}", &tree[..open]);
        let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in inside.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&prefix, &inside[start..at], out);
                    start = at + 1;
                }
                _ => {}
            }
        }
        if !inside[start..].trim().is_empty() {
            expand(&prefix, &inside[start..], out);
        }
    }
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        let begins = text[..at].rsplit('\n').next().unwrap_or_default().trim();
        let Some(end) = text[at..].find(';') else { continue };
        let tree = &text[at + 4..at + end];
        // A sentence of a comment or a text may begin a line with this word too.
        let is_path =
            tree.chars().all(|letter| letter.is_alphanumeric() || letter.is_whitespace() || "_:{},*".contains(letter));
        if is_path && ["", "pub", "pub(crate)", "pub(super)"].contains(&begins) {
            expand("", tree, &mut found);
        }
    }
    found
}

/// The module of a crate in which a used path ends; `None` if it leads out of the crate.
fn target_of(from: &str, path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut base: Vec<&str> = from.split("::").filter(|name| !name.is_empty()).collect();
    let mut names = path.split("::").peekable();
    match *names.peek()? {
        "crate" => {
            base.clear();
            names.next();
        }
        "self" => {
            names.next();
        }
        "super" => {
            while names.peek() == Some(&"super") {
                base.pop();
                names.next();
            }
        }
        first => {
            let child = [&base[..], &[first]].concat().join("::");
            if !modules.contains(&child) {
                return None;
            }
        }
    }
    let mut target = base.join("::");
    for name in names {
        let deeper = if target.is_empty() { name.to_string() } else { format!("{target}::{name}") };
        if !modules.contains(&deeper) {
            break;
        }
        target = deeper;
    }
    Some(target)
}

/// Whether a module lies inside another one.
fn is_inside(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}

/// Which modules of a crate each module uses. A module and the modules inside it are one thing in several
/// files (a type's `impl` blocks are split that way), so what they use of each other does not count. Who takes a name
/// that a module hands on from a module inside it uses the inner one.
fn uses_of(texts: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeSet<String> = texts.keys().cloned().collect();
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_string();
    let mut handed_on = BTreeMap::new();
    for (own, text) in texts {
        for path in used_paths(text) {
            if let Some(target) = target_of(own, &path, &modules).filter(|target| is_inside(target, own)) {
                handed_on.insert((own.clone(), last(&path)), target);
            }
        }
    }
    let owner = |own: &str, path: &str| {
        let mut target = target_of(own, path, &modules)?;
        while !is_inside(own, &target)
            && let Some(inner) = handed_on.get(&(target.clone(), last(path)))
        {
            target.clone_from(inner);
        }
        Some(target)
    };
    let mut found = BTreeMap::new();
    for (own, text) in texts {
        let targets = used_paths(text).into_iter().filter_map(|path| owner(own, &path));
        let others = targets.filter(|target| {
            target != own && !own.is_empty() && !target.is_empty() && !is_inside(target, own) && !is_inside(own, target)
        });
        found.insert(own.clone(), others.collect());
    }
    found
}

/// Which modules each module of a crate uses.
fn uses(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let source_folder = folder.join("src");
    let files = sources(&source_folder).into_iter().filter(|path| path.is_file());
    let texts = files.map(|file| {
        let text = fs::read_to_string(&file).expect("readable");
        // Tests inside a file may use what they like.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
        (module_of(&source_folder, &file), text)
    });
    uses_of(&texts.collect())
}

/// Takes away modules that use no other, until nothing more falls away: what is left lies on circles.
fn circles(mut uses: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let leaves: BTreeSet<String> =
            uses.iter().filter(|(_, targets)| targets.is_empty()).map(|(name, _)| name.clone()).collect();
        if leaves.is_empty() {
            return uses;
        }
        uses.retain(|name, _| !leaves.contains(name));
        uses.values_mut().for_each(|targets| targets.retain(|target| !leaves.contains(target)));
    }
}

#[test]
fn t922_files_do_not_import_each_other_in_circles() {
    let mut edges = 0;
    for folder in crate_folders() {
        let uses = uses(&folder);
        edges += uses.values().map(BTreeSet::len).sum::<usize>();
        let left = circles(uses);
        assert!(left.is_empty(), "{}: modules that lie on a circle, or lead to one: {left:#?}", folder.display());
    }
    assert!(edges > 200, "imports are found: {edges}");
}

#[test]
fn t923_circles_are_noticed() {
    let uses = |pairs: &[(&str, &[&str])]| {
        pairs
            .iter()
            .map(|(name, targets)| (name.to_string(), targets.iter().map(|t| t.to_string()).collect()))
            .collect()
    };
    assert!(circles(uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    assert_eq!(circles(uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])])).len(), 3);
    let texts = [
        ("a", "mod b;\npub use b::X;"),
        ("a::b", "use crate::c::Y;"),
        ("c", "use crate::a::X;"),
        ("d", "use crate::a::X;"),
    ];
    let texts = texts.map(|(name, text)| (name.to_string(), text.to_string())).into();
    let left = circles(uses_of(&texts));
    assert_eq!(left.keys().collect::<Vec<_>>(), ["a::b", "c", "d"], "a circle through a name that a room hands on");
    let modules = ["", "a", "a::b", "c"].map(String::from).into();
    let paths = used_paths("use crate::a::{b::X, Y};\npub use super::c::Z;\n    use b::W;\n// use no::thing;");
    assert_eq!(paths, ["crate::a::b::X", "crate::a::Y", "super::c::Z", "b::W"]);
    let targets: Vec<_> = paths.iter().filter_map(|path| target_of("a", path, &modules)).collect();
    assert_eq!(targets, ["a::b", "a", "c", "a::b"]);
}

/// Names of the types that a text declares outside its tests.
fn declared_types(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let declared = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
        let line = line.strip_prefix("pub(super) ").unwrap_or(line);
        let name = ["struct ", "enum ", "trait "].iter().find_map(|word| line.strip_prefix(word))?;
        Some(name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?.to_string())
    });
    declared.filter(|name| !name.is_empty() && !name.starts_with('$')).collect()
}

#[test]
fn t924_a_type_name_means_one_thing_in_the_whole_workspace() {
    let mut declared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in crate_folders() {
        for file in sources(&folder.join("src")).into_iter().filter(|path| path.is_file()) {
            let text = fs::read_to_string(&file).expect("readable");
            for name in declared_types(&text) {
                declared.entry(name).or_default().insert(file.display().to_string());
            }
        }
    }
    assert!(declared.len() > 200, "types are found: {}", declared.len());
    declared.retain(|_, files| files.len() > 1);
    assert!(declared.is_empty(), "declared in more than one file: {declared:#?}");
}

#[test]
fn t991_errors_are_types() {
    let typed =
        ["types", "nand", "ftl", "config", "chip", "device", "capi", "serve"].map(|name| crates_folder().join(name));
    let is_text = |line: &str| line.contains("Result<") && line.contains(", String>") && !line.contains("Map<");
    assert!(
        is_text("fn check(&self) -> Result<(), String> {") && !is_text("fn check(&self) -> Result<(), SpecError> {")
    );
    for file in typed.iter().flat_map(|folder| sources(&folder.join("src"))).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&file).expect("readable");
        let found = text.lines().find(|line| is_text(line));
        assert_eq!(found, None, "{}: an error is a type, not a text", file.display());
    }
}

#[test]
fn t925_only_the_c_interface_and_the_prefetch_hint_have_unsafe_code() {
    let begins = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "#[unsafe("];
    let mut found = BTreeSet::new();
    for folder in crate_folders() {
        for file in sources(&folder.join("src")).into_iter().filter(|path| path.is_file()) {
            let text = fs::read_to_string(&file).expect("readable");
            if text.lines().any(|line| begins.iter().any(|begin| line.contains(begin))) {
                found.insert(file.strip_prefix(crates_folder()).expect("in crates").to_path_buf());
            }
        }
    }
    let (of_the_interface, others): (Vec<_>, Vec<_>) = found.iter().partition(|path| path.starts_with("capi"));
    assert!(!of_the_interface.is_empty(), "unsafe code is found");
    assert_eq!(others, [Path::new("types/src/prefetch.rs")]);
}

#[test]
fn t926_a_module_with_parts_is_a_folder_with_its_own_text_in_mod_rs() {
    let folders = crate_folders().into_iter().flat_map(|folder| sources(&folder.join("src")));
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    assert!(folders.iter().any(|folder| folder.join("mod.rs").is_file()), "folders are found");
    folders.retain(|folder| folder.with_extension("rs").is_file());
    assert!(folders.is_empty(), "their text stands in a file beside them: {folders:#?}");
}
