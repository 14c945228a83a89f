"""Where the server's time goes: py-spy watches it while a scenario's load runs.

Every process of the server is recorded and shown by itself, with what it cost a message, the functions that were running most
(``self``) and those that were on the stack most (``with callees``). Folded stacks and a file for speedscope are kept.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from benchmarks.processes import all_processes, cpu_s_at_rest, tree_of
from benchmarks.sides import Duration, OurSide

SAMPLES_PER_S = 250
PROGRAM = Path(sys.executable).with_name("py-spy")

Stack = tuple[str, ...]  # from the outermost function to the innermost
Stacks = dict[Stack, int]  # with the number of samples


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessProfile:
    command: str
    cpu_us: float  # per message
    stacks: Stacks


def record(side: OurSide, process_id: int, duration: Duration, folded: Path, *, native: bool) -> list[ProcessProfile]:
    """Sample the process and its children while the load runs."""
    how = f"--rate {SAMPLES_PER_S} --duration {duration.measure_ms // 1000} --format raw --subprocesses --function".split()
    command = [str(PROGRAM), "record", "--pid", str(process_id), "--output", str(folded), *how]
    before: dict[int, float] = {}
    with subprocess.Popen(
        [*command, "--native" if native else "--nonblocking"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as recorder:
        load = side.load(duration, lambda: before.update(cpu_by_process(process_id)))
        _, error = recorder.communicate()
    if recorder.returncode or not folded.exists():
        raise RuntimeError(f"py-spy could not record (it needs root, or ptrace allowed): {error.strip()}")
    cpu_s_at_rest([process_id])
    spent = {
        pid: (cpu_s - before.get(pid, 0.0)) / load.posted * 1e6 for pid, cpu_s in cpu_by_process(process_id).items()
    }
    return by_process(read_folded(folded.read_text()), spent)


def cpu_by_process(root: int) -> dict[int, float]:
    processes = all_processes()
    return {pid: processes[pid].cpu_s for pid in tree_of([root], processes)}


def read_folded(text: str) -> Stacks:
    stacks: Stacks = {}
    for line in text.splitlines():
        frames, _, samples = line.rpartition(" ")
        stacks[tuple(frame.strip() for frame in frames.split(";"))] = int(samples)
    return stacks


def by_process(stacks: Stacks, cpu_us: dict[int, float]) -> list[ProcessProfile]:
    """Split by the innermost frame that py-spy writes as ``process 123:"command"``: children stand below their parents."""
    split: dict[str, Stacks] = {}
    for stack, samples in stacks.items():
        last = max((place for place, frame in enumerate(stack) if frame.startswith("process ")), default=-1)
        if last + 1 < len(stack):
            split.setdefault(stack[last] if last >= 0 else "process", {})[stack[last + 1 :]] = samples
    return [
        ProcessProfile(
            command=process.partition(":")[2].strip('"'), cpu_us=cpu_us.get(_process_id(process), 0.0), stacks=own
        )
        for process, own in split.items()
    ]


def _process_id(frame: str) -> int:
    number = frame.removeprefix("process ").partition(":")[0]
    return int(number) if number.isdigit() else 0


def write_speedscope(profiles: list[ProcessProfile], path: Path) -> None:
    frames = sorted({frame for profile in profiles for stack in profile.stacks for frame in stack})
    places = {frame: place for place, frame in enumerate(frames)}
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": profile.command,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(profile.stacks.values()),
                "samples": [[places[frame] for frame in stack] for stack in profile.stacks],
                "weights": list(profile.stacks.values()),
            }
            for profile in profiles
        ],
    }
    path.write_bytes(msgspec.json.encode(document))


def print_top(profile: ProcessProfile, console: Console, most: int = 30) -> None:
    total = sum(profile.stacks.values()) or 1
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for stack, samples in profile.stacks.items():
        own[stack[-1]] += samples
        whole.update(dict.fromkeys(stack, samples))
    console.print(f"\n{profile.command[:100]}: {profile.cpu_us:.1f} µs CPU a message, {total} samples", markup=False)
    for title, counted in (("self", own), ("with callees", whole)):
        console.print(f"  {title}", style="bold")
        for frame, samples in counted.most_common(most):
            console.print(f"  {samples / total * 100:5.1f} %  {frame}", markup=False, highlight=False, no_wrap=True)
