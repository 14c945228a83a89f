"""The parts of a bulk are read like any other MIME header: whole, or not at all."""

from __future__ import annotations

import pytest

from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.errors import Refused
from postroad.flow.stages.body_reader import read_bulk
from postroad.flow.stages.posting import Posting

ENVELOPE = b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><order/></s:Body></s:Envelope>'


def read(head: bytes, content: bytes) -> Posting | Refused:
    body = b"--x\r\nPostroad-To: A/B\r\n%b\r\n\r\n%b\r\n--x--\r\n" % (head, content)
    [post] = read_bulk("multipart/mixed; boundary=x", body, DEFAULT_LIMITS, len(body))
    return post


@pytest.mark.req("Z2")
@pytest.mark.parametrize("hostile", [b"\rSet-Cookie: a=b", b"\x00", b"\x01", b"\x7f"])
def test_no_control_character_gets_into_what_receivers_are_told(hostile: bytes) -> None:
    post = read(b"Content-Type: text/xml; a=%b" % hostile, ENVELOPE)
    assert isinstance(post, Refused), "its receiver's polls would fail, again and again"
    assert post.code == "wire.malformed"


@pytest.mark.req("T2")
def test_a_folded_content_type_is_read_to_its_end() -> None:
    post = read(b"Content-Type: multipart/mixed;\r\n\tboundary=y", b"--y\r\n\r\nhi\r\n--y--\r\n")
    assert isinstance(post, Posting), post
    assert [part.data for part in post.message.parts] == [b"hi"]


def test_a_bulk_that_does_not_say_what_it_is_is_told_so() -> None:
    with pytest.raises(Refused, match="A missing Content-Type is not a bulk format; use "):
        read_bulk("", b"{}", DEFAULT_LIMITS, 10)
