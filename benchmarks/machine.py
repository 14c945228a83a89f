"""What the figures were made on: machine and versions, without anything that names the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from benchmarks import rabbitmq


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def file_system(path: Path) -> str:
    shown = subprocess.run(["df", "--output=fstype", str(path)], capture_output=True, text=True, check=False)
    return shown.stdout.split()[-1] if shown.returncode == 0 else "unknown"


def kernel() -> str:
    """The version alone: what follows it may tell who built it, and for which machines."""
    return ".".join(platform.release().split(".")[:2])


def description(folder: Path, *, with_peer: bool) -> dict[str, str]:
    """Names and values for the report; ``folder`` is where the servers keep their data."""
    described = {
        "Machine": f"{os.cpu_count()} cores ({processor()}), {memory_gib()} GiB, file system {file_system(folder)}",
        "System": f"Linux {kernel()}, Python {platform.python_version()}",
        "postroad": importlib.metadata.version("postroad"),
    }
    return described | ({"RabbitMQ": rabbitmq.version()} if with_peer else {})
