"""Usage counts what the uses say, by hand and against the reference."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from postroad.core.billing.calendar import day_of
from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import Use, UseKind
from postroad.warehouse.billing.price_list import owners
from postroad.warehouse.landing.log_frame import log_frame
from postroad.warehouse.marts.usage import GRAIN, LARGEST, SIZE_CLASSES, usage
from tests.samples.billing_journals import SERVICES, Made, journals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.req("P3")


def roles(use: Use) -> list[tuple[str, str]]:
    if use.kind is UseKind.INVOCATION:
        return [(use.transit[0].service, "in transit")]
    return [(use.originator, "sender"), (use.recipient.service, "recipient")]


def size_class(size: int) -> str:
    return next((name for most, name in SIZE_CLASSES if size <= most), LARGEST)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=journals(most=60))
def test_usage_is_one_row_per_service_role_day_and_size_class(spark: SparkSession, made: Made) -> None:
    log = log_frame(spark, [entry for _, entry in made.entries])
    zone = made.books.time_zone
    expected: Counter[tuple[object, ...]] = Counter()
    sizes: Counter[tuple[object, ...]] = Counter()
    for use in list_uses(made.entries):
        for service, role in roles(use):
            key = (SERVICES[service], service, role, day_of(use.at_us, zone), size_class(use.size))
            expected[key] += 1
            sizes[key] += use.size
    found = usage(log, owners(log), zone).collect()
    assert {tuple(row[name] for name in GRAIN): row["messages"] for row in found} == expected
    assert {tuple(row[name] for name in GRAIN): row["bytes"] for row in found} == dict(sizes)
    assert len(found) == len(expected)
