"""What a message is known by follows from its entry, and values that mean the same are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.model.interchange import AssembledInterchange, DocumentPosition, DrawnNumber
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.message import Property
from postroad.core.model.part_facts import MessageArrival
from postroad.core.projection.search_keys import (
    document_key,
    list_search_keys,
    matching_search_keys,
    normalize_value,
    search_key_hash,
    search_key_hashes,
)
from postroad.testing.contracts.index.story import STORY
from postroad.testing.random_journals.journals import make_plain_posts

[PLAIN] = [replace(post, handle="", keys=()) for post in make_plain_posts(1)]
NUMBERS = tuple(
    DrawnNumber(f"x12:A:B:{scope}", number) for scope, number in (("interchange", 7), ("group", 8), ("member", 9))
)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("PO-4711", "po-4711"),
        ("000000042", "42"),
        ("0", "000"),
        ("<1@acme.example>", "1@ACME.example"),
        ("  Straße ", "STRASSE"),
        ("x" * 300, "X" * 201),
    ],
)
def test_values_that_mean_the_same_are_the_same(written: str, asked: str) -> None:
    assert normalize_value(written) == normalize_value(asked)
    assert search_key_hash(written) == search_key_hash(asked)


@pytest.mark.parametrize(("one", "other"), [("007a", "7a"), ("4711", "4712"), ("", "0"), ("PO 1", "PO1")])
def test_values_that_differ_stay_apart(one: str, other: str) -> None:
    assert normalize_value(one) != normalize_value(other)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (PLAIN, []),
        (replace(PLAIN, handle="h"), [("handle", "h")]),
        (replace(PLAIN, search_keys=(("order", "1"), ("order", "2"))), [("order", "1"), ("order", "2")]),
        (replace(PLAIN, arrival=MessageArrival(message_id="<m@x>")), [("Message-ID", "<m@x>")]),
        (replace(PLAIN, arrival=MessageArrival()), []),
        (
            replace(
                PLAIN,
                properties=(Property("document.reference", "D"), Property("region", "R"), Property("batch.id", "b")),
            ),
            [("reference", "D"), ("batch", "b")],
        ),
        (
            replace(PLAIN, assembled=AssembledInterchange("x12", NUMBERS)),
            [("control number", "7"), ("control number", "8")],
        ),
        (MessageRefused(1, "s", "a", "code", "", 1, "json", "h"), [("handle", "h")]),
    ],
)
def test_a_post_is_known_by_what_it_says_of_itself(
    entry: MessagePosted | MessageRefused, expected: list[tuple[str, str]]
) -> None:
    assert list(list_search_keys(entry)) == expected
    assert set(search_key_hashes(entry)) == {search_key_hash(value) for _, value in expected}


def test_an_interchange_is_kept_under_its_documents_where_answers_name_nothing_else() -> None:
    """People do not find it by these."""
    documents = (
        DocumentPosition(1, "", reference="007"),
        DocumentPosition(2, "", reference="B", facts=(("user_reference", "U"),)),
        DocumentPosition(3, ""),
    )
    numbers = (DrawnNumber("swift:A:B:interchange", 5),)
    named = replace(PLAIN, assembled=AssembledInterchange("swift", numbers, None, documents, by_document=True))
    own = {search_key_hash("5")}
    assert set(search_key_hashes(named)) == own | {document_key("swift:A:B:member", name) for name in ("7", "B", "U")}
    assert matching_search_keys(named, "B") == ()
    assert document_key("swift:A:B:", "7") != document_key("swift:A:C:", "7")
    for without in (
        AssembledInterchange("swift", numbers, None, documents),
        AssembledInterchange("swift", (), None, documents, True),
    ):
        assert set(search_key_hashes(replace(PLAIN, assembled=without))) <= own


def test_what_only_shares_a_hash_is_not_taken_for_it() -> None:
    assert search_key_hash("plumless") == search_key_hash("buckeroo")
    assert matching_search_keys(replace(PLAIN, handle="plumless"), "buckeroo") == ()
    assert matching_search_keys(replace(PLAIN, handle="A", search_keys=(("order", "a"),)), "a") == ("handle", "order")


@given(st.text(alphabet=st.characters(), max_size=300))
def test_every_text_can_be_looked_for(text: str) -> None:
    assert 0 <= search_key_hash(text) < 1 << 32
    assert matching_search_keys(replace(PLAIN, handle=text or "x"), text or "x") == ("handle",)


def test_what_a_story_tells_is_found_again() -> None:
    posts = [entry for entry in STORY if isinstance(entry, MessagePosted)]
    assert all(matching_search_keys(entry, value) for entry in posts for _, value in list_search_keys(entry))
