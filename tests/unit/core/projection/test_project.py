"""The projection is total, keeps to the shapes it announces, and does not care how a journal is cut."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from postroad.core.model.journal import Entry
from postroad.core.projection.project import PROJECTORS, project, unique_keys
from postroad.core.projection.tables import STATEMENTS, Changes
from postroad.testing.index_story import STORY
from postroad.testing.journals import as_records, cuts, journals


def test_every_kind_of_entry_is_projected() -> None:
    assert set(PROJECTORS) == set(Entry.__args__)


def test_the_story_has_every_kind_of_entry_and_makes_every_kind_of_change() -> None:
    assert {type(entry) for entry in STORY} == set(Entry.__args__)
    assert set(project(as_records(STORY))) == set(STATEMENTS)


@given(journals())
def test_changes_have_the_announced_shape(entries: list[Entry]) -> None:
    for name, rows in project(as_records(entries)).items():
        assert {len(row) for row in rows} <= {len(STATEMENTS[name])}


@given(st.data(), journals())
def test_the_cut_does_not_matter(data: st.DataObject, entries: list[Entry]) -> None:
    records = as_records(entries)
    in_pieces: Changes = defaultdict(list)
    start = 0
    for end in data.draw(cuts(len(records))):
        for name, rows in project(records[start:end]).items():
            in_pieces[name] += rows
        start = end
    assert in_pieces == project(records)


@given(journals())
def test_every_unique_key_of_an_entry_is_remembered(entries: list[Entry]) -> None:
    seen = {(key, seq) for key, _, seq, _ in project(as_records(entries)).get("insert_seen", [])}
    assert seen == {(key, seq) for seq, entry in enumerate(entries, 1) for key in unique_keys(entry)}


def test_a_new_delivery_is_a_blank_one() -> None:
    """The indexes rely on it: they store zeros for a new delivery without looking at the row."""
    columns = STATEMENTS["insert_delivery"]
    blank = (
        "state",
        "attempts",
        "leased_at_us",
        "available_at_us",
        "settled_at_us",
        "reason",
        "lease_seq",
        "settle_seq",
    )
    for row in project(as_records(STORY))["insert_delivery"]:
        assert not any(row[columns.index(column)] for column in blank)
