"""Envelopes that repeat: reading a post by its shape gives what reading it again would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.post_shapes import MAX_SHAPES, cut_post
from postroad.core.model.message import Argument, Message, Part, Recipient
from postroad.errors import Refused

ORDER = Part(id="1", content_type="application/xml", data=b"<order/>")


def post(**fields: object) -> Message:
    return Message(**({"to": (Recipient("Acme/Supply"),), "parts": (ORDER,)} | fields))  # type: ignore[arg-type]


@given(st.lists(st.text('ab<>&":/ Handle', max_size=12), min_size=2, max_size=6))
def test_posts_that_differ_in_their_handle_keep_it(handles: list[str]) -> None:
    for handle in handles:
        message = post(handle=handle)
        assert SOAP11.decode_post(SOAP11.encode_post(message)) == message
        assert SOAP12.decode_post(SOAP12.encode_post(message)) == message


@pytest.mark.parametrize("tricky", [":Handle>", "a:Handle>b", "x:Handle&gt;", ":Document", "<pr:Handle>"])
def test_a_handles_tag_inside_a_value_is_not_a_handle(tricky: str) -> None:
    for other in ("first", "second"):
        message = post(to=(Recipient("Acme/Supply", (Argument(tricky, other),)),), topic=tricky + other, handle=other)
        assert SOAP11.decode_post(SOAP11.encode_post(message)) == message


def test_more_shapes_than_are_kept_change_nothing() -> None:
    for number in range(MAX_SHAPES * 2 + 3):
        message = post(topic=f"topic {number}", handle="h")
        assert SOAP11.decode_post(SOAP11.encode_post(message)) == message


def test_limits_hold_for_a_shape_that_was_read_under_others() -> None:
    wire = SOAP11.encode_post(post(topic="t" * 50, handle="h"))
    SOAP11.decode_post(wire, WireLimits())
    with pytest.raises(Refused):
        SOAP11.decode_post(wire, WireLimits(text_chars=10))
    narrow = WireLimits(text_chars=60)
    SOAP11.decode_post(wire, narrow)
    with pytest.raises(Refused):
        SOAP11.decode_post(wire.replace(b">h<", b">" + b"h" * 61 + b"<"), narrow)


def test_a_post_without_parts_or_with_a_long_head_is_not_cut() -> None:
    assert cut_post(SOAP11.encode_post(post(parts=()))) is None
    assert cut_post(SOAP11.encode_post(post(topic="t" * 4_096))) is None


@pytest.mark.parametrize(
    "document",
    [
        b"<a/></pr:Xml></pr:Document><pr:Document><pr:Xml><b/>",
        b"<a></a><b/>",
        b"<pr:order/>",
        b"text",
        b"<a>",
        b"<!--</pr:Xml>--><a/>",
        b"<a xmlns:pr='urn:x'><pr:Xml></pr:Xml></a>",
    ],
)
def test_a_document_cannot_reach_out_of_a_known_shape(document: bytes) -> None:
    """Whatever stands in the document's place, a fresh reader and one that knows the shape say the same."""
    wire = SOAP11.encode_post(post(handle="h")).replace(b"<order/>", document)
    fresh, known = WireLimits(), WireLimits()
    SOAP11.decode_post(SOAP11.encode_post(post(handle="g")), known)

    def outcome(limits: WireLimits) -> object:
        try:
            return SOAP11.decode_post(wire, limits)
        except Refused as refusal:
            return refusal.code

    assert outcome(known) == outcome(fresh)
