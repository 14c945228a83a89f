"""A real server process for tests that speak to it over sockets, and the program ``postroad`` to run beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postroad.client import Access, Client
from postroad.core.metrics.readings import MetricReadings, parse_page
from postroad.testing.ports import free_port
from tests.preloaded import PROGRAM, Preloaded, run

SMALL = ("--set", "segment_bytes=1048576", "--set", "least_free_bytes=1048576", "--set", "drain_notice_s=0")
START_S = 60.0


def postroad(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end; nothing of the outer environment that speaks of postroad reaches it."""
    variables = clean_environment() | dict(environment or {})
    return run([*PROGRAM, *map(str, arguments)], stdin=stdin or "", timeout=timeout, cwd=cwd, env=variables)


def clean_environment() -> dict[str, str]:
    """Wide enough that no line of output is folded."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTROAD_")}
    return kept | {"COLUMNS": "200", "NO_COLOR": "1"}


def succeeded(*arguments: str | Path, **how: Any) -> str:
    """The standard output of a run that must succeed."""
    done = postroad(*arguments, **how)
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@dataclass(slots=True, kw_only=True)
class Served:
    """A running network in a data folder of its own; may be killed and started again on the same port."""

    data: Path
    arguments: Sequence[str] = ()
    process: subprocess.Popen[str] | None = None
    url: str = ""

    def start(self) -> None:
        port = self.url.rpartition(":")[2] if self.url else str(free_port())
        command = [
            *PROGRAM,
            "serve",
            "--json",
            "--data",
            str(self.data),
            "--set",
            f"port={port}",
            *SMALL,
            *self.arguments,
        ]
        with (self.data.parent / f"{self.data.name}.log").open("a") as log:
            self.process = Preloaded(command, stdout=subprocess.PIPE, stderr=log, text=True, env=clean_environment())
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def metrics(self) -> MetricReadings:
        """Return what the metrics page says now."""
        url = (self.data / "metrics-url").read_text().strip()
        with urllib.request.urlopen(url, timeout=30) as page:
            return MetricReadings({}, parse_page(page.read().decode()), 1.0, 0.0)

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(START_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def key(self, address: str) -> Path:
        return self.data.parent / f"{address.replace('/', '-')}.key"

    def client(self, address: str, **how: Any) -> Client:
        return Client(access=self.access(address), **how)

    def access(self, address: str) -> Access:
        return Access.with_key(self.url, self.key(address).read_text().strip())

    def register(self, *addresses: str) -> None:
        """Make services with a key each, as their owners would: keys, a file, apply."""
        organizations: dict[str, Any] = {}
        for address in addresses:
            organization, _, service = address.partition("/")
            succeeded("keys", "make", "--output", self.key(address))
            credential = {"label": "test", "keyFrom": f"file:{self.key(address)}"}
            services = organizations.setdefault(organization, {"services": {}})["services"]
            services[service] = {"visibility": "public", "credentials": [credential]}
        file = self.data.parent / "registered.yaml"
        file.write_text(json.dumps({"postroad": 1, "organizations": organizations}))  # JSON is YAML too
        succeeded("apply", file, "--yes", "--data", self.data)


@contextmanager
def served(data: Path, *arguments: str) -> Iterator[Served]:
    network = Served(data=data, arguments=arguments)
    network.start()
    try:
        yield network
    finally:
        if network.process is not None and network.process.poll() is None:
            network.end()
