"""What one message costs, before its month is rated: exact where it can be, and never too low."""

from __future__ import annotations

import pytest

from postroad.core.billing.charges import rate_uses
from postroad.core.billing.quotes import Quote, list_quotes
from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import BillingSettings, PriceShares, Rate, Tariff
from postroad.core.model.message import MessageType
from tests.samples.billing_parties import OWNERS, SELLER, XSLT, hop, numbered, posted, returned
from tests.unit.core.billing.test_rating import tariff, tiers

pytestmark = pytest.mark.req("P3")

ENTRIES = numbered(posted((hop(XSLT), hop(SELLER)), size=2_500), returned(1, 0, 1))
PLAIN = tariff(
    message=Rate(
        per_message=tiers(("0.10", None)),
        per_kilobyte=tiers(("0.01", None)),
        shares=PriceShares(originator=60, recipient=40),
    ),
    invocation=Rate(per_message=tiers(("0.05", None)), vendor_percent=50),
)


def quoted(*tariffs: Tariff) -> list[Quote]:
    return list(list_quotes(list_uses(ENTRIES), tariffs, OWNERS, BillingSettings()))


def test_where_a_tariff_has_one_price_a_quote_is_what_will_be_charged() -> None:
    charged = [
        (one.organization, one.service, one.part, one.micros) for one in rate_uses(list_uses(ENTRIES), [PLAIN], OWNERS)
    ]
    assert [(one.organization, one.service, one.part, one.micros) for one in quoted(PLAIN)] == charged
    assert all(one.is_exact for one in quoted(PLAIN))


@pytest.mark.parametrize(
    "message",
    [
        Rate(per_message=tiers(("0.10", 100), ("0.02", None))),
        Rate(per_message=tiers(("0.10", None)), free_messages=1_000),
        Rate(per_message=tiers(("0.01", 5), ("0.10", None))),
    ],
)
def test_where_the_month_decides_it_is_quoted_at_most(message: Rate) -> None:
    [first, *_] = quoted(tariff(message=message))
    assert (first.micros, first.is_exact) == (100_000, False)


def test_what_is_free_costs_nothing_for_certain_and_without_a_tariff_nothing_is_said() -> None:
    [first, *_] = quoted(
        tariff(
            message=Rate(per_message=tiers(("1", 1), ("2", None)), free_messages=1),
            free_types=(MessageType.NOTIFICATION, MessageType.REQUEST),
        )
    )
    assert (first.micros, first.is_exact, first.currency) == (0, True, "EUR")
    assert quoted() == []
