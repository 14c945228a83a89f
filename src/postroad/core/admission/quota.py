"""Quotas: how many messages and bytes of an organization may wait, and the largest message size.

Waiting messages are charged to the sender, never to the receiver, so no one can use up another's quota. Rule: pure
arithmetic; the account never shows less than what is stored, and exactly that after a refresh without pending posts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.model.directory import OrganizationLimits, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused


class Allowance(NamedTuple):
    """The quota of one service's posts; 0 means no limit."""

    message_bytes: int
    stored_bytes: int  # of the whole organization
    queued_messages: int  # of the whole organization
    own_queued_messages: int  # of this service


class QuotaAmount(NamedTuple):
    """The number of waiting deliveries, and the bytes of their messages."""

    queued_messages: int = 0
    stored_bytes: int = 0


class QuotaCharge(NamedTuple):
    """The quota that one post uses."""

    organization: str  # casefolded
    service: str  # GCID
    amount: QuotaAmount


UNLIMITED = Allowance(0, 0, 0, 0)


def allowance_of(sender: Service, directory: Directory, usual: OrganizationLimits) -> Allowance:
    """Return the quota of the sender; cached in the directory snapshot."""
    key = ("allowance", sender.gcid)
    known: Allowance | None = directory.cache.get(key)
    if known is None:
        known = directory.cache[key] = _allowance_of(sender, directory, usual)
    return known


def _allowance_of(sender: Service, directory: Directory, usual: OrganizationLimits) -> Allowance:
    limits = limits_of(sender.organization, directory, usual)
    sizes = [size for size in (limits.message_bytes, sender.limits.message_bytes) if size]
    return Allowance(min(sizes, default=0), limits.stored_bytes, limits.queued_messages, sender.limits.queued_messages)


def limits_of(organization: str, directory: Directory, usual: OrganizationLimits) -> OrganizationLimits:
    """Return the limits set for the organization, and the network's defaults where none are set."""
    found = directory.organization(organization)
    own = found.limits if found is not None else OrganizationLimits()
    return OrganizationLimits(
        message_bytes=own.message_bytes or usual.message_bytes,
        stored_bytes=own.stored_bytes or usual.stored_bytes,
        queued_messages=own.queued_messages or usual.queued_messages,
    )


def check_size(size: int, allowance: Allowance) -> None:
    if allowance.message_bytes and size > allowance.message_bytes:
        raise Refused(
            "wire.too-large",
            f"The message has {size} bytes, and {allowance.message_bytes} are allowed for this sender; split it, "
            "or ask the network's operator for a higher limit",
        )


class QuotaAccount:
    """Tracks the quota that organizations and services use: last index totals, later writes, pending posts."""

    def __init__(self) -> None:
        self._looked: Counter[tuple[str, str]] = Counter()
        self._since: Counter[tuple[str, str]] = Counter()
        self._under_way: Counter[tuple[str, str]] = Counter()
        self._while_looking: Counter[tuple[str, str]] | None = None

    def amount(self, organization: str) -> QuotaAmount:
        """Return what an organization uses now."""
        return QuotaAmount(self._sum("queued", organization), self._sum("stored", organization))

    def excess(self, charge: QuotaCharge, allowance: Allowance) -> str:
        """Return why the charge does not fit and what to do; empty if it fits."""
        held, more = self.amount(charge.organization), charge.amount
        own = self._sum("own", charge.service)
        limits = (
            (held.stored_bytes, more.stored_bytes, allowance.stored_bytes, "waiting bytes"),
            (held.queued_messages, more.queued_messages, allowance.queued_messages, "waiting deliveries"),
            (own, more.queued_messages, allowance.own_queued_messages, "waiting deliveries of this service"),
        )
        return next((_excess(*limit) for limit in limits if limit[2] and sum(limit[:2]) > limit[2]), "")

    def begin(self, charge: QuotaCharge) -> None:
        self._under_way.update(_entries(charge))

    def end(self, charge: QuotaCharge, *, written: bool) -> None:
        """Settle a pending charge; ``written`` is True if the post was stored."""
        for key, amount in _entries(charge).items():
            self._under_way[key] -= amount
            if not self._under_way[key]:
                del self._under_way[key]
        if written:
            self._since.update(_entries(charge))
            if self._while_looking is not None:
                self._while_looking.update(_entries(charge))

    def begin_refresh(self) -> None:
        """Begin a refresh from the index; charges written from now on are kept separately until it ends."""
        self._while_looking = Counter()

    def end_refresh(self, charges: Iterable[QuotaCharge] | None) -> None:
        """End a refresh with the totals from the index; None if the query failed."""
        if charges is not None and self._while_looking is not None:
            self._looked = Counter()
            for charge in charges:
                self._looked.update(_entries(charge))
            self._since = self._while_looking
        self._while_looking = None

    def _sum(self, what: str, who: str) -> int:
        return self._looked[what, who] + self._since[what, who] + self._under_way[what, who]


def _excess(held: int, more: int, most: int, what: str) -> str:
    if more > most:  # cannot fit, even later
        return f"The message takes {more} of at most {most} {what}; split it, or ask the network's operator for a higher limit"
    remedy = "post again when recipients have received your messages, or ask the network's operator for a higher limit"
    return f"{held} of {most} {what} are used; {remedy}"


def _entries(charge: QuotaCharge) -> dict[tuple[str, str], int]:
    queued, stored = charge.amount
    return {
        ("queued", charge.organization): queued,
        ("stored", charge.organization): stored,
        ("own", charge.service): queued,
    }
