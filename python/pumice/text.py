"""Text that is shown: it cannot steer a terminal, every encoding can hold it, and numbers agree with their nouns."""

from __future__ import annotations

import codecs
import json
import re
from typing import TextIO

#: Name of the error handler of `show_everything`.
_HANDLER = "pumice.plain"

#: What stands for a character that an encoding lacks; others are shown as their number.
_PLAIN = {"µ": "u", "–": "-", "—": "-", "…": "...", "±": "+-", "×": "x", "→": "->", "≤": "<=", "≥": ">="} | {
    "·": ".", "─": "-", "│": "|", "├": "+", "└": "+"
}  # fmt: skip

#: A word that is longer than any path that a system takes by default, and how much of it is shown.
_LONG_WORD, _WORD_SHOWN = re.compile(r"\S{1001,}"), 80

_NOT_ASCII = re.compile(r"[^\x20-\x7e\n\t]")


def printable(text: str) -> str:
    """`text` with every character that a terminal could obey, or that has no shape, shown as its number. Line breaks
    and tabs stay. Bytes of a file name that are not UTF-8 are shown as bytes."""
    return _NOT_ASCII.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def message(text: str) -> str:
    """`text` as a line that is read: printable, and without words that fill the screen."""
    return printable(_LONG_WORD.sub(lambda found: f"{found[0][:_WORD_SHOWN]}…", text))


def count(number: int, noun: str) -> str:
    """A number and what it counts: `1 request`, `2,000 requests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: float) -> str:
    """A number of bytes as drives are sold, in powers of 1,000 and three digits: `240 GB`, `3.84 TB`."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size >= 999.5 * 10 ** (power - 3):
            return f"{float(f'{size / 10**power:.3g}'):g} {unit}"
    return f"{size:g} B"


def unit_of_us(largest: float) -> tuple[str, float]:
    """The unit in which microseconds up to a largest value are read best, and how many microseconds it has."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if largest >= 10 * factor:
            return unit, factor
    return "µs", 1.0


def duration_us(us: float) -> str:
    """A duration in microseconds with three digits at least, in a unit that suits it: `353 s`, `12.3 ms`, `4.56 µs`."""
    unit, factor = unit_of_us(abs(us))
    value = us / factor
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f} {unit}"


def json_text(text: str, encoding: str | None) -> str:
    """JSON text that `encoding` can hold and that cannot steer a terminal; it means the same."""

    def shown(found: re.Match[str]) -> str:
        sign = found[0]
        if sign.isprintable() and _holds(encoding, sign):
            return sign
        return f"\\u{ord(sign):04x}" if ord(sign) < 0x80 else json.dumps(sign)[1:-1]

    return _NOT_ASCII.sub(shown, text)


def show_everything(stream: TextIO) -> None:
    """Makes a stream show what its encoding lacks in another way, where it would raise an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_HANDLER)


def _holds(encoding: str | None, sign: str) -> bool:
    try:
        sign.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _escaped(sign: str) -> str:
    number = ord(sign)
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a name that is not UTF-8
        number -= 0xDC00
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _in_another_way(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign) or _escaped(sign) for sign in missing), error.end


codecs.register_error(_HANDLER, _in_another_way)
