"""What the runs of a study want known, said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Stands between a key and the reason why its run does not read it.
WITHOUT_EFFECT = " has no effect with "


def warnings_of(documents: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """Each distinct warning of some result documents, in order; None stands for a run that failed.

    That a key has no effect is only worth a word if no run reads it: a study may well set what some of its
    runs do not know.
    """
    given = [list(document.get("warnings") or []) for document in documents if document is not None]
    silent = [{warning.partition(WITHOUT_EFFECT)[0] for warning in own if WITHOUT_EFFECT in warning} for own in given]
    everywhere = set.intersection(*silent) if silent else set()
    found: dict[str, str] = {}
    for warning in (warning for own in given for warning in own):
        key, between, _ = warning.partition(WITHOUT_EFFECT)
        if not between:
            found.setdefault(warning, warning)
        elif key in everywhere:
            found.setdefault(key, warning)
    return list(found.values())
