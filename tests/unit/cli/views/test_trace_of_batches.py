"""A trace that speaks of batches: the same to a client as the network tells it, and in words a reader understands."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Console

from postroad.api.resources.message_views import status_view, trace_view
from postroad.cli.views.traces import trace_tree
from postroad.core.model.history import (
    BatchMembership,
    CopyHistory,
    History,
    HistoryEvent,
    InterchangeContents,
    MessageHistory,
    NumberRange,
    PartnerAnswer,
    Stop,
)
from postroad.core.resources.base import Resource
from postroad.core.resources.histories import Trace

COMPUTED = ("role", "status")  # by the server, from other fields
ID, STREAM, WORD = "01a1e1845d2ac5dc5867", "b" * 32, "c" * 32


def told(
    gathered: BatchMembership | None = None, contained: InterchangeContents | None = None, state: str = "delivered"
) -> History:
    event = HistoryEvent(seq=2, at_us=2000, what="gathered", by="Acme/orders", detail=f"in batch {ID}")
    stop = Stop(
        delivery=65536, service="Acme/orders", gcid="0" * 16, in_transit=False, state=state, size=9, events=[event],
        gathered=gathered,
    )  # fmt: skip
    copy = CopyHistory(recipient="Acme/orders", code="", detail="", route=["Acme/orders"], state=state, stops=[stop])
    message = MessageHistory(
        seq=1, session="a" * 32, at_us=1000, type="notification", sender="MyBiz/Purchasing", topic="", handle="", size=9,
        form="json", directory=1, answers="", copies=[copy], contained=contained,
    )  # fmt: skip
    return History(transaction="a" * 32, messages=[message])


SENT = BatchMembership(
    batch=ID, state="sent", interchange=STREAM, reference="000000042", document="0002", verdict="rejected",
    reasons=["PO1 is missing"],
)  # fmt: skip
MADE = InterchangeContents(
    batch=ID,
    members=97,
    standard="x12",
    numbers=[NumberRange(scope="interchange", first=42, last=42), NumberRange(scope="group", first=7, last=9)],
    answers=[PartnerAnswer(at_us=5000, session=WORD, verdict="accepted", detail="997", otherwise=2)],
)


def lines(what: History) -> list[str]:
    console = Console(width=160, color_system=None)
    with console.capture() as capture:
        console.print(trace_tree(trace_view(what, shows_counters=True)))
    return [line.strip(" │├└─") for line in capture.get().splitlines()]


def test_a_client_reads_what_the_network_writes() -> None:
    for what in (told(), told(SENT, MADE), told(BatchMembership(batch=ID, state="left"))):
        written = trace_view(what, shows_counters=True)
        read = msgspec.json.decode(msgspec.json.encode(written), type=Trace)
        assert read == written
        assert equal_in_words(read, what)


def equal_in_words(read: Any, what: Any) -> bool:
    """Whether everything that a client reads has the name and the value that it has in the model."""
    if isinstance(read, Resource):
        names = [f"{one}_us" if hasattr(read, f"{one}_us") else one for one in read.__struct_fields__]
        return all(equal_in_words(getattr(read, one), getattr(what, one)) for one in names if one not in COMPUTED)
    if isinstance(read, list):
        return all(equal_in_words(one, other) for one, other in zip(read, what, strict=True))
    return bool(read == what)


def test_an_older_network_is_understood() -> None:
    wire = b'{"transaction":"t","messages":[{"seq":1,"session":"s","at":"1970-01-01T00:00:01Z","type":"request","from":"A/b"}]}'
    [message] = msgspec.json.decode(wire, type=Trace).messages
    assert (message.sender, message.at_us, message.copies, message.contained) == ("A/b", 1_000_000, [], None)


def test_a_newer_network_is_understood() -> None:
    assert msgspec.json.decode(b'{"transaction":"t","messages":[],"mood":"fine"}', type=Trace) == Trace(transaction="t")


def test_a_member_is_told_by_which_number_it_went_and_what_the_partner_says() -> None:
    shown = lines(told(SENT))
    assert f"gathered by Acme/orders: in batch {ID}  +1.0 ms" in shown
    assert f"in interchange {STREAM}, control number 000000042 as 0002" in shown
    assert "the partner reports: rejected: PO1 is missing" in shown
    assert f"batch {ID} is sent" not in shown


def test_a_member_that_waits_is_told_how_its_batch_is() -> None:
    assert f"batch {ID} is suspended" in lines(told(BatchMembership(batch=ID, state="suspended"), state="queued"))


def test_an_interchange_is_told_with_what_is_in_it() -> None:
    shown = lines(told(None, MADE))
    assert f"x12 interchange of batch {ID}, members: 97; control numbers: interchange 42, group 7 to 9" in shown
    assert f"the partner reports with session {WORD}: accepted, different for 2 of its messages: 997" in shown


def test_what_became_of_a_member_is_said_in_plain_words() -> None:
    def words(gathered: BatchMembership | None, state: str) -> str:
        [recipient] = status_view(told(gathered, state=state).messages[0]).recipients
        return recipient.in_words

    assert words(SENT, "delivered") == f"sent by Acme/orders in the interchange of batch {ID}"
    waiting = BatchMembership(batch=ID, state="assembled", interchange=STREAM)
    assert words(waiting, "queued") == f"on its way from Acme/orders in the interchange of batch {ID}"
    left = BatchMembership(batch=ID, state="left")
    assert words(left, "failed") == "failed at Acme/orders and kept as a dead letter"
    assert words(None, "delivered") == "delivered to Acme/orders"
