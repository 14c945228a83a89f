"""The reference page of traces lists every span, attribute and event that the code can make, and no others."""

from __future__ import annotations

import re

import pytest

from tests.source_tree import ROOT

CODE = (ROOT / "src/postroad/core/telemetry/spans.py").read_text()
PAGE = (ROOT / "docs/reference/traces.md").read_text()
ATTRIBUTE = re.compile(r"(?:messaging|postroad|http|error)\.[a-z_.]+[a-z]")


@pytest.mark.req("O4")
def test_every_attribute_is_on_the_page() -> None:
    made = {name for name in re.findall(r'"([a-z_.]+)"', CODE) if ATTRIBUTE.fullmatch(name)}
    assert len(made) > 15
    assert made == set(re.findall(rf"`({ATTRIBUTE.pattern})`", PAGE))


def test_every_operation_and_event_is_on_the_page() -> None:
    operations = set(re.findall(r'_operation\("(\w+)"', CODE)) | {"invoke", "deliver", "push", "settle", "expire"}
    row = re.search(r"`messaging.operation.name` \| all \| (.*) \|", PAGE)
    assert row is not None
    assert operations == set(row[1].split(", "))
    events = set(re.findall(r'SpanEvent\(entry.at_us, "([\w ]+)"', CODE))
    listed = PAGE[PAGE.index("| Event | On |") :]
    assert events == {
        name for line in listed.splitlines()[2:] for name in re.findall(r"`([a-z ]+)`", line.partition(" | ")[0])
    }
