"""Heads of requests, which nobody's header can break, and Retry-After in both its forms."""

from __future__ import annotations

import pytest

from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.adapters.transport.push import FRAMING, request_head, retry_after_s

HERE = Destination.of("https://example.com:8443/in?x=1")


def test_a_head_has_what_the_receiver_needs() -> None:
    lines = request_head(HERE, {"Webhook-Id": "one", "user-agent": "mine"}, 5).split(b"\r\n")
    assert lines[0] == b"POST /in?x=1 HTTP/1.1"
    assert {b"host: example.com:8443", b"content-length: 5", b"Webhook-Id: one", b"user-agent: mine"} <= set(lines)
    assert lines[-2:] == [b"", b""]
    assert request_head(HERE, {}, 0).count(b"user-agent: postroad/") == 1


@pytest.mark.req("Z4")
@pytest.mark.parametrize(
    ("name", "value"),
    [("x", "a\r\nhost: evil"), ("x", "a\nb"), ("x", "a\x00"), ("x", "€"), ("x y", "a"), ("x:", "a"), ("", "a"), ("x\r\ny", "a")]
    + [(name.title(), "1") for name in sorted(FRAMING)],
)  # fmt: skip
def test_a_header_cannot_bring_another_line_or_another_frame(name: str, value: str) -> None:
    with pytest.raises(NoAnswer, match="cannot be sent"):
        request_head(HERE, {name: value}, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("Thu, 01 Jan 1970 00:03:20 GMT", 100.0),
        ("Thu, 01 Jan 1970 00:00:20 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("9999999999", 9_999_999_999.0),  # as long as that: whoever waits has a bound of its own
        ("9" * 400, float("inf")),
        ("Thu, 99 Jan 1970 00:03:20 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after_s(text, now_s=100.0) == seconds
