"""The kinds of configuration objects: their types, the keys under which they are saved, and how entries store them.

Rule: every kind that was ever stored can be read, also with field names of an earlier version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from postroad.core.model.asset import Asset, asset_key
from postroad.core.model.billing import BOOKS_KEY, BillingSettings, Invoice, Payment, Tariff
from postroad.core.model.directory import (
    As2IdentityClaim,
    Credential,
    Organization,
    Person,
    Service,
)
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.level import LEVEL_KEY, LEVEL_KIND, NetworkLevel
from postroad.core.model.model_tree import ModelAttachment, ModelNode, ModelTopic, attachment_key, node_key, topic_key
from postroad.core.model.restore import Restore
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.secret_entries import SECRET, SecretRecord, secret_key
from postroad.core.model.subscription import Subscription
from postroad.core.model.support import SupportRequest, support_key
from postroad.core.model.trust import Provisioning, RegisteredCookie, cookie_key

KINDS: dict[str, type[Any]] = {
    "organization": Organization,
    "person": Person,
    "service": Service,
    "credential": Credential,
    "rule": Rule,
    "asset": Asset,
    "provisioning": Provisioning,
    "cookie": RegisteredCookie,
    "books": BillingSettings,
    "tariff": Tariff,
    "invoice": Invoice,
    "payment": Payment,
    "binding": Binding,
    "node": ModelNode,
    "attachment": ModelAttachment,
    "topic": ModelTopic,
    "support": SupportRequest,
    "as2-stations": As2IdentityClaim,
    LEVEL_KIND: NetworkLevel,
    "restore": Restore,
    SECRET: SecretRecord,
    "subscription": Subscription,
}
# The key is both AS2 names, one per line; and organization with both names, so that two nodes collide.
AS2_IDENTITIES = "as2-stations"
FORMER_SPLITTING = {"dirt": "on_envelope_error", "facts": "options"}  # names that earlier versions stored
# No answer in ``cache`` depends on them.
LARGE_KINDS = frozenset(("binding", "node", "attachment", "topic", "support", "subscription", SECRET))
BILLING = ("books", "tariff", "invoice", "payment")


_KEYS: dict[type[Any], Callable[[Any], str]] = {
    Organization: lambda item: item.name.casefold(),
    Person: lambda item: item.email.casefold(),
    Service: lambda item: item.gcid,
    Credential: lambda item: item.id,
    Rule: lambda item: rule_key(item.service, item.name),
    Asset: lambda item: asset_key(item.service, item.kind, item.name),
    Provisioning: lambda item: item.service,
    RegisteredCookie: lambda item: cookie_key(item.service, item.sender),
    BillingSettings: lambda item: BOOKS_KEY,
    Tariff: lambda item: item.key,
    Invoice: lambda item: item.number,
    Payment: lambda item: item.id,
    Binding: lambda item: binding_key(item.exchange, item.name),
    ModelNode: lambda item: node_key(item.service, item.tag),
    ModelAttachment: lambda item: attachment_key(item.service, item.id),
    ModelTopic: lambda item: topic_key(item.service, item.topic),
    SupportRequest: lambda item: support_key(item.organization, item.id),
    NetworkLevel: lambda item: LEVEL_KEY,
    Restore: lambda item: str(item.seq),
    SecretRecord: lambda item: secret_key(item.organization, item.service, item.name),
    Subscription: lambda item: item.key,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def object_key(item: Any) -> tuple[str, str]:
    """Return the kind and key under which a configuration object is saved."""
    key = _KEYS.get(type(item))
    if key is None:
        raise TypeError(f"{type(item).__name__} is not a configuration object")
    return _NAMES[type(item)], key(item)


def stored_object(kind: str, value: Mapping[str, Any]) -> Any:
    """Return the object that a journal entry stores; reads field names of earlier versions, too."""
    splitting = value.get("splitting") if kind == "service" else None
    if splitting and not FORMER_SPLITTING.keys().isdisjoint(splitting):
        renamed = {FORMER_SPLITTING.get(name, name): item for name, item in splitting.items()}
        value = {**value, "splitting": renamed}
    return msgspec.convert(value, KINDS[kind])
