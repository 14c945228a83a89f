"""What the HTTP front refuses by itself is told in the caller's own wire form, as far as its head shows which that is."""

from __future__ import annotations

import pytest

from postroad.api.error_responses import front_refusal
from postroad.api.http.head import read_head
from postroad.api.http.limits import HttpLimits
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec

PROBLEM = b"application/problem+json"


def refused(path: str, *headers: str) -> tuple[bytes, bytes]:
    raw = "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()
    return front_refusal(413, "wire.too-large", "send at most 5 bytes here", read_head(raw, HttpLimits()))


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("path", "headers", "codec"),
    [
        ("/soap", ["Content-Type: text/xml; charset=utf-8"], SOAP11),
        ("/soap", [], SOAP11),
        ("/soap", ["Content-Type: application/soap+xml"], SOAP12),
        ("/v1/messages", ["Content-Type: application/soap+xml; charset=utf-8"], SOAP12),
        ("/v1/messages", ["Content-Type: text/xml", 'SOAPAction: ""'], SOAP11),
    ],
)
def test_who_speaks_soap_is_refused_with_a_fault(path: str, headers: list[str], codec: SoapCodec) -> None:
    content_type, body = refused(path, *headers)
    assert content_type == codec.refusal_media_type.encode()
    refusal = codec.decode_refusal(body)
    assert (refusal.code, refusal.detail) == ("wire.too-large", "send at most 5 bytes here")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/messages", ["Content-Type: application/json"]),
        ("/v1/messages", ["Content-Type: text/xml"]),
        ("/v1/messages", []),
    ],
)
def test_everybody_else_is_given_a_problem(path: str, headers: list[str]) -> None:
    assert refused(path, *headers)[0] == PROBLEM


def test_a_head_that_cannot_be_read_is_a_problem() -> None:
    assert front_refusal(400, "request.malformed", "send HTTP", None)[0] == PROBLEM
    assert front_refusal(500, "no such code", "send HTTP", None)[0] == PROBLEM
