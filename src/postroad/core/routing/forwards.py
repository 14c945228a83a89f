"""What an exchange, a model or a splitter forwards, parted into what one entry can hold.

Kept rules: the parts have names that are the same when a delivery comes again, so that nothing is forwarded twice. What goes to
another exchange goes for itself: by however many ways a message came, it is handed on there once. A document that was taken out
of an interchange is a message of its own, whatever else was in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from postroad.core.model.asset import Hosting
from postroad.core.model.interchange import Assembled
from postroad.core.model.message import Part, Property
from postroad.core.model.snapshot import Directory

AS_IT_CAME = ""
NOT_OPEN = (
    "permission.denied: the exchange or model is not open to this service any more; ask its owner to list it in openTo"
)
COPIES_MOST = 10_000  # in one entry; more are parted by the first two digits of their GCIDs, which stay the same
RELAYS = (Hosting.EXCHANGE, Hosting.MODEL)  # who forwards in turn
FORWARDING = (*RELAYS, Hosting.SPLITTER)  # what these cannot do anything with becomes a dead letter of theirs
APART_MOST = 3  # exchanges, through which different contents of one message go each for itself; then the first goes on


class Forward(Struct, gc=False, frozen=True):
    """Somebody to forward to, and what chose it; ``part`` is what takes the place of the content, None: as it came."""

    receiver: str  # GCID
    chosen_by: str
    part: Part | None = None
    alone: bool = False  # nothing else of the message goes with the part: it is a message of its own
    topic: str | None = None  # None: as it came
    properties: tuple[Property, ...] | None = None  # None: as they came
    assembled: Assembled | None = None  # the part is an interchange by the forwarder itself, and goes in its own name
    once: int = 0  # a key that no other delivery may have used


def is_relayed(forward: Forward, directory: Directory) -> bool:
    """Whether it goes to somebody who forwards in turn."""
    return directory.services[forward.receiver].hosted in RELAYS


def with_content(parts: Sequence[Part], made: Part) -> tuple[Part, ...]:
    """The parts of a message, with what a binding has made of one of them in the place of that one."""
    others = tuple([made if part.id == made.id else part for part in parts])
    return others if made in others else (made, *others)


def told_apart(through: Sequence[str], parts: Sequence[Part]) -> str:
    """What tells a content from others of the same message, as long as they are told apart."""
    if len(through) > APART_MOST:
        return ""
    return blake2b(b"".join([part.data for part in parts]), digest_size=16).hexdigest()


def parted(forwards: Sequence[Forward], directory: Directory) -> dict[str, list[Forward]]:
    """The forwards that one entry can hold, each by a name that is the same when the delivery comes again.

    As it came the message goes to each receiver once, whatever has chosen it; what a binding has made of it goes for itself,
    and so does what goes to another exchange.
    """
    steps: dict[str, list[Forward]] = defaultdict(list)
    as_it_came = {one.receiver: one for one in reversed(forwards) if one.part is None}
    parted = len(as_it_came) > COPIES_MOST
    for receiver, one in sorted(as_it_came.items()):
        if is_relayed(one, directory):
            steps[f">{receiver}"].append(one)
        else:
            steps[receiver[:2] if parted else AS_IT_CAME].append(one)
    for one in forwards:
        if one.part is not None:
            steps[f"={one.chosen_by}"].append(one)
    return steps
