"""What a message is known by follows from its entry, and values that mean the same are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.model.interchange import Assembled, Drawn, Filed
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.message import Property
from postroad.core.model.part_facts import Came
from postroad.core.projection.found_by import document_key, found_key, found_keys, is_known_by, known_by, normal
from postroad.testing.index_story import STORY
from postroad.testing.journals import plain_posts

[PLAIN] = [replace(post, handle="", keys=()) for post in plain_posts(1)]
NUMBERS = tuple(
    Drawn(f"x12:A:B:{scope}", number) for scope, number in (("interchange", 7), ("group", 8), ("member", 9))
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
    assert normal(written) == normal(asked)
    assert found_key(written) == found_key(asked)


@pytest.mark.parametrize(("one", "other"), [("007a", "7a"), ("4711", "4712"), ("", "0"), ("PO 1", "PO1")])
def test_values_that_differ_stay_apart(one: str, other: str) -> None:
    assert normal(one) != normal(other)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (PLAIN, []),
        (replace(PLAIN, handle="h"), [("handle", "h")]),
        (replace(PLAIN, found_by=(("order", "1"), ("order", "2"))), [("order", "1"), ("order", "2")]),
        (replace(PLAIN, came=Came(message_id="<m@x>")), [("Message-ID", "<m@x>")]),
        (replace(PLAIN, came=Came()), []),
        (
            replace(
                PLAIN,
                properties=(Property("document.reference", "D"), Property("region", "R"), Property("batch.id", "b")),
            ),
            [("reference", "D"), ("batch", "b")],
        ),
        (replace(PLAIN, assembled=Assembled("x12", NUMBERS)), [("control number", "7"), ("control number", "8")]),
        (MessageRefused(1, "s", "a", "code", "", 1, "json", "h"), [("handle", "h")]),
    ],
)
def test_a_post_is_known_by_what_it_says_of_itself(
    entry: MessagePosted | MessageRefused, expected: list[tuple[str, str]]
) -> None:
    assert list(known_by(entry)) == expected
    assert set(found_keys(entry)) == {found_key(value) for _, value in expected}


def test_an_interchange_is_kept_under_its_documents_where_answers_name_nothing_else() -> None:
    """People do not find it by these."""
    documents = (
        Filed(1, "", reference="007"),
        Filed(2, "", reference="B", facts=(("user_reference", "U"),)),
        Filed(3, ""),
    )
    numbers = (Drawn("swift:A:B:interchange", 5),)
    named = replace(PLAIN, assembled=Assembled("swift", numbers, None, documents, by_document=True))
    own = {found_key("5")}
    assert set(found_keys(named)) == own | {document_key("swift:A:B:member", name) for name in ("7", "B", "U")}
    assert is_known_by(named, "B") == ()
    assert document_key("swift:A:B:", "7") != document_key("swift:A:C:", "7")
    for without in (Assembled("swift", numbers, None, documents), Assembled("swift", (), None, documents, True)):
        assert set(found_keys(replace(PLAIN, assembled=without))) <= own


def test_what_only_shares_a_hash_is_not_taken_for_it() -> None:
    assert found_key("plumless") == found_key("buckeroo")
    assert is_known_by(replace(PLAIN, handle="plumless"), "buckeroo") == ()
    assert is_known_by(replace(PLAIN, handle="A", found_by=(("order", "a"),)), "a") == ("handle", "order")


@given(st.text(alphabet=st.characters(), max_size=300))
def test_every_text_can_be_looked_for(text: str) -> None:
    assert 0 <= found_key(text) < 1 << 32
    assert is_known_by(replace(PLAIN, handle=text or "x"), text or "x") == ("handle",)


def test_what_a_story_tells_is_found_again() -> None:
    posts = [entry for entry in STORY if isinstance(entry, MessagePosted)]
    assert all(is_known_by(entry, value) for entry in posts for _, value in known_by(entry))
