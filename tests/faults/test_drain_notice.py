"""A node of a shared network that stops is not ready while it still serves."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

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
    with ServerProcess(tmp_path / "node", settings) as server:
        assert status_of(server, "/readyz") == 200
        os.kill(server.pid, signal.SIGTERM)
        eventually(lambda: status_of(server, "/readyz") == 503)
        assert status_of(server, "/livez") == 200, "requests are still served"
        assert '"event":"server.draining"' in server.log
        assert server.stop(60.0) == 0, "a second signal ends the wait"
