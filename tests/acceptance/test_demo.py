"""The demo shows what it promises, its next commands work as printed, and the examples' own instructions can be followed."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroad.testing.ports import free_port
from tests.preloaded import PROGRAM
from tests.samples.served_network import clean_environment, json_lines, postroad, succeeded

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the demo prints, in the folder it is told; takes about a second and a half on a machine that is not busy."""
    folder = tmp_path_factory.mktemp("demo")
    return succeeded("demo", "--once", "--data", folder / "demo").replace(str(folder), "FOLDER")


@pytest.mark.req("K2", "M11", "A2", "S5")
def test_the_demo_shows_an_order_that_is_answered(shown: str) -> None:
    assert "6 organizations with 7 services are registered; 4 of them are run by the network, and 2 rules" in shown
    assert "request MyBiz/Purchasing → TheAcmeCompany/Supply" in shown
    assert "response TheAcmeCompany/Supply → MyBiz/Purchasing" in shown
    assert shown.count('was answered: <PurchaseOrderConfirmation status="accepted"') == 2, "over JSON and over SOAP"
    assert "SpamCo/Offers was answered: route.rejected: Rejected by KeepEmOut/filter" in shown
    assert len([line for line in shown.splitlines() if "--data FOLDER/demo" in line]) == 4


@pytest.mark.req("S5", "C2")
def test_the_demo_shows_what_each_service_changed(shown: str) -> None:
    lines = [line.strip(" │├└─") for line in shown.splitlines()]
    changes = [line for line in lines if line.startswith(("- <", "+ <"))]
    assert changes == [
        "- <Address>123 Main Street, Springfield, 62701</Address>",
        "+ <Address>", "+ <Street>123 Main Street</Street>", "+ <City>Springfield</City>", "+ <Zip>62701</Zip>",
        "+ </Address>",
        "- <Zip>62701</Zip>", "+ <Zip>62701-1234</Zip>",
        "- <CustomerNumber>3489</CustomerNumber>", "+ <CustomerNumber>BX0045012</CustomerNumber>",
    ]  # fmt: skip
    assert lines.count("changed nothing") == 1, "the filter"


@pytest.mark.docs
def test_the_first_page_shows_what_the_demo_shows(shown: str) -> None:
    [excerpt] = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = iter([line.strip(" │├└─") for line in shown.splitlines()])
    for line in excerpt.splitlines():
        wanted = line.strip(" │├└─")
        assert any(found.startswith(wanted) for found in lines), f"not shown, or not in this order: {wanted}"


@pytest.mark.req("R16")
def test_the_demo_says_why_the_order_went_its_way(shown: str) -> None:
    assert 'body /PurchaseOrder/Address matches .+,.+,.+; found "123 Main Street, Springfield, 62701"' in shown
    assert "-> KeepEmOut/filter -> TheAcmeCompany/Supply" in shown
    assert "only its owner may see its rules" in shown, "MyBiz does not read Acme's"


def test_the_demo_can_be_shown_again_in_the_same_folder(tmp_path: Path) -> None:
    first, second = (
        json_lines(succeeded("demo", "--once", "--json", "--data", tmp_path / "demo"))[-1] for _ in range(2)
    )
    assert first["session"] != second["session"]
    for told in (first, second):
        assert told["answer"] == told["soapAnswer"]
        assert told["stoppedAnswer"].startswith("route.rejected")
        assert told["firstAnswerSeconds"] < 30, (
            "about one and a half; the promise of three is for a machine that is not busy"
        )


@contextmanager
def running_demo(data: Path, *options: str, **variables: str) -> Iterator[list[str]]:
    """A demo that keeps running, and what it has printed; it ends as by Ctrl-C, and leaves no address behind."""
    command = [*PROGRAM, "demo", *options, "--data", str(data)]
    environment = clean_environment() | {"PYTHONUNBUFFERED": "1"} | variables
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stdout is not None
            shown: list[str] = []
            while not shown or "keeps running" not in shown[-1]:
                shown.append(running.stdout.readline())
                assert shown[-1], "the demo ended early:\n" + "".join(shown)
            yield shown
        finally:
            running.send_signal(signal.SIGINT)
            code = running.wait(30)
    assert code == 0
    assert not (data / "url").exists()


@pytest.mark.req("K2")
def test_the_next_commands_work_as_they_are_printed(tmp_path: Path) -> None:
    with running_demo(tmp_path / "demo", "--port", "0") as shown:
        commands = [shlex.split(line)[1:] for line in shown if f"--data {tmp_path}" in line]
        assert [words[0] for words in commands] == ["trace", "post", "poll"]
        trace, post, poll = (succeeded(*words, cwd=Path.cwd()) for words in commands)
    assert "soap11" in trace
    assert "+ <CustomerNumber>BX0045012</CustomerNumber>" in trace
    assert post.startswith("session ")
    assert "response from TheAcmeCompany/Supply" in poll, "Acme keeps responding"


def test_the_demo_listens_on_the_port_of_the_settings(tmp_path: Path) -> None:
    port = free_port()
    with running_demo(tmp_path / "demo", POSTROAD_PORT=str(port)) as shown:
        assert f"network on http://127.0.0.1:{port} (" in shown[0]


def test_the_demo_listens_on_the_port_of_its_option_first(tmp_path: Path) -> None:
    port = free_port()
    with running_demo(tmp_path / "demo", "--port", str(port), POSTROAD_PORT="1", POSTROAD_HOST="localhost") as shown:
        assert f"network on http://localhost:{port} (" in shown[0]


def test_make_run_passes_its_port_on() -> None:
    def demo_of(*arguments: str, **variables: str) -> str:
        command = ["make", "--dry-run", "--no-print-directory", "run", *arguments]
        # "make test" passes its own flags and variables on to the programs it starts.
        outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PORT", "VENV")
        kept = {name: value for name, value in clean_environment().items() if name not in outer}
        environment = kept | variables
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[-1].strip()

    assert demo_of("PORT=9200") == ".venv/bin/postroad demo --port 9200"
    assert demo_of(PORT="9200") == ".venv/bin/postroad demo", "a variable of that name is meant for other programs"


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
