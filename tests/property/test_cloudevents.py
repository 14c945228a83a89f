"""CloudEvents, whatever they hold: what is written is read again in both modes, and what is not an event is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.codecs.cloudevents import (
    CloudEvent,
    header_text,
    header_value,
    read_batch,
    read_binary,
    read_structured,
    write_batch,
    write_binary,
    write_structured,
)
from postroad.core.codecs.json_nesting import can_stand_inside
from postroad.errors import Refused
from tests.samples.cloud_events import EVENTS, JSON


def as_text(event: CloudEvent) -> CloudEvent:
    """As headers can say it."""
    texts = [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in event.extensions]
    return replace(event, extensions=tuple(texts))


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
        return None


@pytest.mark.req("T8", "T9")
@given(event=EVENTS)
@settings(max_examples=500)
def test_an_event_in_json_is_read_again(event: CloudEvent) -> None:
    assert read_structured(write_structured(event)) == event


@pytest.mark.req("T8")
@given(events=st.lists(EVENTS, max_size=4))
def test_a_batch_is_read_again(events: list[CloudEvent]) -> None:
    assert read_batch(write_batch(events)) == events


@pytest.mark.req("T8", "T9")
@given(event=EVENTS)
@settings(max_examples=500)
def test_an_event_in_headers_is_read_again(event: CloudEvent) -> None:
    headers, body = write_binary(event)
    assert all(value.isascii() and value.isprintable() for _, value in headers)
    read = read_binary(headers, body)
    assert (read.data or b"") == (event.data or b"")
    assert replace(read, data=None) == replace(as_text(event), data=None)


@pytest.mark.req("T8")
@given(text=st.text())
@settings(max_examples=500)
def test_every_text_can_be_a_header_value(text: str) -> None:
    value = header_value(text)
    assert all("!" <= one <= "~" and one != '"' for one in value)
    assert header_text(value) == text


@given(value=st.text(st.sampled_from('%"\\abcdef0123456789 é漢\t') | st.characters(), max_size=40))
@settings(max_examples=500)
def test_any_header_value_is_read_or_refused(value: str) -> None:
    outcome(lambda: header_text(value))
    outcome(
        lambda: read_binary([("ce-specversion", "1.0"), ("ce-id", value), (value, value), ("ce-" + value, "x")], b"")
    )


TOKENS = [
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"1e999", b"-", b"\\ud800", b"\\u0000", b"\xff", b"\xef\xbb\xbf",
    b'"data":', b'"data_base64":"', b'"id":"1",', b'"specversion":"0.3",', b'"datacontenttype":"text/xml",', b"99999999999999",
    b"=", b"\x00", b"true", b'"\\u0069d":1,',
]  # fmt: skip
SEED = write_structured(
    CloudEvent(id="1", source="/a", type="t", time="2018-04-05T17:31:00Z", extensions=(("n", 5),), data=b'{"a":[1]}')
)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    body = draw(st.sampled_from([SEED, b"[" + SEED + b"," + SEED + b"]"]))
    for _ in range(draw(st.integers(1, 3))):
        at, gone = draw(st.integers(0, len(body))), draw(st.integers(0, 12))
        body = body[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=4)) + body[at + gone :]
    return body


@pytest.mark.req("Z2")
@given(body=mutations() | st.binary(max_size=60))
@settings(max_examples=1000)
def test_mutated_and_random_bytes_are_read_or_refused(body: bytes) -> None:
    event = outcome(lambda: read_structured(body))
    if isinstance(event, CloudEvent):
        assert read_structured(write_structured(event)) == event
    events = outcome(lambda: read_batch(body))
    if isinstance(events, list):
        assert read_batch(write_batch(events)) == events


def depth_of(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(depth_of, inside), default=0)


@given(value=JSON, wrapped=st.integers(0, 20), levels=st.integers(1, 24))
@settings(max_examples=500)
def test_depth_is_counted_as_it_is(value: object, wrapped: int, levels: int) -> None:
    for _ in range(wrapped):
        value = [value, [[]], "]}[{"]
    data = json.dumps(value).encode()
    assert can_stand_inside(data, levels) == (depth_of(value) <= levels)
    assert not can_stand_inside(data + b" ", 100)


@pytest.mark.req("Z2")
def test_an_event_cut_at_any_byte_is_refused() -> None:
    for length in range(len(SEED)):
        with pytest.raises(Refused) as refused:
            read_structured(SEED[:length])
        assert refused.value.code == "wire.malformed"
