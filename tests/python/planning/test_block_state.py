"""Run-length states: what is written is read back, and nothing else is accepted."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice import SpecError
from pumice.planning.block_state import PAGES_MAX, check_states, format_state, parse_state

STATES = st.lists(st.integers(0, 2), min_size=1, max_size=600).map(lambda pages: np.array(pages, np.uint8))


@given(STATES)
def test_a_formatted_state_parses_to_itself(states: np.ndarray) -> None:
    assert np.array_equal(parse_state(format_state(states)), states)


@given(STATES)
def test_the_formatted_state_has_no_two_equal_neighbours(states: np.ndarray) -> None:
    letters = [sign for sign in format_state(states) if sign.isalpha()]
    assert all(left != right for left, right in pairwise(letters))


@given(st.lists(st.tuples(st.integers(0, 300), st.sampled_from("vifVIF")), min_size=1, max_size=8))
def test_every_list_of_runs_has_the_pages_it_says(runs: list[tuple[int, str]]) -> None:
    text = " ".join(f"{count}{letter}" for count, letter in runs)
    pages = sum(count for count, _ in runs)
    if pages == 0:
        with pytest.raises(SpecError, match="no pages"):
            parse_state(text)
        return
    states = parse_state(text)
    assert len(states) == pages
    for state, letter in enumerate("fvi"):
        assert np.count_nonzero(states == state) == sum(count for count, run in runs if run.lower() == letter)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        states = parse_state(text)
    except SpecError as error:
        said = str(error)
    else:
        said = format_state(states)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "12", "v12", "12x", "3v-1i", "1.5v", f"{PAGES_MAX + 1}v", "999999999v" * 3])
def test_no_state(text: str) -> None:
    with pytest.raises(SpecError, match="--d"):
        parse_state(text, "--d")


def test_arrays_from_files(tmp_path: Path) -> None:
    path = tmp_path / "d.npy"
    np.save(path, np.array([1, 1, 2, 0]))
    assert format_state(parse_state(str(path))) == "2v1i1f"
    np.save(path, np.array([1.0, 2.0]))
    with pytest.raises(SpecError, match="whole numbers"):
        parse_state(str(path))
    path.write_bytes(b"no array")
    with pytest.raises(SpecError, match=r"not an \.npy array"):
        parse_state(str(path))
    with pytest.raises(SpecError, match="no such file"):
        parse_state(str(tmp_path / "other.npy"))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([[1]], "dimensions"),
        ([], "no pages"),
        ([3], "page 0 is 3"),
        ([-1], "allowed"),
        (["v"], "whole numbers"),
        ([0.5], "whole"),
    ],
)
def test_arrays_that_are_no_state(values: list[object], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        check_states(values, "d")
