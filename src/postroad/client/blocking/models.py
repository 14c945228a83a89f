# Generated from nonblocking/models.py by `python -m scripts.blocking_client`; edit that file instead.
"""The models API: read, change, import and export trees, and attach services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations, Progress, ignore_progress
from postroad.client.model_pieces import Present
from postroad.client.models import PAGE, AttachmentFields, ModelConversations, Value


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
