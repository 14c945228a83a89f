"""Tariffs in a document: price plans below their names, each a list of versions with the month from which it holds.

Rule: money is written in quotes. A bare ``0.05`` would become an inexact binary fraction, so it is refused.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr, StringConstraints, model_validator

from postroad.core.configuration.shapes import Count, Line, Name, Prose, StrictShape, Word, unique
from postroad.core.model.billing import BillingSettings, PriceShares, Rate, Tariff, Tier
from postroad.core.model.message import MessageType
from postroad.core.model.snapshot import Directory


def _in_quotes(value: Any) -> Any:
    if isinstance(value, (int, float)):
        raise ValueError('write amounts in quotes, such as "0.05"')
    return value


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("must name a time zone, such as Europe/Berlin") from None
    return name


Price = Annotated[StrictStr, BeforeValidator(_in_quotes), StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?$")]
Month = Annotated[StrictStr, StringConstraints(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]
Currency = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Z]{3}$")]
Percent = Annotated[StrictInt, Field(ge=0, le=100)]
Zone = Annotated[StrictStr, Field(max_length=100), AfterValidator(_zone)]


class TierEntry(StrictShape):
    up_to: Annotated[Count | None, Field(description="Last unit per month at this price; omitted in the last tier")] = (
        None
    )
    price: Price


class SharesEntry(StrictShape):
    """Percent of a price that make 100 together."""

    originator: Percent = 0
    transit: Percent = 0
    recipient: Percent = 0

    @model_validator(mode="after")
    def check_whole(self) -> Self:
        if self.originator + self.transit + self.recipient != 100:
            raise ValueError("originator, transit and recipient must add up to 100 percent")
        return self


Prices = Annotated[Price | Annotated[tuple[TierEntry, ...], Field(max_length=100)], Field(union_mode="left_to_right")]


class RateEntry(StrictShape):
    """The price of one kind of use."""

    per_message: Annotated[Prices | None, Field(description="A price, or tiers of prices")] = None
    per_kilobyte: Annotated[Prices | None, Field(description="A price, or tiers of prices")] = None
    free_messages: Annotated[Count, Field(description="Free units per month, before the first tier")] = 0
    free_kilobytes: Annotated[Count, Field(description="Free units per month, before the first tier")] = 0
    shares: Annotated[SharesEntry | None, Field(description="Who pays it; default: the originator")] = None
    vendor_percent: Annotated[
        Percent, Field(description="Share of an invocation's price that the service's owner receives, in percent")
    ] = 0

    @model_validator(mode="after")
    def check_tiers(self) -> Self:
        for tiers in (self.per_message, self.per_kilobyte):
            if isinstance(tiers, tuple):
                _check_tiers(tiers)
        return self

    def rate(self) -> Rate:
        return Rate(
            per_message=_tiers(self.per_message),
            per_kilobyte=_tiers(self.per_kilobyte),
            free_messages=self.free_messages,
            free_kilobytes=self.free_kilobytes,
            shares=PriceShares(**self.shares.model_dump()) if self.shares else PriceShares(),
            vendor_percent=self.vendor_percent,
        )


class TariffEntry(StrictShape):
    """One version of a tariff."""

    valid_from: Annotated[Month, Field(alias="from", description="First month in which it applies")]
    valid_until: Annotated[Month | None, Field(alias="until", description="Last month in which it applies")] = None
    currency: Currency
    organizations: Annotated[
        tuple[Name, ...],
        AfterValidator(unique),
        Field(max_length=10_000, description="Organizations it applies to; default: all that no other tariff names"),
    ] = ()
    message: RateEntry | None = None
    invocation: Annotated[RateEntry | None, Field(description="Price of each invocation of an in-transit service")] = (
        None
    )
    services: Annotated[dict[Word, RateEntry], Field(max_length=10_000, default_factory=dict)]
    free_types: Annotated[tuple[MessageType, ...], AfterValidator(unique)] = ()
    description: Prose = ""

    @model_validator(mode="after")
    def check_period(self) -> Self:
        if self.valid_until and self.valid_until < self.valid_from:
            raise ValueError("until is before from")
        return self

    def tariff(self, name: str, organizations: tuple[str, ...], services: dict[str, Rate]) -> Tariff:
        return Tariff(
            name=name,
            valid_from=self.valid_from,
            valid_until=self.valid_until or "",
            currency=self.currency,
            organizations=organizations,
            message=self.message.rate() if self.message else Rate(),
            invocation=self.invocation.rate() if self.invocation else Rate(),
            services=services,
            free_types=self.free_types,
            description=self.description,
        )


class BooksEntry(StrictShape):
    """Who writes the invoices, where its months begin, and how long others have to pay."""

    seller: Line = BillingSettings().seller
    time_zone: Zone = BillingSettings().time_zone
    due_days: Annotated[StrictInt, Field(ge=0, le=365)] = BillingSettings().due_days

    def books(self) -> BillingSettings:
        return BillingSettings(**self.model_dump())


def _check_tiers(tiers: tuple[TierEntry, ...]) -> None:
    ends = [tier.up_to for tier in tiers[:-1]]
    known = [end for end in ends if end is not None]
    if not tiers or len(known) < len(ends) or tiers[-1].up_to is not None:
        raise ValueError("every tier but the last has upTo, and the last does not")
    if known != sorted(set(known)) or 0 in known:
        raise ValueError("each tier's upTo is greater than the one before")


def _tiers(prices: str | tuple[TierEntry, ...] | None) -> tuple[Tier, ...]:
    if prices is None:
        return ()
    if isinstance(prices, str):
        return (Tier(price=Decimal(prices)),)
    return tuple(Tier(price=Decimal(tier.price), up_to=tier.up_to) for tier in prices)


def tariff_entry(tariff: Tariff, directory: Directory | None = None) -> dict[str, Any]:
    """A tariff as a document writes it; services by address where the directory knows them."""
    known = directory.services if directory is not None else {}
    rates = {known[gcid].address if gcid in known else gcid: _rate(rate) for gcid, rate in tariff.services.items()}
    entry: dict[str, Any] = {
        "from": tariff.valid_from,
        "until": tariff.valid_until or None,
        "currency": tariff.currency,
        "organizations": list(tariff.organizations),
        "message": _rate(tariff.message),
        "invocation": _rate(tariff.invocation),
        "services": rates,
        "freeTypes": [kind.value for kind in tariff.free_types],
        "description": tariff.description,
    }
    return {name: value for name, value in entry.items() if value}


def _rate(rate: Rate) -> dict[str, Any]:
    shares = {"originator": rate.shares.originator, "transit": rate.shares.transit, "recipient": rate.shares.recipient}
    entry: dict[str, Any] = {
        "perMessage": _prices(rate.per_message),
        "perKilobyte": _prices(rate.per_kilobyte),
        "freeMessages": rate.free_messages,
        "freeKilobytes": rate.free_kilobytes,
        "shares": None if rate.shares == PriceShares() else {name: part for name, part in shares.items() if part},
        "vendorPercent": rate.vendor_percent,
    }
    return {name: value for name, value in entry.items() if value}


def _prices(tiers: tuple[Tier, ...]) -> str | list[dict[str, Any]] | None:
    if not tiers:
        return None
    if len(tiers) == 1 and tiers[0].up_to is None:
        return f"{tiers[0].price:f}"
    ends = [{} if tier.up_to is None else {"upTo": tier.up_to} for tier in tiers]
    return [end | {"price": f"{tier.price:f}"} for end, tier in zip(ends, tiers, strict=True)]
