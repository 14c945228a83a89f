"""Hypothesis strategies for messages that are to be given in external formats, and what the tests of mediation share."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.codecs.lexical import LAST_US
from postroad.core.mediation.model import EncodedMessage, OutgoingMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

READABLE = (Format.SOAP, Format.SWA, Format.DIME, Format.MIME, Format.CLOUDEVENTS)
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=8)
IDS = (
    st.sampled_from(["a@b", "att-1@example.com", "urn:uuid:1@apache.org", "cid:x", "100%", "<x>", "a b", "é漢", "7"])
    | PRINTABLE
    | st.sampled_from([" a", "a\nb", "\t", "a\u00a0", "x\u2028"])
)
LOCATIONS = st.sampled_from(["uuid:6f1c", "http://x.example/a.gif", "image.gif", "urn:x"])
TYPES = st.sampled_from(
    [
        "application/xml", "text/xml", "text/xml; charset=utf-8", "text/xml; charset=iso-8859-1", "application/x+xml",
        "application/json", "text/plain", "application/octet-stream", "image/x; name=\"a;b\"", "odd", "text/plain; name=é漢",
        "text/plain;\n charset=x", "application/xml; profile=z", "application/vnd.postroad.parts+json",
        "multipart/signed; boundary=b", "message/rfc822",
    ]
)  # fmt: skip
DOCUMENTS = st.sampled_from(
    [
        b"<po/>", b"<po xmlns='urn:po'><line n=\"1\">x</line></po>" + b" " * 80, b"<?xml version='1.0'?><po/>", b"<po", b"",
        b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<po>' + b"y" * 100 + b"</po>\n", b"\xef\xbb\xbf<po/>",
        b'<?xml version="1.0" encoding="iso-8859-1"?><po>\xe9</po>', b"<!DOCTYPE po []><po/>",
        b"<pr:Post xmlns:pr='urn:postroad:message:1'/>",
        b"<s:Fault xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'/>", b'{"a": [1.50]}', b"ISA*00*", b"\x00\xff" * 50,
        b"\r\n--b\r\n", b"--", b"a: b\r\n\r\nc", b"\r", b"\n" * 70, b"Content-Type: x\r\n\r\n", b"x" * 200,
    ]
) | st.binary(max_size=150)  # fmt: skip
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            ["X-A", "x-dime-type", "Content-Language", "Subject", "Content-Description", "Content-Disposition", "Host"]
        ),
        st.sampled_from(["inline", "attachment", "attachment; filename=\"é.xml\"", "urn:t", "a, b", ""]) | PRINTABLE,
    ),
    max_size=2,
    unique_by=lambda pair: pair[0].lower(),
)  # fmt: skip


@st.composite
def parts(draw: st.DrawFn, number: int, *, attachment: bool) -> Part:
    headers = draw(HEADERS)
    id = str(number) if draw(st.booleans()) else draw(IDS)
    location = draw(st.none() | LOCATIONS)
    if location is not None:
        headers.append(("Content-Location", location))
        id = location if draw(st.booleans()) else id
    return Part(
        id=id,
        content_type=draw(TYPES),
        data=draw(DOCUMENTS),
        expires_at_us=draw(st.sampled_from([0, 0, 1, LAST_US])),
        attachment=attachment,
        headers=tuple(headers),
    )


@st.composite
def messages(draw: st.DrawFn) -> tuple[Part, ...]:
    """Documents first, then attachments, with ids that differ also in the way in which they are written."""
    documents, attachments = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    drawn = [draw(parts(number, attachment=number > documents)) for number in range(1, documents + attachments + 1)]
    return with_distinct_ids(drawn)


def with_distinct_ids(drawn: Sequence[Part]) -> tuple[Part, ...]:
    seen: set[str] = {str(number) for number in range(1, len(drawn) + 1)}
    distinct = []
    for number, part in enumerate(drawn, 1):
        is_clash = part.id in seen and part.id != str(number)
        distinct.append(replace(part, id=str(number)) if is_clash else part)
        seen.add(part.id)
    return tuple(distinct)


def wire_of(given: EncodedMessage) -> Wire:
    """What a receiver of these bytes would post again."""
    fields = [("content-type", given.media_type)] if given.media_type else []
    return Wire([*fields, *[(name.lower(), value) for name, value in given.headers]], given.data)


def outgoing_of(drawn: tuple[Part, ...], **more: object) -> OutgoingMessage:
    return OutgoingMessage(parts=drawn, seed=b"seed", **more)  # type: ignore[arg-type]
