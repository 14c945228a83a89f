"""The program of the previous version, as users of it run it, to test both versions on the same data."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from postroad.testing.server import ServerProcess
from tests.source_tree import ROOT

PROGRAMS = ROOT / "tests" / "compatibility" / "programs"
PREVIOUS = PROGRAMS / "0.2.0-6df34e05.tar.xz"
START = "from postroad.cli.main import main; main()"
PATIENCE_S = 120.0


@dataclass(frozen=True, kw_only=True)
class EarlierProgram:
    """An unpacked version; it uses the installed packages of the current one."""

    source: Path

    @classmethod
    def unpack(cls, folder: Path, archive: Path = PREVIOUS) -> EarlierProgram:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        return cls(source=folder / "src")

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.source)}

    def server(self, data: Path, settings: Mapping[str, object]) -> ServerProcess:
        command = (sys.executable, "-c", START, "serve")
        server = ServerProcess(data, settings, command=command, environment=self.environment)
        del server.settings["drain_notice_s"]  # a setting that it does not have
        return server

    def run_python(self, script: str, *arguments: str) -> str:
        """Run a script that imports this version; returns its output."""
        command = [sys.executable, "-c", script, *arguments]
        ran = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout
