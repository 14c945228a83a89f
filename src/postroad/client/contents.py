"""Messages as delivered to the stops on their way: their parts and bytes."""

from __future__ import annotations

from urllib.parse import quote

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.steps import ApiRequest, RequestOutcome, Talk
from postroad.core.model.message import Part
from postroad.core.resources.histories import Trace
from postroad.core.resources.messages import PartList
from postroad.errors import Refused

UNSEEN = ("not-found", "body.dropped")


def load_parts(talks: Conversations, session: str, delivery: int) -> Talk[tuple[Part, ...]]:
    """Return every part that the stop received and the caller may see."""
    path = f"/v1/messages/{quote(session, safe='')}/stops/{delivery}/parts"
    listed = yield from talks.ask(requests.read(path), lambda outcome: responses.parse_as(outcome, PartList))
    found = []
    for item in listed.items:
        data = yield from talks.ask(_file(f"{path}/{quote(item.id, safe='')}"), _bytes)
        found.append(Part(id=item.id, content_type=item.content_type, data=data, attachment=item.attachment))
    return tuple(found)


def load_mdn(talks: Conversations, session: str, delivery: int) -> Talk[bytes]:
    """Return the MDN with which the receiver confirmed the message."""
    return talks.ask(_file(f"/v1/messages/{quote(session, safe='')}/stops/{delivery}/mdn"), _bytes)


def load_contents(talks: Conversations, history: Trace) -> Talk[dict[int, tuple[Part, ...]]]:
    """Return what was delivered to each stop, by delivery number, as far as it is visible and stored."""
    found = {}
    for message in history.messages:
        for delivery in [stop.delivery for copy in message.copies for stop in copy.stops]:
            try:
                found[delivery] = yield from load_parts(talks, message.session, delivery)
            except Refused as refused:
                if refused.code not in UNSEEN:
                    raise
    return found


def _file(path: str) -> ApiRequest:
    return ApiRequest(method="GET", path=path, headers=(("Accept", "*/*"),))


def _bytes(outcome: RequestOutcome) -> bytes:
    return responses.require_success(outcome).body
