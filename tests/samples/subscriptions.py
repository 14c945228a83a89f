"""Directories with subscriptions, and events, for tests of notifications."""

from __future__ import annotations

from typing import Any

import msgspec

from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Organization, Service
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import Channel, Subscription
from postroad.core.notifications.event import NotifiableEvent
from postroad.testing.clocks import EPOCH_US

SECOND = 1_000_000
MINUTE = 60 * SECOND
SUPPLY = Service(gcid="00000000000000a1", organization="Acme", name="Supply")


def subscription(name: str = "ops", organization: str = "Acme", **fields: Any) -> Subscription:
    fields = {"channel": Channel.EMAIL, "address": f"{name}@acme.example"} | fields
    return Subscription(organization=organization, name=name, **fields)


def directory_with(*objects: Any) -> Directory:
    """Return a directory with Acme, its service Supply, and these objects."""
    found = (Organization(name="Acme"), SUPPLY, *objects)
    changes = [ObjectChange(*object_key(one), 1, msgspec.to_builtins(one)) for one in found]
    return Directory().apply_changes(changes, 1)


def dead_letter(at_us: int = EPOCH_US, cause: str = "tls", **fields: Any) -> NotifiableEvent:
    return NotifiableEvent("dead-letter", "Acme", f"Acme/Supply, {cause}", at_us, "see its reason", **fields)


def failing(at_us: int = EPOCH_US, **fields: Any) -> NotifiableEvent:
    return NotifiableEvent("push.failing", "Acme", "Acme/Supply", at_us, "no push has succeeded for 1 hour", **fields)
