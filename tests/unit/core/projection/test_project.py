"""The projection is total, keeps to the shapes it announces, and does not care how a journal is cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry
from postroad.core.projection.project import PROJECTORS, project
from postroad.core.projection.tables import (
    FIRST_DELIVERY,
    ONWARD_DELIVERY,
    STATEMENTS,
    TABLES,
    Changes,
    first_delivery,
    onward_delivery,
)
from postroad.core.projection.unique_keys import answer_key, handle_key, idempotency_key, post_keys, unique_keys
from postroad.testing.contracts.index.story import STORY
from postroad.testing.random_journals.journals import make_plain_posts, random_cuts, random_journals, to_records


def test_every_kind_of_entry_is_projected() -> None:
    assert set(PROJECTORS) == set(Entry.__args__)


def test_the_story_has_every_kind_of_entry_and_makes_every_kind_of_change() -> None:
    assert {type(entry) for entry in STORY} == set(Entry.__args__)
    assert set(project(to_records(STORY))) == set(STATEMENTS)


@given(random_journals())
def test_changes_have_the_announced_shape(entries: list[Entry]) -> None:
    for name, rows in project(to_records(entries)).items():
        assert {len(row) for row in rows} <= {len(STATEMENTS[name])}


@given(st.data(), random_journals())
def test_the_cut_does_not_matter(data: st.DataObject, entries: list[Entry]) -> None:
    records = to_records(entries)
    in_pieces: Changes = defaultdict(list)
    start = 0
    for end in data.draw(random_cuts(len(records))):
        for name, rows in project(records[start:end]).items():
            in_pieces[name] += rows
        start = end
    assert in_pieces == project(records)


@given(random_journals())
def test_every_unique_key_of_an_entry_is_remembered(entries: list[Entry]) -> None:
    seen = {(key, seq) for key, _, seq in project(to_records(entries)).get("insert_seen", [])}
    assert seen == {(key, seq) for seq, entry in enumerate(entries, 1) for key in unique_keys(entry)}


def test_the_keys_that_an_entry_brings_are_those_that_would_be_worked_out() -> None:
    [post] = make_plain_posts(1)
    assert post.keys == post_keys(post.sender, post.handle, post.idempotency)
    without = msgspec.structs.replace(post, keys=())
    assert unique_keys(without) == unique_keys(post) == list(post.keys)
    assert project(to_records([without]))["insert_seen"] == project(to_records([post]))["insert_seen"]


def test_a_post_has_a_key_for_each_thing_that_must_be_new() -> None:
    assert post_keys("a", "", "") == ()
    assert post_keys("a", "h", "i", 7) == (handle_key("a", "h"), idempotency_key("a", "i"), answer_key(7))


@pytest.mark.parametrize("whole", [first_delivery, onward_delivery])
def test_the_whole_row_of_a_new_delivery_has_what_was_given_and_is_otherwise_blank(
    whole: Callable[[tuple[Any, ...]], list[Any]],
) -> None:
    columns = FIRST_DELIVERY if whole is first_delivery else ONWARD_DELIVERY
    given = {column: delivery_number(9, 3) + place for place, column in enumerate(columns)}
    row = dict(zip(TABLES["delivery"], whole(tuple(given.values())), strict=True))
    assert {column: row.pop(column) for column in columns} == given
    if whole is first_delivery:
        assert [row.pop(column) for column in ("message_seq", "copy", "hop", "content_seq")] == [9, 3, 0, 9]
    assert not any(row.values())
