"""The certificates API of the client: register client certificates, with proof that you hold their private keys.

The network issues a challenge; it is signed here with the private key, which never leaves this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.routing import service_path
from postroad.client.steps import Talk
from postroad.core.resources.accounts import Challenge, NewCredential


class CertificateConversations:
    """The request sequences of the certificates API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def add(self, service: str, label: str, certificate: str, key: bytes) -> Talk[NewCredential]:
        from postroad.core.configuration.key_possession import sign_challenge  # here: it loads cryptography

        challenge = yield from self._challenge()
        wish = {
            "kind": "certificate",
            "label": label,
            "certificate": certificate,
            "challenge": challenge,
            "signature": sign_challenge(key, challenge),
        }
        request = requests.change("POST", service_path(service, "credentials"), wish, doubles=True)
        return (yield from self._talks.ask(request, partial(responses.parse_as, kind=NewCredential)))

    def prove(self, document: dict[str, Any], keys: Sequence[bytes]) -> Talk[dict[str, Any]]:
        if not keys:
            return document
        challenge = yield from self._challenge()
        proven: dict[str, Any] = _add_proofs(document, keys, challenge)
        return proven

    def _challenge(self) -> Talk[str]:
        request = requests.change("POST", "/v1/certificate-challenges", None, doubles=True)
        return (yield from self._talks.ask(request, partial(responses.parse_as, kind=Challenge))).challenge


def _add_proofs(value: Any, keys: Sequence[bytes], challenge: str) -> Any:
    from postroad.core.configuration.key_possession import is_key_of, sign_challenge  # here: it loads cryptography

    if isinstance(value, list):
        return [_add_proofs(item, keys, challenge) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(pem := value.get("certificate"), str) and "label" in value:
        key = next((key for key in keys if is_key_of(key, pem)), None)
        return value if key is None else value | {"challenge": challenge, "signature": sign_challenge(key, challenge)}
    return {name: _add_proofs(item, keys, challenge) for name, item in value.items()}
