"""The secrets and certificates APIs: stored secrets, the network's keys, and client certificates of services."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from postroad.client.conversations import Conversations
from postroad.client.credentials import CertificateConversations, SecretConversations
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.core.resources.accounts import NewCredential
from postroad.core.resources.secrets import MasterKeyRotated, NetworkKeysView, SecretView, TokenKeyView


class AsyncStoredSecrets:
    """Stored secrets of organizations and services; ``client.secrets``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = SecretConversations(talks)
        self._run = run

    async def list(self, owner: str) -> builtins.list[SecretView]:
        """Return names and versions, who set them and when; ``owner``: an organization, or a service by address or GCID."""
        return await self._run(self._say.list(owner))

    async def set(self, owner: str, name: str, value: str) -> SecretView:
        """Set a secret; profiles of the owner's services refer to it as ``secret:NAME``."""
        return await self._run(self._say.set(owner, name, value))

    async def remove(self, owner: str, name: str) -> None:
        """Remove a secret; what refers to it fails from now on."""
        await self._run(self._say.remove(owner, name))

    async def keys(self) -> NetworkKeysView:
        """Return which master keys and token keys are in use, by their IDs; for operators."""
        return await self._run(self._say.keys())

    async def rotate_master(self) -> MasterKeyRotated:
        """Seal all keys again with the newest master key; for operators."""
        return await self._run(self._say.rotate_master())

    async def rotate_token(self) -> TokenKeyView:
        """Use a new key for the tokens of later deliveries; for operators."""
        return await self._run(self._say.rotate_token())


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
