"""Mediation, whatever the message: what a format can carry is found again, and what it cannot is said."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postroad.core.mediation.entities import reads_as_attachment
from postroad.core.mediation.looking import look
from postroad.core.mediation.part_names import one_line, written_id
from postroad.core.mediation.rooted import _bare, is_envelope
from postroad.core.mediation.translating import give, take
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from tests.unit.core.mediation.strategies import READABLE, messages, outgoing_of, wire_of

FORMATS = st.sampled_from(READABLE)
SYNONYMS = {"text/xml": "application/xml", "text/xml; charset=utf-8": "application/xml"}


def same_type(before: str, after: str) -> bool:
    return SYNONYMS.get(before, before) == SYNONYMS.get(after, after)


def said_of(part: Part, dropped: tuple[str, ...]) -> str:
    """All sentences about a part."""
    names = (f"part {part.id}: ", f"part {written_id(part.id)}: ")
    return "\n".join(sentence for sentence in dropped if sentence.startswith(names))


def check_said(before: Part, after: Part, dropped: tuple[str, ...]) -> None:
    said = said_of(before, dropped)
    assert before.id == after.id or "its id" in said
    assert same_type(before.content_type, after.content_type) or "its type" in said
    assert before.expires_at_us == after.expires_at_us or "its expiration" in said
    assert before.attachment == after.attachment or "that it is a" in said
    found = {name.lower(): value for name, value in after.headers}
    for name, value in before.headers:
        is_flag = name == "Content-Disposition" and value == "attachment" and after.attachment
        assert found.pop(name.lower(), None) == value or f"{name} has no place" in said or is_flag
    assert not found  # nothing is made up
    assert after.data in (before.data, _bare(before.data))


@pytest.mark.req("T3", "T9")
@given(parts=messages(), format=FORMATS)
@settings(max_examples=1500, deadline=None)
def test_what_is_lost_is_said(parts: tuple[Part, ...], format: Format) -> None:
    given = give(outgoing_of(parts), format)
    taken = take(wire_of(given))
    if taken.format is not format:
        assert format is Format.MIME
        assert len(parts) == 1
        return
    assert len(taken.parts) == len(parts)
    is_ordered_anew = any("beside its Content-Disposition" in sentence for sentence in given.dropped)
    expected = sorted(parts, key=reads_as_attachment) if is_ordered_anew else parts
    for before, after in zip(expected, taken.parts, strict=True):
        check_said(before, after, given.dropped)
