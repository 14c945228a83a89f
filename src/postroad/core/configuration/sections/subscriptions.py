"""Plans and exports subscriptions to notifications: of an organization, and of the operators.

Rule: a document without the section leaves subscriptions unchanged, also when it is applied with pruning. An unchanged
subscription needs no permission, so applying an export changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import DocumentError, NetworkDocument, pointer
from postroad.core.configuration.entries.subscriptions import (
    SubscriptionEntry,
    find_reader_error,
    subscription_entry,
)
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import MAX_SUBSCRIPTIONS, OPERATORS, Subscription, subscription_key

SECTION = "notifications"


def wanted_subscriptions(
    organization: str, entries: Mapping[str, SubscriptionEntry] | None, place: str, planning: PlanningContext
) -> list[WantedObject]:
    """Return the subscriptions of one organization, or of the operators, that the document asks for."""
    found = []
    if len(entries or {}) > MAX_SUBSCRIPTIONS:
        planning.fault(f"{place}/{SECTION}", f"an organization has at most {MAX_SUBSCRIPTIONS} subscriptions")
    for name, entry in (entries or {}).items():
        existing = planning.directory.object("subscription", subscription_key(organization, name))
        wanted = entry.subscription(organization, existing.name if existing else name)
        found.append(
            WantedObject(place + pointer(SECTION, name), wanted, describe_subscription(wanted), entry.named_fields())
        )
    return found


def find_reader_errors(
    wanted: list[WantedObject], before: Directory, after: Directory, *, by_operator: bool
) -> list[DocumentError]:
    """Return errors in the addresses of new or changed subscriptions; the same document may add the services."""
    return [
        DocumentError(f"{item.place}/address", fault)
        for item in wanted
        if isinstance(item.value, Subscription)
        and before.object("subscription", item.value.key) != item.value
        and (fault := find_reader_error(item.value, after, by_operator=by_operator))
    ]


def wanted_operator_subscriptions(document: NetworkDocument, planning: PlanningContext) -> list[WantedObject]:
    return wanted_subscriptions(OPERATORS, document.notifications, "", planning)


def prunable_subscriptions(
    organization: str, entries: Mapping[str, SubscriptionEntry] | None, directory: Directory
) -> list[Any]:
    """Return the subscriptions that pruning may remove: those of a section that the document has."""
    return [] if entries is None else list(directory.subscriptions.of(organization.casefold()).values())


def exported_subscriptions(organization: str, directory: Directory) -> dict[str, Any]:
    """Return the section as an export writes it."""
    found = sorted(directory.subscriptions.of(organization.casefold()).values(), key=lambda one: one.name.casefold())
    return {one.name: subscription_entry(one) for one in found}


def describe_subscription(subscription: Subscription) -> str:
    """Return the display name of a subscription."""
    return f"{subscription.organization or 'operators'}: notifications {subscription.name}"
