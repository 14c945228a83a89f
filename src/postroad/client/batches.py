"""The batches API of the client: list, inspect, release, pause, resume and drop batches.

    with Client(…) as network:
        for batch in network.batches.list(service="Acme/orders"):
            print(batch.id, batch.members, batch.nearest.told)
        network.batches.release("01a1e1845d2ac5dc5867", reason="the truck leaves early")

Rule: the conversations exist once, and the two shells only run them. ``version`` is a batch's ETag; with it, an
action applies only to the version that was read.
"""

from __future__ import annotations

from urllib.parse import quote

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.responses import parser
from postroad.client.routing import list_items
from postroad.client.steps import Talk
from postroad.core.model.batch_actions import BatchAction
from postroad.core.resources.batches import BatchDetails, BatchMemberPage, BatchMemberView, BatchPage, BatchView

PATH = "/v1/batches"


class BatchConversations:
    """The request sequences of the batches API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def list_batches(self, service: str, state: str) -> Talk[list[BatchView]]:
        return list_items(self._talks, PATH, BatchPage, 0, service=service, state=state)

    def batch(self, batch: str) -> Talk[BatchDetails]:
        return self._talks.ask(requests.read(_path(batch)), parser(BatchDetails))

    def members(self, batch: str, most: int) -> Talk[list[BatchMemberView]]:
        return list_items(self._talks, f"{_path(batch)}/members", BatchMemberPage, most)

    def act(self, action: BatchAction, batch: str, reason: str, version: int, delivery: int = 0) -> Talk[BatchDetails]:
        path = _path(batch) + action.path.format(delivery=delivery)
        tag = f'"{version}"' if version else ""
        return self._talks.ask(requests.change("POST", path, {"reason": reason}, version=tag), parser(BatchDetails))


def _path(batch: str) -> str:
    return f"{PATH}/{quote(batch, safe='')}"
