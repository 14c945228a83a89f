"""Subscriptions to notifications: list, save, remove and test, with permission checks.

Rules: owners decide for their organization, and operators for all and for themselves. An address must be one that the
organization may send to. Tests are limited, since they send at once.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from hmac import compare_digest

from postroad.core.configuration.entries.subscriptions import find_reader_error
from postroad.core.identity.tokens import Tokens
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import MAX_SUBSCRIPTIONS, OPERATORS, Subscription, subscription_key
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    build_removal,
    find_visible_organization,
    not_found,
    permission_denied,
    require_organization,
)
from postroad.flow.notifications.channels import make_unsubscribe_token
from postroad.flow.registries.configuration import DirectoryChange, build_save

UNSUBSCRIBED = "unsubscribed by the link in an e-mail"


def resolve_organization(caller: Caller, directory: Directory, organization: str) -> str:
    """Return the organization's name; '' means the operators, whose subscriptions only they may see."""
    if organization != OPERATORS:
        return find_visible_organization(caller, directory, organization).name
    if not caller.operator:
        raise permission_denied("Only operators may see these subscriptions; name your organization")
    return OPERATORS


def list_subscriptions(caller: Caller, directory: Directory, organization: str) -> list[Subscription]:
    """Return the subscriptions of an organization, or of the operators, sorted by name."""
    name = resolve_organization(caller, directory, organization)
    return sorted(directory.subscriptions.of(name.casefold()).values(), key=lambda one: one.name.casefold())


def find_subscription(caller: Caller, directory: Directory, organization: str, name: str) -> Subscription:
    owner = resolve_organization(caller, directory, organization)
    found: Subscription | None = directory.subscriptions.get(subscription_key(owner, name))
    if found is None:
        raise not_found()
    return found


async def save_subscription(
    administration: Administration, caller: Caller, wanted: Subscription, seen_version: int | None = None
) -> Subscription:
    """Save a subscription under its name; returns it as it was saved."""
    check_name(wanted.name, "The subscription's")
    owner = _require_owner(caller, administration.directory, wanted.organization)

    def decide(directory: Directory) -> list[DirectoryChange]:
        own = directory.subscriptions.of(owner.casefold())
        if wanted.key not in own and len(own) >= MAX_SUBSCRIPTIONS:
            raise Refused("value.invalid", f"An organization has at most {MAX_SUBSCRIPTIONS} subscriptions; remove one")
        if fault := find_reader_error(wanted, directory, by_operator=caller.operator):
            raise Refused("value.invalid", f"{fault[0].upper()}{fault[1:]}", pointer="/address")
        return [] if own.get(wanted.key) == wanted else [build_save(wanted, seen_version)]

    directory = await administration.carry_out(caller.name, decide, "subscription saved")
    return find_subscription(caller, directory, wanted.organization, wanted.name)


async def remove_subscription(
    administration: Administration, caller: Caller, organization: str, name: str, seen_version: int | None = None
) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        found = find_subscription(caller, directory, organization, name)
        _require_owner(caller, directory, found.organization)
        return [build_removal(found, seen_version)]

    await administration.carry_out(caller.name, decide, "subscription removed")


async def send_test(administration: Administration, caller: Caller, organization: str, name: str) -> str:
    """Send a test notification now; returns why it could not be sent, or an empty string."""
    found = find_subscription(caller, administration.directory, organization, name)
    _require_owner(caller, administration.directory, found.organization)
    if wait_s := administration.notification_tests.count(found.organization.casefold()):
        administration.network.metrics.counter("rate_limited_total", "notification").value += 1
        raise Refused("rate.exceeded", "Too many tests were sent within an hour; wait", retry_after_s=int(wait_s))
    return await administration.network.notifications.send_test(found)


def _require_owner(caller: Caller, directory: Directory, organization: str) -> str:
    if organization == OPERATORS:
        return resolve_organization(caller, directory, OPERATORS)
    return require_organization(caller, directory, organization, Role.OWNER).name


def find_unsubscribed(tokens: Tokens, directory: Directory, token: str) -> Subscription | None:
    """Return the subscription that a token of an e-mail ends; None if it has ended or its address has changed."""
    named = token.partition(".")[0]
    try:
        key = urlsafe_b64decode(named + "=" * (-len(named) % 4)).decode()
    except ValueError:
        return None
    found: Subscription | None = directory.subscriptions.get(key)
    if found is None or not compare_digest(make_unsubscribe_token(tokens, found).encode(), token.encode()):
        return None
    return found


async def unsubscribe(administration: Administration, token: str) -> Subscription | None:
    """Remove the subscription of a token; returns it, or None if the token is not valid."""
    network = administration.network
    ended = find_unsubscribed(network.tokens, network.directory, token)
    if ended is None:
        return None

    def decide(directory: Directory) -> list[DirectoryChange]:
        found = find_unsubscribed(network.tokens, directory, token)
        return [] if found is None else [build_removal(found)]

    await administration.carry_out(ended.address, decide, UNSUBSCRIBED)
    return ended
