"""A hook of the site: what its pages write otherwise than the repository's.

Links to files of the project outside docs/ become the names of these files, because the site does not contain them. In
lists, what stands in an item is indented by fours and ends with a blank line, as the site's reader of Markdown wants.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(((?:\.\./)+[^)\s]+)\)")
_FENCED = re.compile(r"(?ms)(^```.*?^```)")
_INDENT = re.compile(r"(?m)^ +(?=\S)")
_NEXT_ITEM = re.compile(r"(?m)^( +(?!- |\d+\. )\S.*\n)(?= *(?:- |\d+\. ))")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text with links that leave docs/ as text and the file's path, and lists for the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(found: re.Match[str]) -> str:
        text, target = found[1], found[2].partition("#")[0]
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if path.startswith("docs/"):
            return found[0]
        if text.strip("`") == path:
            return text
        file = f"`{path}` in the repository"
        return f"{text}, {file}" if found.string[: found.start()].endswith("(") else f"{text} ({file})"

    parts = _FENCED.split(_LINK.sub(named, markdown))
    parts[::2] = map(_lists, parts[::2])
    return "".join(parts)


def _lists(text: str) -> str:
    indented = _INDENT.sub(lambda found: " " * (-(-len(found[0]) // 4) * 4), text)
    return _NEXT_ITEM.sub(r"\1\n", indented)
