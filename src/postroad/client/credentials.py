"""The secrets and certificates APIs of the client: stored secrets, the network's keys, and client certificates of services.

    with Client(…) as network:
        network.secrets.set("Acme", "partner-token", token)         # all services of Acme refer to it as secret:partner-token
        network.secrets.set("Acme/Inbox", "hook", signing_secret)   # only this service

Rules: a secret is sent and never read back, and a private key is never sent: it signs a challenge here. An owner is an
organization, or a service by its address or GCID.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.routing import list_items, service_path
from postroad.client.steps import ApiRequest, Talk
from postroad.core.model.ids import GCID
from postroad.core.resources.accounts import Challenge, NewCredential
from postroad.core.resources.secrets import MasterKeyRotated, NetworkKeysView, SecretPage, SecretView, TokenKeyView

KEYS = "/v1/keys"
_Value = TypeVar("_Value")


class SecretConversations:
    """The request sequences of the secrets API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def list(self, owner: str) -> Talk[list[SecretView]]:
        return list_items(self._talks, _path(owner), SecretPage, 0)

    def set(self, owner: str, name: str, value: str) -> Talk[SecretView]:
        return self._ask(requests.change("PUT", _path(owner, name), {"value": value}), SecretView)

    def remove(self, owner: str, name: str) -> Talk[None]:
        yield from self._talks.ask(requests.change("DELETE", _path(owner, name), None), responses.require_success)

    def keys(self) -> Talk[NetworkKeysView]:
        return self._ask(requests.read(KEYS), NetworkKeysView)

    def rotate_master(self) -> Talk[MasterKeyRotated]:
        return self._ask(requests.change("POST", f"{KEYS}/rotate-master", None), MasterKeyRotated)

    def rotate_token(self) -> Talk[TokenKeyView]:
        return self._ask(requests.change("POST", f"{KEYS}/rotate-token", None), TokenKeyView)

    def _ask(self, request: ApiRequest, kind: type[_Value]) -> Talk[_Value]:
        return self._talks.ask(request, partial(responses.parse_as, kind=kind))


def _path(owner: str, *name: str) -> str:
    if "/" in owner or GCID.match(owner):
        return service_path(owner, "secrets", *name)
    return "/".join(["/v1/organizations", quote(owner, safe=""), "secrets", *(quote(one, safe="") for one in name)])


class CertificateConversations:
    """The request sequences of the certificates API.

    The network issues a challenge; it is signed here with the private key, which never leaves this machine.
    """

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
