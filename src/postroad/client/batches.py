"""The batches API of the client: list, inspect, release, pause, resume and drop batches.

    with Client(…) as network:
        for batch in network.batches.listed(service="Acme/orders"):
            print(batch["id"], batch["members"], batch["nearest"]["told"])
        network.batches.release("01a1e1845d2ac5dc5867", reason="the truck leaves early")

Rule: the conversations exist once, and the two shells only run them. ``version`` is a batch's ETag; with it, an
action applies only to the version that was read.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.routing import list_all, list_first
from postroad.client.steps import Talk

PATH = "/v1/batches"
Value = dict[str, Any]


class BatchConversations:
    """The request sequences of the batches API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def listed(self, service: str, state: str) -> Talk[list[Value]]:
        return list_all(self._talks, PATH, service=service, state=state)

    def batch(self, batch: str) -> Talk[Value]:
        found: Value = yield from self._talks.value(requests.read(_path(batch)))
        return found

    def members(self, batch: str, most: int) -> Talk[list[Value]]:
        return list_first(self._talks, f"{_path(batch)}/members", most)

    def steer(self, batch: str, action: str, reason: str, version: int) -> Talk[Value]:
        asked = requests.change(
            "POST", f"{_path(batch)}/{action}", {"reason": reason}, version=f'"{version}"' if version else ""
        )
        found: Value = yield from self._talks.value(asked)
        return found


def _path(batch: str) -> str:
    return f"{PATH}/{quote(batch, safe='')}"
