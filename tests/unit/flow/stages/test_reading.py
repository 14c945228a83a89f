"""Large bodies are read by other processes exactly as small ones are on the event loop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postroad.adapters.large_bodies.frames import ReadingCall, read_answer, read_reading
from postroad.adapters.large_bodies.workers import ReadingWorkers
from postroad.api.resources.route_guards import read_json_pieces
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.native_formats import decode_native_post, detect_native_form
from postroad.errors import Refused
from postroad.flow.stages.body_reader import LargeBody, ReadBody, read_body
from postroad.flow.stages.posting import Posting

GOLDEN = Path(__file__).parents[2] / "core" / "codecs" / "golden"
POSTS = [
    ("post-full.json", "application/json"),
    ("post-full.soap11.xml", "text/xml"),
    ("post-full.soap12.xml", "application/soap+xml"),
    ("post-full.msgpack", ENVELOPES),
]


def passed_on(large: LargeBody) -> ReadBody:
    """What the server gets, after both frames."""
    asked = read_reading(msgspec.msgpack.encode(ReadingCall(large)))
    return read_answer(msgspec.msgpack.encode(read_body(asked.large)))


@pytest.mark.req("Z7")
@pytest.mark.parametrize(("name", "kind"), POSTS)
def test_a_post_is_the_same_message_wherever_it_is_read(name: str, kind: str) -> None:
    body = (GOLDEN / name).read_bytes()
    read = passed_on(LargeBody(kind="post", body=body, content_type=kind, message_bytes=len(body)))
    own = detect_native_form(kind, body)
    assert read.own == own
    assert read.posting is not None
    assert read.posting.message == decode_native_post(own, body, DEFAULT_LIMITS, kind)
    assert read.posting.size == len(body)


@pytest.mark.parametrize("body", [b"{", b"[]", b"", b"\x00\x01"])
def test_a_malformed_body_is_refused_alike_in_and_out_of_process(body: bytes) -> None:
    read = passed_on(LargeBody(kind="post", body=body, content_type="application/json", message_bytes=100))
    with pytest.raises(Refused) as refused:
        decode_native_post(detect_native_form("application/json", body), body, DEFAULT_LIMITS)
    assert read.refusal is not None
    assert (read.refusal.code, read.refusal.detail) == (refused.value.code, refused.value.detail)


def test_a_plain_post_keeps_its_bytes() -> None:
    headers = (("content-type", "text/plain"), ("postroad-to", "Acme/Orders"))
    large = LargeBody(
        kind="post", body=b"ISA*00*", content_type="text/plain", headers=headers, is_plain=True, message_bytes=100
    )
    read = passed_on(large)
    assert read.own is None
    assert read.posting is not None
    assert read.posting.message.parts[0].data == b"ISA*00*"
    assert [recipient.service for recipient in read.posting.message.to] == ["Acme/Orders"]


def test_a_bulk_keeps_its_order_and_its_refusals() -> None:
    body = b'{"to":["A/B"],"topic":"1"}\n{"to":5}\n{"to":["A/B"],"topic":"3"}\n'
    large = LargeBody(
        kind="bulk", body=body, content_type="application/x-ndjson", message_bytes=1_000, bulk_bytes=1_000
    )
    bulk = passed_on(large).bulk
    assert isinstance(bulk, list)
    first, second, third = bulk
    assert isinstance(first, Posting)
    assert isinstance(third, Posting)
    assert (first.message.topic, third.message.topic) == ("1", "3")
    assert isinstance(second, Refused)


def test_json_is_screened_for_wide_objects_and_read_piece_by_piece() -> None:
    content = {"a": {str(number): [number] * 5 for number in range(20_000)}, "b": "x" * 100_000}
    text = msgspec.json.encode(content)
    assert passed_on(LargeBody(kind="json", body=text)).widest == 20_000
    assert read_json_pieces(text) == content


@pytest.mark.req("Z7")
async def test_a_reading_process_is_stopped_at_its_deadline() -> None:
    workers = ReadingWorkers(deadline_s=0.05)
    body = b'{"to":["a"],"documents":[' + b",".join([b"{}"] * 1_000_000) + b"]}"
    try:
        with pytest.raises(Refused) as refused:
            await workers.read(
                LargeBody(kind="post", body=body, content_type="application/json", message_bytes=10 << 20)
            )
        assert refused.value.code == "wire.too-complex"
    finally:
        await workers.close()
