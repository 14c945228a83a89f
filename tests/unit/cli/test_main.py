"""The program as a whole: quick to start, complete in its help, and documented as it is."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from postroad.cli.commands.config.apply import confirm_plan
from postroad.cli.framework.exit_codes import ExitCode, report_errors
from postroad.cli.framework.lazy_group import LazyGroup
from postroad.cli.framework.output import Output
from postroad.cli.main import ENTRIES, postroad
from postroad.cli.reference import MEANINGS, reference
from postroad.errors import Misconfigured, Refused, Unavailable

ROOT = Path(__file__).resolve().parents[3]
SLOW_TO_IMPORT = {
    "asyncpg",
    "apsw",
    "fastapi",
    "httpx2",
    "lxml",
    "msgspec",
    "pydantic",
    "rich",
    "starlette",
    "uvloop",
    "yaml",
}


def commands() -> dict[str, click.Command]:
    """Every command that does something, by its full name."""
    found: dict[str, click.Command] = {}
    context = click.Context(postroad)
    for name in postroad.list_commands(context):
        command = postroad.get_command(context, name)
        assert command is not None
        below = command.commands if isinstance(command, click.Group) else {}
        found |= {f"{name} {inner}": item for inner, item in below.items()} or {name: command}
    return found


COMMANDS = commands()


@pytest.mark.req("K2")
def test_help_imports_nothing_that_is_slow() -> None:
    program = (
        "import sys\nfrom postroad.cli.main import postroad\n"
        "try:\n    postroad(['--help'])\nexcept SystemExit:\n    pass\n"
        "import json\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert SLOW_TO_IMPORT.isdisjoint(json.loads(done.stderr))


@pytest.mark.req("K2")
def test_help_comes_at_once() -> None:
    """Counted in processor time, since a busy machine says nothing about the program; the best of five."""

    def spent_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for _ in range(5):
        before = spent_s()
        subprocess.run([sys.executable, "-m", "postroad.cli.main", "--help"], capture_output=True, check=True)
        times.append(spent_s() - before)
    assert min(times) < 0.15


@pytest.mark.req("K2")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_says_what_it_does(name: str) -> None:
    command = COMMANDS[name]
    assert any("--json" in parameter.opts for parameter in command.params)
    assert command.help
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{name} {parameter.opts} has no help"


@pytest.mark.parametrize("name", ENTRIES)
def test_the_list_of_commands_says_what_each_says_itself(name: str) -> None:
    command = postroad.get_command(click.Context(postroad), name)
    assert command is not None
    assert (command.help or "").partition("\n")[0] == ENTRIES[name].help
    assert command.name == name


def test_the_words_of_the_specification_are_commands() -> None:
    assert {
        "serve",
        "demo",
        "apply",
        "export",
        "post",
        "poll",
        "tail",
        "trace",
        "verify",
        "doctor",
        "index",
        "bench",
    } <= set(ENTRIES)


@pytest.mark.docs
def test_the_reference_is_current() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert page == reference(), "run: python -m postroad.cli.reference > docs/reference/cli.md"
    assert set(MEANINGS) == set(ExitCode)


def test_an_unknown_command_is_a_wrong_command_line() -> None:
    done = CliRunner().invoke(postroad, ["fly"])
    assert (done.exit_code, "No such command 'fly'" in done.output) == (2, True)


def test_a_command_that_is_not_where_it_should_be_is_noticed() -> None:
    class Broken(LazyGroup):
        entries = {"version": ENTRIES["serve"]._replace(module="postroad")}  # noqa: RUF012 - as its parent has it

    with pytest.raises(AttributeError):
        Broken("broken").get_command(click.Context(click.Command("x")), "version")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("not-found", "look again", session="s"), ExitCode.REFUSED),
        (Unavailable("network.busy", "wait"), ExitCode.UNAVAILABLE),
        (Misconfigured(["one", "two"]), ExitCode.ERROR),
        (FileNotFoundError("gone"), ExitCode.ERROR),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_errors_become_words_and_exit_codes(
    error: Exception, code: ExitCode, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end, report_errors(Output(as_json)):
        raise error
    assert end.value.code == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == (2 if isinstance(error, Misconfigured) else 1)
    if as_json:
        assert all(json.loads(line)["detail"] for line in lines)


def test_a_file_that_is_not_there_is_named_without_the_systems_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), report_errors(Output()):
        Path("absent.xml").read_bytes()
    assert capsys.readouterr().err == "error: absent.xml: no such file or directory [file.unusable]\n"


@pytest.mark.req("K2")
def test_who_interrupts_is_not_told_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, report_errors(Output()):
        raise KeyboardInterrupt
    assert end.value.code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == ""
    with pytest.raises(BrokenPipeError), report_errors(Output()):  # click ends quietly on it
        raise BrokenPipeError


@pytest.mark.parametrize(("no_color", "is_coloured"), [("1", False), ("", True)])
def test_who_wants_no_colours_gets_none(no_color: str, is_coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    done = CliRunner().invoke(postroad, ["poll", "--key-file", "absent.key"], color=True)
    assert "the key file absent.key cannot be read" in done.output
    assert ("\x1b[" in done.output) is is_coloured


def test_who_is_not_there_to_agree_is_told_how_to_agree_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(Misconfigured, match="nothing was applied, because the prompt was not answered; --yes"):
        confirm_plan()
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    with pytest.raises(click.Abort):
        confirm_plan()


def test_programming_mistakes_are_seen() -> None:
    with pytest.raises(ZeroDivisionError), report_errors(Output()):
        raise ZeroDivisionError
