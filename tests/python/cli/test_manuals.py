"""What the command line says about itself: explanations, completion, pages and schemas."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

import pumice
from conftest import REPOSITORY, Command, shown_by
from pumice import _engine, cli
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
        ("pumice reproduce s", ["superblock", "sfws"]),
        ("pumice run --format ", ["msr", "blkparse", "csv"]),
        ("pumice trace convert a b --to s", ["spc", "ssdsim"]),
        ("pumice plan --example fig1", ["fig10", "fig11"]),
        ("pumice compare --vary ftl.merge=b", ["ftl.merge=block-erase"]),
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
    if path is not None and shell == "fish":
        offered = tab_of_fish("pumice run --set ftl.merge=m", command("completion", shell).stdout, tmp_path)
        assert offered == ["ftl.merge=m-merge", "ftl.merge=m-merge-budgeted"]
        assert "office.csv" in tab_of_fish("pumice run --trace off", command("completion", shell).stdout, tmp_path)


def tab_of_fish(line: str, script: str, directory: Path) -> list[str]:
    """What fish offers behind a line, files of the directory among it."""
    (directory / "office.csv").touch()
    (directory / "pumice").write_text(SHOWING.format(python=sys.executable))
    (directory / "pumice").chmod(0o755)
    environment = {**os.environ, "PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}
    asked = f"{script}\ncomplete -C '{line}'"
    fish = ["fish", "--no-config", "-c", asked]
    done = subprocess.run(fish, cwd=directory, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


#: What stands in for the command at a prompt: it answers the completion, and shows the words that it is given.
SHOWING = """#!/bin/sh
[ -n "$_PUMICE_COMPLETE" ] && exec {python} -m pumice "$@"
for word; do printf '<%s>' "$word"; done
echo
"""


def test_a_tab_at_a_prompt_of_bash(command: Command, tmp_path: Path) -> None:
    """Words with `=` and `:`, at which bash parts them, and files."""
    typed = {
        "run --set ftl.merge=m-merge-b": ["run", "--set", "ftl.merge=m-merge-budgeted"],
        "run --set ftl.merg": ["run", "--set", "ftl.merge="],
        "run --set=ftl.merge=bl": ["run", "--set=ftl.merge=block-erase"],
        "run --set 'ftl.merge=bl": ["run", "--set", "ftl.merge=block-erase"],
        "run --workload twin:Fi": ["run", "--workload", "twin:Fi"],
        "run --workload twin:rs": ["run", "--workload", "twin:rsrch_0"],
        "run --preset=pen-1": ["run", "--preset=pen-1tb"],
        "run --preset ti": ["run", "--preset", "tiny"],
        "run --trace some-t": ["run", "--trace", "some-trace.csv"],
        "run --format blkp": ["run", "--format", "blkparse"],
    }
    (tmp_path / "script").write_text(command("completion", "bash").stdout)
    (tmp_path / "some-trace.csv").touch()
    (tmp_path / "pumice").write_text(SHOWING.format(python=sys.executable))
    (tmp_path / "pumice").chmod(0o755)
    shown = at_a_prompt(["source script", *(f"pumice {line}\t" for line in typed)], tmp_path)
    found = [re.findall("<([^<>]*)>", line) for line in shown.splitlines() if line.startswith("<")]
    assert found == list(typed.values()), shown


def at_a_prompt(lines: list[str], directory: Path) -> str:
    """What bash shows when these lines are typed at its prompt; directory holds the command."""
    master, slave = pty.openpty()
    own = {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}", "PS1": "", "TERM": "dumb"}
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(
        shell, stdin=slave, stdout=slave, stderr=slave, cwd=directory, env={**os.environ, **own}, start_new_session=True
    ) as process:
        os.close(slave)
        os.write(master, "".join(f"{line}\n" for line in [*lines, "exit"]).encode())
        return shown_by(process, master)


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
    assert "write_amplification" in command("explain", "--search", "waf").stdout
    assert command("explain", "waf").stdout.startswith("field      write_amplification\n")
    both = command("explain", "channels").stdout
    assert re.findall("^(?:key|field) .*", both, re.MULTILINE) == [
        "key      geometry.channels", "field      device.channels"
    ]  # fmt: skip
    assert "as a key: here it is 'timing.t_r_us'" in command("explain", "read latency").stdout
    found_keys = [key.path for key in search("free_threshold")]
    assert found_keys == ["ftl.gc_free_threshold", "ftl.zns.pace"], "the key, and one whose text names it"


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.path)
def test_every_key_is_explained_by_its_default_and_limits(key: Key, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a field of the result has the same name: that comes beneath."""
    is_field = any(field.path == key.path for field in fields())
    assert cli.run(["explain", key.path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["key"], found["default"], found["allowed"]) == (key.path, key.default, key.allowed)
    assert ("result" in found) == is_field
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
    of_schema: dict[Path, list[dict[str, object]]] = {}
    for file in named:
        text = file.read_text("utf-8")
        assert text.startswith("#:schema "), f"{file}: the first line names no schema"
        schema = (file.parent / text.split("\n", 1)[0].removeprefix("#:schema ")).resolve()
        of_schema.setdefault(schema, []).append(tomllib.loads(text))
    for path, documents in of_schema.items():
        schema = json.loads(path.read_text("utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        for document in documents:
            jsonschema.Draft202012Validator(schema).validate(document)


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


@pytest.mark.parametrize(
    ("term", "path"),
    [
        ("TLC", "geometry.bits_per_cell"),
        ("QLC", "timing.t_r_us"),
        ("tail latency", "output.request_log"),
        ("QoS", "run.until"),
        ("over-provisioning", "ftl.over_provisioning"),
        ("victim", "ftl.gc_policy"),
        ("preconditioning", "initial.age_writes"),
        ("gc policy", "ftl.gc_policy"),
    ],
)
def test_terms_of_the_field_lead_to_keys(term: str, path: str) -> None:
    assert path in [key.path for key in search(term)]
