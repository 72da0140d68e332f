"""`pumice.Chip`: bytes, refusals, cuts of the power, snapshots, and a small log that is cut at every operation."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

import pumice

SMALL = pumice.Spec(
    text="""
[geometry]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 4
pages_per_block = 16
page_bytes = 512
spare_bytes = 16
program_order = "in-order"
[partial_erase]
max_splits = 2
"""
)


def test_pages_give_back_their_bytes() -> None:
    chip = pumice.Chip(SMALL)
    assert (chip.blocks, chip.blocks_per_plane, chip.pages_per_block) == (8, 4, 16)
    assert (chip.page_bytes, chip.oob_bytes, chip.max_splits, chip.sub_blocks) == (512, 16, 2, 0)
    chip.program(2, 0, b"data", oob=bytearray(b"spare"))
    assert chip.read(2, 0) == b"data".ljust(512, b"\xff")
    assert chip.read_oob(2, 0) == b"spare".ljust(16, b"\xff")
    assert chip.read_raw(2, 1) == b"\xff" * 512
    chip.copy((2, 0), (3, 4), oob=b"moved")
    assert chip.read_oob(3, 4).startswith(b"moved")
    assert chip.read(3, 4).startswith(b"data")
    chip.erase(2)
    assert chip.is_blank(2, 0)
    assert chip.erases(2) == 1
    chip.erase_partial(3, 4)
    assert [chip.erases(3, page) for page in (0, 4)] == [1, 0]
    assert chip.counts["programs"] == 1
    assert chip.counts["operations"] == 4
    before = chip.time_ns
    chip.wait(5)
    assert chip.time_ns == before + 5


def test_a_refusal_names_its_rule_and_changes_nothing() -> None:
    chip = pumice.Chip(SMALL)
    chip.program(0, 3)
    counts = chip.counts
    for rule, refused in {
        "erase-before-program": lambda: chip.program(0, 3),
        "program-order": lambda: chip.program(0, 1),
        "read-erased-page": lambda: chip.read(0, 4),
        "copyback-plane": lambda: chip.copy((0, 3), (4, 0)),
        "address-range": lambda: chip.erase(8),
        "partial-block-index": lambda: chip.erase_partial(0, 70_000),
        "sub-block-set": lambda: chip.erase_sub_blocks(0, 1),
    }.items():
        with pytest.raises(pumice.Refused, match=f"'{rule}'") as caught:
            refused()
        assert caught.value.rule == rule
        assert isinstance(caught.value, pumice.ChipError)
    assert chip.counts == {**counts, "illegal": 5}


def test_arguments_that_mean_nothing_are_refused_in_one_line() -> None:
    chip = pumice.Chip(SMALL)
    with pytest.raises(ValueError, match="block = -1 is not allowed; allowed: 0 to 4294967295"):
        chip.erase(-1)
    with pytest.raises(ValueError, match="513 bytes of data; a page has 512"):
        chip.program(0, 0, bytes(513))
    with pytest.raises(TypeError):
        chip.program(0, 0, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='"torn" is not allowed; allowed: before, old, new, mixed, drawn'):
        chip.cut_after(0, "torn")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="another spec or seed"):
        chip.restore(pumice.Chip(SMALL.with_(seed=2)).snapshot())
    with pytest.raises(pumice.SpecError, match=r"nearest valid key: 'geometry\.channels'"):
        pumice.Chip(pumice.Spec(text="[geometry]\nchanels = 1"))
    with pytest.raises(pumice.SpecError, match="is not a spec"):
        pumice.Chip("tiny")  # type: ignore[arg-type]
    with pytest.raises(pumice.SpecError, match="a chip is not scaled"):
        pumice.Chip(SMALL.with_(scale=0.5))


def test_keys_that_a_chip_does_not_read_are_named() -> None:
    with pytest.warns(UserWarning, match=r"ftl\.kind has no effect: a chip alone has no controller"):
        pumice.Chip(SMALL.with_(ftl={"kind": "nftl"}))


def test_blocks_are_bad_from_the_factory_and_go_bad() -> None:
    chip = pumice.Chip(SMALL.with_(geometry={"bad_blocks_per_plane": 1}))
    bad = [block for block in range(chip.blocks) if chip.is_bad(block)]
    assert len(bad) == 2
    with pytest.raises(pumice.Refused, match="bad-block"):
        chip.erase(bad[0])
    good = next(block for block in range(chip.blocks) if block not in bad)
    chip.program(good, 0, b"still readable")
    chip.grow_bad(good)
    with pytest.raises(pumice.OperationFailed, match=f"block {good} page 1 failed"):
        chip.program(good, 1)
    with pytest.raises(pumice.OperationFailed, match=f"erase of block {good} failed"):
        chip.erase(good)
    chip.mark_bad(good)
    assert chip.is_bad(good)


@pytest.mark.parametrize(("leaves", "blank"), [("before", True), ("old", True), ("new", False), ("mixed", False)])
def test_a_cut_leaves_what_was_chosen(leaves: str, blank: bool) -> None:
    chip = pumice.Chip(SMALL)
    chip.cut_after(1, leaves)  # type: ignore[arg-type]
    chip.program(0, 0, b"first")
    with pytest.raises(pumice.PowerLost):
        chip.program(0, 1, b"second")
    assert not chip.is_powered
    with pytest.raises(pumice.PowerLost):
        chip.read(0, 0)
    chip.power_on()
    assert chip.is_blank(0, 1) == blank
    chip.settle()
    if not blank:
        with pytest.raises(pumice.Uncorrectable, match="block 0 page 1 fails its code"):
            chip.read(0, 1)
    assert chip.read(0, 0).startswith(b"first")


def test_a_chip_goes_on_from_a_snapshot_in_the_same_way() -> None:
    chip = pumice.Chip(SMALL)
    chip.program(0, 0, b"one")
    state = chip.snapshot()

    def go_on() -> tuple[bytes, dict[str, int], int]:
        chip.draw_from(3)
        chip.cut_after(1)
        chip.program(0, 1, b"two")
        with pytest.raises(pumice.PowerLost):
            chip.erase(0)
        chip.power_on()
        return chip.read_raw(0, 1), copy.copy(chip.counts), chip.time_ns

    first = go_on()
    chip.restore(state)
    assert chip.is_blank(0, 1)
    chip.restore(state)
    assert go_on() == first


def test_options_of_a_chip_and_its_file_are_those_of_the_library(tmp_path: Path) -> None:
    chip = pumice.Chip(SMALL, options=pumice.ChipChoices(page_programs=2))
    chip.program_at(0, 0, 3, b"later")
    chip.program(0, 0, b"now", oob=b"own")
    assert chip.read_at(0, 0, 1, 9) == b"owlater\xff\xff"
    with pytest.raises(pumice.Refused, match="erase-before-program"):
        chip.program_at(0, 0, 100, b"third")
    assert chip.counts["illegal"] == 1
    chip.save(tmp_path / "chip.image")
    other = pumice.Chip(SMALL, options=pumice.ChipChoices(page_programs=2))
    other.load(tmp_path / "chip.image")
    assert other.read_oob(0, 0)[:3] == b"own"
    with pytest.raises(ValueError, match="of another spec or seed, or with other options"):
        pumice.Chip(SMALL).load(tmp_path / "chip.image")
    for wrong in (pumice.ChipChoices(page_programs=0), pumice.ChipChoices(pair_distance=-1)):
        with pytest.raises(ValueError, match="is not allowed"):
            pumice.Chip(SMALL, options=wrong)
    with pytest.raises(pumice.SpecError, match='illegal = "ignore" is not allowed; allowed: refuse, corrupt'):
        pumice.Chip(SMALL, options=pumice.ChipChoices(illegal="ignore"))  # type: ignore[arg-type]
    lenient = pumice.Chip(SMALL, options=pumice.ChipChoices(illegal="corrupt"))
    lenient.program(1, 0, b"\xf0")
    lenient.program(1, 0, b"\x3f")
    assert lenient.read_raw(1, 1)[:1] == b"\xff"
    with pytest.raises(pumice.Uncorrectable):
        lenient.read(1, 0)
    bytewise = pumice.Chip(SMALL, options=pumice.ChipChoices(page_programs="bytes"))
    assert bytewise.read_at(0, 0, 10, 2) == b"\xff\xff"
    bytewise.fail_after(0)
    with pytest.raises(pumice.OperationFailed):
        bytewise.program_at(0, 0, 10, b"x")


def newest(chip: pumice.Chip) -> bytes:
    """The last value of a log in block 0 that can be read."""
    found = b""
    for page in range(chip.pages_per_block):
        try:
            if not chip.is_blank(0, page):
                found = chip.read(0, page)[:4]
        except pumice.Uncorrectable:
            continue
    return found


def test_a_log_can_be_cut_at_every_operation() -> None:
    chip = pumice.Chip(SMALL)
    fresh = chip.snapshot()
    for cut in range(chip.pages_per_block):
        for leaves in ("old", "new", "mixed"):
            chip.restore(fresh)
            chip.cut_after(cut, leaves)  # type: ignore[arg-type]
            for page in range(cut):
                chip.program(0, page, page.to_bytes(4, "little"))
            promised = (cut - 1).to_bytes(4, "little") if cut else b""
            under_way = cut.to_bytes(4, "little")
            with pytest.raises(pumice.PowerLost):
                chip.program(0, cut, under_way)
            chip.power_on()
            assert newest(chip) == (under_way if leaves == "new" else promised)
            chip.settle()
            assert newest(chip) == promised, "a value that was only half stored does not last"
