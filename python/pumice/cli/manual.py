"""Man pages from the commands: names, options and their help are those of `--help`."""

from __future__ import annotations

from typing import Any

from pumice import __version__

#: Statuses of every command.
_STATUS = (
    ("0", "done"),
    ("1", "a run or a write ended in an error"),
    ("2", "bad usage, spec or trace"),
    ("130", "interrupted by Ctrl-C"),
)


def pages(root: Any) -> dict[str, str]:
    """Every man page of the application `root` in roff, by its name without section: `pumice`, `pumice-run`,
    `pumice-trace-info`."""
    return dict(_pages(root, _context(root, "pumice", None)))


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _pages(command: Any, context: Any) -> list[tuple[str, str]]:
    children = command.loaded() if hasattr(command, "loaded") else {}
    own = (context.command_path.replace(" ", "-"), _page(command, context, children))
    below = [page for name, child in children.items() for page in _pages(child, _context(child, name, context))]
    return [own, *below]


def _page(command: Any, context: Any, children: dict[str, Any]) -> str:
    name = context.command_path.replace(" ", "-")
    help_text = " ".join((command.help or "").split())
    usage = " ".join(command.collect_usage_pieces(context))
    parameters = [record for one in command.get_params(context) if (record := _record(one, context)) is not None]
    options = [record for record in parameters if record[0].startswith("-")]
    arguments = [record for record in parameters if not record[0].startswith("-")]
    lines = [
        f'.TH "{name.upper()}" "1" "" "pumice {__version__}" "pumice manual"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(help_text.rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_text(context.command_path)}\\fR {_text(usage)}",
        ".SH DESCRIPTION",
        _text(help_text),
        *_section("ARGUMENTS", arguments),
        *_section("OPTIONS", options),
        *_section("COMMANDS", [(child, one.help or "") for child, one in children.items()]),
        *_section("EXIT STATUS", list(_STATUS)),
    ]
    if children:
        see = [f"\\fB{_text(f'{name}-{child}')}\\fR(1)" for child in children]
    else:
        see = [f"\\fB{_text(context.parent.command_path.replace(' ', '-'))}\\fR(1)"]
    return "\n".join([*lines, ".SH SEE ALSO", ", ".join(see)]) + "\n"


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """How a parameter is written, and its help; None if it is hidden."""
    record: tuple[str, str] | None = parameter.get_help_record(context)
    return record


def _section(title: str, records: list[tuple[str, str]]) -> list[str]:
    if not records:
        return []
    lines = [f".SH {title}"]
    for term, text in records:
        lines += [".TP", f"\\fB{_text(term)}\\fR", _text(" ".join(text.split()))]
    return lines


def _text(text: str) -> str:
    """Text as roff shows it as it is: no sign of it is a request or an escape."""
    plain = text.replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    plain = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in plain)
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
