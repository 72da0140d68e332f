"""A table of numbers that a reproduction makes: shown on the terminal, stored for the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pumice import files
from pumice.outputs import LISTING

#: One line of a listing, a cell for each column; None where there is no value.
Row = list[Any]


@dataclass(frozen=True)
class Listing:
    """Rows under their columns.

    Attributes:
        title: what is shown.
        columns: names, with units.
        rows: a cell for each column.
        left: how many of the first columns hold names rather than numbers.
        notes: lines below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    left: int = 1
    notes: Sequence[str] = field(default_factory=list)

    def write(self, directory: Path) -> None:
        """Writes `table.json`, all of it or nothing."""
        content = {"title": self.title, "columns": self.columns, "rows": self.rows, "notes": self.notes}
        files.write_text(directory / LISTING, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
