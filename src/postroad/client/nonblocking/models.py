"""The models API: read, change, import and export trees, and attach services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from postroad.client.conversations import Conversations, Progress, ignore_progress
from postroad.client.model_pieces import Present
from postroad.client.models import PAGE, AttachmentFields, ModelConversations, Value
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.core.resources.models import AttachmentView, Changed, ModelView, NodeSummary, NodeView, ReceiverPage


class AsyncModels:
    """Models, as far as the caller may see and change them; ``client.models``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = ModelConversations(talks)
        self._run = run

    async def model(self, model: str) -> ModelView:
        """Return the model's size, its root, and the topics with their own strategy."""
        return await self._run(self._say.read(model))

    async def node(self, model: str, tag: str) -> NodeView:
        """Return one node with its path from the root."""
        return await self._run(self._say.node(model, tag))

    async def nodes(self, model: str, most: int = PAGE) -> list[NodeSummary]:
        """Return the first nodes, depth first."""
        return await self._run(self._say.nodes(model, most))

    async def attachments(self, model: str, most: int = PAGE) -> list[AttachmentView]:
        """Return the first attachments."""
        return await self._run(self._say.attachments(model, most))

    async def document(self, model: str) -> Value:
        """Return the whole model as its YAML document; empty if it has no nodes."""
        return await self._run(self._say.document(model))

    async def bring(self, model: str, tree: Any, *, prune: bool = False, progress: Progress = ignore_progress) -> Value:
        """Make the model match the document, piece by piece; what it omits is removed only with ``prune``.

        Returns how many nodes, attachments and topics were sent, and how many of them changed something.
        """
        return await self._run(self._say.bring(model, tree, prune, progress))

    async def absent(self, model: str, tree: Any) -> Present:
        """Return what ``prune`` would remove: tags, attachment ids and topics."""
        return await self._run(self._say.absent(model, tree))

    async def change(self, model: str, piece: Mapping[str, Any]) -> Changed:
        """Apply several changes atomically, in the API's format."""
        return await self._run(self._say.change(model, piece))

    async def attach(self, model: str, service: str, *, side: str, **where: Unpack[AttachmentFields]) -> AttachmentView:
        """Attach a service as producer or consumer (``side``); returns the attachment with its id."""
        return await self._run(self._say.attach(model, service, side, where))

    async def detach(self, model: str, id: str) -> None:
        """Remove one attachment."""
        await self._run(self._say.detach(model, id))

    async def remove(self, model: str) -> None:
        """Remove the whole model; the service stays."""
        await self._run(self._say.remove(model))

    async def receivers(self, model: str, topic: str, *, node: str = "", sender: str = "") -> ReceiverPage:
        """Return who would receive a message on the topic from a node or a sender; nothing is sent."""
        return await self._run(self._say.receivers(model, topic, node, sender))
