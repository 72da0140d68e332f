"""The structure of the Python packages: no circles of imports, and the engine's package stands without the papers'."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY
from pumice import cli
from pumice.cli import commands
from pumice.cli.commands import COMMANDS

#: Folder of sources → the package in it.
PACKAGES = {REPOSITORY / "python": "pumice", REPOSITORY / "papers": "pumice_papers"}


def modules() -> dict[str, Path]:
    """Every module of the packages, with its file."""
    found = {}
    for folder, package in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules that a file imports, inside functions too; commands are loaded by the names in their registry.
    What only a type checker reads is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(below)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for below in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules of circles, each with what it imports there: what is left once every module that imports nothing of
    the rest, or that nothing of the rest imports, is taken away, again and again."""
    left = {name: set(below) for name, below in graph.items()}
    while True:
        imported = set().union(*left.values())
        free = [name for name, below in left.items() if not below & left.keys() or name not in imported]
        if not free:
            return [[name, *sorted(below & left.keys())] for name, below in sorted(left.items())]
        for name in free:
            del left[name]


def graph() -> dict[str, set[str]]:
    known = modules()
    found = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    found["pumice.cli.commands"] |= {f"pumice.cli.{entry.module}" for entry in COMMANDS.values() if entry.module}
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    found = graph()
    assert len(found) > 150, "modules that are not found would not be checked"
    assert circles(found) == []


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"], ["c", "b"]]


def test_the_engines_package_knows_nothing_of_the_papers() -> None:
    found = {name: below for name, below in graph().items() if name.split(".")[0] == "pumice"}
    assert [(name, one) for name, below in found.items() for one in below if one.startswith("pumice_papers")] == []


def test_without_the_papers_reproduce_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "_declared_elsewhere", lambda _name: ())
    assert cli.run(["reproduce", "pen"]) == cli.USAGE
    assert capsys.readouterr().err.splitlines() == [
        "pumice: pumice reproduce needs the package pumice-papers, which is not installed: pip install pumice-papers"
    ]


def test_both_packages_have_the_version_of_the_engine() -> None:
    engine = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    papers = tomllib.loads((REPOSITORY / "papers" / "pyproject.toml").read_text())["project"]
    assert papers["version"] == engine
    assert papers["dependencies"] == [f"pumice=={engine}"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", engine)


#: What a comment cannot begin with that is shown alone, as every doc comment is.
WITHOUT_SUBJECT = re.compile(
    r"//[/!] (It|That|These|Those|Such|The same|Likewise|Who|Whose|Since when|Its|Their|They|All of (it|them)|Of)\b"
)


def without_subject(text: str) -> list[str]:
    """The doc comments of a Rust file whose first line names no subject."""
    lines = [line.strip() for line in text.splitlines()]
    first = [line for above, line in zip(["", *lines], lines, strict=False) if not above.startswith(line[:3])]
    return [line for line in first if WITHOUT_SUBJECT.match(line)]


def test_every_doc_comment_names_its_subject() -> None:
    files = sorted((REPOSITORY / "crates").rglob("*.rs"))
    assert len(files) > 300
    wrong = [f"{file.relative_to(REPOSITORY)}: {line}" for file in files for line in without_subject(file.read_text())]
    assert not wrong


def test_a_doc_comment_without_a_subject_is_seen() -> None:
    text = "/// Its shape.\n/// Of blocks.\npub a: u8,\n    //! That of a chip.\n/// Shape of it.\n"
    assert without_subject(text) == ["/// Its shape.", "//! That of a chip."]
