"""A node that stops is not ready while it still serves: on PostgreSQL by default, on its own if that is set."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap.settings import Settings
from postroad.testing.server import ServerProcess
from tests.waiting import eventually

SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32}


def status_of(server: ServerProcess, path: str) -> int:
    try:
        with urllib.request.urlopen(f"{server.url}{path}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.mark.req("O4")
def test_readiness_fails_before_the_listener_closes(tmp_path: Path, postgres_database: str) -> None:
    settings = SHARED | {"postgres": postgres_database, "drain_notice_s": 300, "log_level": "info", "log_form": "json"}
    check_notice(tmp_path, settings)


@pytest.mark.req("O4")
def test_a_single_node_gives_notice_if_that_is_set(tmp_path: Path) -> None:
    check_notice(tmp_path, {"drain_notice_s": 300, "log_level": "info", "log_form": "json"})


def test_by_default_only_nodes_of_a_shared_network_give_notice() -> None:
    assert Settings().effective_drain_notice_s == 0
    assert Settings(acceptance="shared").effective_drain_notice_s == 5
    assert Settings(acceptance="shared", drain_notice_s=0).effective_drain_notice_s == 0


def check_notice(tmp_path: Path, settings: dict[str, Any]) -> None:
    with ServerProcess(tmp_path / "node", settings) as server:
        assert status_of(server, "/readyz") == 200
        os.kill(server.pid, signal.SIGTERM)
        eventually(lambda: status_of(server, "/readyz") == 503)
        assert status_of(server, "/livez") == 200, "requests are still served"
        assert '"event":"server.draining"' in server.log
        assert server.stop(60.0) == 0, "a second signal ends the wait"
