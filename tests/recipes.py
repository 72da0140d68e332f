"""Follows the recipes of CONTRIBUTING.md to the letter: `make recipes` copies the sources, adds one new entry by each
recipe for the engine, compiles them once, and runs the tests that the recipes name. Status 1 if one of them fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS, VICTIMS = Path("crates/ftl/src/layers"), Path("crates/ftl/src/blocks/victims")
FORMATS, CORPUS = Path("crates/workload/src/trace/formats"), Path("crates/workload/tests/corpus")
HOST = Path("crates/engine/src/host/mod.rs")
PATTERNS, SCHEMES = Path("crates/workload/src/generator/patterns"), Path("crates/types/src/erase/schemes")

#: Lines of the trial's format: a mark, then seconds, operation, first byte and length.
TRACE = ["@ 0.5 R 4096 8192", "@ 0.7 W 8192 4096", "@ 0.9 R 0 512"]


class Copy:
    """A copy of the sources, in which recipes are followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)

    def like(self, source: Path, target: Path, *renamed: tuple[str, str]) -> None:
        """A new file, made like another one: patterns are replaced, each at least once."""
        text = (self.folder / source).read_text()
        for pattern, by in renamed:
            text, found = re.subn(pattern, by, text)
            assert found, f"{source}: no {pattern}"
        (self.folder / target).write_text(text)

    def add(self, file: Path, behind: str, line: str) -> None:
        """A line behind the one that begins with `behind`."""
        text = (self.folder / file).read_text()
        found = re.search(rf"^ *{re.escape(behind)}.*\n", text, re.MULTILINE)
        assert found, f"{file}: no line {behind!r}"
        (self.folder / file).write_text(text[: found.end()] + line + "\n" + text[found.end() :])


def translation_layer(copy: Copy) -> None:
    copy.like(LAYERS / "block_mapped/fast.rs", LAYERS / "block_mapped/trial.rs", (r"\bFast\b", "Trial"))
    copy.add(LAYERS / "block_mapped/mod.rs", "pub mod superblock_2006;", "pub mod trial;")
    copy.add(LAYERS / "mod.rs", "Zns =", '    Trial = "trial", trial: block_mapped::trial::Trial, "as fast";')
    # The compiler names this match.
    copy.add(Path("crates/engine/tests/engine/power_erases.rs"), "| FtlKind::Fast", "        | FtlKind::Trial")


def victim_policy(copy: Copy) -> None:
    copy.like(VICTIMS / "fifo.rs", VICTIMS / "trial.rs", (r"\bFifo\b", "Trial"))
    copy.add(VICTIMS / "mod.rs", "pub mod random;", "pub mod trial;")
    copy.add(VICTIMS / "mod.rs", "Random =", '    Trial = "trial", trial: trial::Trial, "closed first";')
    copy.add(VICTIMS / "mod.rs", "random: (),", "            trial: (),")


def trace_format(copy: Copy) -> None:
    facts = """        name: "trial",
        about: "marked lines",
        units: "time: seconds; offset and size: bytes",
        time: TimeScale {
            tick_ns: 1,
            decimals: 9,
            epoch: None,
            column: "time",
            allowed: "plain digits",
        },"""
    written = 'writeln!(out, "@ {} {} {} {}", r.scale.written(r.time), r.letter(), r.offset, r.bytes)'
    parse = """let mut at = Cursor::new(line);
        at.byte(b'@')?;
        at.byte(b' ')?;
        let time = at.decimal(9)?;
        at.byte(b' ')?;
        let kind = letter(at.any()?)?;
        at.byte(b' ')?;
        let offset = at.whole()?;
        at.byte(b' ')?;
        let length = at.whole()?;
        at.end()?;
        Some(ParsedLine::request(time, span(offset, size(length)?)?, kind, b""))"""
    columns = """columns: &[
        ("mark", ColumnRule::Either("@", "@"), None),
        ("time", ColumnRule::Real(9), Some(Role::Time)),
        ("op", ColumnRule::Either("R", "W"), Some(Role::Op)),
        ("offset", ColumnRule::Whole, Some(Role::Offset)),
        ("size", ColumnRule::Bytes, Some(Role::Size)),
    ],"""
    example = "\\n".join(TRACE)
    copy.like(
        FORMATS / "systor.rs",
        FORMATS / "trial.rs",
        (r"(?s)\A.*?\n\n", "//! A format of a trial.\n\n"),
        (r"\bSystor\b(?!\")", "Trial"),
        (r'what: "a Systor"', 'what: "a trial"'),
        (r"Separator::Comma", "Separator::Blanks"),
        (r"(?s)columns: &\[.*?\n    \],", columns),
        (r'(?s)        name: "systor".*?\n        \},', facts),
        (r"(?s)examples: &\[.*?\],", f'examples: &["{example}\\\\n"],'),
        (r"sample\.fields\(\)\.len\(\) == COLUMNS\.columns\.len\(\)", 'sample.line().starts_with(b"@ ")'),
        (r'head: ".*",', 'head: "",'),
        (r"writeln!\(out, .*\),\n", written + ",\n"),
        (r"(?s)let mut at = Cursor.*kind, unit\)\)", parse),
    )
    copy.add(FORMATS / "mod.rs", "mod tencent;", "mod trial;")
    copy.add(FORMATS / "mod.rs", "systor::Systor,", "    trial::Trial,")
    broken = {
        "columns": ("@ 0.7 8192 W 4096", 'op \\"8192\\" found; allowed are R and W'),
        "junk": ("~~~~", '1 field in \\"~~~~\\"'),
        "negative": ("@ 0.7 W -8192 4096", 'offset \\"-8192\\" found'),
        "truncated": ("@ 0.7 W", "3 fields in"),
        "unit": ("@ 0.7s W 8192 4096", 'time \\"0.7s\\" found'),
    }
    tests = Path("crates/workload/tests/workload/corpus.rs")
    for name, (line, said) in broken.items():
        (copy.folder / CORPUS / f"trial-{name}.txt").write_text("\n".join([TRACE[0], line, ""]))
        copy.add(tests, "const BROKEN:", f'    ("trial-{name}", 2, "{said}"),')
    (copy.folder / CORPUS / "trial-good.txt").write_text("\n".join([*TRACE, ""]))
    copy.add(tests, "const GOOD:", '    ("trial", 2, 1),')
    copy.add(
        Path("docs/WORKLOADS.md"), "| `systor` |", "| `trial` | `@ time op offset size` | s, decimals | bytes | none |"
    )


def workload(copy: Copy) -> None:
    copy.like(
        PATTERNS / "uniform.rs", PATTERNS / "trial.rs",
        (r"\bUniformAccess\b", "TrialAccess"), (r"\bUniformLaw\b", "TrialLaw"), (r'"uniform"', '"trial"'),
    )  # fmt: skip
    copy.add(PATTERNS / "mod.rs", "mod streams;", "mod trial;")
    copy.add(PATTERNS / "mod.rs", "Uniform = uniform::", "    Trial = trial::TrialAccess,")


def erase_scheme(copy: Copy) -> None:
    copy.like(
        SCHEMES / "aero_fit.rs", SCHEMES / "trial.rs",
        (r"\bAeroFit\b", "Trial"), (r'NAME: &\'static str = "aero-fit"', "NAME: &'static str = \"trial\""),
    )  # fmt: skip
    copy.add(SCHEMES / "mod.rs", "aero_fit::AeroFit", "    trial::Trial,")


def spec_key(copy: Copy) -> None:
    copy.like(HOST, HOST, (r"keys\.overhead_us", "keys.overhead_us + keys.trial_us"))
    row = 'trial_us: f64 = "0.0", ANY_US, "us", CHOSEN, TIMED,\n            "A trial.";'
    copy.add(Path("crates/config/src/host.rs"), "pub struct HostKeys in", f"        {row}")
    effect = '    ("host.trial_us", ["5.0", "1.0"], UNTIMED, TIMED),'
    copy.add(Path("crates/engine/tests/effects.rs"), '("host.overhead_us"', effect)


def result_field(copy: Copy) -> None:
    field = '    "device.trial", Integer, "", "",\n        "A trial",\n        |run| json!(run.geometry.channels);'
    copy.add(Path("crates/engine/src/results/fields/of_run.rs"), "|run| json!(run.geometry.channels);", field)


RECIPES = [translation_layer, victim_policy, trace_format, workload, erase_scheme, spec_key, result_field]

#: What the recipes say is run then.
COMMANDS = [
    "cargo test --quiet -p pumice-types -p pumice-ftl -p pumice-workload -p pumice-config",
    "cargo test --quiet -p pumice-engine --test engine unnoticed",
    "cargo test --quiet -p pumice-engine --test engine registry",
    "cargo test --quiet -p pumice-engine --test effects",
]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        copy = Copy(Path(name))
        for recipe in RECIPES:
            recipe(copy)
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "recipes"))
        failed = 0
        for command in COMMANDS:
            accepts = {"PUMICE_ACCEPT_GOLDEN": "1"} if "unnoticed" in command else {}
            environment = {**os.environ, "CARGO_TARGET_DIR": target, **accepts}
            print(command, flush=True)
            failed += subprocess.run(command.split(), cwd=copy.folder, env=environment, check=False).returncode != 0
    print(f"{len(RECIPES)} recipes followed; {failed} of {len(COMMANDS)} commands failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
