"""An interchange that is larger than the memory that it takes; ``POSTROAD_TEST_INTERCHANGE_BYTES=1000000000`` makes it 1 GB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BYTES = int(os.environ.get("POSTROAD_TEST_INTERCHANGE_BYTES", "10_000_000"))
LEAST_MEMORY, MORE_PER_BYTE = 40_000_000, 0.15  # what is unique in a group is remembered: some bytes for each document


@pytest.mark.parametrize(("standard", "more"), [("x12", []), ("edifact", []), ("x12", ["--bulk"])])
def test_an_interchange_is_written_as_a_stream(tmp_path: Path, standard: str, more: list[str]) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.large_interchange",
        standard,
        "--bytes",
        str(BYTES),
        "--folder",
        str(tmp_path),
    ]
    done = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # it took more than 200 MB
    told = json.loads(done.stdout)
    assert told["bytes"] >= BYTES
    assert told["memory_most"] - told["memory_before"] < LEAST_MEMORY + MORE_PER_BYTE * BYTES
