"""Checks that every service on a route meets the security policies of the others.

A policy applies to the service's own connections, and to all other services that its messages pass. Their future connections are
not known when a message is posted, so only what is certain counts: a policy of their own, or a profile without weaker ones.
Rule: a refusal names a service only to parties that may know of it, and states what the owner of the policy can do.
"""

from __future__ import annotations

from collections.abc import Collection

from postroad.core.model.asset import Hosting
from postroad.core.model.caller import STRENGTH, Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    ConnectionPolicy,
    CredentialKind,
    DeliveryMode,
    Push,
    PushAuthentication,
    Service,
    Transport,
)
from postroad.errors import Refused

LEVELS = {
    CredentialKind.PASSWORD: AuthenticationLevel.PASSWORD,
    CredentialKind.KEY: AuthenticationLevel.KEY,
    CredentialKind.CERTIFICATE: AuthenticationLevel.CERTIFICATE,
}

# A signature proves this very message and its secret is never sent, so it counts as much as a client certificate.
PUSHED_LEVELS = {
    PushAuthentication.NONE: AuthenticationLevel.PASSWORD,
    PushAuthentication.BASIC: AuthenticationLevel.PASSWORD,
    PushAuthentication.BEARER: AuthenticationLevel.KEY,
    PushAuthentication.SIGNATURE: AuthenticationLevel.CERTIFICATE,
    PushAuthentication.CERTIFICATE: AuthenticationLevel.CERTIFICATE,
}

HIDDEN_SERVICE = "a hidden service on the route"


def is_https(url: str) -> bool:
    return url[:6].casefold() == "https:"


def pushed_level(push: Push) -> AuthenticationLevel:
    """Return how strongly a push authenticates both ends; plain http authenticates neither."""
    return PUSHED_LEVELS[push.authentication] if is_https(push.url) else AuthenticationLevel.PASSWORD


def promised_level(service: Service) -> AuthenticationLevel:
    """Return the weakest authentication by which messages reach this service, by its policy or its profile."""
    allowed = [LEVELS[kind] for kind in service.authentication]
    if service.push is not None and service.delivery is DeliveryMode.PUSH:
        allowed += map(pushed_level, service.push.places)
    weakest = min(allowed, key=STRENGTH.__getitem__)
    return max(weakest, service.policy.authentication, key=STRENGTH.__getitem__)


def check_policies(
    caller: Caller, sender: Service, others: tuple[Service, ...], kept: Collection[str] = frozenset()
) -> None:
    """Refuse a route on which a service does not meet another's policy; ``kept`` GCIDs are never named.

    Exceptions do not apply between these services and the sender: otherwise either could identify the other by its policy.
    """
    for service in (sender, *others):
        if service is sender or service.gcid in kept or not is_excepted(sender, service.policy):
            check_connection(caller, service, f"{_service_text(service, kept)} asks")
    check_promises(sender, others, kept)


def check_promises(sender: Service, others: tuple[Service, ...], kept: Collection[str] = frozenset()) -> None:
    """Check the policies that depend on profiles only, not on the current connection."""
    for one in (sender, *others):
        policy = one.policy
        asks_for_tls = policy.transport is Transport.TLS
        least = STRENGTH[policy.authentication]
        if not asks_for_tls and not least:
            continue
        for other in others:
            if other.hosted is not Hosting.NONE:
                continue  # hosted services are reached without a connection
            if is_excepted(other, policy) and not (one is sender and other.gcid in kept):
                continue
            if asks_for_tls and other.policy.transport is not Transport.TLS:
                raise _unsafe("policy.transport", "TLS for the whole route of its messages", one, other, kept)
            if least and STRENGTH[promised_level(other)] < least:
                asked = f"authentication of every service on the route with at least {policy.authentication.value}"
                raise _unsafe("policy.authentication", asked, one, other, kept)


def is_excepted(service: Service, policy: ConnectionPolicy) -> bool:
    """True if the owner of the policy exempts this service from it."""
    if not policy.except_for:
        return False
    named = {name.casefold() for name in policy.except_for}
    return not named.isdisjoint(service.names)


def check_connection(caller: Caller, service: Service, who: str) -> None:
    """Refuse a connection that is weaker than the service's policy."""
    if service.policy.transport is Transport.TLS and not caller.secure:
        raise Refused("policy.transport", f"{who} for TLS; connect with https")
    if STRENGTH[caller.level] < STRENGTH[service.policy.authentication]:
        raise Refused(
            "policy.authentication", f"{who} for authentication by {service.policy.authentication.value} at least"
        )


def _unsafe(code: str, asked: str, one: Service, other: Service, kept: Collection[str]) -> Refused:
    """Return the refusal: the policy, the service that does not meet it, and what to do, as the sender may know it."""
    asking = _service_text(one, kept)
    if one.gcid in kept or other.gcid in kept:
        remedy = "ask the recipient's owner to check its rules"
    else:
        field = "transport" if code == "policy.transport" else "authentication"
        remedy = (
            f"the owner of {other.address} can guarantee it with policy.{field}, or the owner of {asking} can exempt "
            f"{other.address} with policy.exceptFor"
        )
    return Refused(
        code, f"{_beginning(asking)} requires {asked}, which {_service_text(other, kept)} does not guarantee; {remedy}"
    )


def _service_text(service: Service, kept: Collection[str]) -> str:
    return HIDDEN_SERVICE if service.gcid in kept else service.address


def _beginning(words: str) -> str:
    return words[0].upper() + words[1:] if words == HIDDEN_SERVICE else words
