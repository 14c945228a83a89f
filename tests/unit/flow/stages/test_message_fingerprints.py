"""The fingerprints of messages of a bulk: the same as those that earlier versions stored, and in any trace."""

from __future__ import annotations

import pytest

from postroad.core.model.message import (
    Argument,
    Message,
    MessageType,
    Part,
    Property,
    PropertyType,
    Recipient,
    Status,
)
from postroad.flow.stages.posting import compute_message_fingerprint

ORDER = Message(
    to=(Recipient("Acme/Supply", (Argument("lot", "7"),)),),
    type=MessageType.REQUEST,
    topic="orders",
    handle="o-1",
    expires_at_us=1_800_000_000_000_000,
    properties=(Property("net", "12.50", PropertyType.NUMBER),),
    status=Status("ok", "fine"),
    parts=(Part(id="d", content_type="text/plain", data=b"12 pumps", headers=(("Content-Language", "en"),)),),
    routing="static",
)
# Computed by the program before messages had a trace context (commit 6df34e05).
STORED = ((Message(), "345404de1a2ea95ea0953a96449f525b"), (ORDER, "06553b1a65d618272d26c1005df0a8e5"))


@pytest.mark.parametrize(("message", "stored"), STORED, ids=["empty", "full"])
@pytest.mark.parametrize("traceparent", ["", f"00-{'a' * 32}-{'b' * 16}-01", f"00-{'c' * 32}-{'d' * 16}-00"])
def test_a_repetition_has_the_fingerprint_that_an_earlier_version_stored(
    message: Message, stored: str, traceparent: str
) -> None:
    fields = {name: getattr(message, name) for name in Message.__struct_fields__}
    again = Message(**fields | {"traceparent": traceparent, "tracestate": "a=1" if traceparent else ""})
    assert compute_message_fingerprint(again) == stored


def test_every_other_field_counts() -> None:
    known = compute_message_fingerprint(ORDER)
    for name in set(Message.__struct_fields__) - {"traceparent", "tracestate"}:
        fields = {field: getattr(ORDER, field) for field in Message.__struct_fields__}
        assert compute_message_fingerprint(Message(**fields | {name: "changed"})) != known, name
