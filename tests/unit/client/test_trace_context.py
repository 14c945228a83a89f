"""The trace context in the SDK: given on a post and on a reply."""

from __future__ import annotations

import pytest

from postroad.client import message
from postroad.client.consumer import Reply, build_answer
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from tests.samples.wire_messages import DELIVERED

CONTEXT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.req("O4")
@pytest.mark.parametrize("codec", [JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM])
def test_a_post_keeps_its_context_in_every_native_format(codec: object) -> None:
    prepared = message(to="Acme/Supply", document="x", traceparent=CONTEXT, tracestate="a=1")
    read = codec.decode_post(codec.encode_post(prepared))  # type: ignore[attr-defined]
    assert (read.traceparent, read.tracestate, read.properties) == (CONTEXT, "a=1", ())


def test_a_reply_may_have_a_context() -> None:
    answer = build_answer(DELIVERED, Reply(documents=["done"], traceparent=CONTEXT))
    assert answer.traceparent == CONTEXT
    assert build_answer(DELIVERED, "done").traceparent == ""
