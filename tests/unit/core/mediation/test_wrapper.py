"""How a message was wrapped: small beside its parts, only for the very parts with which it came, and quickly made."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from postroad.core.codecs.dime import DimeRecord, TypeFormat, write_dime
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import encode_content
from postroad.core.mediation.formats import ENCODERS, decode_wire, encode_message
from postroad.core.mediation.model import DecodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.wrapper import Slot, cut_wire, fill_pieces, pack_wrapper, unpack_wrapper
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from postroad.errors import Refused
from tests.samples.external_messages import envelope, given_again, posted, related

LARGE = bytes(range(256)) * 4096  # 1 MiB
LARGE_XML = "<a>" + "x" * (1 << 20) + "</a>"
WIRES = {
    "swa": related(
        ("Content-Type: text/xml", envelope("<a/>")), ("Content-ID: <a>", LARGE), ("Content-ID: <b>", LARGE)
    ),
    "swa in base64": related(
        ("Content-Type: text/xml", envelope("<a/>")),
        ("Content-Transfer-Encoding: base64", encode_content(LARGE, "base64")),
    ),
    "soap": posted(envelope(LARGE_XML), "text/xml"),
    "soap with a prefix from outside": posted(
        envelope(LARGE_XML.replace("<a>", "<o:a>").replace("</a>", "</o:a>"), outer=' xmlns:o="urn:o"'), "text/xml"
    ),
    "dime in chunks": posted(
        b"".join(write_dime([DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="image/png", id="", data=LARGE)], 5000))
    ),
    "multipart": posted(b"--b\r\n\r\n" + LARGE + b"\r\n--b--", "multipart/mixed; boundary=b"),
    "event": posted(b'{"specversion":"1.0","id":"1","source":"/","type":"t","data":"%b"}' % (b"x" * (1 << 20))),
}


@pytest.mark.req("T3")
@pytest.mark.parametrize("name", WIRES)
def test_a_wrapper_is_small_and_restores_the_wire_bytes(name: str) -> None:
    wire = WIRES[name]
    taken = decode_wire(wire)
    assert taken.wrapper is not None
    kept = pack_wrapper(taken.wrapper)
    assert len(kept) < 20_000
    again = unpack_wrapper(kept)
    assert again == taken.wrapper
    assert b"".join(again.fill(taken.parts)) == wire.body


def test_a_wrapper_fits_only_its_own_parts() -> None:
    taken = decode_wire(WIRES["multipart"])
    [part] = taken.parts
    assert taken.wrapper is not None
    assert taken.wrapper.fits(taken.parts)
    others = {"id": "2", "content_type": "text/x", "expires_at_us": 1, "attachment": True, "headers": (("X-A", "b"),)}
    for field, value in {**others, "data": part.data[:-1] + b"\0"}.items():
        assert not taken.wrapper.fits((replace(part, **{field: value}),))
    assert not taken.wrapper.fits(())
    assert not taken.wrapper.fits((part, part))


def test_stretches_are_found_in_order_or_stay_in_the_wire() -> None:
    first, second = b"1" * 70, b"2" * 70
    parts = [Part(id="1", content_type="x", data=first), Part(id="2", content_type="x", data=second)]
    assert cut_wire(b"a" + first + b"b" + second, [(first, Slot(0)), (second, Slot(1))]) == (
        b"a",
        Slot(0),
        b"b",
        Slot(1),
    )
    assert cut_wire(second + first, [(first, Slot(0)), (second, Slot(1))]) == (second, Slot(0))
    assert cut_wire(b"short", [(b"short", Slot(0))]) == (b"short",)
    for wire in (first + second, second + first, first + first, b"", b"x" * 100):
        assert b"".join(fill_pieces(cut_wire(wire, [(first, Slot(0)), (second, Slot(1))]), parts)) == wire


LIMITS = WireLimits(body_bytes=30 << 20, parts=1000)
HOSTILE: dict[str, Callable[[int], Wire]] = {
    "false boundaries": lambda n: posted(b"--b\r\n\r\n" + b"\r\n--bb" * (n // 6) + b"\r\n--b--", "multipart/mixed; boundary=b"),
    "parts that are not found": lambda n: posted(
        b"".join(
            b"--b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + b"=41" * (n // 300) + b"\r\n" for _ in range(99)
        )
        + b"--b--",
        "multipart/mixed; boundary=b",
    ),
    "nearly the same parts": lambda n: posted(
        b"".join(b"--b\r\n\r\n" + b"a" * (n // 100) + b"%d\r\n" % i for i in range(99)) + b"--b--",
        "multipart/mixed; boundary=b",
    ),
    "many elements": lambda n: posted(envelope("<a>" + "<b/>" * min(n // 4, 190_000) + "</a>"), "text/xml"),
    "many blocks": lambda n: posted(envelope("<a/>", "<b>x</b>" * (n // 20)), "text/xml"),
    "a long comment": lambda n: posted(b"<!--" + b"-x" * (n // 2) + b"-->" + envelope("<a/>"), "text/xml"),
    "white space": lambda n: posted(b" " * n),
    "lines": lambda n: posted(b"a: b\r\n" * (n // 6)),
    "an event that is none": lambda n: posted(b'{"specversion":' + b"[" * n),
    "small chunks": lambda n: posted(
        b"".join(
            write_dime([DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="a/b", id="", data=b"x" * (n // 2))],
                max(n // 8000, 4))
        )
    ),
}  # fmt: skip


def seconds(wire: Wire) -> float:
    """The least of three times that it takes to take a message and to give it in every format."""
    best = 1e9
    for _ in range(3):
        began = time.process_time()
        try:
            taken = decode_wire(wire, LIMITS)
            for format in ENCODERS:
                given_again(taken, format)
        except Refused:
            pass
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.req("Z2")
@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_no_faster_than_the_message(name: str) -> None:
    small, large = seconds(HOSTILE[name](50_000)), seconds(HOSTILE[name](400_000))
    assert large < 16 * small + 0.1  # eight times as much: linear, with room for a busy machine


@pytest.mark.req("Z2")
def test_large_messages_and_many_parts_take_little_time_and_memory() -> None:
    large = related(
        ("Content-Type: text/xml", envelope("<a/>")), ("Content-ID: <a>", LARGE * 10), ("Content-ID: <b>", b"")
    )
    many = related(
        ("Content-Type: text/xml", envelope("<a/>")),
        *[(f"Content-ID: <{number}@x>", b"x" * 100) for number in range(999)],
    )
    for wire in (large, many):
        began = time.process_time()
        tracemalloc.start()
        taken = _taken(wire)
        given_again(taken, Format.DIME)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert time.process_time() - began < 5
        assert peak < 3 * len(wire.body) + 10_000_000


def _taken(wire: Wire) -> DecodedMessage:
    taken = decode_wire(wire, LIMITS)
    assert taken.format is Format.SWA
    return taken


def test_parts_are_handed_on_without_being_copied() -> None:
    taken = decode_wire(WIRES["swa"])
    for format in (Format.SWA, Format.DIME, Format.MIME):
        given = encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper), format)
        assert any(piece is taken.parts[1].data or _views(piece, taken.parts[1].data) for piece in given.body)


def _views(piece: object, data: bytes) -> bool:
    return isinstance(piece, memoryview) and piece.obj is data
