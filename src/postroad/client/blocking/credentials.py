# Generated from nonblocking/credentials.py by `python -m scripts.blocking_client`; edit that file instead.
"""The secrets and certificates APIs: stored secrets, the network's keys, and client certificates of services."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations
from postroad.client.credentials import CertificateConversations, SecretConversations
from postroad.core.resources.accounts import NewCredential
from postroad.core.resources.secrets import MasterKeyRotated, NetworkKeysView, SecretView, TokenKeyView


class StoredSecrets:
    """Stored secrets of organizations and services; ``client.secrets``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = SecretConversations(talks)
        self._run = run

    def list(self, owner: str) -> builtins.list[SecretView]:
        """Return names and versions, who set them and when; ``owner``: an organization, or a service by address or GCID."""
        return self._run(self._say.list(owner))

    def set(self, owner: str, name: str, value: str) -> SecretView:
        """Set a secret; profiles of the owner's services refer to it as ``secret:NAME``."""
        return self._run(self._say.set(owner, name, value))

    def remove(self, owner: str, name: str) -> None:
        """Remove a secret; what refers to it fails from now on."""
        self._run(self._say.remove(owner, name))

    def keys(self) -> NetworkKeysView:
        """Return which master keys and token keys are in use, by their IDs; for operators."""
        return self._run(self._say.keys())

    def rotate_master(self) -> MasterKeyRotated:
        """Seal all keys again with the newest master key; for operators."""
        return self._run(self._say.rotate_master())

    def rotate_token(self) -> TokenKeyView:
        """Use a new key for the tokens of later deliveries; for operators."""
        return self._run(self._say.rotate_token())


class Certificates:
    """Client certificates of services; ``client.certificates``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = CertificateConversations(talks)
        self._run = run

    def add(self, service: str, label: str, certificate: str, key: bytes) -> NewCredential:
        """Register a certificate (PEM) for a service; ``key`` is its private key in PEM, and is not sent."""
        return self._run(self._say.add(service, label, certificate, key))

    def prove(self, document: dict[str, Any], keys: Sequence[bytes]) -> dict[str, Any]:
        """Return the configuration document with a signed challenge at each certificate of one of the private keys."""
        return self._run(self._say.prove(document, keys))
