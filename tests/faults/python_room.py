"""Python in the place of Starlark, for the attacks: with the doors of the process closed, and without any wall.

    python -m tests.faults.python_room FOLDER SERVER

runs every attack in Python, without walls, and prints the names of those that succeeded, one a line. As a worker's engine it
runs whatever it is asked as Python: what fails there, the operating system stops.
"""

from __future__ import annotations

import http.client
import importlib.abc
import pathlib
import subprocess
import sys
from collections.abc import Callable
from urllib.request import urlopen

from postroad.adapters.confined.frames import SourceAnswer, SourceAnswers, WorkerTerms
from postroad.adapters.scripts.frames import ScriptBatch, read_asked
from tests.faults.sandbox_attacks import Surroundings, succeeded
from tests.faults.script_attacks import script_attacks

LOADED = (http.client, importlib.abc, pathlib, subprocess, urlopen)  # an attack shall not fail for want of a module


def told(script: str) -> str:
    """What the script says, or what is said about it."""
    names: dict[str, object] = {"__builtins__": vars(__import__("builtins"))}
    try:
        exec(script, names)
        return str(names["route"](None))  # type: ignore[operator]
    except Exception as fault:
        return repr(fault)


def load_engine(_: WorkerTerms) -> Callable[[bytes], SourceAnswers]:
    """A worker that believes in Python."""
    told("def route(message): return str(message)")
    return answer


def answer(frame: bytes) -> SourceAnswers:
    asked = read_asked(frame)
    scripts = asked.scripts if isinstance(asked, ScriptBatch) else ()
    return SourceAnswers(tuple(SourceAnswer("text", told(script).encode()) for script in scripts))


def without_walls(folder: str, server: str) -> None:
    at = Surroundings(pathlib.Path(folder), server)
    for name, script in script_attacks(at).items():
        output = told(script)
        with urlopen(f"{server}/visits") as answer:
            visits = int(answer.read())
        if succeeded(at, output, visits):
            print(name, flush=True)


if __name__ == "__main__":
    without_walls(*sys.argv[1:])
