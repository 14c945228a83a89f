"""Parts that came by the network's native formats may have any name and description; no external format stumbles over that."""

from __future__ import annotations

import pytest

from postroad.core.codecs.dime import DimeRecord, TypeFormat, write_dime
from postroad.core.mediation.formats import decode_wire, encode_message, message_of
from postroad.core.mediation.model import EncodedMessage, OutgoingMessage, Wire
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Part
from tests.samples.external_messages import envelope, posted, related

INJECTED = "text/plain\r\nAuthorization: Basic x"


def given(format: Format, *parts: Part) -> EncodedMessage:
    return encode_message(OutgoingMessage(parts=parts, seed=b"seed"), format)


def wire_of(one: EncodedMessage) -> Wire:
    headers = [(name.lower(), value) for name, value in one.headers]
    return Wire([("content-type", one.media_type), *headers], one.data)


@pytest.mark.req("T9", "Z2")
@pytest.mark.parametrize("format", PLAIN)
@pytest.mark.parametrize("several", [False, True])
def test_no_id_or_type_brings_a_line_of_its_own(format: Format, several: bool) -> None:
    part = Part(id="a\nX-Evil: 1", content_type=INJECTED, data=b"data")
    more = (Part(id="zażółć", content_type="text/plain; charset=zażółć", data=b"more"),) if several else ()
    one = given(format, part, *more)
    for name, value in [("", one.media_type), *one.headers]:
        assert (name + value).isprintable()
        (name + value).encode("latin-1")
    assert b"\nAuthorization" not in one.data.replace(b"&#10;", b"")
    assert b"\nX-Evil" not in one.data


@pytest.mark.req("T9")
def test_ids_and_types_in_any_script_come_back_from_mime() -> None:
    parts = (
        Part(id="zażółć", content_type="text/plain; title=gęślą", data=b"1", headers=(("Content-Description", "jaźń"),)),
        Part(id="2", content_type="text/plain", data=b"2", attachment=True),
    )  # fmt: skip
    assert decode_wire(wire_of(given(Format.MIME, *parts))).parts == parts


@pytest.mark.req("Z2")
def test_only_what_describes_the_content_stands_beside_a_single_document() -> None:
    said = (("Content-Disposition", "inline"), ("Webhook-Signature", "v1,forged"))
    part = Part(id="1", content_type="text/plain", data=b"data", headers=said)
    one = given(Format.MIME, part)
    assert one.headers == (("Content-Disposition", "inline"),)
    assert "Webhook-Signature" in " ".join(one.dropped)


@pytest.mark.req("T3")
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_whole_message_with_a_header_of_its_own_is_given_as_it_came(end: bytes) -> None:
    body = b"Subject: order%bContent-Type: text/plain%b%b3 anvils" % (end, end, end)
    taken = decode_wire(Wire([("content-type", "message/rfc822")], body))
    one = encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, seed=b"seed"), Format.MIME)
    assert (one.media_type, one.data) == ("message/rfc822", body)


RECORDS = [
    DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="a/b", id=id, data=b"x") for id in ("", "cid:1", "cid:1.1", "")
]


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("wire", "ids"),
    [
        (related(("Content-Type: text/xml", envelope("<a/>")), ("Content-ID: <1>", b"x")), ["1.1", "1"]),
        (related(("Content-Type: text/xml", envelope("<a/>")), ("Content-ID: <3>", b""), ("X: y", b"")), ["1", "3", "3.1"]),
        (posted(b"--b\r\nContent-ID: <2>\r\n\r\n\r\n--b\r\n\r\n--b--", "multipart/mixed; boundary=b"), ["2", "2.1"]),
        (posted(b"".join(write_dime(RECORDS)), "application/dime"), ["1.2", "1", "1.1", "4"]),
    ],
)  # fmt: skip
def test_a_part_without_an_id_is_not_called_as_another_one_is(wire: Wire, ids: list[str]) -> None:
    """Some number their attachments and leave the root without an id."""
    taken = decode_wire(wire)
    assert [part.id for part in message_of(wire, taken).parts] == ids
    again = encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper), taken.format)
    assert again.data == wire.body
