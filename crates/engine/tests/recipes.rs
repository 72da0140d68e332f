//! The recipes of CONTRIBUTING.md hold to the letter: what they name is there, and each registry has all files of its
//! folder by the lines that its recipe gives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/engine lies in the root").to_path_buf()
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a folder of sources, by its path from the root.
fn files_below(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a name").display().to_string();
        if path.is_dir() && !name.starts_with('.') && !["target", "__pycache__"].contains(&&*name) {
            files_below(&path, found);
        } else if path.is_file() {
            found.push(path.strip_prefix(root()).expect("below the root").display().to_string());
        }
    }
}

/// The repository as recipes speak of it.
struct Repository {
    files: Vec<String>,
    /// Text of the sources, without that of CONTRIBUTING.md.
    sources: String,
}

impl Repository {
    fn read() -> Repository {
        let mut files = Vec::new();
        for folder in ["crates", "docs", "experiments", "python", "papers", "tests"] {
            files_below(&root().join(folder), &mut files);
        }
        let is_source = |file: &&String| [".rs", ".py", ".toml", ".md"].iter().any(|end| file.ends_with(end));
        let sources = files.iter().filter(is_source).map(|file| text_of(&root().join(file))).collect();
        files.extend(["Makefile", "CHANGELOG.md"].map(String::from));
        Repository { files, sources }
    }

    /// Whether there is a file or folder of this path, or of this end of a path. Words in capitals stand for any name.
    fn has_path(&self, path: &str) -> bool {
        let wanted: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let is_any = |part: &str| {
            part.split(['-', '.'])
                .next()
                .is_some_and(|stem| stem.len() > 3 && stem.chars().all(|c| c.is_ascii_uppercase()))
        };
        self.files.iter().any(|file| {
            let parts: Vec<&str> = file.split('/').collect();
            parts
                .windows(wanted.len())
                .any(|part| part.iter().zip(&wanted).all(|(is, want)| is == want || is_any(want)))
        })
    }

    /// Whether the sources have a name, or each name of a path of names.
    fn has_name(&self, name: &str) -> bool {
        let words =
            name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
        words.filter(|word| *word != "file").all(|word| {
            let is_edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
            self.sources.match_indices(word).any(|(at, _)| {
                is_edge(self.sources[..at].chars().next_back())
                    && is_edge(self.sources[at + word.len()..].chars().next())
            })
        })
    }
}

/// The recipes: a title each, and its text.
fn recipes() -> Vec<(String, String)> {
    let text = text_of(&root().join("CONTRIBUTING.md"));
    let section = text.split("\n## Recipes\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the recipes");
    let parts = section.split("\n### ").map(|part| part.split_once('\n').expect("a title and its text"));
    parts.map(|(title, text)| (title.to_string(), text.to_string())).collect()
}

/// What a text has between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(|plain| plain.split('`').skip(1).step_by(2))
}

#[test]
fn t993_what_a_recipe_names_is_there() {
    let repository = Repository::read();
    let mut missing = Vec::new();
    let recipes = recipes();
    assert!(recipes.len() > 10, "recipes are found");
    for (title, text) in &recipes {
        for named in quoted(text) {
            let is_path =
                named.contains('/') || [".rs", ".py", ".toml", ".csv", ".md"].iter().any(|end| named.ends_with(end));
            let is_there = match named.split_once(' ') {
                Some(("make", target)) => text_of(&root().join("Makefile")).contains(&format!("\n{target}:")),
                Some(_) => {
                    repository.sources.contains(named.trim_end_matches('…'))
                        || quoted(named).next().is_none() && named.split(' ').all(|word| repository.has_name(word))
                }
                None if is_path => repository.has_path(named),
                None => repository.has_name(named),
            };
            if !is_there {
                missing.push(format!("{title}: `{named}`"));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

/// Folders of which each file is an entry of a registry: the folder, the registry's file, files that are no entries,
/// and the lines that a recipe asks for, with NAME for the file's.
const REGISTRIES: [(&str, &str, &[&str], &[&str]); 4] = [
    ("crates/ftl/src/blocks/victims", "mod.rs", &["closed_blocks", "columns"], &["mod NAME;", " NAME::", " NAME: "]),
    ("crates/workload/src/trace/formats", "mod.rs", &["format"], &["mod NAME;", "    NAME::"]),
    ("crates/workload/src/generator/patterns", "mod.rs", &[], &["mod NAME;", " = NAME::"]),
    ("crates/types/src/erase/schemes", "mod.rs", &[], &["NAME::"]),
];

#[test]
fn t994_a_registry_takes_the_lines_that_its_recipe_gives() {
    let repository = Repository::read();
    for (folder, registry, others, lines) in REGISTRIES {
        let text = text_of(&root().join(folder).join(registry));
        let inside =
            |file: &String| Some(file.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?.to_string());
        let names: BTreeSet<String> = repository.files.iter().filter_map(inside).collect();
        let entries = names.iter().filter(|name| *name != "mod" && !others.contains(&name.as_str()));
        let mut found = 0;
        for name in entries {
            for line in lines {
                assert!(text.contains(&line.replace("NAME", name)), "{folder}/{registry}: no `{line}` for {name}");
            }
            found += 1;
        }
        assert!(found > 4, "{folder}: {found} entries");
    }
}
