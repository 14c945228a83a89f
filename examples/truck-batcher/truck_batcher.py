"""A batch is complete when a truck is full, or when the truck has to leave.

Settings: ``pallets`` that fit into the truck, and ``leaves_after_minutes`` after its first message. How many pallets a document
takes depends on its type: a despatch advice (856) takes two, everything else one.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.model.batcher import AddedMessage, BatcherPlugIn, Decision
from postroad.errors import Refused

PALLETS_OF = {"856": 2}
MINUTE_US = 60_000_000


def check(settings: Mapping[str, str]) -> None:
    """Called when a send port is saved."""
    for name in ("pallets", "leaves_after_minutes"):
        if not settings.get(name, "1").isdecimal() or settings.get(name) == "0":
            raise Refused("interchange.unfit", f"{name} is {settings[name]!r}; use a whole number from 1 on")


def initialise(settings: Mapping[str, str], opened_at_us: int) -> str:
    """The state of a new batch: pallets so far, and when the truck leaves."""
    minutes = int(settings.get("leaves_after_minutes", "60"))
    return f"0 {opened_at_us + minutes * MINUTE_US}"


def add(settings: Mapping[str, str], state: str, message: AddedMessage) -> Decision:
    """Load a message; the batch is complete when nothing more fits."""
    loaded, leaves_at_us = map(int, state.split())
    loaded += PALLETS_OF.get(message.kind, 1)
    room = int(settings.get("pallets", "33"))
    return Decision(f"{loaded} {leaves_at_us}", complete=loaded >= room, why=f"{loaded} of {room} pallets")


def timer(settings: Mapping[str, str], state: str) -> int:
    """When the truck leaves, full or not."""
    return int(state.split()[1])


TRUCK = BatcherPlugIn(name="truck", initialise=initialise, add=add, timer=timer, check=check, persist_at=10)
