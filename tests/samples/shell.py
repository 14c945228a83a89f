"""One shell session in a folder of its own, as a reader has it: what one command sets, the next one sees."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType


class Shell:
    """Starts ``sh``; the end of the session ends everything that was started in it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._process.communicate()

    def run(self, command: str, timeout_s: float = 400.0) -> tuple[int, str]:
        """The command's exit code, and what it printed on both outputs."""
        mark = secrets.token_hex(8)
        assert self._process.stdin is not None
        self._process.stdin.write(f"{{\n{command}\n}} </dev/null\nprintf '\\n%s %s\\n' {mark} $?\n".encode())
        self._process.stdin.flush()
        output = self._read_until(f"\n{mark} ".encode(), timeout_s)
        text, _, code = output.decode(errors="replace").rpartition(f"\n{mark} ")
        return int(code), text

    def _read_until(self, mark: bytes, timeout_s: float) -> bytes:
        assert self._process.stdout is not None
        output = b""
        deadline = time.monotonic() + timeout_s
        while mark not in output or not output.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._process.stdout.fileno(), 65_536) if ready else b""
            if not chunk:
                raise TimeoutError(f"no end after {timeout_s:.0f} s; so far:\n{output.decode(errors='replace')}")
            output += chunk
        return output
