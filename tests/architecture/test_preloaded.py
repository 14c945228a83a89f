"""A command that is forked behaves like one that is started."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.preloaded import IS_USED, PROGRAM, Preloaded, may_fork, run

FOREIGN = os.environ | {"PYTHONHASHSEED": "7"}  # known to be started as usual

pytestmark = pytest.mark.skipif(not IS_USED, reason="only Linux passes pipes to a process that forks commands")


def ended(folder: Path, *arguments: str, stdin: str = "", **variables: str) -> tuple[int, str, str]:
    done = run([*PROGRAM, *arguments], stdin=stdin, timeout=60, cwd=folder, env=os.environ | variables)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (["--version"], "", 0),
        (["no-such-command"], "", 2),
        (["apply"], "", 2),
        (["apply", "network.yaml", "--url", "http://127.0.0.1:1", "--key", "k"], "", 4),
        (["detect", "-"], "UNB+UNOC:3+A+B+261001:1200+1'UNZ+0+1'", 0),
    ],
    ids=["success", "no command", "usage", "no answer", "standard input"],
)
def test_it_prints_and_returns_what_a_started_one_does(
    tmp_path: Path, arguments: list[str], stdin: str, code: int
) -> None:
    (tmp_path / "network.yaml").write_text("postroad: 1\n")
    forked = ended(tmp_path, *arguments, stdin=stdin)
    assert forked == ended(tmp_path, *arguments, stdin=stdin, PYTHONHASHSEED="7")
    assert forked[0] == code, forked
    assert forked[1] or forked[2]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_is_ended_by_signals(tmp_path: Path, number: signal.Signals) -> None:
    command = [*PROGRAM, "serve", "--json", "--port", "0", "--data", str(tmp_path / "data")]
    with Preloaded(command, stdout=subprocess.PIPE, start_new_session=True) as server:
        assert b'"url"' in server.stdout.readline()  # type: ignore[union-attr]
        assert os.getsid(server.pid) == server.pid
        assert server.poll() is None
        server.send_signal(number)
        assert server.wait(60) == (-9 if number is signal.SIGKILL else 0)
        assert server.poll() == server.returncode


def test_other_commands_and_other_pythons_are_started_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_fork(None)
    assert may_fork(os.environ | {"POSTROAD_DATA": "here"})
    assert not may_fork(FOREIGN)
    with Preloaded(["sh", "-c", "exit 3"]) as process:
        assert process.wait() == 3
    monkeypatch.setenv("PYTHONPATH", "plug-ins")
    assert not may_fork(None)
    assert not may_fork(os.environ)
