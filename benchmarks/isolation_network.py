"""The network that the benchmark of isolation runs against: many good push services, and those that make trouble.

Each service has a loopback address of its own, so that the network sees as many servers as there are services. The real server
and the real receivers are processes of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.isolation_load import Connection
from benchmarks.network import NetworkServer
from benchmarks.processes import stop
from benchmarks.report import ROOT

SETTINGS = {"PUSH_ALLOW_PRIVATE": "127.0.0.0/8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Receivers:
    """The process that plays the servers of all push services."""

    port: int

    async def tell(self, path: str) -> list[int]:
        """How long each good push was under way since the last time, in microseconds."""
        connection = await Connection.to(self.port)
        answer = await connection.ask(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        connection.writer.close()
        return msgspec.json.decode(answer, type=list[int])

    def url(self, number: int, kind: str) -> str:
        """A server of its own for each number: another loopback address."""
        return f"http://127.{1 + (number >> 16)}.{number >> 8 & 0xFF}.{number & 0xFF}:{self.port}/{kind}"


@contextmanager
def receivers() -> Iterator[Receivers]:
    command = [sys.executable, "-m", "benchmarks.isolation_receiver"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        yield Receivers(port=int(process.stdout.readline()))
    finally:
        stop(process)
        process.stdout.close()


class Members:
    """Organizations and their services, as ``postroad apply`` wants them."""

    def __init__(self, receiving: Receivers) -> None:
        self.organizations: dict[str, Any] = {}
        self._receiving = receiving
        self._numbers = iter(range(1, 1 << 18))

    def pushed_to(self, organization: str, names: Iterable[str], kind: str) -> list[str]:
        """Services whose servers behave as ``kind`` says; returns their addresses."""
        push = {"authentication": "none"}
        return [
            self._add(
                organization, name, delivery="push", push=push | {"url": self._receiving.url(next(self._numbers), kind)}
            )
            for name in names
        ]

    def polling(self, organization: str, name: str, key_file: Path) -> str:
        return self._add(organization, name, credentials=[{"label": "benchmark", "keyFrom": f"file:{key_file}"}])

    def document(self) -> str:
        """The file for ``postroad apply``; JSON is YAML too."""
        return json.dumps({"postroad": 1, "organizations": self.organizations})

    def _add(self, organization: str, name: str, **profile: object) -> str:
        services = self.organizations.setdefault(organization, {"services": {}})["services"]
        services[name] = {"visibility": "public", **profile}
        return f"{organization}/{name}"


def network(folder: Path, members: Members) -> NetworkServer:
    return NetworkServer(folder, settings=SETTINGS, organizations=members.organizations)
