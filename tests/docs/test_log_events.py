"""Every line of the server's log has an event name of its own, and the reference page lists them all."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from scripts.log_events_page import EVENT, find_calls
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "reference" / "log-events.md"


@pytest.mark.req("O4")
def test_every_log_call_names_its_event() -> None:
    calls = list(find_calls())
    assert len(calls) > 60
    assert [f"{call.module}:{call.line} {call.text}" for call in calls if not EVENT.fullmatch(call.text)] == []


def test_a_line_that_names_an_id_has_it_as_a_field() -> None:
    naming = [call for call in find_calls() if re.search(r"\b(session|batch|entry|incident) %", call.text)]
    assert len(naming) > 10
    assert [f"{call.module}:{call.line} {call.text}" for call in naming if not call.has_fields] == []


def test_an_event_is_written_in_one_place() -> None:
    names = Counter(found[1] for call in find_calls() if (found := EVENT.fullmatch(call.text)))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_page_lists_exactly_these_events() -> None:
    listed = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", PAGE.read_text(), re.MULTILINE))
    assert listed == {found[1] for call in find_calls() if (found := EVENT.fullmatch(call.text))}
