"""`postroad doctor --live` names the alerts of real networks in real trouble, with their runbooks."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.samples.live_alerts import QUICK, find_firing, guessing
from tests.samples.served_network import postroad, served, succeeded


@pytest.mark.req("O4")
def test_a_healthy_network_fires_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        assert find_firing(network.data) == []
        said = succeeded("doctor", "--live", "--data", network.data, *QUICK)
        assert said.startswith("0 alerts would fire, 23 are quiet\n")
        assert "not evaluated, for lack of 6 hours of posts: PostroadSloAvailability, PostroadSloPostLatency\n" in said


@pytest.mark.req("O4")
def test_a_guesser_is_noticed(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network, guessing(network.url):
        assert find_firing(network.data, "--seconds", "2") == ["PostroadGuessing"]


@pytest.mark.req("O4")
def test_a_disk_that_is_nearly_full_is_named_with_its_runbook(tmp_path: Path) -> None:
    least = int(shutil.disk_usage(tmp_path).free * 0.7)
    with served(tmp_path / "data", "--set", f"least_free_bytes={least}") as network:
        assert find_firing(network.data) == ["PostroadDiskLow"]
        done = postroad("doctor", "--live", "--data", network.data, *QUICK)
    assert "PostroadDiskLow (page, sent after 10m): The journal's disk is nearly full" in done.stdout
    assert "  docs/runbooks/PostroadDiskLow.md\n1 alert would fire, 22 are quiet\n" in done.stdout


@pytest.mark.req("O4")
def test_a_server_that_was_killed_is_down(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.end(signal.SIGKILL)
        assert find_firing(network.data) == ["PostroadDown"]
    (network.data / "metrics-url").unlink()  # as after a clean stop
    assert find_firing(network.data) == ["PostroadDown"]


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
