"""Where the server's time goes: py-spy watches it while a scenario's load runs.

Every process of the server is recorded. Printed is a table of the functions that were running most (``self``) and of those that
were on the stack most (``with callees``); kept are the folded stacks and a file for speedscope.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.sides import Duration, OurSide

SAMPLES_PER_S = 250
PROGRAM = Path(sys.executable).with_name("py-spy")

Stacks = dict[tuple[str, ...], int]  # from the outermost function to the innermost → samples


def record(side: OurSide, process_id: int, duration: Duration, folded: Path, *, native: bool) -> Stacks:
    """Sample the process and its children during the measured part of the load."""
    seconds = duration.measure_ms // 1000
    how = [
        "--rate",
        str(SAMPLES_PER_S),
        "--duration",
        str(seconds),
        "--format",
        "raw",
        "--output",
        str(folded),
        "--subprocesses",
        "--function",
    ]
    command = [str(PROGRAM), "record", "--pid", str(process_id), *how, *(["--native"] if native else ["--nonblocking"])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
        side.load(duration)
        _, error = recorder.communicate()
    if recorder.returncode or not folded.exists():
        raise RuntimeError(f"py-spy could not record (it needs root, or ptrace allowed): {error.strip()}")
    return read_folded(folded.read_text())


def read_folded(text: str) -> Stacks:
    stacks: Stacks = {}
    for line in text.splitlines():
        frames, _, samples = line.rpartition(" ")
        stacks[tuple(frame.strip() for frame in frames.split(";"))] = int(samples)
    return stacks


def write_speedscope(stacks: Stacks, name: str, path: Path) -> None:
    frames = {frame: place for place, frame in enumerate(sorted({frame for stack in stacks for frame in stack}))}
    profile = {
        "type": "sampled", "name": name, "unit": "none", "startValue": 0, "endValue": sum(stacks.values()),
        "samples": [[frames[frame] for frame in stack] for stack in stacks],
        "weights": list(stacks.values()),
    }  # fmt: skip
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [profile],
    }
    path.write_bytes(msgspec.json.encode(document))


def print_top(stacks: Stacks, console: Console, most: int = 30) -> None:
    total = sum(stacks.values()) or 1
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for stack, samples in stacks.items():
        own[stack[-1]] += samples
        for frame in set(stack):
            if not frame.startswith("process "):
                whole[frame] += samples
    for title, counted in (("self", own), ("with callees", whole)):
        table = Table(title=f"{title}, {total} samples", title_justify="left", box=None)
        table.add_column("%", justify="right", width=6)
        table.add_column("function", no_wrap=True, overflow="ellipsis")
        for frame, samples in counted.most_common(most):
            table.add_row(f"{samples / total * 100:.1f}", frame)
        console.print(table)
