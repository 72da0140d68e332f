"""Values of spec keys: which Python values can be one, and how one is written in TOML."""

from __future__ import annotations

from typing import Any

from pumice.errors import SpecError, one_line
from pumice.text import printable

#: A value of a spec key.
Value = bool | int | float | str | list[Any] | tuple[Any, ...]

#: Deepest nesting of lists, and of sections, in a value.
DEPTH_MAX = 32

#: Largest whole number that is passed on to be refused with the key's limits, in bits.
_BITS_MAX = 256


def toml_text(key: str, value: Any) -> str:
    """The value of a key as TOML text.

    Raises:
        SpecError: a spec has no values of this type; the text names the key.
    """
    import tomlkit  # loaded here: most commands write no TOML, and start sooner without it

    plain = _plain(key, value)
    try:
        return tomlkit.item(plain).as_string()
    except ValueError as error:  # includes text that TOML cannot hold
        raise SpecError(f"{printable(key)}: no value of a spec: {one_line(error)}") from None


def _plain(key: str, value: Any, depth: int = 0) -> bool | int | float | str | list[Any]:
    """`value` with tuples as lists and scalars of numpy as Python's own, checked."""
    shown = printable(key)
    if depth > DEPTH_MAX:
        raise SpecError(f"{shown}: a list inside itself, or lists nested too deeply; allowed: {DEPTH_MAX} levels")
    if isinstance(value, list | tuple):
        return [_plain(key, item, depth + 1) for item in value]
    if not isinstance(value, bool | int | float | str) and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, str) and not is_unicode(value):
        raise SpecError(
            f"{shown} = '{printable(value)}' is not a text: it holds a byte or half a character; allowed: Unicode"
        )
    if isinstance(value, int) and value.bit_length() > _BITS_MAX:
        raise SpecError(
            f"{shown}: a whole number of {value.bit_length():,} bits is not allowed; allowed: up to 63 bits"
        )
    if isinstance(value, bool | int | float | str):
        return value
    what = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    hint = "; tolist() makes a list of it" if hasattr(value, "tolist") else ""
    raise SpecError(f"{shown}: no value of a spec is of type {what}; allowed: truth value, number, text or list{hint}")


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: no part of it is a byte of a name that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(name: str, text: str) -> None:
    """Refuses a value that is not a text, as the engine takes it.

    Raises:
        SpecError: it holds a byte that is not UTF-8; `name` begins the message.
    """
    if not is_unicode(text):
        raise SpecError(f"{name} '{printable(text)}' is not a text: it holds a byte that is not UTF-8")
