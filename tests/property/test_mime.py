"""MIME, whatever the parts: what is written is read again, by us and by others; what is cut or changed is refused or read."""

from __future__ import annotations

import email
from collections.abc import Callable
from email.encoders import encode_base64
from email.message import Message
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.policy import SMTP
from typing import TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.mime import (
    Entity,
    Multipart,
    encode_content,
    make_boundary,
    read_entity,
    read_multipart,
    read_parameters,
    read_related,
    write_head,
    write_multipart,
)
from postroad.core.codecs.mime.entity import any_entity_between, entity_between
from postroad.core.codecs.mime.fields import TWICE
from postroad.core.codecs.mime.multipart_type import read_any_multipart_type, read_multipart_type
from postroad.core.codecs.mime.transfer import Encoding
from postroad.errors import Refused

Read = TypeVar("Read")
Parts = list[tuple[bytes, bytes]]

BOUNDARIES = st.sampled_from([b"gap", b"--", b"=_1", b"uuid:1", b"a b", b"'()+_,-./:=?", b"x" * 70])
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True) | st.sampled_from(
    ["Content-Type", "content-id", "Content-Transfer-Encoding", "--gap", "--uuid"]
)
VALUES = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=20).map(str.strip)
LOOK_ALIKES = [
    b"\r\n--", b"--", b"\r\n", b"\n", b"\r", b"--gap", b"\r\n--ga", b"\r\n--gapX", b"\r\n--gap-", b"gap", b"\r\n\r\n",
    b" ", b"\t", b"\r\n--uuid", b"--uuid:1x", b"x" * 69, b"\x00", b"=\r\n", b"A: b\r\n",
]  # fmt: skip
BODIES = st.lists(st.sampled_from(LOOK_ALIKES) | st.binary(max_size=8), max_size=8).map(b"".join)
HEADS = st.lists(st.tuples(NAMES, VALUES), max_size=4).map(write_head)


@st.composite
def multiparts(draw: st.DrawFn) -> tuple[bytes, Parts]:
    """A boundary and parts in which it does not come, though nearly."""
    parts = draw(st.lists(st.tuples(HEADS, BODIES), min_size=1, max_size=5))
    boundary = draw(BOUNDARIES)
    if any(boundary in part for pair in parts for part in pair):
        boundary = make_boundary([part for pair in parts for part in pair], boundary)
    return boundary, parts


def content_type(boundary: bytes) -> str:
    return f'multipart/mixed; boundary="{boundary.decode()}"'


def seen(multipart: Multipart) -> Parts:
    return [(part.head, bytes(part.body)) for part in multipart.parts]


def outcome(read: Callable[[], Read]) -> Read | str:
    """What came of it: a result, or the code of a refusal; anything else fails the test."""
    try:
        return read()
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
        return refused.code


def everything(entity: Entity) -> tuple[object, ...]:
    kinds = (entity.content_type, entity.transfer_encoding, entity.content_id)
    return (entity.head, bytes(entity.body), bytes(entity.raw), *kinds, entity.headers(), entity.tolerated)


@pytest.mark.req("T3", "T9")
@given(message=multiparts())
@example(message=(b"gap", [(b"", b"")]))
@example(message=(b"gap", [(b"", b"\r\n"), (b"A: b\r\n", b"\r\n--ga"), (b"", b"--")]))
@settings(max_examples=400)
def test_what_is_written_is_read_again(message: tuple[bytes, Parts]) -> None:
    boundary, parts = message
    body = b"".join(write_multipart(parts, boundary))
    multipart = read_multipart(content_type(boundary), body)
    assert seen(multipart) == parts
    assert multipart.boundary == boundary
    assert multipart.tolerated in ((), (TWICE,))
    assert [bytes(part.raw) for part in multipart.parts] == [head + b"\r\n" + data for head, data in parts]
    around = b"before\r\n" + body + b"behind"
    assert seen(read_multipart(content_type(boundary), around)) == parts
    inside = memoryview(b"<" + body + b">")[1:-1]
    assert seen(read_multipart(content_type(boundary), inside)) == parts


TEXT_LINES = st.binary(max_size=30).map(lambda line: line.translate(None, b"\r\n"))
CONTENTS = st.lists(TEXT_LINES | st.sampled_from([b"--", b"--gap-", b"", b" ", b"From me"]), max_size=5).map(
    b"\r\n".join
)
KINDS = st.sampled_from(
    ["text/xml; charset=utf-8", "application/octet-stream", 'image/gif; name="a;b.gif"', "text/plain"]
)
ENCODINGS = st.sampled_from(["base64", "quoted-printable", "binary"])
SENT = st.lists(st.tuples(KINDS, ENCODINGS, CONTENTS), min_size=1, max_size=4)
Sent = list[tuple[str, Encoding, bytes]]


def as_others_read(wire: bytes) -> list[tuple[str, str, bytes]]:
    payload = email.message_from_bytes(wire).get_payload()
    parts = [part for part in payload if isinstance(part, Message)]
    assert len(parts) == len(payload)
    return [
        (str(part["Content-Type"]), str(part["Content-ID"]), bytes(part.get_payload(decode=True))) for part in parts
    ]


def as_we_read(wire: bytes) -> list[tuple[str, str, bytes]]:
    entity = read_entity(wire)
    parts = read_multipart(entity.content_type, entity.body).parts
    return [(part.content_type, part.header("Content-ID"), bytes(part.data())) for part in parts]


@pytest.mark.req("T3")
@given(sent=SENT, boundary=BOUNDARIES)
@settings(max_examples=200)
def test_others_read_what_we_write_as_we_do(sent: Sent, boundary: bytes) -> None:
    parts = [
        (
            write_head([("Content-Type", kind), ("Content-ID", f"<{n}@x>"), ("Content-Transfer-Encoding", encoding)]),
            encode_content(data, encoding),
        )
        for n, (kind, encoding, data) in enumerate(sent)
    ]
    if any(boundary in part for pair in parts for part in pair):
        boundary = make_boundary([part for pair in parts for part in pair], boundary)
    top = write_head([("MIME-Version", "1.0"), ("Content-Type", content_type(boundary))])
    wire = top + b"\r\n" + b"".join(write_multipart(parts, boundary))
    assert as_we_read(wire) == [(kind, f"<{n}@x>", data) for n, (kind, _, data) in enumerate(sent)]
    assert as_others_read(wire) == as_we_read(wire)


@pytest.mark.req("T3")
@given(sent=SENT)
@settings(max_examples=150)
def test_we_read_what_others_write(sent: Sent) -> None:
    message = MIMEMultipart("related")
    for number, (kind, _, data) in enumerate(sent):
        part = MIMEBase(*kind.partition(";")[0].split("/"))
        part.set_payload(data)
        encode_base64(part)
        part["Content-ID"] = f"<{number}@x>"
        message.attach(part)
    for written in (message.as_bytes(policy=SMTP), message.as_bytes()):
        assert [(id_, data) for _, id_, data in as_we_read(written)] == [
            (f"<{number}@x>", data) for number, (_, _, data) in enumerate(sent)
        ]


@pytest.mark.req("T4")
@given(data=BODIES, encoding=st.sampled_from(["base64", "quoted-printable", "binary"]))
@settings(max_examples=300)
def test_a_transfer_encoding_gives_back_every_byte(data: bytes, encoding: Encoding) -> None:
    written = encode_content(data, encoding)
    head = write_head([("Content-Transfer-Encoding", encoding)])
    assert read_entity(head + b"\r\n" + written).data() == data
    if encoding != "binary":
        assert all(len(line) <= 76 for line in written.split(b"\r\n"))
        theirs = email.message_from_bytes(head + b"\r\n" + written)
        assert theirs.get_payload(decode=True) == data


SAMPLE = b"".join(
    write_multipart(
        [
            (b"Content-Type: text/xml\r\nContent-ID: <root@x>\r\n", b"<a/>\r\n"),
            (b"content-type: image/gif\r\nContent-ID: <b>\r\nContent-Transfer-Encoding: base64\r\n", b"R0lGODlh\r\n"),
            (b"X-Folded: a\r\n b\r\nContent-Transfer-Encoding: quoted-printable\r\n", b"a=3Db =\r\n\r\n"),
            (b"", b"--gap-\r\n--ga"),
        ],
        b"gap",
    )
)
RELATED = 'multipart/related; boundary="gap"; start="<root@x>"'


def test_a_message_cut_at_any_byte_is_refused_or_the_same() -> None:
    whole = seen(read_multipart(RELATED, SAMPLE))
    outcomes = [outcome(lambda cut=SAMPLE[:n]: seen(read_multipart(RELATED, cut))) for n in range(len(SAMPLE))]  # type: ignore[misc]
    assert outcomes[-2:] == [whole, whole]  # without the last CRLF, or without its LF
    assert set(map(str, outcomes[:-2])) == {"wire.malformed"}


TOKENS = [*LOOK_ALIKES, b":", b"Content-ID: <root@x>\r\n", b"\r\n--gap--", b"\r\n--gap\r\n", b"<", b">", b"=", b"\xff"]


@st.composite
def mutations(draw: st.DrawFn, seed: bytes) -> bytes:
    body = seed
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 12))
        body = body[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=4)) + body[at + gone :]
    return body


def read_all(body: bytes) -> None:
    """Everything that a caller may ask for."""
    for part in read_related(RELATED, body).multipart.parts:
        read_whole(part)


def read_whole(entity: Entity) -> None:
    entity.data()
    written = write_head(entity.headers()) + b"\r\n"
    assert read_entity(written).headers() == entity.headers()


@pytest.mark.req("Z2")
@given(body=mutations(SAMPLE) | st.binary(max_size=60))
@settings(max_examples=600)
def test_changed_and_random_bytes_are_read_or_refused(body: bytes) -> None:
    outcome(lambda: read_all(body))
    outcome(lambda: read_whole(read_entity(body)))


@pytest.mark.req("Z2")
@given(at=st.integers(0, 8 * len(SAMPLE) - 1))
@settings(max_examples=300)
def test_a_flipped_bit_is_read_or_refused(at: int) -> None:
    changed = bytearray(SAMPLE)
    changed[at // 8] ^= 1 << at % 8
    outcome(lambda: read_all(bytes(changed)))


TYPE_TOKENS = ["boundary", "start", "=", '"', ";", " ", "\\", "gap", "<a>", "type=x", "x", "*", "\t", "multipart/", ","]


@given(
    text=st.lists(st.sampled_from(TYPE_TOKENS), max_size=16).map("".join)
    | st.lists(st.sampled_from(TYPE_TOKENS), max_size=16).map(lambda tokens: "multipart/related;" + "".join(tokens))
)
@example(text='multipart/related; boundary="a"; start="<b>"; boundary="c"')
@settings(max_examples=600)
def test_the_quick_reader_of_types_agrees_with_the_general_one(text: str) -> None:
    read_parameters(text)
    general = outcome(lambda: read_any_multipart_type(text, DEFAULT_LIMITS))
    assert outcome(lambda: read_multipart_type(text, DEFAULT_LIMITS)) == general


HEAD_TOKENS = [
    b"Content-Type", b"content-type", b"Content-ID", b"CONTENT-ID", b"Content-Transfer-Encoding", b":", b": ", b" ", b"\t",
    b"\r\n", b"\n", b"\r", b"<a@b>", b"<a", b"text/xml", b"base64", b"Binary", b"X-Y: z", b"\r\n\r\n", b"\xff", b"\x00",
    b"Content-", b"(", b";", b"<", b">",
]  # fmt: skip


@given(wire=st.lists(st.sampled_from(HEAD_TOKENS), max_size=20).map(b"".join))
@example(wire=b"Content-Type: a\r\nContent-Type: b\r\n\r\n")
@example(wire=b"Content-ID: <a b>\r\n\r\n")
@example(wire=b"Content-Type: a \r\n\r\n")
@settings(max_examples=1000)
def test_the_quick_reader_of_headers_agrees_with_the_general_one(wire: bytes) -> None:
    quick, general = [
        outcome(lambda read=read: everything(read(wire, memoryview(wire), 0, len(wire), DEFAULT_LIMITS)))  # type: ignore[misc]
        for read in (entity_between, any_entity_between)
    ]
    assert quick == general
