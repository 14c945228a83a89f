"""Everybody sends everything to everybody: one service for each format, by poll and by push, compared byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from postroad.core.mediation.model import Wire
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Part
from tests.samples.mediated import (
    FORMATS,
    Mediated,
    network,
    parts_in,
    polling,
    posted,
    pushed_to,
    receiving,
)

__all__ = ["network", "receiving"]  # the fixtures

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
BINARY = bytes(range(256)) * 40
XML = Part(
    id="1", content_type="application/xml", data=b'<order xmlns="urn:mybiz:orders"><item n="3">anvil</item></order>'
)
PAYLOADS: dict[str, tuple[Part, ...]] = {
    "one XML document": (XML,),
    "three parts, one binary": (
        XML,
        Part(id="scan@mybiz.example", content_type="image/jpeg", data=BINARY, attachment=True),
        Part(id="3", content_type="text/csv", data=b"a;b\r\n1;2\r\n", attachment=True),
    ),
    "all scripts": (
        Part(id="1", content_type="text/plain; charset=utf-8", data="Größe, Zażółć gęślą jaźń, 漢字 🚚\n".encode()),
    ),
    "an empty part": (XML, Part(id="2", content_type="application/octet-stream", data=b"", attachment=True)),
    "a mebibyte": (Part(id="1", content_type="application/octet-stream", data=bytes(range(256)) * 4096),),
}


EVERYBODY = [name(format) for format in FORMATS for name in (polling, pushed_to)]


async def received(network: Mediated, format: Format, count: int) -> tuple[list[Wire], list[Wire]]:
    """What came to the two services of a format, by poll and by push, in the order in which it was sent."""
    polled: list[Wire] = []
    while len(polled) < count:
        more = await network.polled(polling(format), format)
        assert more, f"{len(polled)} of {count} messages came to {polling(format)}"
        polled += more
    pushed = await network.pushed(pushed_to(format), count)
    return polled, pushed


@pytest.mark.req("T1", "T3", "T4", "T5", "T6", "T8")
@pytest.mark.parametrize("payload", PAYLOADS)
async def test_everybody_gets_from_everybody_what_was_sent(network: Mediated, payload: str) -> None:
    parts = PAYLOADS[payload]
    sent: dict[Format, Wire] = {}
    for format in FORMATS:
        sent[format] = posted(format, parts, EVERYBODY, topic=format.value, handle=f"from {format.value}")
        answer = await network.post(polling(format), sent[format])
        assert answer.status in (200, 202), (format, answer.body)
    for into in FORMATS:
        polled, pushed = await received(network, into, len(FORMATS))
        assert sorted(map(data_of(into), polled)) == sorted([[part.data for part in parts]] * len(FORMATS)), into
        assert sorted(map(data_of(into), pushed)) == sorted([[part.data for part in parts]] * len(FORMATS)), into
        if into in PLAIN:
            for came in (polled, pushed):
                [same] = [wire for wire in came if wire.header("postroad-topic") == into.value]
                assert (same.content_type, same.body) == (sent[into].content_type, sent[into].body), into


def data_of(format: Format) -> Callable[[Wire], list[bytes]]:
    return lambda wire: [part.data for part in parts_in(wire, format)]


def pattern(size: int) -> bytes:
    return bytes((i * 7 + 3) % 256 for i in range(size))


REAL: dict[str, tuple[str, list[bytes]]] = {  # what its producer said of it, and what came with the envelope
    "dime/axis14_dime_2att.dime": ("application/dime", [b"ISA*00*one,two\n", pattern(5001)]),
    "dime/axis14_dime_empty_att.dime": ("application/dime", [b""]),
    "dime/gsoap_dime.dime": ("application/dime", [pattern(9999), b"hello"]),
    "dime/perl_soap_jpeg_chunked.dime": ("application/dime", [pattern(9999)]),
    "mime_swa/axis2/SwAmessage.bin": (
        'multipart/related; boundary="MIMEBoundaryurn_uuid_E3F7CE4554928DA89B1231365678616"; type="text/xml"',
        [b"test text"],
    ),
    "mime_swa/cxf/swadata": (
        'multipart/related; type="text/xml"; boundary="----=_Part_0_14158819.1167275505862"',
        [b"foobar"],
    ),
    "mime_swa/saaj-ri/message1.txt": (
        'multipart/related; type="text/xml"; boundary="----=_Part_7_10584188.1123489648993"',
        [],  # an XML document that the test finds by its beginning
    ),
}


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="needs the collection of real messages in ../shared/fixtures")
@pytest.mark.req("T2", "T3", "T4", "T5", "K3")
@pytest.mark.parametrize("name", REAL)
async def test_what_other_software_sent_arrives_in_every_format(network: Mediated, name: str) -> None:
    (declared, attached), body = REAL[name], (FIXTURES / name).read_bytes()
    beside = [("Postroad-To", polling(format)) for format in FORMATS]
    wire = Wire([("Content-Type", declared), ("SOAPAction", '"urn:put"'), *beside], body)
    answer = await network.post(polling(Format.JSON), wire)
    assert (answer.status, b"PostResponse" in answer.body) == (200, True), answer.body  # SOAP to who posts SOAP
    for into in FORMATS:
        [came] = await network.polled(polling(into), into)
        parts = parts_in(came, into)
        assert len(parts) >= 2
        if attached:
            assert [part.data for part in parts[1:]] == attached, into
        else:
            assert parts[1].data.startswith(b'<?xml version="1.0" encoding="UTF-8" ?>\r\n\r\n<!--')
            assert len(parts[1].data) == 462
        if into is (Format.DIME if name.startswith("dime") else Format.SWA):
            assert (came.content_type, came.body) == (declared, body)
            assert came.header("soapaction") == '"urn:put"'
