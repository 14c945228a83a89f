"""Mediation, whatever the message: what a format can carry is found again, and what it cannot is said."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.codecs.mime import read_entity
from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.mime_entities import reads_as_attachment
from postroad.core.mediation.mime_format import decode_entity
from postroad.core.mediation.part_names import encode_id
from postroad.core.mediation.soap_root import strip_prolog
from postroad.core.mediation.wrapper import pack_wrapper, unpack_wrapper
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from tests.samples.mediation_strategies import READABLE, messages, outgoing_of, wire_of

FORMATS = st.sampled_from(READABLE)
SYNONYMS = {"text/xml": "application/xml", "text/xml; charset=utf-8": "application/xml"}


def same_type(before: str, after: str) -> bool:
    return SYNONYMS.get(before, before) == SYNONYMS.get(after, after)


def said_of(part: Part, dropped: tuple[str, ...]) -> str:
    """All sentences about a part."""
    names = (f"part {part.id}: ", f"part {encode_id(part.id)}: ")
    return "\n".join(sentence for sentence in dropped if sentence.startswith(names))


def check_said(before: Part, after: Part, dropped: tuple[str, ...]) -> None:
    said = said_of(before, dropped)
    assert before.id == after.id or "its id" in said.casefold()
    assert same_type(before.content_type, after.content_type) or "its type" in said
    assert before.expires_at_us == after.expires_at_us or "its expiration" in said
    assert before.attachment == after.attachment or "that it is a" in said
    found = {name.lower(): value for name, value in after.headers}
    for name, value in before.headers:
        is_flag = name == "Content-Disposition" and value == "attachment" and after.attachment
        assert found.pop(name.lower(), None) == value or f"{name} cannot be represented" in said or is_flag
    assert not found  # nothing is made up
    assert after.data in (before.data, strip_prolog(before.data))


@pytest.mark.req("T3", "T9")
@given(parts=messages(), format=FORMATS)
@settings(max_examples=600, deadline=None)
def test_what_is_lost_is_said(parts: tuple[Part, ...], format: Format) -> None:
    given = encode_message(outgoing_of(parts), format)
    taken = decode_wire(wire_of(given))
    if taken.format is not format:
        assert format is Format.MIME
        assert len(parts) == 1
        return
    assert len(taken.parts) == len(parts)
    is_ordered_anew = any("beside its Content-Disposition" in sentence for sentence in given.dropped)
    expected = sorted(parts, key=reads_as_attachment) if is_ordered_anew else parts
    for before, after in zip(expected, taken.parts, strict=True):
        check_said(before, after, given.dropped)


@pytest.mark.req("T2")
@given(parts=messages(), format=FORMATS)
@settings(max_examples=250, deadline=None)
def test_what_is_given_is_recognised(parts: tuple[Part, ...], format: Format) -> None:
    given = encode_message(outgoing_of(parts), format)
    found = detect_format(wire_of(given))
    assume(len(parts) != 1 or format is not Format.MIME)  # a single document may well be of any format itself
    assert (found.format, found.note) == (format, "")


@pytest.mark.req("T3")
@given(parts=messages(), format=FORMATS, via=FORMATS)
@settings(max_examples=250, deadline=None)
def test_with_its_setting_a_message_is_given_again_to_the_byte(
    parts: tuple[Part, ...], format: Format, via: Format
) -> None:
    came = wire_of(encode_message(outgoing_of(parts), format))
    taken = decode_wire(came)
    assume(taken.format is format)
    wrapper = unpack_wrapper(pack_wrapper(taken.wrapper)) if taken.wrapper is not None else None
    encode_message(outgoing_of(taken.parts, wrapper=wrapper), via)  # changes nothing
    again = encode_message(outgoing_of(taken.parts, wrapper=wrapper), format)
    assert again.data == came.body
    assert again.media_type == came.content_type
    assert not again.dropped


@pytest.mark.req("T3", "T9")
@given(parts=messages(), format=FORMATS)
@settings(max_examples=250, deadline=None)
def test_without_its_setting_it_is_given_in_the_one_canonical_way(parts: tuple[Part, ...], format: Format) -> None:
    taken = decode_wire(wire_of(encode_message(outgoing_of(parts), format)))
    assume(taken.format is format)
    first = encode_message(outgoing_of(taken.parts), format)
    second = encode_message(outgoing_of(decode_wire(wire_of(first)).parts), format)
    assert (second.media_type, second.data) == (first.media_type, first.data)


@pytest.mark.req("T4", "T5", "T9")
@given(parts=messages())
@settings(max_examples=250, deadline=None)
def test_dime_and_soap_with_attachments_are_carried_into_each_other(parts: tuple[Part, ...]) -> None:
    for there, back in ((Format.SWA, Format.DIME), (Format.DIME, Format.SWA)):
        first = decode_wire(wire_of(encode_message(outgoing_of(parts), there)))
        second = decode_wire(wire_of(encode_message(outgoing_of(first.parts, wrapper=first.wrapper), back)))
        third = decode_wire(wire_of(encode_message(outgoing_of(second.parts, wrapper=second.wrapper), there)))
        assert [(part.id, part.data) for part in second.parts] == [(part.id, part.data) for part in first.parts]
        assert [(part.id, part.data) for part in third.parts] == [(part.id, part.data) for part in first.parts]
        for before, after in zip(first.parts, third.parts, strict=True):
            assert same_type(before.content_type, after.content_type)


@pytest.mark.req("T4", "T5")
@given(parts=messages())
@settings(max_examples=250, deadline=None)
def test_canonical_dime_is_a_fixed_point(parts: tuple[Part, ...]) -> None:
    taken = decode_wire(wire_of(encode_message(outgoing_of(parts), Format.DIME)))
    canonical = encode_message(outgoing_of(taken.parts), Format.DIME)
    assume(not any("that it is" in sentence for sentence in canonical.dropped))
    related = decode_wire(wire_of(encode_message(outgoing_of(taken.parts, wrapper=taken.wrapper), Format.SWA)))
    assert encode_message(outgoing_of(related.parts), Format.DIME).data == canonical.data


@pytest.mark.req("T6")
@given(parts=messages())
@settings(max_examples=300, deadline=None)
def test_an_entity_inside_as2_is_opened_again_as_it_was(parts: tuple[Part, ...]) -> None:
    assume(parts)
    given = encode_message(outgoing_of(parts), Format.AS2)
    entity = read_entity(given.entity_head + b"\r\n" + given.data)
    taken = decode_entity(entity, format=Format.AS2)
    again = encode_message(outgoing_of(taken.parts, wrapper=taken.wrapper), Format.AS2)
    assert again.entity_head == entity.head
    assert again.data == given.data
    assert sorted(part.data for part in taken.parts) == sorted(part.data for part in parts)


@pytest.mark.req("T6", "T9")
@given(parts=messages())
@settings(max_examples=250, deadline=None)
def test_soap_with_attachments_comes_back_from_as2(parts: tuple[Part, ...]) -> None:
    first = decode_wire(wire_of(encode_message(outgoing_of(parts), Format.SWA)))
    assume(first.parts)
    given = encode_message(replace(outgoing_of(first.parts, wrapper=first.wrapper), soap_body="keep"), Format.AS2)
    assume(not any("beside its Content-Disposition" in sentence for sentence in given.dropped))
    inside = decode_entity(read_entity(given.entity_head + b"\r\n" + given.data), format=Format.AS2)
    back = decode_wire(wire_of(encode_message(outgoing_of(inside.parts, wrapper=inside.wrapper), Format.SWA)))
    assert [part.id for part in back.parts] == [part.id for part in first.parts]
    for before, after in zip(first.parts, back.parts, strict=True):
        assert after.data in (before.data, strip_prolog(before.data))  # a document in a Body has nothing around it


@given(parts=messages(), changed=st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_a_changed_part_is_never_put_into_an_old_setting(parts: tuple[Part, ...], changed: int) -> None:
    assume(parts)
    taken = decode_wire(wire_of(encode_message(outgoing_of(parts), Format.SWA)))
    part = taken.parts[changed % len(taken.parts)]
    assume(part.data)
    altered = replace(part, data=bytes([part.data[0] ^ 1]) + part.data[1:])
    others = tuple(altered if one is part else one for one in taken.parts)
    again = decode_wire(wire_of(encode_message(outgoing_of(others, wrapper=taken.wrapper), Format.MIME)))
    assert sorted(one.data for one in again.parts) == sorted(one.data for one in others)
