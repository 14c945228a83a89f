"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from postroad.cli.input.message_options import parse_moment, to_microseconds

START = datetime(2038, 6, 1, tzinfo=UTC)  # a float has too few digits for some microseconds then


@pytest.mark.parametrize("microsecond", range(0, 1_000_000, 9_973))
def test_a_time_is_exact_to_the_microsecond(microsecond: int) -> None:
    moment = START + timedelta(microseconds=microsecond)
    expected = to_microseconds(START) + microsecond
    assert to_microseconds(parse_moment(moment.isoformat())) == expected
