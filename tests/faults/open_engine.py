"""Saxon without confinement, in a process of its own: the attacks must succeed here, or they prove nothing.

    python -m tests.faults.open_engine FOLDER SERVER [locked] [queries]

Prints the names of the attacks that succeeded, one a line. With ``locked`` the settings are made: the first wall alone.
With ``queries`` the attacks are those by queries of exchanges.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.request import urlopen

from saxonche import PySaxonApiError

from postroad.adapters.confined.frames import SourceAnswers
from postroad.adapters.confined.pipes import StandardErrorPipe
from postroad.adapters.saxon.engine import SaxonEngine
from postroad.adapters.saxon.frames import QueryBatch, SaxonCall
from postroad.adapters.saxon.workers import SETTINGS
from tests.faults.query_attacks import query_attacks
from tests.faults.sandbox_attacks import Attack, Surroundings, attacks, succeeded


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
    engine = SaxonEngine(SETTINGS if "locked" in words else (), StandardErrorPipe(reading))
    for attack in attacks(at) if "queries" not in words else []:
        if succeeded(at, performed(engine, attack), visits(server)):
            print(attack.name, flush=True)
    for attack in query_attacks(at) if "queries" in words else []:
        if succeeded(at, answered(engine, attack), visits(server)):
            print(attack.name, flush=True)


def performed(engine: SaxonEngine, attack: Attack) -> str:
    work = SaxonCall(task=attack.task, source=attack.source, document=attack.document.encode(), output_limit=100_000)
    try:
        return engine.perform(work).output.decode()
    except PySaxonApiError:
        return ""


def answered(engine: SaxonEngine, attack: Attack) -> str:
    """What an exchange's query says, and what is said about it."""
    outcome = engine.answer(
        QueryBatch(queries=(attack.source,), document=attack.document.encode(), output_limit=100_000)
    )
    return outcome.answers[0].text.decode() if isinstance(outcome, SourceAnswers) else outcome.detail


if __name__ == "__main__":
    main()
