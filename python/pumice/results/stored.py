"""JSON files that this tool wrote, as they are read: bounded, and held against what they must have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pumice import files
from pumice.errors import SpecError, one_line

#: Value of `format` in a result document that this version reads.
FORMAT = "pumice.result/1"

#: Sections that every result has.
SECTIONS = ("config", "workload", "host", "flash", "gc", "wear", "integrity", "run")

#: Longest JSON file that is read, in bytes.
JSON_BYTES_MAX = 1 << 30


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        SpecError: it cannot be read or is not JSON.
    """
    content = files.read_bounded(path, JSON_BYTES_MAX)
    try:
        return json.loads(content)
    except RecursionError:
        raise SpecError(f"{path}: not JSON of this tool: nested too deeply") from None
    except ValueError as error:
        raise SpecError(f"{path}: not JSON: {one_line(error)}") from None


def check_document(name: str, document: Any) -> dict[str, Any]:
    """`document`, if it is a whole result; `name` begins the message if it is not.

    Raises:
        SpecError: it is of another format, or lacks a section that every result has.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SpecError(f"{name}: not a result document; expected format {FORMAT!r}")
    hollow = [section for section in SECTIONS if not isinstance(document.get(section), dict)]
    if hollow:
        raise SpecError(f"{name}: a result without {', '.join(hollow)}; expected every section of docs/RESULTS.md")
    return document
