"""The crash lab: the power of a device is cut at many instants of one session, and what a host would find is judged.

    spec = pumice.Spec.from_file("examples/crash/drive.toml")
    report = pumice.crash(spec, cuts=1000)
    assert report.is_kept, report.broken[0]

docs/CRASH.md says what is judged, and how real programs come into it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pumice import _engine
from pumice.errors import SimulationError, SpecError
from pumice.runs.spec import Spec, check_spec
from pumice.runs.store import file_digest
from pumice.served_device import serve
from pumice.text import printable

__all__ = ["CrashReport", "crash", "record_session", "session_spec"]

#: Name and version of the document.
FORMAT = "pumice.crash/1"

#: What can be wrong with a page, as the document names it, the least first.
KINDS = ("rolled_back", "lost", "shorn", "foreign", "corrupt", "unreadable")

#: Called with cuts tried and cuts wanted.
CrashProgress = Callable[[int, int], None]


@dataclass
class CrashReport:
    """What became of the cuts.

    Attributes:
        document: everything, as docs/CRASH.md lists it.
        verdicts: what was found after each cut that was tried, in the order of the cuts.
    """

    document: dict[str, Any]
    verdicts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def broken(self) -> list[dict[str, Any]]:
        """The cuts after which a promise was broken or the check failed, in the order of the cuts."""
        broken: list[dict[str, Any]] = self.document["broken"]
        return broken

    @property
    def is_kept(self) -> bool:
        """Whether every promise was kept and no check failed."""
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return self.document


@dataclass
class _Trials:
    """Cuts that are being tried."""

    check: str | None
    wanted: int
    progress: CrashProgress | None
    tried: dict[int, dict[str, Any]] = field(default_factory=dict)

    def note(self, text: str) -> bool:
        """Takes a verdict, and checks its image if there is one. Returns whether to go on."""
        told = json.loads(text)
        verdict: dict[str, Any] = told["verdict"]
        if self.check is not None and told["image"] is not None:
            verdict["check"] = _checked(self.check, Path(told["image"]), verdict)
        self.tried[told["nth"]] = verdict
        if self.progress is not None:
            self.progress(len(self.tried), self.wanted)
        return True


def crash(
    spec: Spec | None = None,
    *,
    session: str | os.PathLike[str] | None = None,
    cuts: int = 1000,
    at: str = "random",
    instants: Sequence[int] | None = None,
    check: str | None = None,
    checks: int = 20,
    workers: int | None = None,
    progress: CrashProgress | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
) -> CrashReport:
    """Cuts the power of a device at many instants of a session, and judges what a host would find.

    A Ctrl-C ends the work; the report then tells of the cuts that were tried, and `interrupted` is true in it.

    Args:
        spec: the device, which must be able to recover (`ftl.recovery`). None: the device that `session` was
            recorded on.
        session: what `record_session` or `pumice serve --session` has recorded; the workload of `spec` if absent.
        cuts: how many instants.
        at: where they are: "random", "promises" or "dense".
        instants: these instants in place of drawn ones, in nanoseconds of the device's clock.
        check: shell command that is run on images of the device, and fails if what it finds is wrong. It gets
            `PUMICE_IMAGE`, the image's path; `PUMICE_MARK`, the program's last mark before the cut; `PUMICE_CUT_NS` and
            `PUMICE_REQUESTS`, when the cut came and how many requests were done by then. Needs `session`.
        checks: how many of the cuts are checked, evenly over all of them.
        workers: threads; as many as there are CPUs if absent.
        progress: called after each cut.
        plugins: for a device that `session` was recorded on: the shared objects that it was recorded with. A recording
            never loads one by itself.

    Raises:
        SpecError: the device cannot recover, the session does not fit it, or an argument is not allowed.
        SimulationError: the session cannot be replayed.
        OSError: the session cannot be read, or an image cannot be written.
    """
    if session is None and spec is None:
        raise SpecError("the crash lab needs a spec, or a session that was recorded")
    if session is None and check is not None:
        raise SpecError("a check needs the data of a session, and a workload has none")
    if spec is not None and plugins:
        raise SpecError("plugins are for the device of a recorded session; a spec takes them by with_plugins")
    if at not in _engine.cut_places():
        raise SpecError(f"at = {at!r} is not allowed; allowed: {', '.join(_engine.cut_places())}")
    if cuts < 1 or checks < 0:
        raise SpecError(f"cuts = {cuts}, checks = {checks}: not allowed; allowed: at least 1 cut and 0 checks")
    device = check_spec(spec) if spec is not None else session_spec(session or "", plugins)
    began = time.monotonic()
    lab = _engine.CrashLab(device.request(), session)
    chosen = sorted(set(instants)) if instants is not None else lab.instants(at, cuts)
    trials = _Trials(check, len(chosen), progress)
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="pumice-crash-") as directory:
        wanted = _wanted(chosen, Path(directory), checks if check is not None else 0)
        try:
            lab.try_cuts(wanted, workers or os.cpu_count() or 1, trials.note)
        except KeyboardInterrupt:
            interrupted = True
    verdicts = [trials.tried[nth] for nth in sorted(trials.tried)]
    document = _document(device, session, lab.requests(), verdicts)
    document["cuts"] |= {"at": "given" if instants is not None else at, "wanted": len(chosen)}
    document["check"] = check
    document["interrupted"] = interrupted
    took = time.monotonic() - began
    document["run"] = {"wall_s": took, "cuts_per_s": len(verdicts) / took if took > 0 else None}
    return CrashReport(document, verdicts)


def _wanted(instants: Sequence[int], directory: Path, checks: int) -> list[tuple[int, Path | None]]:
    """The cuts, with the image of each that is checked."""
    checks = min(checks, len(instants))
    checked = {(2 * nth + 1) * len(instants) // (2 * checks) for nth in range(checks)}
    return [(at, directory / f"{nth}.img" if nth in checked else None) for nth, at in enumerate(instants)]


def _checked(command: str, image: Path, verdict: dict[str, Any]) -> dict[str, Any]:
    """Runs the user's check on an image, which is removed. Returns its status and its last line."""
    environment = os.environ | {
        "PUMICE_IMAGE": os.fspath(image),
        "PUMICE_MARK": verdict["mark"] or "",
        "PUMICE_CUT_NS": str(verdict["at_ns"]),
        "PUMICE_REQUESTS": str(verdict["requests"]),
    }
    try:
        done = subprocess.run(
            command, shell=True, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
    finally:
        with contextlib.suppress(FileNotFoundError):
            image.unlink()
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return {"status": done.returncode, "said": lines[-1] if lines else ""}


def is_broken(verdict: dict[str, Any]) -> bool:
    """Whether a promise is broken after a cut, or the check has failed."""
    is_wrong = verdict["failure"] is not None or any(verdict["pages"].values())
    return is_wrong or verdict.get("check", {}).get("status", 0) != 0


def _document(
    spec: Spec, session: str | os.PathLike[str] | None, requests: int, verdicts: list[dict[str, Any]]
) -> dict[str, Any]:
    counted = {kind: [verdict["pages"][kind] for verdict in verdicts] for kind in KINDS}
    checked = [verdict["check"] for verdict in verdicts if "check" in verdict]
    times = [verdict["recovery_us"] for verdict in verdicts if verdict["failure"] is None]
    broken = [verdict for verdict in verdicts if is_broken(verdict)]
    return {
        "format": FORMAT,
        "version": _engine.version(),
        "spec": json.loads(spec.request()),
        "session": os.fspath(session) if session is not None else None,
        "requests": requests,
        "cuts": {
            "tried": len(verdicts),
            "met_something": sum(verdict["under_way"] > 0 for verdict in verdicts),
            "broken": len(broken),
            "out_of_order": sum(verdict["out_of_order"] for verdict in verdicts),
            "dead": sum(verdict["failure"] is not None for verdict in verdicts),
        },
        "wrong": {
            kind: {"cuts": sum(pages > 0 for pages in counts), "pages": sum(counts)} for kind, counts in counted.items()
        },
        "recovery_us": {"mean": sum(times) / len(times), "max": max(times)} if times else None,
        "checks": {"done": len(checked), "failed": sum(check["status"] != 0 for check in checked)},
        "broken": broken,
    }


def record_session(spec: Spec, script: str, session: str | os.PathLike[str]) -> None:
    """Runs a program on the device of a spec, and records what it does with its data.

    Args:
        spec: the device. Its workload is not used.
        script: shell command. It gets `PUMICE_URI`, where NBD clients connect; `PUMICE_CONTROL`, what `pumice ctl`
            takes; `PUMICE_BYTES`, the size of the device.
        session: file to write.

    Raises:
        SpecError: the spec cannot be served.
        SimulationError: the script fails, or the simulation ends in an error.
        OSError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="pumice-crash-") as directory:
        control = f"unix:{Path(directory) / 'control'}"
        with serve(spec, control=control, session=session) as device:
            environment = os.environ | {
                "PUMICE_URI": device.uri,
                "PUMICE_CONTROL": control,
                "PUMICE_BYTES": str(device.capacity_bytes),
            }
            # What the program says goes to stderr: stdout is for the report.
            done = subprocess.run(script, shell=True, env=environment, stdout=2, check=False)
    if done.returncode != 0:
        raise SimulationError(f"the script ended with status {done.returncode}; nothing was cut")


def session_spec(session: str | os.PathLike[str], plugins: Sequence[str | os.PathLike[str]] = ()) -> Spec:
    """The spec of the device that a session was recorded on.

    A recording may come from a stranger, so nothing that it names is opened or run. It says of a translation layer of
    somebody's own which file it was, by SHA-256; the file itself is named by whoever reads the recording.

    Args:
        session: the recording.
        plugins: shared objects, among which those must be that the session was recorded with.

    Raises:
        OSError: the file is no recording of a session.
        SpecError: its header is damaged, or a plug-in is missing, is another one, or cannot be loaded.
    """
    asked = json.loads(_engine.recording_header(session))
    given = {file_digest(os.path.abspath(path)): path for path in map(os.fsdecode, plugins)}
    for digest in (plugin["sha256"] for plugin in asked["plugins"]):
        if digest not in given:
            raise SpecError(
                f"{printable(os.fsdecode(session))}: was recorded with a plug-in of SHA-256 {printable(digest)}, which"
                " is not among those given; name its file: --plugin FILE, in Python plugins=[FILE]"
            )
    spec = Spec(
        preset=asked["preset"],
        text=asked["spec_text"],
        name=asked["spec_name"],
        sets=tuple((key, text) for key, text in asked["sets"]),
        origins=tuple(asked["origins"]),
        scale=asked["scale"],
    )
    return spec.with_plugins(*given.values())
