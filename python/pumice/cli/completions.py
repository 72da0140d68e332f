"""What a shell offers where a value is typed: names of presets, workloads, keys and their values.

Each function takes the beginning of a word and gives the words that begin so, with what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pumice import _engine

Offers = list[tuple[str, str]]

#: Shells for which there is a completion script.
SHELLS = ("bash", "zsh", "fish")

#: Our own script for bash: typer's does not know that bash parts words at `=` and `:`, and so completes neither
#: `ftl.merge=m` nor `twin:p`.
_BASH = r"""# Completion of pumice for bash 4.4 or newer.
_pumice_completion() {
    # Words of pumice hold = and :, at which bash parts the words of COMP_WORDS. So the line itself is handed over.
    # -1 says that its last word is to be completed; a number beyond its words, that a new word begins.
    local line="${COMP_LINE:0:COMP_POINT}" place=-1
    local word="${line##*[[:blank:]]}"
    [[ -n $word ]] || place=9999
    local offer offers
    mapfile -t offers < <(COMP_WORDS="$line" COMP_CWORD=$place _PUMICE_COMPLETE=complete_bash "$1")
    # Bash replaces only what stands behind the last = or : of the word, unless a quote holds the word together.
    [[ $word == --*=* ]] && word="${word#*=}"
    local kept=""
    if [[ $word != [\"\']* ]]; then
        local mark
        for mark in = :; do
            [[ $COMP_WORDBREAKS == *"$mark"* && $word == *"$mark"* ]] || continue
            local upto="${word%"$mark"*}$mark"
            ((${#upto} > ${#kept})) && kept="$upto"
        done
    fi
    COMPREPLY=()
    for offer in "${offers[@]}"; do
        [[ -n $offer ]] && COMPREPLY+=("${offer#"$kept"}")
    done
    # A value follows behind `key=`, so no blank.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}

complete -o default -F _pumice_completion pumice
"""


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


def trace_formats(incomplete: str) -> Offers:
    """Names of trace formats that are read."""
    return [(word.partition("=")[2], "") for word, _ in settings(f"workload.format={incomplete}")]


def formats_to_write(incomplete: str) -> Offers:
    """Names of trace formats that are written."""
    from pumice.traces.formats import writable

    return _beginning(writable(), incomplete)


def examples(incomplete: str) -> Offers:
    """Names of worked examples."""
    from pumice.planning.worked_examples import names

    return _beginning(names(), incomplete)


def shells(incomplete: str) -> Offers:
    """Names of shells."""
    return _beginning(SHELLS, incomplete)


def script(shell: str) -> str:
    """The completion script of a shell of `SHELLS`."""
    if shell == "bash":
        return _BASH
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name="pumice", complete_var="_PUMICE_COMPLETE", shell=shell)


def _beginning(names: Iterable[str], incomplete: str) -> Offers:
    return [(name, "") for name in names if name.startswith(incomplete)]


def _named_values(allowed: str) -> list[str]:
    """The names in `"a" | "b"`, or the two truth values."""
    if allowed == "true or false":
        return ["true", "false"]
    return [part.strip('"') for part in allowed.split(" | ")] if allowed.startswith('"') else []
