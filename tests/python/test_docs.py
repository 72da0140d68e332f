"""Links between documents: every relative link and anchor in Markdown leads somewhere, and every page
that code, presets and experiments name is there."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import REPOSITORY

ROOT = Path(__file__).parents[2]

#: Folders that are built, downloaded or written by runs.
LEFT_OUT = {".git", ".venv", "target", "out", "dist", "node_modules", "__pycache__"}
CODE = {".rs", ".py", ".toml", ".md", ".yml"}

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]\[]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
NAMED_PAGE = re.compile(r"(?<![\w/.-])((?:docs|experiments|crates|fuzz)/[\w./-]+\.md)\b")


def files(root: Path, suffixes: set[str]) -> Iterator[Path]:
    """The files with one of the suffixes, without those that were built and without links to folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        yield from (Path(folder) / name for name in sorted(names) if Path(name).suffix in suffixes)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    found: dict[str, int] = {}
    named = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        again = found.get(slug, 0)
        found[slug] = again + 1
        named.add(f"{slug}-{again}" if again else slug)
    return named


def broken_links(page: Path, root: Path) -> list[str]:
    """What is wrong with the relative links of a page, one line each."""
    wrong = []
    text = INLINE_CODE.sub("", FENCE.sub("", page.read_text("utf-8")))
    for target in LINK.findall(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page.resolve()
        where = f"{page.relative_to(root)}: {target}"
        if not goal.is_relative_to(root.resolve()):
            wrong.append(f"{where} leads out of the project")
        elif not goal.exists():
            wrong.append(f"{where}: no such file")
        elif anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text("utf-8")):
            wrong.append(f"{where}: no such heading")
    return wrong


def test_links_lead_somewhere() -> None:
    pages = list(files(ROOT, {".md"}))
    assert {"README.md", "docs/models/README.md"} <= {str(page.relative_to(ROOT)) for page in pages}
    assert not [line for page in pages for line in broken_links(page, ROOT)]


def test_pages_that_are_named_are_there() -> None:
    """Pages named in comments, docstrings and texts, without a link: `docs/RESULTS.md`."""
    missing = [
        f"{file.relative_to(ROOT)}: {named}"
        for file in files(ROOT, CODE)
        if file != Path(__file__)
        for named in NAMED_PAGE.findall(file.read_text("utf-8"))
        if not (ROOT / named).exists()
    ]
    assert not missing


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("[a](other.md)", None),
        ("[a](other.md#a-second-one)", None),
        ("[a](other.md#twice-1)", None),
        ("[a](other.md#codeinit-of-ftlkind)", None),
        ("[a](#here)", None),
        ("[a](https://example.org/nowhere.md)", None),
        ("`[a](gone.md)`", None),
        ("```\n[a](gone.md)\n```", None),
        ("[a](gone.md)", "no such file"),
        ("![figure](figures/gone.svg)", "no such file"),
        ("[a](other.md#a-third-one)", "no such heading"),
        ("[a](other.md#in-a-fence)", "no such heading"),
        ("[a](#there)", "no such heading"),
        ("[a](../../outside.md)", "leads out of the project"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, wrong: str | None) -> None:
    """The check can fail: each kind of fault in a page made for it, and each kind of sound link."""
    (tmp_path / "other.md").write_text(
        "# First\n## A second one\n## Twice\n## Twice\n## `code`/init of `ftl.kind`\n```\n## In a fence\n```\n", "utf-8"
    )
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n{link}\n", "utf-8")
    found = broken_links(page, tmp_path)
    assert len(found) == (wrong is not None)
    assert all(line.startswith("page.md: ") and wrong is not None and line.endswith(wrong) for line in found)


def test_lists_of_the_site_are_indented_for_its_reader() -> None:
    hook = runpy.run_path(str(REPOSITORY / "docs" / "assets" / "links.py"))["on_page_markdown"]
    page = SimpleNamespace(file=SimpleNamespace(src_uri="models/a.md"))
    written = "1. One\n   - two\n\n         code\n\n   told\n2. three ([study](../../README.md))\n\n```\n  kept\n```\n"
    shown = "1. One\n    - two\n\n            code\n\n    told\n\n2. three (study, `README.md` in the repository)\n\n"
    assert hook(written, page) == shown + "```\n  kept\n```\n"
