"""Register client certificates of services, with proof of possession of their keys.

The network issues a challenge; it is signed here with the private key, which never leaves this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from postroad.client.blocking.client import Client
from postroad.client.nonblocking.client import AsyncClient
from postroad.core.configuration.key_possession import is_key_of, sign_challenge

CHALLENGES = "/v1/certificate-challenges"


def add_certificate(client: Client, service: str, label: str, certificate: str, key: bytes) -> dict[str, Any]:
    """Register a certificate (PEM) for a service; ``key`` is its private key in PEM, and is not sent."""
    challenge = client.change("POST", CHALLENGES)["challenge"]
    added: dict[str, Any] = client.change("POST", _path(service), _wish(label, certificate, key, challenge))
    return added


async def add_certificate_async(
    client: AsyncClient, service: str, label: str, certificate: str, key: bytes
) -> dict[str, Any]:
    """Register a certificate as ``add_certificate`` does, with the client for asyncio."""
    challenge = (await client.change("POST", CHALLENGES))["challenge"]
    added: dict[str, Any] = await client.change("POST", _path(service), _wish(label, certificate, key, challenge))
    return added


def with_proofs(client: Client, document: dict[str, Any], keys: Sequence[bytes]) -> dict[str, Any]:
    """The configuration document with a signed challenge at each certificate that belongs to one of the private keys."""
    if not keys:
        return document
    challenge = client.change("POST", CHALLENGES)["challenge"]
    proven: dict[str, Any] = _proven(document, keys, challenge)
    return proven


def _proven(value: Any, keys: Sequence[bytes], challenge: str) -> Any:
    if isinstance(value, list):
        return [_proven(item, keys, challenge) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(pem := value.get("certificate"), str) and "label" in value:
        key = next((key for key in keys if is_key_of(key, pem)), None)
        return value if key is None else value | {"challenge": challenge, "signature": sign_challenge(key, challenge)}
    return {name: _proven(item, keys, challenge) for name, item in value.items()}


def _path(service: str) -> str:
    return f"/v1/services/{quote(service)}/credentials"


def _wish(label: str, certificate: str, key: bytes, challenge: str) -> dict[str, str]:
    signature = sign_challenge(key, challenge)
    return {
        "kind": "certificate",
        "label": label,
        "certificate": certificate,
        "challenge": challenge,
        "signature": signature,
    }
