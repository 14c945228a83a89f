"""The secrets API: set, list and remove secrets; operators rotate the network's keys."""

from __future__ import annotations

import builtins

from postroad.client.conversations import Conversations
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.client.secrets import SecretConversations
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
