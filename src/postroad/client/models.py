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
from typing import Any, TypedDict, Unpack

from postroad.client import requests
from postroad.client.conversations import Conversations, Progress
from postroad.client.dead_letters import RunConversation, RunConversationAsync
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


def ignore_progress(done: int) -> None:
    """Ignore progress reports."""


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


class Models:
    """Models, as far as the caller may see and change them; ``client.models``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = ModelConversations(talks)
        self._run = run

    def model(self, model: str) -> Value:
        """Return the model's size, its root, and the topics with their own strategy."""
        return self._run(self._say.read(model))

    def node(self, model: str, tag: str) -> Value:
        return self._run(self._say.read(model, "nodes", tag))

    def nodes(self, model: str, most: int = PAGE) -> list[Value]:
        """Return the first nodes, depth first."""
        return self._run(self._say.page(model, "nodes", most))

    def attachments(self, model: str, most: int = PAGE) -> list[Value]:
        return self._run(self._say.page(model, "attachments", most))

    def document(self, model: str) -> Value:
        """Return the whole model as its YAML document; empty if it has no nodes."""
        return self._run(self._say.document(model))

    def bring(self, model: str, tree: Any, *, prune: bool = False, progress: Progress = ignore_progress) -> Value:
        """Make the model match the document, piece by piece; what it omits is removed only with ``prune``.

        Returns how many nodes, attachments and topics were sent, and how many of them changed something.
        """
        return self._run(self._say.bring(model, tree, prune, progress))

    def absent(self, model: str, tree: Any) -> Present:
        """Return what ``prune`` would remove: tags, attachment ids and topics."""
        return self._run(self._say.absent(model, tree))

    def change(self, model: str, piece: Mapping[str, Any]) -> Value:
        """Apply several changes atomically, in the API's format."""
        return self._run(self._say.change(model, piece))

    def attach(self, model: str, service: str, *, side: str, **where: Unpack[AttachmentFields]) -> Value:
        """Attach a service as producer or consumer (``side``); returns the attachment with its id."""
        return self._run(self._say.attach(model, service, side, where))

    def detach(self, model: str, id: str) -> None:
        self._run(self._say.detach(model, id))

    def remove(self, model: str) -> None:
        """Remove the whole model; the service stays."""
        self._run(self._say.remove(model))

    def receivers(self, model: str, topic: str, *, node: str = "", sender: str = "") -> Value:
        """Return who would receive a message on the topic from a node or a sender; nothing is sent."""
        return self._run(self._say.every(model, "receivers", topic=topic, node=node, sender=sender))


class AsyncModels:
    """The models API with asyncio; see ``Models``."""

    def __init__(self, talks: Conversations, run: RunConversationAsync) -> None:
        self._say = ModelConversations(talks)
        self._run = run

    async def model(self, model: str) -> Value:
        return await self._run(self._say.read(model))

    async def node(self, model: str, tag: str) -> Value:
        return await self._run(self._say.read(model, "nodes", tag))

    async def nodes(self, model: str, most: int = PAGE) -> list[Value]:
        return await self._run(self._say.page(model, "nodes", most))

    async def attachments(self, model: str, most: int = PAGE) -> list[Value]:
        return await self._run(self._say.page(model, "attachments", most))

    async def document(self, model: str) -> Value:
        return await self._run(self._say.document(model))

    async def bring(self, model: str, tree: Any, *, prune: bool = False, progress: Progress = ignore_progress) -> Value:
        return await self._run(self._say.bring(model, tree, prune, progress))

    async def absent(self, model: str, tree: Any) -> Present:
        return await self._run(self._say.absent(model, tree))

    async def change(self, model: str, piece: Mapping[str, Any]) -> Value:
        return await self._run(self._say.change(model, piece))

    async def attach(self, model: str, service: str, *, side: str, **where: Unpack[AttachmentFields]) -> Value:
        return await self._run(self._say.attach(model, service, side, where))

    async def detach(self, model: str, id: str) -> None:
        await self._run(self._say.detach(model, id))

    async def remove(self, model: str) -> None:
        await self._run(self._say.remove(model))

    async def receivers(self, model: str, topic: str, *, node: str = "", sender: str = "") -> Value:
        return await self._run(self._say.every(model, "receivers", topic=topic, node=node, sender=sender))
