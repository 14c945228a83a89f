"""The models API of the client: read, change, import and export trees, and attach services.

    with Client(…) as network:
        network.models.bring("Acme/Regions", tree)
        network.models.attach("Acme/Regions", "Acme/Map", side="consumer", node="widget-1")
        for receiver in network.models.receivers("Acme/Regions", "region", node="canvas-1").items:
            print(receiver.service, receiver.path)

Rule: the conversations exist once, and the two shells only run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, TypeVar

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
from postroad.client.responses import parser
from postroad.client.routing import service_path
from postroad.client.steps import Talk
from postroad.core.hierarchy.model import Model
from postroad.core.resources.base import Page
from postroad.core.resources.models import (
    AttachmentPage,
    AttachmentView,
    Changed,
    ModelView,
    NodePage,
    NodeSummary,
    NodeView,
    ReceiverPage,
)

Value = dict[str, Any]
PAGE = 5_000

Item = TypeVar("Item")
_Paged = TypeVar("_Paged", bound=Page[Any] | ReceiverPage)


class AttachmentFields(TypedDict, total=False):
    """The place of an attachment: a node or one topic; without topics it applies to all of the node's."""

    node: str
    topics: list[str]
    id: str


class ModelConversations:
    """The request sequences of the models API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def read(self, model: str) -> Talk[ModelView]:
        return self._talks.ask(requests.read(service_path(model, "model")), parser(ModelView))

    def node(self, model: str, tag: str) -> Talk[NodeView]:
        return self._talks.ask(requests.read(service_path(model, "model", "nodes", tag)), parser(NodeView))

    def nodes(self, model: str, most: int) -> Talk[list[NodeSummary]]:
        return self._items(model, "nodes", NodePage, most)

    def attachments(self, model: str, most: int) -> Talk[list[AttachmentView]]:
        return self._items(model, "attachments", AttachmentPage, most)

    def _items(self, model: str, what: str, kind: type[Page[Item]], most: int) -> Talk[list[Item]]:
        request = requests.read(service_path(model, "model", what), limit=most)
        page = yield from self._talks.ask(request, parser(kind))
        return page.items

    def receivers(self, model: str, topic: str, node: str, sender: str) -> Talk[ReceiverPage]:
        query = {"topic": topic, "node": node, "sender": sender}
        return self._whole(service_path(model, "model", "receivers"), ReceiverPage, **query)

    def _every(self, model: str, what: str, kind: type[Page[Item]]) -> Talk[list[Item]]:
        found = yield from self._whole(service_path(model, "model", what), kind)
        return found.items

    def _whole(self, path: str, kind: type[_Paged], **query: str) -> Talk[_Paged]:
        """Return the first page with the items of all others."""
        found = yield from self._talks.ask(requests.read(path, limit=PAGE, **query), parser(kind))
        while found.next:
            request = requests.read(path, limit=PAGE, cursor=found.next, **query)
            page = yield from self._talks.ask(request, parser(kind))
            found.items += page.items
            found.next = page.next
        return found

    def change(self, model: str, piece: Mapping[str, Any]) -> Talk[Changed]:
        request = requests.change("PATCH", service_path(model, "model"), piece)
        return self._talks.ask(request, parser(Changed))

    def attach(self, model: str, service: str, side: str, where: AttachmentFields) -> Talk[AttachmentView]:
        wish = {"service": service, "side": side, **{name: value for name, value in where.items() if value}}
        request = requests.change("POST", service_path(model, "model", "attachments"), wish)
        return self._talks.ask(request, parser(AttachmentView))

    def detach(self, model: str, id: str) -> Talk[None]:
        yield from self._talks.value(requests.change("DELETE", service_path(model, "model", "attachments", id), None))

    def remove(self, model: str) -> Talk[None]:
        yield from self._talks.value(requests.change("DELETE", service_path(model, "model"), None))

    def document(self, model: str) -> Talk[Value]:
        summary = yield from self.read(model)
        nodes = yield from self._every(model, "nodes", NodePage)
        attachments = yield from self._every(model, "attachments", AttachmentPage)
        return document_from(summary, nodes, attachments) if nodes else {}

    def absent(self, model: str, tree: Any) -> Talk[Present]:
        return (yield from self._absent(model, read_model(tree)))

    def _absent(self, model: str, wanted: Model) -> Talk[Present]:
        summary = yield from self.read(model)
        nodes = yield from self._every(model, "nodes", NodePage)
        attachments = yield from self._every(model, "attachments", AttachmentPage)
        tags = [one.tag for one in nodes]
        return find_absent(wanted, (tags, [one.id for one in attachments], list(summary.topics)))

    def bring(self, model: str, tree: Any, prune: bool, progress: Progress) -> Talk[Value]:
        wanted = read_model(tree)
        summary = yield from self.read(model)
        check_name(wanted, summary.service)
        tags, ids, topics = (yield from self._absent(model, wanted)) if prune else ([], [], [])
        total = {"sent": 0, "saved": 0, "removed": 0}
        for pieces in (detaching_pieces(ids), saving_pieces(wanted), removing_pieces(tags, topics)):
            yield from self._send(model, pieces, total, progress)
        return total

    def _send(self, model: str, pieces: Iterable[Value], total: dict[str, int], progress: Progress) -> Talk[None]:
        for piece in pieces:
            changed = yield from self.change(model, piece)
            total["saved"] += changed.saved
            total["removed"] += changed.removed
            total["sent"] += count_changes(piece)
            progress(total["sent"])
