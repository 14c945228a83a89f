"""What-if runs started in the console: ``postroad whatif`` as a subprocess, and the files it leaves.

Rules: the state of a run is in its folder, so it outlives the server. A run is active while it holds its lock, and
has failed if it released the lock without a report. Only one run is active at a time, since Spark uses all available
resources.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import msgspec

from postroad.bootstrap.settings import PREFIX, Settings
from postroad.errors import Refused

FOLDER = "whatif"
RUN = re.compile(r"[0-9a-f]{12}\Z")
PROGRAM = (sys.executable, "-c", "from postroad.cli.main import main; main()")
REQUEST_FILE, CHANGE, PROGRESS, REPORT, PAGE = "wish.json", "change.yaml", "progress.json", "report.json", "report.html"
LOCK, PROCESS, OUTPUT_FILE = "lock", "process", "said.txt"
STARTING = "starting"  # beside the folders of runs
MAX_OUTPUT = 4_000  # the end of the program's output
SHARED = ("acceptance", "index", "postgres", "secret")
# What a report says that tells of nothing: one that an older program has left lacks what was added since.
REPORT_DEFAULTS: Mapping[str, Any] = {
    "begins": "", "ends": "", "baseline": "today", "traffic": {}, "days": [], "differences": {}, "services": [],
    "reasons": [], "examples": [], "bills": [], "ports": [],
}  # fmt: skip


class WhatIfRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a run, and who started it."""

    by: str
    at_us: int
    begin: str = ""  # days, or empty for the journal's own
    end: str = ""
    baseline: str = "today"
    prune: bool = False


class RunState(StrEnum):
    WORKING = "running"
    DONE = "done"
    FAILED = "failed"


class StageProgress(msgspec.Struct, frozen=True):
    name: str
    tasks: int
    done: int
    rows: int = 0


class WhatIfProgress(msgspec.Struct, frozen=True):
    rows: int = 0
    stages: list[StageProgress] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRun:
    folder: Path
    wish: WhatIfRequest

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def state(self) -> RunState:
        if _is_locked(self.folder / LOCK):
            return RunState.WORKING
        return RunState.DONE if self.report is not None else RunState.FAILED

    @property
    def progress(self) -> WhatIfProgress:
        return _read(self.folder / PROGRESS, WhatIfProgress) or WhatIfProgress()

    @property
    def report(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = _read(self.folder / REPORT, dict[str, Any])
        return None if found is None else {**REPORT_DEFAULTS, **found}

    def text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except OSError:
            return ""

    @property
    def output(self) -> str:
        return self.text(OUTPUT_FILE)[-MAX_OUTPUT:]

    def stop(self) -> None:
        """Stop the program and its children; does nothing if it has ended."""
        number = self.text(PROCESS)
        if number.isdecimal() and _is_locked(self.folder / LOCK):  # so the number is still its own
            with suppress(ProcessLookupError):
                os.killpg(int(number), signal.SIGTERM)

    def remove(self) -> None:
        if self.state is not RunState.WORKING:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRuns:
    settings: Settings
    program: Sequence[str] = PROGRAM

    @property
    def _folder(self) -> Path:
        return self.settings.data.absolute() / FOLDER

    def all(self) -> list[WhatIfRun]:
        """Return all runs, latest first."""
        names = [one.name for one in self._folder.iterdir()] if self._folder.is_dir() else []
        runs = [run for name in names if (run := self.find(name)) is not None]
        return sorted(runs, key=lambda run: -run.wish.at_us)

    def find(self, name: str) -> WhatIfRun | None:
        folder = self._folder / name
        wish = _read(folder / REQUEST_FILE, WhatIfRequest) if RUN.match(name) else None
        return WhatIfRun(folder=folder, wish=wish) if wish is not None else None

    def start(self, name: str, wish: WhatIfRequest, change: str) -> WhatIfRun:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / STARTING).open("w") as door:  # two who start at once find each other
            fcntl.flock(door, fcntl.LOCK_EX)
            if any(run.state is RunState.WORKING for run in self.all()):
                raise Refused("value.invalid", "Another what-if run is active; wait until it ends, or cancel it")
            run = WhatIfRun(folder=self._folder / name, wish=wish)
            run.folder.mkdir()
            (run.folder / CHANGE).write_text(change)
            self._begin(run)
            (run.folder / REQUEST_FILE).write_bytes(msgspec.json.encode(wish))
        return run

    def _begin(self, run: WhatIfRun) -> None:
        """Start the program, which inherits the lock and releases it whenever and however it ends."""
        with _new(run, LOCK) as lock, _new(run, REPORT) as told, _new(run, OUTPUT_FILE) as said:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(  # noqa: S603 - our own program; what a person wrote is in a file, or checked
                [*self.program, *_arguments(run, self.settings)], stdin=subprocess.DEVNULL, stdout=told, stderr=said,
                env=os.environ | _environment(self.settings), pass_fds=(lock.fileno(),), start_new_session=True,
            )  # fmt: skip
        (run.folder / PROCESS).write_text(str(process.pid))
        threading.Thread(target=process.wait, name=f"what-if {run.id}", daemon=True).start()  # else it stays a zombie


def _new(run: WhatIfRun, name: str) -> TextIO:
    return (run.folder / name).open("w")


def _arguments(run: WhatIfRun, settings: Settings) -> list[str]:
    wish, folder = run.wish, run.folder
    files = ["--config", folder / CHANGE, "--html", folder / PAGE, "--progress", folder / PROGRESS, "--author", wish.by]
    begin = ["--from", wish.begin] if wish.begin else []
    end = ["--to", wish.end] if wish.end else []
    prune = ["--prune"] if wish.prune else []
    data = ["--data", settings.data.absolute()] if settings.acceptance == "local" else []
    return [*map(str, ["whatif", "--json", "--baseline", wish.baseline, *files, *begin, *end, *prune, *data])]


def _environment(settings: Settings) -> Mapping[str, str]:
    """Return the environment of the program; secrets are passed here, where other users cannot see them."""
    known = {f"{PREFIX}ROUTINGS": ",".join(settings.routings)}
    if settings.acceptance == "shared":
        known |= {f"{PREFIX}{name.upper()}": str(getattr(settings, name)) for name in SHARED}
    return known


def _is_locked(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _read(path: Path, kind: Any) -> Any:
    """Read a JSON file; None if it is missing or incomplete."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None
