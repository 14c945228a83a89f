"""Deprecated names of ``client.certificates``, for programs that were written for version 0.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.client.blocking.client import Client
from postroad.client.nonblocking.client import AsyncClient
from postroad.core.resources.accounts import NewCredential


def add_certificate(client: Client, service: str, label: str, certificate: str, key: bytes) -> NewCredential:
    """Use ``client.certificates.add`` instead."""
    return client.certificates.add(service, label, certificate, key)


async def add_certificate_async(
    client: AsyncClient, service: str, label: str, certificate: str, key: bytes
) -> NewCredential:
    """Use ``client.certificates.add`` instead."""
    return await client.certificates.add(service, label, certificate, key)


def with_proofs(client: Client, document: dict[str, Any], keys: Sequence[bytes]) -> dict[str, Any]:
    """Use ``client.certificates.prove`` instead."""
    return client.certificates.prove(document, keys)
