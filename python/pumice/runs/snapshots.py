"""Snapshots: aged devices that serve many runs.

Filling and ageing a device takes the greater part of many runs, and runs that vary only what comes after age it to the
same state. Such runs can share it: within a process in memory, between processes and days in a folder. Results are the
same, bit for bit. A snapshot belongs to the build of the engine that wrote it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pumice import _engine
from pumice.errors import SpecError, reason
from pumice.runs.grid import flatten
from pumice.runs.pace import ageing_reports
from pumice.runs.progress import RunProgress
from pumice.runs.spec import Spec
from pumice.runs.store import file_digest
from pumice.text import printable

#: Most that the aged devices in the memory of a process take, in MiB.
MEMORY_MIB = 1024

#: Most that the snapshots of a folder take, in MiB; those that were not used for longest go first.
FOLDER_MIB = 4096

#: The variable of the environment that names the file with the key.
KEY_VARIABLE = "PUMICE_SNAPSHOT_KEY"

#: What is said where a folder was named in vain.
NOTHING_AGED = "no device is aged by writes that the engine alone decides, so snapshots have no effect"


@dataclass(frozen=True)
class SnapshotPlaces:
    """Where runs look for aged devices and keep them.

    Attributes:
        in_memory: for the other runs of the process.
        folder: for any run; made if it is not there.
        file: the one snapshot to take the device from.
    """

    in_memory: bool = False
    folder: Path | None = None
    file: Path | None = None

    def laid_into(self, request: str, engine: ModuleType) -> str:
        """A request whose run uses these places."""
        named: dict[str, Any] = {"engine": engine_identity(engine)}
        if self.in_memory:
            named["memory_mib"] = MEMORY_MIB
        if self.folder is not None or self.file is not None:
            named["key"] = str(key_file())
        if self.folder is not None:
            named["folder"] = [str(self.folder), FOLDER_MIB]
        if self.file is not None:
            named["file"] = str(self.file)
        return json.dumps({**json.loads(request), "snapshots": named})


def key_file() -> Path:
    """The file with the user's key, with which snapshots are sealed: the one that `PUMICE_SNAPSHOT_KEY` names, else one
    in the user's data, which is made if it is not there.

    A snapshot is a whole state that the engine goes on with. Nothing but its seal tells one that a run has reached from
    one that somebody made up.

    Raises:
        SpecError: it cannot be made.
    """
    if named := os.environ.get(KEY_VARIABLE):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    path = Path(data) / "pumice" / "snapshot.key"
    if path.exists():
        return path
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent) as whole:  # made with mode 0600
            whole.write(secrets.token_hex(32).encode())
            whole.flush()
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(whole.name, path)
    except OSError as error:
        raise SpecError(
            f"{path}: the key of snapshots cannot be made: {reason(error)}; name a file with one: {KEY_VARIABLE}"
        ) from None
    return path


def engine_identity(engine: ModuleType) -> str:
    """What tells one build of the engine from another: its version and the bytes of its library."""
    return f"{engine.version()} {file_digest(str(engine.__file__))}"


def shared(identities: Iterable[str | None]) -> set[str]:
    """The aged devices that several runs of a batch need."""
    return {identity for identity, runs in Counter(identities).items() if identity is not None and runs > 1}


def save(spec: Spec, path: Path) -> dict[str, Any]:
    """Ages the device of `spec`, writes it to `path`, and returns what the file says of itself.

    Raises:
        SpecError: the spec cannot be used, or nothing ages its device.
        OSError: the file cannot be written.
    """
    with RunProgress("snapshot", ageing_reports=ageing_reports(spec.resolve())) as bar:
        text = _engine.snapshot_save(spec.request(), path, key_file(), engine_identity(_engine), bar.update)
    header: dict[str, Any] = json.loads(text)
    return header


def info(path: Path) -> dict[str, Any]:
    """What a snapshot says of itself: engine, identity, keys and bytes. The file is verified.

    Raises:
        SpecError: it cannot be read, is not a snapshot, was changed, or was not written with the user's key.
    """
    header: dict[str, Any] = json.loads(_engine.snapshot_info(path, key_file()))
    return header


def check_fits(spec: Spec, path: Path) -> None:
    """Refuses a snapshot that is not of the spec's aged device.

    Raises:
        SpecError: with the keys that differ, or why the file is of no use.
    """
    header = info(path)
    if header["engine"] != engine_identity(_engine):
        raise SpecError(f"{path}: was written by another build of the engine; `pumice snapshot save` makes it anew")
    own = json.loads(_engine.aged_keys(spec.request()))
    if own is None:
        raise SpecError(f"{path}: holds an aged device, and the spec has none: initial.age_writes = 0.0, or a policy")
    differing = differences(header["keys"], own)
    if differing:
        raise SpecError(f"{path}: holds another device than the spec's: {'; '.join(differing)}")


def differences(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """A text for each key in which a snapshot's device differs from the one that is wanted."""
    ours, theirs = flatten(held), flatten(wanted)
    keys = sorted(ours.keys() | theirs.keys())
    told = {key: (_shown(ours.get(key)), _shown(theirs.get(key))) for key in keys if ours.get(key) != theirs.get(key)}
    return [f"{key} = {was}, the spec says {now}" for key, (was, now) in told.items()]


def _shown(value: Any) -> str:
    return "nothing" if value is None else printable(json.dumps(value))
