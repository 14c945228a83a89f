"""Prometheus, promtool and amtool, as `scripts/ensure-prometheus` finds them, and a real Prometheus that scrapes one server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postroad.testing.ports import free_port
from tests.source_tree import ROOT

DEPLOY = ROOT / "deploy"
VARIABLE = "POSTROAD_PROMETHEUS_BIN"
UNPACKED = ROOT / "var" / "prometheus" / "usr" / "bin"
# Metrics of networks of another kind: on PostgreSQL, with backups (test_cli_backup.py), with traces (test_traces.py).
ELSEWHERE = {"postgres_commit_seconds", "postgres_unavailable_total", "directory_age_seconds"}
ELSEWHERE |= {
    "backup_first_success_timestamp_seconds",
    "backup_last_success_timestamp_seconds",
    "backup_entry",
    "verify_last_success_timestamp_seconds",
}
ELSEWHERE |= {"trace_spans_total", "traces_skipped_total", "traces_behind_seconds"}
CONFIGURATION = """\
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: postroad
    static_configs: [{targets: ["%s"]}]
"""


def program(name: str) -> str:
    """Return the path of a program; an error says how to get it."""
    folders = [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []
    found = shutil.which(name)
    places = [*[folder / name for folder in folders], *([Path(found)] if found else []), UNPACKED / name]
    for place in places:
        if place.is_file():
            return str(place)
    raise FileNotFoundError(f"there is no {name}; run `make prometheus`, or set {VARIABLE}")


def run(name: str, *arguments: str, folder: Path | None = None, stdin: str = "") -> str:
    """Run one of the programs, which must succeed, and return what it printed."""
    done = subprocess.run(
        [program(name), *arguments], cwd=folder, input=stdin, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{name} {arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of one call of its API."""
        with urllib.request.urlopen(
            f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=30
        ) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expression: str) -> list[Any]:
        return list(self.ask("query", query=expression)["result"])

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def scraping(target: str, folder: Path) -> Iterator[Prometheus]:
    """Run Prometheus with the project's rules; it scrapes ``target`` every second."""
    folder.mkdir()
    file = folder / "prometheus.yml"
    rules = (DEPLOY / "prometheus" / "postroad.rules.yml").read_text()
    (folder / "rules.yml").write_text(rules.replace("interval: 1m", "interval: 1s"))  # so that no test waits a minute
    file.write_text(CONFIGURATION % ("rules.yml", target))
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [program("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={address}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield Prometheus(f"http://{address}")
    finally:
        process.terminate()
        process.wait(30)
