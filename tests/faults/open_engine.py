"""Saxon without confinement, in a process of its own: the attacks must succeed here, or they prove nothing.

    python -m tests.faults.open_engine FOLDER SERVER [locked]

Prints the names of the attacks that succeeded, one a line. With ``locked`` the settings are made: the first wall alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.request import urlopen

from saxonche import PySaxonApiError

from postroad.adapters.saxon.complaints import Printed
from postroad.adapters.saxon.engine import Engine
from postroad.adapters.saxon.frames import Work
from postroad.adapters.saxon.settings import SETTINGS
from tests.faults.sandbox_attacks import Surroundings, attacks, succeeded


def visits(server: str) -> int:
    """How often the server's page was asked for since the last time."""
    with urlopen(f"{server}/visits") as answer:
        return int(answer.read())


def main() -> None:
    folder, server, *words = sys.argv[1:]
    at = Surroundings(Path(folder), server)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.set_blocking(2, False)
    engine = Engine(SETTINGS if "locked" in words else (), Printed(reading))
    for attack in attacks(at):
        work = Work(task=attack.task, source=attack.source, document=attack.document.encode(), output_limit=100_000)
        try:
            output = engine.perform(work).output.decode()
        except PySaxonApiError:
            output = ""
        if succeeded(at, output, visits(server)):
            print(attack.name, flush=True)


if __name__ == "__main__":
    main()
