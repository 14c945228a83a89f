"""Stored secrets and the keys of the network, as the HTTP API lists them: never the secret or a key itself."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Page, Resource


class SecretView(Resource, kw_only=True):
    name: Annotated[str, Meta(description="Profiles refer to it as secret:NAME")]
    service: Annotated[
        str, Meta(description="The only service that may use it; empty: all services of the organization")
    ]
    version: Annotated[int, Meta(description="Grows with every change")]
    set_by: str
    set_at: str
    used_by: Annotated[list[str], Meta(description="Services whose profile refers to it")]
    is_stored: Annotated[
        bool, Meta(description="False: the network has lost it, for instance after a restore; set it again")
    ]


class SecretPage(Page[SecretView]):
    """Stored secrets, without their values."""


class MasterKeyView(Resource, kw_only=True):
    id: str
    available: Annotated[bool, Meta(description="Whether the node that answered has this key")]
    in_use: Annotated[bool, Meta(description="Whether new keys are sealed with it")]
    sealed_keys: Annotated[int, Meta(description="How many keys are sealed with it; remove it from the settings at 0")]


class TokenKeyView(Resource, kw_only=True):
    id: str
    added_at: str
    state: Annotated[
        str,
        Meta(description="announced (not used yet), overlapping (the key before is accepted, too), in use, or old"),
    ]
    from_entry: Annotated[int | None, Meta(description="Deliveries from this journal entry on have tokens of this key")]


class NetworkKeysView(Resource, kw_only=True):
    master_keys: list[MasterKeyView]
    token_keys: Annotated[list[TokenKeyView], Meta(description="Oldest first; empty if they were never rotated")]


class MasterKeyRotated(Resource, kw_only=True):
    master_key: Annotated[str, Meta(description="ID of the master key with which everything is sealed now")]
    sealed_again: Annotated[int, Meta(description="How many keys were sealed again by this call")]
