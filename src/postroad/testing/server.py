"""A real ``postroad serve`` in its own process, for tests that kill, stop and restart it on the same data.

Rule: tests use the same program as operators, only through its settings, its socket and signals. The port is chosen once,
so that clients find the server again after a restart.

    with ServerProcess(tmp_path) as server:
        ...                    # talk to server.url with server.operator_key
        server.kill()          # SIGKILL: nothing is flushed
        server.start()         # on the same data
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from postroad.testing.ports import free_port

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.01
COMMAND = (sys.executable, "-c", "from postroad.cli.main import main; main()", "serve")


class ServerDidNotStart(AssertionError):
    """The process ended, or accepted no connection in time; the text includes its output."""


class ServerProcess:
    """A server on one data folder; ``settings`` are named as in ``Settings`` and become ``POSTROAD_*`` variables."""

    popen: ClassVar[type[subprocess.Popen[Any]]] = subprocess.Popen

    def __init__(
        self,
        data: Path,
        settings: Mapping[str, object] | None = None,
        *,
        command: Sequence[str] = COMMAND,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self.port = free_port()
        self.settings: dict[str, object] = {
            "least_free_bytes": 0,
            "drain_notice_s": 0,
            "log_level": "warning",
            **(settings or {}),
            "data": data,
            "port": self.port,
        }
        self._command = tuple(command)
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.settings.get('tls_certificate') else 'http'}://127.0.0.1:{self.port}"

    @property
    def operator_key(self) -> str:
        return (self.data / "operator.key").read_text().strip()

    @property
    def log(self) -> str:
        """Return the output of the server over all starts."""
        path = self._log_path
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server is not running; call start() first")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def children(self) -> list[int]:
        """Return the child processes of the server, such as its index process (Linux only)."""
        tasks = Path(f"/proc/{self.pid}/task")
        found = [(task / "children").read_text().split() for task in tasks.iterdir()]
        return [int(pid) for pids in found for pid in pids]

    def start(self) -> float:
        """Start the server, wait until it accepts connections, and return the seconds that this took."""
        if self.is_running:
            return 0.0
        started_at = time.monotonic()
        self.launch()
        self._wait_until_ready(started_at + START_TIMEOUT_S)
        return time.monotonic() - started_at

    def launch(self) -> None:
        """Start the server without waiting, so that a test can kill it during recovery."""
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        with self._log_path.open("ab") as log:
            self._process = self.popen(
                self._command,
                env=self._variables(),
                cwd=self._log_path.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the tests does not stop it
            )

    def kill(self) -> None:
        """Kill the process (SIGKILL), like a power cut without loss of the disk cache."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Send SIGTERM and return the exit code; raises TimeoutExpired if the server does not end."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout_s)
        self._process = None
        return code

    def restart(self) -> float:
        self.stop()
        return self.start()

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def _log_path(self) -> Path:
        return self.data.with_name(self.data.name + ".log")

    def _variables(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("POSTROAD_")}
        settings = {f"POSTROAD_{name.upper()}": str(value) for name, value in self.settings.items()}
        return inherited | settings | self._environment

    def _wait_until_ready(self, deadline: float) -> None:
        while self.is_running and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
                return
            except OSError:
                time.sleep(LOOK_EVERY_S)
        self.kill()
        raise ServerDidNotStart(f"the server on {self.data} did not start; it said:\n{self.log[-3000:]}")
