"""What the regular expressions of the codecs hold while they match: a repeated group costs memory for each repetition."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from postroad.core.codecs.cloudevents import read_structured
from postroad.core.codecs.json_nesting import nests_deeper
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.mime import read_entity, read_multipart
from postroad.core.codecs.soap.canonical_posts import read_canonical
from postroad.core.codecs.soap.names import SOAP_11
from postroad.core.model.message import Message
from postroad.errors import Refused

EVENT = b'{"specversion":"1.0","id":"1","source":"/a","type":"b",'
POST = b'<s:Envelope xmlns:s="%b"%%b xmlns:p="urn:postroad:message:1"><s:Body><p:Post><p:Header>' % SOAP_11.encode()


ATTACKS: dict[str, tuple[int, Callable[[], object]]] = {}


def attack(name: str, data: bytes, read: Callable[[bytes], object]) -> None:
    ATTACKS[name] = (len(data), lambda: read(data))


def _canonical(data: bytes) -> Message | None:
    return read_canonical(data, SOAP_11, DEFAULT_LIMITS)


attack(
    "escapes in a string", b"[" * 70 + b'"' + rb"\"" * 1_000_000 + b'"' + b"]" * 70, lambda data: nests_deeper(data, 64)
)
attack("backslashes", b"[" * 70 + b'"' + b"\\\\" * 1_000_000 + b'"' + b"]" * 70, lambda data: nests_deeper(data, 64))
attack("escapes in a name", EVENT + b'"' + rb"\u0061" * 500_000 + b'":null}', read_structured)
attack("headers", b"a:\r\n" * 500_000 + b"\r\nbody", read_entity)
attack("parameters", b";a=b" * 100_000, lambda data: read_multipart("multipart/mixed" + data.decode(), b""))
attack("declarations", POST % (b' xmlns:a="b"' * 200_000), _canonical)
attack("services", POST % b"" + b"<p:To>" + b'<p:Service name="a"/>' * 100_000 + b"</p:To>", _canonical)
attack(
    "arguments",
    POST % b"" + b'<p:To><p:Service name="a">' + b'<p:Argument name="a">b</p:Argument>' * 100_000,
    _canonical,
)
attack("properties", POST % b"" + b'<p:Property name="a">b</p:Property>' * 100_000, _canonical)


@pytest.mark.req("Z2")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_match_holds_little_more_than_its_input(name: str) -> None:
    size, read = ATTACKS[name]
    tracemalloc.start()
    try:
        with suppress(Refused):
            read()
        assert tracemalloc.get_traced_memory()[1] < 3 * size + 1_000_000
    finally:
        tracemalloc.stop()
