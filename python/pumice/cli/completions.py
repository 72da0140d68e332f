"""What a shell offers where a value is typed: names of presets, workloads, keys and their values.

Each function takes the beginning of a word and gives the words that begin so, with what they mean.
"""

from __future__ import annotations

import json

from pumice import _engine

Offers = list[tuple[str, str]]

#: Shells for which there is a completion script.
SHELLS = ("bash", "zsh", "fish")


def presets(incomplete: str) -> Offers:
    """Names of presets."""
    from pumice.runs.spec import preset_about

    return [(name, preset_about(name)) for name in _engine.presets() if name.startswith(incomplete)]


def workloads(incomplete: str) -> Offers:
    """Names of workloads."""
    found = json.loads(_engine.workloads())
    return [(one["name"], str(one.get("about", ""))) for one in found if one["name"].startswith(incomplete)]


def keys(incomplete: str) -> Offers:
    """Keys of the spec."""
    from pumice.runs.keys import keys as all_keys

    return [(key.path, key.text.partition(". ")[0]) for key in all_keys() if key.path.startswith(incomplete)]


def settings(incomplete: str) -> Offers:
    """`key=`, and behind a key with named values `key=value`."""
    from pumice.runs.keys import keys as all_keys

    path, equals, _ = incomplete.partition("=")
    if not equals:
        return [(f"{key}=", text) for key, text in keys(incomplete)]
    names = [name for key in all_keys() if key.path == path for name in _named_values(key.allowed)]
    return [(word, "") for name in names if (word := f"{path}={name}").startswith(incomplete)]


def shells(incomplete: str) -> Offers:
    """Names of shells."""
    return [(name, "") for name in SHELLS if name.startswith(incomplete)]


def _named_values(allowed: str) -> list[str]:
    """The names in `"a" | "b"`, or the two truth values."""
    if allowed == "true or false":
        return ["true", "false"]
    return [part.strip('"') for part in allowed.split(" | ")] if allowed.startswith('"') else []
