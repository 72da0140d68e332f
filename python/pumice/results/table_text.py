"""A table as text for other programs: CSV, Markdown, or LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pumice import files

#: Endings of the files of tables, which decide how they are written.
ENDINGS = (".csv", ".md", ".tex")

#: A comma between thousands.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]], ending: str) -> str:
    """A table in the way that an ending of `ENDINGS` asks for. Numbers of a CSV have no commas between thousands."""
    if ending == ".csv":
        return files.csv_text(head, [[_THOUSANDS.sub("", cell) for cell in row] for row in rows])
    if ending == ".md":
        lines = [head, ["---"] * len(head), *rows]
        escaped = [[cell.replace("|", r"\|") for cell in line] for line in lines]
        return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
    return _latex(head, rows)


def _latex(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    left = [any(re.search(r"[A-Za-z]{2}", row[place]) for row in rows) for place in range(len(head))]
    escaped = [" & ".join(map(_escaped, line)) + r" \\" for line in (head, *rows)]
    columns = "".join("l" if is_text else "r" for is_text in left)
    begin = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", escaped[0], r"\midrule"]
    return "\n".join([*begin, *escaped[1:], r"\bottomrule", r"\end{tabular}", ""])


def _escaped(text: str) -> str:
    """A text as LaTeX shows it."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"$\mu$"}
    special |= {"±": r"$\pm$", "–": "--", "×": r"$\times$"}
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in text)
