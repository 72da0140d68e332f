"""Requests of a program's table as a trace file, for runs in other processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pumice.runs.run import with_options
from pumice.runs.spec import Spec
from pumice.traces import columnar

#: Columns of the file, as the engine's own text has them.
_HEAD = ("time_ns", "op", "offset_bytes", "size_bytes", "volume", "stream")


@contextmanager
def as_trace(requests: Any, columns: str | None, folder: Path | None = None) -> Iterator[Callable[[Spec], Spec]]:
    """What makes a spec replay a table, while the file is there that holds it; it leaves specs alone if there is no
    table. The file stays in `folder`, so that runs can be taken up later; without a folder it is removed.

    Raises:
        SpecError: it is not a table.
        TraceError: there are no rows, or a column is missing or holds what is not allowed.
    """
    if requests is None:
        yield lambda spec: spec
        return
    text, _, _ = columnar.content(requests, None, columns)
    fields = text.partition(b"\n")[0].count(b"\t") + 1
    content = "\t".join(_HEAD[:fields]).encode() + b"\n" + text
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requests.csv").write_bytes(content)
        yield lambda spec: with_options(spec, trace=folder / "requests.csv")
        return
    with tempfile.TemporaryDirectory(prefix="pumice-") as made:
        path = os.path.join(made, "requests.csv")
        Path(path).write_bytes(content)
        yield lambda spec: with_options(spec, trace=path)
