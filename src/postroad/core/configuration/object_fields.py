"""Configuration objects under the field names that people write, and the differences between two of them.

Rule: a secret is never shown; a changed secret is only shown as new.
"""

from __future__ import annotations

from typing import Any

import msgspec
from pydantic.alias_generators import to_camel

from postroad.core.configuration.change_plan import ChangedField
from postroad.core.configuration.entries.assets import asset_summary
from postroad.core.configuration.entries.bindings import binding_entry
from postroad.core.configuration.entries.rules import rule_entry
from postroad.core.configuration.entries.subscriptions import subscription_entry
from postroad.core.configuration.entries.tariffs import tariff_entry
from postroad.core.configuration.profile.service import profile_of
from postroad.core.configuration.sections.billing import billing_name
from postroad.core.configuration.sections.organization import USUAL, limits_entry
from postroad.core.configuration.sections.subscriptions import describe_subscription
from postroad.core.model.asset import Asset
from postroad.core.model.billing import Tariff
from postroad.core.model.directory import Credential, Organization, Person, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.rule import Rule
from postroad.core.model.secret_entries import SecretRecord
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import DIGEST_MINUTES, Severity, Subscription
from postroad.core.model.trust import RegisteredCookie

IDENTITY = frozenset({"gcid", "id", "createdAtUs", "startsAtUs", "expiresAtUs", "service", "person", "organization"})
USUAL_RULE = {"role": "any", "enabled": True, "description": "", "positions": {}}
USUAL_BINDING = {
    "queue": "", "query": "", "script": "", "routing": "", "routingKey": "", "description": "", "enabled": True
}  # fmt: skip
USUAL_SUBSCRIPTION = {
    "channel": "", "address": "", "events": [], "leastSeverity": Severity.INFO.value, "digestMinutes": DIGEST_MINUTES
}  # fmt: skip
UNITS = {"postsPerS": "postsPerSecond"}
SECTIONS = ("batching", "splitting")  # of a profile, whose fields are listed one by one


def find_changed_fields(before: Any | None, after: Any) -> tuple[ChangedField, ...]:
    """Return the changed fields under the names that people write; secrets are never shown."""
    old, new = (
        _split_sections(written_fields(before) if before is not None else _default_fields(after)),
        _split_sections(written_fields(after)),
    )
    changes = []
    for name in _names(old, new):
        was, value = old.get(name), new.get(name)
        if name == "secret" and was != value:
            changes.append(ChangedField(field=name, before="", after="(new secret)"))
        elif name not in IDENTITY and was != value:
            changes.append(ChangedField(field=name, before=was, after=value))
    return tuple(changes)


def _split_sections(fields: dict[str, Any]) -> dict[str, Any]:
    """Split nested sections into single fields, so that each change is shown on its own."""
    told: dict[str, Any] = {}
    for name, value in fields.items():
        inner = value if name in SECTIONS and value is not None else None
        told |= {name: value} if inner is None else {f"{name}.{field}": given for field, given in inner.items()}
    return told


def _names(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the field names of the new object, followed by those that only the old one has."""
    return [*new, *(name for name in old if "." in name and name not in new)]


def written_fields(value: Any) -> dict[str, Any]:
    """Return a configuration object as people write it."""
    if isinstance(value, Service):
        return {"name": value.name, **profile_of(value)}
    if isinstance(value, Rule):
        return {"place": value.place} | USUAL_RULE | rule_entry(value)
    if isinstance(value, Asset):
        return asset_summary(value)
    if isinstance(value, RegisteredCookie):
        return {"contentType": value.content_type, "secret": value.content}
    if isinstance(value, SecretRecord):
        return {"digest": value.digest}
    if isinstance(value, Binding):
        return USUAL_BINDING | binding_entry(value, value.queue)
    if isinstance(value, Tariff):
        return {"name": value.name, **tariff_entry(value)}
    if isinstance(value, Subscription):
        return USUAL_SUBSCRIPTION | subscription_entry(value)
    camel = {to_camel(name): field for name, field in msgspec.to_builtins(value).items()}
    if isinstance(value, Organization):
        camel["limits"] = limits_entry(value.limits)
    return {UNITS.get(name, name): field for name, field in camel.items()}


def _default_fields(value: Any) -> dict[str, Any]:
    """Return the default fields, which are not shown for a new object."""
    if isinstance(value, Service):
        return {"name": value.name, **USUAL}
    if isinstance(value, Rule):
        return {"place": value.place} | USUAL_RULE
    if isinstance(value, Binding):
        return USUAL_BINDING
    if isinstance(value, Subscription):
        return USUAL_SUBSCRIPTION
    return {name: field for name, field in written_fields(value).items() if field in ("", 0, False, {})}


def object_name(item: Any, directory: Directory) -> str:
    """Return the display name of a configuration object."""
    match item:
        case Organization():
            return item.name
        case Person():
            return item.email
        case Service():
            return item.address
        case Credential():
            return f"{directory.address_of(item.service) or item.person}: {item.label or item.id}"
        case Rule():
            return f"{directory.services[item.service].address}: {item.name}"
        case Asset():
            return f"{directory.services[item.service].address}: {item.kind.value} {item.name}"
        case RegisteredCookie():  # by its GCID, so private services stay private
            return f"{directory.services[item.service].address}: cookie for {item.sender}"
        case Binding():
            return f"{directory.services[item.exchange].address}: {item.name}"
        case Tariff():
            return billing_name(item)
        case Subscription():
            return describe_subscription(item)
    raise TypeError(f"{type(item).__name__} is not a configuration object")
