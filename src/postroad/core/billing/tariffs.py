"""Selects the tariff of an organization in a month, and finds contradictions between tariffs.

Rule: in any month at most one version of one tariff applies to an organization: the one that names it, or else the
one that names no organization. So a price depends on the month alone, and never on the order of tariffs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from postroad.core.model.billing import Rate, Tariff, Use, UseKind

ALL_ORGANIZATIONS = ""


def list_in_force(tariffs: Iterable[Tariff], period: str) -> list[Tariff]:
    """Return the tariff versions valid in a month, at most one of each name."""
    newest: dict[str, Tariff] = {}
    for tariff in tariffs:
        name = tariff.name.casefold()
        known = newest.get(name)
        if tariff.valid_from <= period and (known is None or known.valid_from < tariff.valid_from):
            newest[name] = tariff
    return [tariff for tariff in newest.values() if not tariff.valid_until or period <= tariff.valid_until]


def tariffs_by_organization(tariffs: Iterable[Tariff], period: str) -> dict[str, Tariff]:
    """Return the tariff of each organization; the empty name means all others."""
    found: dict[str, Tariff] = {}
    for tariff in list_in_force(tariffs, period):
        for name in tariff.organizations or (ALL_ORGANIZATIONS,):
            found[name] = tariff
    return found


def tariff_of(held: Mapping[str, Tariff], organization: str) -> Tariff | None:
    return held.get(organization) or held.get(ALL_ORGANIZATIONS)


def rate_of(tariff: Tariff, use: Use) -> tuple[str, Rate]:
    """The rate of a use, and the name under which its allowances and tiers are counted."""
    if use.kind is UseKind.MESSAGE:
        return UseKind.MESSAGE.value, tariff.message
    service = use.transit[0].service
    if service in tariff.services:
        return service, tariff.services[service]
    return UseKind.INVOCATION.value, tariff.invocation


def find_contradictions(tariffs: Iterable[Tariff]) -> Iterator[tuple[Tariff, str]]:
    """Tariffs that hold for the same organization in the same month, each with what is wrong."""
    tariffs = list(tariffs)
    for period in sorted({tariff.valid_from for tariff in tariffs}):
        seen: dict[str, Tariff] = {}
        for tariff in sorted(list_in_force(tariffs, period), key=lambda one: (one.valid_from, one.name)):
            for name in tariff.organizations or (ALL_ORGANIZATIONS,):
                other = seen.setdefault(name, tariff)
                if other is not tariff:
                    others = name or "all other organizations"
                    yield tariff, f"in {period} the tariff {other.name} also applies to {others}; end one of them"
