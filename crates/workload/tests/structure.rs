//! How the files of this crate hang together: none imports in a circle, and every variant's file is registered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pumice_types::Choice;
use pumice_workload::{PatternKind, TraceFormat};

/// A module by its names from the crate's root; the root has none.
type Module = Vec<String>;

/// A path of a `use`, whether it is passed on (`pub use`), and the name that it gets.
struct Import {
    path: Vec<String>,
    is_public: bool,
    name: String,
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every module of a crate with its text, without comments.
fn modules(folder: &Path, module: &[String], into: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).expect("part of the repository") {
        let path = entry.expect("readable").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let inner = [module, std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            modules(&path, &inner, into);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let module = if matches!(name.as_str(), "mod" | "lib") { module.to_vec() } else { inner };
        into.insert(module, code.join("\n"));
    }
}

/// The paths of a `use` tree.
fn expand(tree: &str, prefix: &[String], into: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let names = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let path = [prefix, &names(path)].concat();
        let name = alias.map(|alias| alias.trim().to_owned()).or_else(|| path.last().cloned());
        into.extend(name.map(|name| (path, name)));
        return;
    };
    let prefix = [prefix, &names(head)].concat();
    let (mut depth, mut start) = (0, 0);
    let inner = rest.trim_end().strip_suffix('}').expect("braces that match");
    for (at, byte) in inner.bytes().chain([b',']).enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                let part = &inner[start..at];
                start = (at + 1).min(inner.len());
                if !part.trim().is_empty() {
                    expand(part, &prefix, into);
                }
            }
            _ => {}
        }
    }
}

/// Everything that a text imports with `use` at the beginning of a statement.
fn imports(text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        let (statement, after) = rest[at + 4..].split_once(';').unwrap_or((&rest[at + 4..], ""));
        let is_public = before.starts_with("pub");
        // Words of a text may stand at the beginning of a line too.
        let is_path = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
        if (before.is_empty() || is_public) && statement.chars().all(is_path) {
            let mut paths = Vec::new();
            expand(statement, &[], &mut paths);
            found.extend(paths.into_iter().map(|(path, name)| Import { path, is_public, name }));
            rest = after;
        } else {
            rest = &rest[at + 4..];
        }
    }
    found
}

/// The module whose file defines what a path names, seen from `module`; `None` if another crate does.
fn defining(all: &BTreeMap<Module, Vec<Import>>, module: &[String], path: &[String]) -> Option<Module> {
    let (mut base, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (module.to_vec(), &path[1..]),
        "super" => (module.split_last()?.1.to_vec(), &path[1..]),
        name if all.contains_key(&[module, &[name.to_owned()]].concat()) => (module.to_vec(), path),
        _ => return None,
    };
    while let Some((name, behind)) = rest.split_first() {
        let inner = [&base[..], std::slice::from_ref(name)].concat();
        if !all.contains_key(&inner) {
            // What a module passes on is defined where it takes it from.
            let passed = all[&base].iter().find(|import| import.is_public && import.name == *name);
            let from =
                passed.filter(|import| import.path != path).and_then(|import| defining(all, &base, &import.path));
            return from.or(Some(base));
        }
        (base, rest) = (inner, behind);
    }
    Some(base)
}

/// Modules that can be reached from `from`, itself only if there is a circle.
fn reached(edges: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

#[test]
fn w410_no_files_import_each_other_in_a_circle() {
    let mut texts = BTreeMap::new();
    modules(&source(), &[], &mut texts);
    let all: BTreeMap<Module, Vec<Import>> =
        texts.iter().map(|(module, text)| (module.clone(), imports(text))).collect();
    let targets = |(module, list): (&Module, &Vec<Import>)| {
        // `use super::*` in the tests of a file means the file itself.
        let named = list.iter().filter(|import| import.name != "*");
        let found = named.filter_map(|import| defining(&all, module, &import.path)).filter(|target| target != module);
        (module.clone(), found.collect::<BTreeSet<Module>>())
    };
    let edges: BTreeMap<Module, BTreeSet<Module>> = all.iter().map(targets).collect();
    assert!(edges.values().map(BTreeSet::len).sum::<usize>() > 150, "the imports were not found: {edges:?}");
    let circular: Vec<String> = edges
        .keys()
        .filter(|module| reached(&edges, module).contains(*module))
        .map(|module| module.join("::"))
        .collect();
    assert!(circular.is_empty(), "files that import each other in a circle: {circular:?}");
}

/// Files in a folder of variants, the registry aside.
fn variants(folder: &str) -> usize {
    let entries = std::fs::read_dir(source().join(folder)).expect("part of the repository");
    entries.filter(|entry| entry.as_ref().expect("readable").file_name() != "mod.rs").count()
}

#[test]
fn w411_every_file_of_a_variant_is_in_its_registry() {
    assert_eq!(variants("trace/formats"), TraceFormat::ALL.len());
    assert_eq!(variants("generator/patterns"), PatternKind::ALL.len());
}
