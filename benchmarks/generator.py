"""The load generators: C programs in ``load/``, compiled when the benchmark starts, so that no server waits for its client."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks.packages import install, wanted

SOURCES = Path(__file__).parent / "load"
SHARED = ("run.c", "wire.c", "http.c")
PACKAGES = ("gcc", "libc6-dev", "libssl-dev")


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator reports of one run; counts are of all messages, rates and percentiles of the measured time."""

    posted: int
    received: int
    posted_per_s: float
    received_per_s: float
    client_cpu_s: float
    post_p50_us: int
    post_p99_us: int
    end_to_end_p50_us: int
    end_to_end_p99_us: int


def missing() -> str:
    """What is needed to compile the generators and is not there, in words; empty when nothing is."""
    if not _compiles():
        install(*PACKAGES)
    return "" if _compiles() else f"the load generators need a C compiler and OpenSSL's headers; {wanted(*PACKAGES)}"


def _compiles() -> bool:
    if shutil.which("cc") is None:
        return False
    check = ["cc", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(check, input=b"#include <openssl/ssl.h>\n", capture_output=True, check=False).returncode == 0


def compile_generator(name: str, folder: Path) -> Path:
    program = folder / name
    sources = [str(SOURCES / source) for source in (f"{name}.c", *SHARED)]
    subprocess.run(["cc", "-O2", "-std=gnu11", "-Wall", "-o", str(program), *sources, "-lssl", "-lcrypto"], check=True)
    return program


def options(values: Mapping[str, object]) -> list[bytes]:
    """``name=value`` words; bytes stay as they are, since a marker need not be text."""
    return [
        name.encode() + b"=" + (value if isinstance(value, bytes) else str(value).encode())
        for name, value in values.items()
    ]


Report = TypeVar("Report")


def generate(program: Path, values: Mapping[str, object], at_start: Callable[[], None]) -> Load:
    """Run a generator; ``at_start`` is called when all its connections are open and nothing has been sent."""
    return run_generator(program, values, at_start, Load)


def run_generator(
    program: Path, values: Mapping[str, object], at_start: Callable[[], None], kind: type[Report]
) -> Report:
    """Run a generator and return its report."""
    command = [str(program).encode(), *options(values)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() == b"ready\n":
            at_start()
            process.stdin.write(b"go\n")
            process.stdin.flush()
        out, error = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{program.name} failed: {error.decode(errors='replace').strip()[-2000:]}")
    return msgspec.json.decode(out, type=kind)
