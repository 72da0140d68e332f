"""A hook of the site: links to files of the project outside docs/ become the names of these files.

In the repository such a link leads to the file; the site does not contain it.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(((?:\.\./)+[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text with links that leave docs/ as text and the file's path."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(found: re.Match[str]) -> str:
        text, target = found[1], found[2].partition("#")[0]
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if path.startswith("docs/"):
            return found[0]
        return text if text.strip("`") == path else f"{text} (`{path}` in the repository)"

    return _LINK.sub(named, markdown)
