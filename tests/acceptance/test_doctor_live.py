"""`postroad doctor --live` names the alerts of real networks in real trouble, with their runbooks."""

from __future__ import annotations

import shutil
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroad.core.metrics.alerts import ALERTS
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded

QUICK = ("--seconds", "0.5")


def firing(network: Served, *arguments: str) -> list[str]:
    """The names of the alerts that would fire."""
    done = postroad("doctor", "--live", "--json", "--data", network.data, *(arguments or QUICK))
    [states] = json_lines(done.stdout)
    assert [state["alert"] for state in states] == [alert.name for alert in ALERTS]
    names = [state["alert"] for state in states if state["state"] == "fires"]
    assert done.returncode == (1 if names else 0)
    return names


@contextmanager
def guessing(url: str) -> Iterator[None]:
    """Someone tries keys, as fast as they are refused."""
    over = threading.Event()

    def guess() -> None:
        while not over.is_set():
            asked = urllib.request.Request(f"{url}/v1/status", headers={"Authorization": "Bearer pr_no_such_key"})
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(asked, timeout=30)

    guesser = threading.Thread(target=guess)
    guesser.start()
    try:
        yield
    finally:
        over.set()
        guesser.join()


@pytest.mark.req("O4")
def test_a_healthy_network_fires_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        assert firing(network) == []
        said = succeeded("doctor", "--live", "--data", network.data, *QUICK)
        assert said.startswith("0 alerts would fire, 23 are quiet\n")
        assert "not evaluated, for lack of 6 hours of posts: PostroadSloAvailability, PostroadSloPostLatency\n" in said


@pytest.mark.req("O4")
def test_a_guesser_is_noticed(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network, guessing(network.url):
        assert firing(network, "--seconds", "2") == ["PostroadGuessing"]


@pytest.mark.req("O4")
def test_a_disk_that_is_nearly_full_is_named_with_its_runbook(tmp_path: Path) -> None:
    least = int(shutil.disk_usage(tmp_path).free * 0.7)
    with served(tmp_path / "data", "--set", f"least_free_bytes={least}") as network:
        assert firing(network) == ["PostroadDiskLow"]
        done = postroad("doctor", "--live", "--data", network.data, *QUICK)
    assert "PostroadDiskLow (page, sent after 10m): The journal's disk is nearly full" in done.stdout
    assert "  docs/runbooks/PostroadDiskLow.md\n" in done.stdout


@pytest.mark.req("O4")
def test_a_server_that_was_killed_is_down(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.end(signal.SIGKILL)
        assert firing(network) == ["PostroadDown"]
    (network.data / "metrics-url").unlink()  # as after a clean stop
    assert firing(network) == ["PostroadDown"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    absent = postroad("doctor", "--live", "--data", tmp_path / "nothing")
    assert "there is no network in" in absent.stderr
    disabled = postroad("doctor", "--live", "--data", tmp_path, "--set", "metrics_listen=")
    assert "metrics_listen: is empty, so there is no metrics page" in disabled.stderr


def test_the_token_is_sent(tmp_path: Path) -> None:
    file, wrong = tmp_path / "token", tmp_path / "wrong"
    file.write_text("right")
    wrong.write_text("wrong")
    with served(tmp_path / "data", "--set", f"metrics_token_file={file}") as network:
        given = ("doctor", "--live", "--data", network.data, *QUICK, "--set")
        assert postroad(*given, f"metrics_token_file={file}").returncode == 0
        assert "the page refuses this token" in postroad(*given, f"metrics_token_file={wrong}").stderr
