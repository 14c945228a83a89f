"""The models API of the client: read, change, import and export trees, and attach services.

    with Client(…) as network:
        network.models.bring("Acme/Regions", tree)
        network.models.attach("Acme/Regions", "Acme/Map", side="consumer", node="widget-1")
        for receiver in network.models.receivers("Acme/Regions", "region", node="canvas-1")["items"]:
            print(receiver["service"], receiver["path"])

Rule: the conversations exist once, and the two shells only run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.model_pieces import (
    Present,
    check_name,
    count_changes,
    detaching_pieces,
    document_from,
    find_absent,
    read_model,
    removing_pieces,
    saving_pieces,
)
from postroad.client.routing import service_path
from postroad.client.steps import Talk
from postroad.core.hierarchy.model import Model

Value = dict[str, Any]
PAGE = 5_000


class AttachmentFields(TypedDict, total=False):
    """The place of an attachment: a node or one topic; without topics it applies to all of the node's."""

    node: str
    topics: list[str]
    id: str


class ModelConversations:
    """The request sequences of the models API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def read(self, model: str, *steps: str) -> Talk[Value]:
        found: Value = yield from self._talks.value(requests.read(service_path(model, "model", *steps)))
        return found

    def page(self, model: str, what: str, most: int) -> Talk[list[Value]]:
        page = yield from self._talks.value(requests.read(service_path(model, "model", what), limit=most))
        items: list[Value] = page["items"]
        return items

    def every(self, model: str, what: str, **query: str) -> Talk[Value]:
        """Return the first page with the items of all others."""
        path = service_path(model, "model", what)
        found: Value = yield from self._talks.value(requests.read(path, limit=PAGE, **query))
        while cursor := found.pop("next", ""):
            page = yield from self._talks.value(requests.read(path, limit=PAGE, cursor=cursor, **query))
            found["items"] += page["items"]
            found |= {"next": page["next"]} if "next" in page else {}
        return found

    def change(self, model: str, piece: Mapping[str, Any]) -> Talk[Value]:
        request = requests.change("PATCH", service_path(model, "model"), piece)
        changed: Value = yield from self._talks.value(request)
        return changed

    def attach(self, model: str, service: str, side: str, where: AttachmentFields) -> Talk[Value]:
        wish = {"service": service, "side": side, **{name: value for name, value in where.items() if value}}
        request = requests.change("POST", service_path(model, "model", "attachments"), wish)
        attached: Value = yield from self._talks.value(request)
        return attached

    def detach(self, model: str, id: str) -> Talk[None]:
        yield from self._talks.value(requests.change("DELETE", service_path(model, "model", "attachments", id), None))

    def remove(self, model: str) -> Talk[None]:
        yield from self._talks.value(requests.change("DELETE", service_path(model, "model"), None))

    def document(self, model: str) -> Talk[Value]:
        summary = yield from self.read(model)
        nodes = yield from self.every(model, "nodes")
        attachments = yield from self.every(model, "attachments")
        return document_from(summary, nodes["items"], attachments["items"]) if nodes["items"] else {}

    def absent(self, model: str, tree: Any) -> Talk[Present]:
        return (yield from self._absent(model, read_model(tree)))

    def _absent(self, model: str, wanted: Model) -> Talk[Present]:
        summary = yield from self.read(model)
        nodes = yield from self.every(model, "nodes")
        attachments = yield from self.every(model, "attachments")
        tags = [one["tag"] for one in nodes["items"]]
        return find_absent(wanted, (tags, [one["id"] for one in attachments["items"]], list(summary["topics"])))

    def bring(self, model: str, tree: Any, prune: bool, progress: Progress) -> Talk[Value]:
        wanted = read_model(tree)
        summary = yield from self.read(model)
        check_name(wanted, summary["service"])
        tags, ids, topics = (yield from self._absent(model, wanted)) if prune else ([], [], [])
        total = {"sent": 0, "saved": 0, "removed": 0}
        for pieces in (detaching_pieces(ids), saving_pieces(wanted), removing_pieces(tags, topics)):
            yield from self._send(model, pieces, total, progress)
        return total

    def _send(self, model: str, pieces: Iterable[Value], total: dict[str, int], progress: Progress) -> Talk[None]:
        for piece in pieces:
            changed = yield from self.change(model, piece)
            total["saved"] += changed["saved"]
            total["removed"] += changed["removed"]
            total["sent"] += count_changes(piece)
            progress(total["sent"])
