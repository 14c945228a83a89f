"""Our side: a network started with ``postroad serve`` and configured with ``postroad apply``, as an operator would.

Nothing is switched off for the measurement: journal synced before every answer, index process running, authentication by API
key, duplicate check. Only the log is down to warnings, as it is for the peer.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from benchmarks.certificates import Certificate
from benchmarks.payload import RECEIVER, SENDER
from benchmarks.processes import stop, wait_until
from postroad.core.identity import api_key
from postroad.testing.postgres import PostgresServer

PROGRAM = Path(sys.executable).with_name("postroad")


class NetworkServer:
    """A network in a fresh folder, with a service that posts and one that receives; others and settings may be added."""

    def __init__(
        self,
        folder: Path,
        *,
        shared: bool = False,
        certificate: Certificate | None = None,
        settings: Mapping[str, str] | None = None,
        organizations: Mapping[str, object] | None = None,
        program: Path = PROGRAM,
    ) -> None:
        self._program = program
        folder.mkdir(parents=True)
        self.sender_key, self.receiver_key = (api_key.make(os.urandom(api_key.RANDOM_BYTES)).text for _ in range(2))
        self._folder = folder
        self._data = folder / "data"
        self._log = folder / "postroad.log"
        self._settings = dict(settings or {})
        self._more_organizations = dict(organizations or {})
        self._shared = shared
        self._certificate = certificate
        self._opened = ExitStack()
        self._postgres: PostgresServer | None = None
        self.postgres_address = ""  # of a shared network

    @property
    def process_ids(self) -> list[int]:
        """The roots of everything that works for this network, its database included."""
        return [self._server.pid, *([] if self._postgres is None else [postmaster(self._postgres)])]

    @property
    def server_process_id(self) -> int:
        return self._server.pid

    def __enter__(self) -> NetworkServer:
        environment = self._environment()
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                [str(self._program), "serve"],
                env=environment,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._opened.callback(stop, self._server)
        try:
            wait_until(lambda: _is_written(self._data / "url"), self._server, "postroad", self._log)
            self.port = int((self._data / "url").read_text().strip().rpartition(":")[2])
            self._configure(environment)
        except BaseException:
            self._opened.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("POSTROAD_")}
        settings = {"DATA": str(self._data), "PORT": "0", "LOG_LEVEL": "warning", **self._settings}
        if self._certificate is not None:
            settings |= {"TLS_CERTIFICATE": str(self._certificate.chain), "TLS_KEY": str(self._certificate.key)}
            inherited |= {"SSL_CERT_FILE": str(self._certificate.authority)}
        if self._shared:
            self._postgres = self._opened.enter_context(
                PostgresServer(settings={"shared_buffers": "256MB", "max_wal_size": "4GB"})
            )
            address = self.postgres_address = self._postgres.create_database("postroad")
            settings |= {
                "ACCEPTANCE": "shared",
                "INDEX": "postgres",
                "POSTGRES": address,
                "SECRET": secrets.token_hex(32),
            }
        return inherited | {f"POSTROAD_{name}": value for name, value in settings.items()}

    def _configure(self, environment: dict[str, str]) -> None:
        document = self._folder / "network.yaml"
        document.write_text(
            json.dumps({"postroad": 1, "organizations": dict(self._organizations())})
        )  # JSON is YAML too
        done = subprocess.run(
            [str(PROGRAM), "apply", "--yes", str(document)],
            env=environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the network could not be configured: {done.stdout}{done.stderr}")

    def _organizations(self) -> list[tuple[str, object]]:
        organizations: list[tuple[str, object]] = list(self._more_organizations.items())
        for address, key in ((SENDER, self.sender_key), (RECEIVER, self.receiver_key)):
            organization, _, service = address.partition("/")
            file = self._folder / f"{service}.key"
            file.write_text(key)
            credentials = [{"label": "benchmark", "keyFrom": f"file:{file}"}]
            organizations.append(
                (organization, {"services": {service: {"visibility": "public", "credentials": credentials}}})
            )
        return organizations


def postmaster(server: PostgresServer) -> int:
    """The process that all of PostgreSQL's backends descend from."""
    return int((server.data_directory / "postmaster.pid").read_text().split("\n", 1)[0])


def _is_written(file: Path) -> bool:
    """Whether the file has its content; it is there, empty, for a moment before."""
    return file.exists() and bool(file.read_text().strip())
