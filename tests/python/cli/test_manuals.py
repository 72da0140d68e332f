"""What the command line says about itself: explanations, completion, man pages, pages and schemas."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

import pumice
from conftest import REPOSITORY, Command
from pumice import _engine, cli
from pumice.cli.commands import COMMANDS
from pumice.cli.manual import pages
from pumice.results.fields import fields
from pumice.runs.keys import Key, generated, keys, search, spec_schema, sweep_schema

#: TOML files of the project that are neither specs nor sweeps.
OTHER_TOML = {"expected.toml", "experiment.toml"}


def completions(shell: str, line: str) -> list[str]:
    """What is offered for the last word of a line, as `shell` asks for it."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-c", "from pumice.cli import main; main()"],
        env={**os.environ, **asked, "_PUMICE_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pumice re", ["reproduce", "report"]),
        ("pumice run --sc", ["--scale"]),
        ("pumice run --preset ti", ["tiny"]),
        ("pumice run --workload twin:prn", ["twin:prn_0", "twin:prn_1"]),
        ("pumice explain ftl.mer", ["ftl.merge"]),
        ("pumice trace con", ["convert"]),
    ],
)
def test_a_shell_is_offered_what_may_come_next(shell: str, line: str, offered: list[str]) -> None:
    lines = completions(shell, line)
    for word in offered:
        # zsh and fish show help beside the words; zsh puts a backslash before a colon.
        assert any(re.search(rf'(^|["\t]){re.escape(word)}($|["\t])', one.replace("\\\\:", ":")) for one in lines), (
            lines
        )


def test_a_setting_is_completed_to_its_values() -> None:
    assert completions("bash", "pumice run --set ftl.merg") == ["ftl.merge="]
    offered = completions("fish", "pumice run --set ftl.merge=m")
    assert [line.split("\t")[0] for line in offered] == ["ftl.merge=m-merge", "ftl.merge=m-merge-budgeted"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_of_its_shell(command: Command, tmp_path: Path, shell: str) -> None:
    script = command("completion", shell).stdout
    assert f"_PUMICE_COMPLETE=complete_{shell}" in script
    path = shutil.which(shell)
    if path is not None:
        (tmp_path / "script").write_text(script)
        subprocess.run([path, "-n", str(tmp_path / "script")], check=True)


def test_bash_completes_with_the_script(command: Command, tmp_path: Path) -> None:
    """The script as a shell sources it, with the command in its PATH."""
    (tmp_path / "script").write_text(command("completion", "bash").stdout)
    (tmp_path / "pumice").write_text(f'#!/bin/sh\nexec {sys.executable} -m pumice "$@"\n')
    (tmp_path / "pumice").chmod(0o755)
    asked = "COMP_WORDS=(pumice run --preset ti); COMP_CWORD=3; _pumice_completion pumice; echo ${COMPREPLY[@]}"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"source {tmp_path / 'script'}; {asked}"],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["tiny"]


def test_every_command_has_a_man_page_with_its_options(command: Command, tmp_path: Path) -> None:
    made = pages()
    assert {"pumice", "pumice-trace-info", *(f"pumice-{name}" for name in COMMANDS)} <= made.keys()
    helped = command("run", "--help").stdout
    for option in re.findall(r"^  (--[a-z-]+)", helped, re.MULTILINE):
        assert option.replace("-", "\\-") in made["pumice-run"]
    assert all(page.isascii() for page in made.values()), "old tools read bytes"
    assert command("man", "--out", "man").returncode == 0
    assert {path.name for path in (tmp_path / "man").iterdir()} == {f"{name}.1" for name in made}
    assert command("man", "run").stdout == made["pumice-run"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_pages_are_sound_roff() -> None:
    for name, page in pages().items():
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True
        )
        assert done.stderr == "", name
        assert "EXIT STATUS" in re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)


def test_explain_finds_words_lists_all_and_knows_the_fields_of_results(command: Command) -> None:
    found = command("explain", "--search", "Suspended READ").stdout
    assert "erase.suspension" in found
    assert "ftl.merge" not in found
    assert "flash.suspensions" in command("explain", "--search", "suspended").stdout
    everything = command("explain", "--all").stdout
    assert all(f"{key.path} " in everything for key in keys())
    listed = json.loads(command("explain", "--all", "--json").stdout)
    assert [one["key"] for one in listed] == [key.path for key in keys()]
    field = command("explain", "host.iops").stdout
    assert "requests/s" in field
    assert [key.path for key in search("free_threshold")] == ["ftl.gc_free_threshold"]


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.path)
def test_every_key_is_explained_by_its_default_and_limits(key: Key, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a field of the result has the same name: that comes beneath."""
    is_field = any(field.path == key.path for field in fields())
    assert cli.run(["explain", key.path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["key"], found["default"], found["allowed"]) == (key.path, key.default, key.allowed)
    assert ("field" in found) == is_field
    assert cli.run(["explain", key.path]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert blocks[0].startswith("key ")
    assert len(blocks) == 1 + is_field
    assert re.findall("^(?:default|allowed) ", blocks[0], re.MULTILINE) == ["allowed ", "default "]
    if is_field:
        assert blocks[1].startswith("field ")


def test_the_generated_files_are_those_of_the_engine() -> None:
    """After a change of the keys: `make generated`."""
    for name, text in generated().items():
        assert (REPOSITORY / name).read_text("utf-8") == text, f"{name} is not up to date: make generated"


def test_the_page_of_keys_has_every_key_of_a_resolved_spec() -> None:
    page = (REPOSITORY / "docs" / "KEYS.md").read_text("utf-8")
    config = pumice.preset("tiny").resolve()["config"]
    for section, values in config.items():
        for key in values if isinstance(values, dict) else []:
            assert f"`{section}.{key}" in page


def test_every_spec_and_sweep_of_the_project_meets_the_schema_that_it_names() -> None:
    files = [*REPOSITORY.glob("presets/*.toml"), *REPOSITORY.glob("experiments/*/*.toml")]
    named = [file for file in files if file.name not in OTHER_TOML]
    assert len(named) > 40
    for file in named:
        text = file.read_text("utf-8")
        assert text.startswith("#:schema "), f"{file}: the first line names no schema"
        schema = json.loads((file.parent / text.split("\n", 1)[0].removeprefix("#:schema ")).read_text("utf-8"))
        jsonschema.validate(tomllib.loads(text), schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ('[vary]\n"ftl.merge" = ["m-merge", "block-erase"]\nscale = [0.5, 1.0]', True),
        ('repeat = 3\n[vary]\n"ftl.merge, seed" = [["m-merge", 1]]\npreset = ["tiny"]', True),
        ("[vary.ftl]\nover_provisioning = [0.1, 0.2]", True),
        ('[vary]\n"ftl.merge" = ["never"]', False),
        ('[vary]\n"ftl.mrege" = ["m-merge"]', False),
        ('[vary]\n"ftl.merge" = "m-merge"', False),
        ("repeat = 0", False),
        ("scale = 2", False),
    ],
)
def test_the_schema_of_sweeps_allows_what_a_sweep_may_hold(text: str, sound: bool) -> None:
    jsonschema.Draft202012Validator.check_schema(sweep_schema())
    validator = jsonschema.Draft202012Validator(sweep_schema())
    assert validator.is_valid(tomllib.loads(text)) == sound


def test_a_spec_is_no_sweep(command: Command) -> None:
    assert not jsonschema.Draft202012Validator(spec_schema()).is_valid({"vary": {}})
    assert json.loads(command("schema", "--sweep").stdout) == sweep_schema()
    assert json.loads(command("schema").stdout) == json.loads(_engine.schema())
