"""Messages as they were delivered to the stops on their way: which parts they had there, and their bytes."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.exchange import Outcome, Request, Talk
from postroad.core.audit.story import History
from postroad.core.model.message import Part
from postroad.errors import Refused

UNSEEN = ("not-found", "body.dropped")


class PartShape(Struct, rename="camel", kw_only=True):
    id: str
    content_type: str
    attachment: bool = False


class PartsShape(Struct):
    items: tuple[PartShape, ...]


def parts_at(talks: Conversations, session: str, delivery: int) -> Talk[tuple[Part, ...]]:
    """Every part that the stop was given and the caller may see."""
    path = f"/v1/messages/{quote(session, safe='')}/stops/{delivery}/parts"
    listed = yield from talks.ask(requests.read(path), lambda outcome: responses.value_as(outcome, PartsShape))
    found = []
    for item in listed.items:
        data = yield from talks.ask(_file(f"{path}/{quote(item.id, safe='')}"), _bytes)
        found.append(Part(id=item.id, content_type=item.content_type, data=data, attachment=item.attachment))
    return tuple(found)


def receipt_at(talks: Conversations, session: str, delivery: int) -> Talk[bytes]:
    """The receipt by which whoever took the message over there has proven it."""
    return talks.ask(_file(f"/v1/messages/{quote(session, safe='')}/stops/{delivery}/receipt"), _bytes)


def contents(talks: Conversations, history: History) -> Talk[dict[int, tuple[Part, ...]]]:
    """What was delivered to each stop, by the delivery's number; without what the caller may not see or is no longer kept."""
    found = {}
    for message in history.messages:
        for delivery in [stop.delivery for copy in message.copies for stop in copy.stops]:
            try:
                found[delivery] = yield from parts_at(talks, message.session, delivery)
            except Refused as refused:
                if refused.code not in UNSEEN:
                    raise
    return found


def _file(path: str) -> Request:
    return Request(method="GET", path=path, headers=(("Accept", "*/*"),))


def _bytes(outcome: Outcome) -> bytes:
    return responses.answered(outcome).body
