"""What each stage of accepting a post costs: CPU microseconds per message, in one process and without a socket or a disk.

    python -m benchmarks.accepting

Each figure is the least of many short rounds, so that changes of a tenth of a microsecond show even on a busy machine. Together
they are less than a server spends, which also reads and writes sockets and files, with colder caches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

from benchmarks.payload import FORMS, HANDLE, RECEIVER, SENDER
from postroad.adapters.journal.segments import frame
from postroad.api.http.outbox import Outbox
from postroad.api.http.request import FastReply
from postroad.api.posts import BulkAnswer
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap import SOAP11
from postroad.core.codecs.xml import check_well_formed
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import encode
from postroad.errors import Refused
from postroad.flow.entry_counts import EntryCounts
from postroad.flow.network import Network
from postroad.flow.stages.body_reader import read_bulk
from postroad.flow.stages.posting import Posting
from postroad.ports import Committed, JournalStep, NewRecord, StepOutcome
from postroad.testing.network import memory_network

ROUNDS, REPEATS = 200, 20
LIMITS = WireLimits(body_bytes=64 << 20)
HEADER = frame.SegmentHeader(1, bytes(32), b"benchmrk", False)


class Silent(Outbox):
    """Answers go nowhere."""

    def __init__(self) -> None:
        """Needs no connection."""

    def answer(self, *_: object) -> None:
        """Say nothing."""


class Shelf:
    """In the place of the desk: keeps what would be written, and who is to be told."""

    def __init__(self) -> None:
        self.steps: Sequence[JournalStep] = ()
        self.done: Callable[[list[StepOutcome]], None] = lambda outcomes: None

    def submit_many(self, steps: Sequence[JournalStep], done: Callable[[list[StepOutcome]], None]) -> None:
        self.steps, self.done = steps, done

    def checks(self, key: int) -> bool:
        """Whether the desk checks the key itself, as it does for all that it remembers."""
        return True


def least_us(work: Callable[[], object], messages: int, before: Callable[[], object] = lambda: None) -> float:
    least = float("inf")
    for _ in range(ROUNDS):
        before()
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least / messages * 1e6


def repeated(work: Callable[[], object]) -> Callable[[], None]:
    """For what is too short to be timed once."""

    def all_of_them() -> None:
        for _ in range(REPEATS):
            work()

    return all_of_them


def filled(form_name: str) -> bytes:
    """A body in which every message has a handle of its own."""
    numbers = count()
    first, *rest = FORMS[form_name].body().split(HANDLE.encode())
    return first + b"".join([b"%020d%b" % (next(numbers), piece) for piece in rest])


def reading() -> dict[str, float]:
    soap = filled("soap")
    [document] = SOAP11.decode_post(soap, LIMITS).parts
    costs = {
        "soap: the document is well-formed": least_us(
            repeated(lambda: check_well_formed(document.data, LIMITS)), REPEATS
        ),
        "soap: read": least_us(repeated(lambda: SOAP11.decode_post(soap, LIMITS)), REPEATS),
    }
    for name in ("xml-bulk", "ndjson-bulk", "envelope-bulk"):
        form, body = FORMS[name], filled(name)
        costs[f"{name}: read"] = least_us(
            lambda kind=form.content_type, body=body: read_bulk(kind, body, LIMITS, LIMITS.body_bytes),  # type: ignore[misc]
            form.messages,
        )
    return costs


def accepting(network: Network, sender: Caller) -> dict[str, float]:
    shelf = Shelf()
    network._accept._desk = shelf  # type: ignore[assignment]  # what follows the desk is measured by itself
    form = FORMS["envelope-bulk"]
    read = read_bulk(form.content_type, filled("envelope-bulk"), LIMITS, LIMITS.body_bytes)
    posts: list[Posting] = [post for post in read if not isinstance(post, Refused)]
    outcomes: list[StepOutcome] = [Committed(number) for number in range(len(posts))]

    def submit() -> None:
        reply = FastReply(Silent(), b"1.1", False, False, 0.0)
        network.submit_many(sender, posts, BulkAnswer(reply, form.content_type, len(posts)).store_answer)

    costs = {"admitted and routed": least_us(submit, len(posts))}
    costs["answered"] = least_us(lambda: shelf.done(outcomes), len(posts), before=submit)
    records = [NewRecord(encode(step.entry), step.body) for step in shelf.steps]
    counts, seconds = EntryCounts(network.metrics), network.metrics.histogram("post_seconds", "no")
    costs["counted"] = least_us(lambda: counts.count(shelf.steps, outcomes), len(posts))
    costs["timed, by the histogram"] = least_us(repeated(partial(seconds.observe, 0.003)), REPEATS)
    costs["encoded"] = least_us(lambda: [encode(step.entry) for step in shelf.steps], len(posts))
    costs["hashed and framed"] = least_us(
        lambda: frame.encode_group(records, before=frame.EMPTY, header=HEADER, offset=0), len(posts)
    )
    return costs


async def measured() -> dict[str, float]:
    async with memory_network() as running:
        sender = await running.register(SENDER)
        await running.register(RECEIVER, visibility=Visibility.PUBLIC)
        desk = running.network._accept._desk
        try:
            return reading() | {f"envelope-bulk: {name}": us for name, us in accepting(running.network, sender).items()}
        finally:
            running.network._accept._desk = desk


def main() -> None:
    for name, microseconds in asyncio.run(measured()).items():
        print(f"{name:45} {microseconds:8.2f} µs a message")


if __name__ == "__main__":
    main()
