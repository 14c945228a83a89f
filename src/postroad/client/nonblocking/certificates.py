"""The certificates API: register client certificates, with proof that you hold their private keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.client.certificates import CertificateConversations
from postroad.client.conversations import Conversations
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.core.resources.accounts import NewCredential


class AsyncCertificates:
    """Client certificates of services; ``client.certificates``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = CertificateConversations(talks)
        self._run = run

    async def add(self, service: str, label: str, certificate: str, key: bytes) -> NewCredential:
        """Register a certificate (PEM) for a service; ``key`` is its private key in PEM, and is not sent."""
        return await self._run(self._say.add(service, label, certificate, key))

    async def prove(self, document: dict[str, Any], keys: Sequence[bytes]) -> dict[str, Any]:
        """Return the configuration document with a signed challenge at each certificate of one of the private keys."""
        return await self._run(self._say.prove(document, keys))
