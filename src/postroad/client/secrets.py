"""The secrets API of the client: set, list and remove secrets; operators rotate the network's keys.

    with Client(…) as network:
        network.secrets.set("Acme", "partner-token", token)         # all services of Acme refer to it as secret:partner-token
        network.secrets.set("Acme/Inbox", "hook", signing_secret)   # only this service

Rule: a secret is sent and never read back. An owner is an organization, or a service by its address or GCID.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar
from urllib.parse import quote

from postroad.client import requests, responses
from postroad.client.conversations import Conversations
from postroad.client.routing import list_items, service_path
from postroad.client.steps import ApiRequest, Talk
from postroad.core.model.ids import GCID
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
