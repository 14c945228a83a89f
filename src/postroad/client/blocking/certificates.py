# Generated from nonblocking/certificates.py by `python -m scripts.blocking_client`; edit that file instead.
"""The certificates API: register client certificates, with proof that you hold their private keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.client.blocking.runner import RunConversation
from postroad.client.certificates import CertificateConversations
from postroad.client.conversations import Conversations
from postroad.core.resources.accounts import NewCredential


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
