"""Three ways to the same bill: the reference, Spark (in test_charges.py), and DuckDB straight from the journal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from postroad.core.billing.charges import rate_uses
from postroad.core.billing.invoices import sum_charges
from postroad.core.billing.uses import list_uses
from postroad.core.model.journal import encode
from postroad.warehouse.billing.recount import recount_charges, sum_lines
from tests.samples.billing_journals import SERVICES, Made, journals

pytestmark = pytest.mark.req("P3")

NAMES = "seq, ordinal, part_number, kind, day, organization, service, part, tariff, currency, kilobytes, micros"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=journals(most=60))
def test_the_recount_comes_to_what_the_reference_charges(made: Made) -> None:
    charges = list(rate_uses(list_uses(made.entries), made.tariffs, SERVICES, made.books))
    connection = recount_charges((seq, encode(entry), 0) for seq, entry in made.entries)
    found = connection.execute(f"select {NAMES} from charges order by seq, ordinal, part_number").fetchall()
    assert found == [
        (
            *(charge.seq, charge.ordinal, charge.part_number, charge.kind.value, charge.day, charge.organization),
            *(charge.service, charge.part.value, charge.tariff, charge.currency, charge.kilobytes, charge.micros),
        )
        for charge in charges
    ]
    assert sum_lines(connection) == sum_charges(charges)
    floats = "select table_name, column_name from information_schema.columns where data_type in ('DOUBLE', 'FLOAT')"
    assert connection.execute(floats).fetchall() == []
