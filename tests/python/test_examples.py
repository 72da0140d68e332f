"""The examples of public functions: each has one in its docstring, and each gives what stands below it."""

from __future__ import annotations

import doctest
import inspect
import pathlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pumice

FUNCTIONS = {name: found for name in pumice.__all__ if inspect.isfunction(found := getattr(pumice, name))}

#: Functions whose example needs more than a few lines, and the page that has one, which a test runs.
ELSEWHERE = {"crash": "CRASH.md", "record_session": "CRASH.md", "torture": "TORTURE.md", "plugin": "OWN-FTL.md"}


def test_every_public_function_has_an_example() -> None:
    without = {name for name, function in FUNCTIONS.items() if ">>>" not in (function.__doc__ or "")}
    assert without == set(ELSEWHERE)
    docs = Path(__file__).parents[2] / "docs"
    for name, page in ELSEWHERE.items():
        assert name in (docs / page).read_text("utf-8")


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(ELSEWHERE)))
def test_an_example_gives_what_stands_below_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"pumice": pumice, "np": np, "pathlib": pathlib}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(FUNCTIONS[name]) or "", names, name, None, None)
    assert test.examples
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)
