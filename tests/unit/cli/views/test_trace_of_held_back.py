"""A trace says of what is held back that it is, and until when: on the wire, to a client, and in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.api.resources.message_views import status_view, trace_view
from postroad.core.model.history import History, ReleaseHold
from postroad.core.resources.histories import HeldBackView
from tests.unit.cli.views.test_trace_of_batches import lines, told

pytestmark = pytest.mark.req("X9")


def held(until_us: int) -> History:
    found = told(state="queued")
    [stop] = found.messages[0].copies[0].stops
    found.messages[0].copies[0].stops = [replace(stop, events=[], held=ReleaseHold(until_us=until_us))]
    return found


@pytest.mark.parametrize(
    ("until_us", "words"),
    [
        (3_000_000, "waits for release until 1970-01-01T00:00:03Z at the latest"),
        (0, "waits for release until enough messages wait, or Acme/orders requests it"),
    ],
)
def test_a_trace_shows_until_when_a_message_is_held(until_us: int, words: str) -> None:
    found = held(until_us)
    [view] = trace_view(found, shows_counters=True).messages[0].copies[0].stops
    assert view.held == HeldBackView(until="1970-01-01T00:00:03Z" if until_us else None)
    assert view.held.until_us == until_us
    assert words in lines(found)
    [status] = status_view(found.messages[0]).recipients
    assert (status.state, status.in_words) == ("queued", "waiting for release at Acme/orders")


def test_what_just_waits_does_not() -> None:
    [view] = trace_view(told(state="queued"), shows_counters=True).messages[0].copies[0].stops
    assert view.held is None
    assert not [line for line in lines(told(state="queued")) if "held back" in line]
