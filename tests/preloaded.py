"""The program ``postroad`` as a process that is forked from one that has imported it: it starts in a tenth of the CPU time.

``Preloaded`` is a ``subprocess.Popen``. It forks commands that begin with PROGRAM and starts all others as usual, also those
with another environment for Python itself. ``POSTROAD_TEST_PRELOADED=0`` starts every command as users do.

The process that forks (this module, run as a program) has one thread. For each command it forks a waiter, which forks the
command and writes its process ID and at the end its status to a pipe.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

PROGRAM = (sys.executable, "-c", "from postroad.cli.main import main; main()")
ROOT = Path(__file__).resolve().parents[1]
IS_USED = sys.platform == "linux" and os.environ.get("POSTROAD_TEST_PRELOADED") != "0"
AT_START = ("PYTHON", "LANG", "LC_", "TZ", "LD_")  # variables that matter when a Python starts, and not later
NO_FILES = "PYTHONDONTWRITEBYTECODE"  # changes nothing that a test can see, and is removed by tests/conftest.py
REQUEST_BYTES = 1 << 20
NUMBER = struct.Struct("=q")


class Preloaded(subprocess.Popen[Any]):
    """A started command, forked if it is PROGRAM."""

    _news: int | None = None  # the pipe with the process ID and the status, if it was forked

    def _execute_child(self, args: Any, *details: Any) -> None:
        executable, preexec_fn, _, pass_fds, cwd, env, *_ = details
        pipes, (_, gid, gids, uid, umask, own_session, group) = details[9:15], details[15:]
        is_plain = (executable, preexec_fn, gid, gids, uid, umask, group) == (None, None, None, None, None, -1, -1)
        command = [os.fspath(word) for word in args] if isinstance(args, list | tuple) else []
        if not (is_plain and not pass_fds and tuple(command[:3]) == PROGRAM and may_fork(env)):
            super()._execute_child(args, *details)  # type: ignore[misc]
            return
        stdin, _, _, stdout, _, stderr = pipes
        request = {
            "arguments": command[3:],
            "folder": os.fspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
            "own_session": bool(own_session),
        }
        self._news, end = os.pipe()
        try:
            fds = [number if given == -1 else given for number, given in enumerate((stdin, stdout, stderr))]
            socket.send_fds(forker(), [json.dumps(request).encode()], [*fds, end])
        finally:
            os.close(end)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        [self.pid] = NUMBER.unpack(os.read(self._news, NUMBER.size))
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Return the process ID and its status if it has ended, or else zeros."""
        if self._news is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        waiting = select.poll()
        waiting.register(self._news)
        if not waiting.poll(0 if wait_flags else None):
            return 0, 0
        [status] = NUMBER.unpack(os.read(self._news, NUMBER.size))
        os.close(self._news)
        return self.pid, status

    def _internal_poll(self, *arguments: Any, **more: Any) -> int | None:
        if self._news is None:
            return super()._internal_poll(*arguments, **more)  # type: ignore[misc, no-any-return]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
                self._handle_exitstatus(ended[1])  # type: ignore[attr-defined]
        return self.returncode


def run(command: list[str], *, stdin: str, timeout: float, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with everything that it prints."""
    pipe = subprocess.PIPE
    with Preloaded(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **how) as process:
        try:
            output, errors = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def at_start(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_START) and name != NO_FILES}


BEFORE_TESTS = dict(os.environ)


def may_fork(environment: Any) -> bool:
    return IS_USED and at_start(os.environ if environment is None else environment) == at_start(BEFORE_TESTS)


@cache
def forker() -> socket.socket:
    """Start the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())]
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=ROOT, env=BEFORE_TESTS, pass_fds=[theirs.fileno()], stdin=null, stdout=null
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# ---- the process that forks


def preload() -> None:
    """Import everything that commands import, also what they import late."""
    commands = importlib.import_module("postroad.cli.commands")
    for module in pkgutil.walk_packages(commands.__path__, f"{commands.__name__}."):
        importlib.import_module(module.name)
    for name in ("postroad.api.serve", "postroad.console", "postroad.bootstrap", "uvloop"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def fork_commands(control: socket.socket) -> dict[str, Any] | None:
    """Fork each command that is asked for. Return in the forked process with the request, and in this one at the end."""
    while True:
        data, fds, *_ = socket.recv_fds(control, REQUEST_BYTES, 4)
        if not data:
            return None
        *standard, news = fds
        if not os.fork():
            control.close()
            if not (command := os.fork()):
                os.close(news)
                request: dict[str, Any] = json.loads(data)
                become(request, standard)
                return request
            os.write(news, NUMBER.pack(command))
            for fd in standard:
                os.close(fd)
            os.write(news, NUMBER.pack(os.waitpid(command, 0)[1]))
            os._exit(0)
        for fd in fds:
            os.close(fd)
        while reap():
            pass


def reap() -> bool:
    """Remove a waiter that has ended; return whether there was one."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def become(request: dict[str, Any], standard: list[int]) -> None:
    """Take on the arguments, the folder, the environment and the standard streams of a command."""
    if request["own_session"]:
        os.setsid()
    for number, fd in enumerate(standard):
        os.dup2(fd, number)
    for fd in standard:
        os.close(fd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = ["-c", *request["arguments"]]
    sys.path[0] = ""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C for the tests; these end it
    preload()
    if fork_commands(socket.socket(fileno=int(sys.argv[1]))) is not None:
        from postroad.cli.main import main

        main()
