"""The demo shows what it promises, its next commands work as printed, and the examples' own instructions can be followed."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.served_network import PROGRAM, clean_environment, json_lines, postroad, succeeded

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


@pytest.mark.req("K2", "M11", "A2")
def test_the_demo_shows_an_order_that_is_answered(tmp_path: Path) -> None:
    begun = time.monotonic()
    shown = succeeded("demo", "--once", "--data", tmp_path / "demo")
    assert (
        time.monotonic() - begun < 30
    )  # takes about two seconds; the promise of ten is for a machine that is not busy
    assert "5 organizations with 6 services are registered" in shown
    assert "request MyBiz/Purchasing → TheAcmeCompany/Supply" in shown
    assert "response TheAcmeCompany/Supply → MyBiz/Purchasing" in shown
    assert shown.count("delivered") == 2
    assert len([line for line in shown.splitlines() if f"--data {tmp_path / 'demo'}" in line]) == 4


def test_the_demo_can_be_shown_again_in_the_same_folder(tmp_path: Path) -> None:
    first, second = (
        json_lines(succeeded("demo", "--once", "--json", "--data", tmp_path / "demo"))[-1] for _ in range(2)
    )
    assert first["session"] != second["session"]
    assert first["seconds"] < 30


@pytest.mark.req("K2")
def test_the_next_commands_work_as_they_are_printed(tmp_path: Path) -> None:
    command = [*PROGRAM, "demo", "--port", "0", "--data", str(tmp_path / "demo")]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=clean_environment() | {"PYTHONUNBUFFERED": "1"}
    )
    assert running.stdout is not None
    shown: list[str] = []
    while not shown or "keeps running" not in shown[-1]:
        shown.append(running.stdout.readline())
        assert shown[-1], "the demo ended early:\n" + "".join(shown)
    commands = [shlex.split(line)[1:] for line in shown if f"--data {tmp_path}" in line]
    assert [words[0] for words in commands] == ["trace", "post", "poll"]
    trace, post, poll = (succeeded(*words, cwd=Path.cwd()) for words in commands)
    assert "transaction" in trace
    assert post.startswith("session ")
    assert "request from MyBiz/Purchasing" in poll
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0
    running.stdout.close()
    assert not (tmp_path / "demo" / "url").exists()


@pytest.mark.docs
@pytest.mark.parametrize(("example", "start"), [("hello", "."), ("purchase-order", "examples/purchase-order")])
def test_an_example_can_be_followed_word_by_word(example: str, start: str, tmp_path: Path) -> None:
    folder = tmp_path / "examples" / example
    shutil.copytree(EXAMPLES / example, folder)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "postroad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m postroad.cli.main "$@"\n')
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    script = "set -e\n" + "\n".join(SHELL_BLOCK.findall((folder / "README.md").read_text()))
    environment = clean_environment()
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path / start, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    expected = re.search(r"```text\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert expected is not None
    for line in expected[1].splitlines():
        assert line.strip() in done.stdout, done.stdout + done.stderr


def test_a_demo_beside_a_running_one_says_what_is_wrong(tmp_path: Path) -> None:
    command = [*PROGRAM, "demo", "--json", "--port", "0", "--data", str(tmp_path / "demo")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        second = postroad("demo", "--once", "--data", tmp_path / "demo")
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    assert second.returncode == 1
    assert "another process is writing" in second.stderr
