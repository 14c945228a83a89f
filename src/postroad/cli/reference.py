"""The command-line reference, generated from the commands: ``python -m postroad.cli.reference`` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.main import postroad

WIDTH = 100
HEAD = """# The command line

Made from the program by `python -m postroad.cli.reference > docs/reference/cli.md`; a test compares.

Every command has `--json`, which prints one JSON value a line on standard output and errors as JSON on standard error. Commands
that talk to a network find it by `--url` and `--key-file` (or `--key`), then by `POSTROAD_URL` and `POSTROAD_KEY_FILE` (or
`POSTROAD_KEY`), then by the data folder of a network on this machine (`--data`, else `POSTROAD_DATA`, else `data` in
`postroad.toml`, else `var/postroad`), where a running network leaves its address and its first operator's key.

## Exit codes

| Code | Meaning |
|---|---|
"""

MEANINGS = {
    ExitCode.OK: "Done.",
    ExitCode.ERROR: "Settings or files are wrong, a check found errors, or something unexpected happened.",
    ExitCode.CHANGES: "`apply --dry-run` found changes. Also: the command line itself was wrong.",
    ExitCode.REFUSED: "The network refused; trying again the same way will not help.",
    ExitCode.UNAVAILABLE: "The network cannot be reached or is too busy; try again later.",
    ExitCode.NOT_COMPARED: "`verify` found no difference, and had neither an index nor a noted head to compare with.",
    ExitCode.INTERRUPTED: "Ctrl-C. `serve`, `demo` and `tail`, which are normally ended this way, exit with 0.",
}


OWN_CODES = {
    "misconfigured": "Settings, options or files are wrong; one line for each error.",
    "file.unusable": "A file cannot be read or written.",
    "system.error": "The operating system refused something else.",
    "network.unreachable": "No answer came from the address in the text.",
    "answer.unreadable": "An answer came, and not from a network of this version.",
}
OWN_HEAD = """
## Error codes

An error ends with its code in brackets. Codes of the network are in [Errors](errors.md). These are the command line's own:

| Code | Meaning |
|---|---|
"""


def reference() -> str:
    own = OWN_HEAD + "".join(f"| `{code}` | {meaning} |\n" for code, meaning in OWN_CODES.items())
    codes = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items())
    return HEAD + codes + own + "".join(_sections(postroad, "postroad", None))


def _sections(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    settings: dict[str, Any] = {**command.context_settings, "terminal_width": WIDTH}  # on whatever terminal it is made
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, **settings)
    help_text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"\n## {path}\n\n```text\n{help_text}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _sections(below, f"{path} {name}", context)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
