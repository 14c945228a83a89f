"""A private PostgreSQL server for tests: its own data directory, socket and port, removed when closed.

Rule: tests use a real PostgreSQL server of their own, durable as in production unless a test disables fsync, and never an
existing server. ``postgres_programs`` finds its programs.

    with PostgresServer() as server:
        dsn = server.create_database("orders")
        server.stop(immediate=True)   # as if the machine had lost power, short of the disk cache
        server.start()
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from postroad.errors import Misconfigured
from postroad.testing.ports import free_port
from postroad.testing.postgres_programs import find_programs

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0

_ACCOUNTS = ("postgres", "nobody")  # PostgreSQL refuses to run as root; these users are tried instead


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """The operating system user that the server runs as."""

    uid: int
    gid: int
    is_caller: bool

    @classmethod
    def choose(cls) -> _Account:
        if os.geteuid() != 0:
            return cls(uid=os.geteuid(), gid=os.getegid(), is_caller=True)
        for name in _ACCOUNTS:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            return cls(uid=entry.pw_uid, gid=entry.pw_gid, is_caller=False)
        raise Misconfigured(
            [f"PostgreSQL does not run as root, and there is no user {' or '.join(_ACCOUNTS)} to run as"]
        )

    def own(self, path: Path) -> None:
        if not self.is_caller:
            os.chown(path, self.uid, self.gid)

    def spawn(self, command: list[str], *, cwd: Path, output: int) -> subprocess.Popen[bytes]:
        """Start ``command`` as this user, in its own process group, so that Ctrl-C in the tests does not stop it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=None if self.is_caller else self.uid,
            group=None if self.is_caller else self.gid,
            extra_groups=None if self.is_caller else [],
        )


class PostgresServer:
    """A temporary server; ``stop`` and ``start`` keep its data, ``close`` removes it."""

    def __init__(
        self, *, programs: Path | None = None, fsync: bool = True, settings: dict[str, str] | None = None
    ) -> None:
        self.port = 0
        self._settings = {"fsync": "on" if fsync else "off", "shared_buffers": "32MB", **(settings or {})}
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._account = _Account.choose()
        self._home = Path(tempfile.mkdtemp(prefix="postroad-pg-"))
        self._account.own(self._home)
        try:
            self.programs = self._reachable(programs or find_programs())
            self._initialize()
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def data_directory(self) -> Path:
        return self._home / "data"

    @property
    def log(self) -> str:
        """Return the output of the server and of initdb so far."""
        path = self._home / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def dsn(self, database: str = "postgres") -> str:
        """Return the address for loopback TCP, as superuser of this server."""
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Create a database and return its dsn; a template with the schema avoids running migrations."""
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, and terminate its connections."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, sql: str, *, database: str = "postgres") -> str:
        """Run one statement through psql, outside any event loop, and return its rows as unaligned text."""
        where = ["-h", str(self._home), "-p", str(self.port), "-U", "postgres", "-d", database]
        how = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]
        answer = subprocess.run(
            [str(self.programs / "psql"), *where, *how], capture_output=True, text=True, check=False
        )
        if answer.returncode:
            raise RuntimeError(f"PostgreSQL refused a test's statement: {answer.stderr.strip()}")
        return answer.stdout.strip()

    def start(self) -> None:
        """Start on a free port, or on the same port again; returns when connections are accepted."""
        if self.is_running:
            return
        for _ in range(1 if self.port else 3):  # a free port can be taken by another process before the server binds it
            port = self.port or free_port()
            if self._launch(port):
                self.port = port
                return
        raise Misconfigured([f"PostgreSQL in {self.programs} did not start; its log ends with:\n{self.log[-2000:]}"])

    def stop(self, *, immediate: bool = False) -> None:
        """Stop cleanly, or with ``immediate`` without a checkpoint, so that the next start recovers from the log."""
        if self._process is None:
            return
        if self.is_running:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def restart(self, *, immediate: bool = False) -> None:
        self.stop(immediate=immediate)
        self.start()

    def close(self) -> None:
        """Stop the server and remove everything it wrote."""
        self.stop(immediate=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reachable(self, programs: Path) -> Path:
        """Return the folder of the programs; copied beside the data if the server's user cannot read them (below /root)."""
        try:
            if self._run([str(programs / "postgres"), "--version"]) == 0:
                return programs
        except PermissionError:
            pass
        return self._copied(programs)

    def _copied(self, programs: Path) -> Path:
        """Copy the programs, keeping relative paths, by which they find their libraries and data."""
        package, copies = programs.parents[1], self._home / "postgresql"
        libraries = package.with_name(f"{package.name}.libs")  # folder of shared libraries in a wheel
        shutil.copytree(programs.parent, copies / package.name / programs.parent.name)
        if libraries.is_dir():
            shutil.copytree(libraries, copies / libraries.name)
        for path in (copies, *copies.rglob("*")):
            self._account.own(path)
        return copies / package.name / programs.parent.name / programs.name

    def _initialize(self) -> None:
        password_file = self._home / "password"
        password_file.write_text(self._password)
        self._account.own(password_file)
        access = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password_file}", "--username=postgres"]
        shape = ["--encoding=UTF8", "--locale=C", "--no-sync", f"--pgdata={self.data_directory}"]
        if self._run([str(self.programs / "initdb"), *access, *shape]):
            raise Misconfigured([f"initdb in {self.programs} failed; it said:\n{self.log[-2000:]}"])

    def _run(self, command: list[str]) -> int:
        with (self._home / "server.log").open("ab") as log:
            return self._account.spawn(command, cwd=self._home, output=log.fileno()).wait(START_TIMEOUT_S)

    def _launch(self, port: int) -> bool:
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self._home), **self._settings}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", str(self.data_directory), "-p", str(port), *options]
        with (self._home / "server.log").open("ab") as log:
            self._process = self._account.spawn(command, cwd=self._home, output=log.fileno())
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.is_running and time.monotonic() < deadline:
            if self._is_ready():
                return True
            time.sleep(0.02)
        self.stop(immediate=True)
        return False

    def _is_ready(self) -> bool:
        """Return True if the lock file belongs to this process, not to a crashed one, and its last line is ``ready``."""
        try:
            lines = (self.data_directory / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        return (
            len(lines) > 7 and self._process is not None and lines[0] == str(self._process.pid) and "ready" in lines[7]
        )
