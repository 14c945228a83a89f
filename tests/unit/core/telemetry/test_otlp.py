"""The OTLP encoding: the bytes of one request, which ``opentelemetry-proto`` 1.45.2 reads and writes alike, and any span."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.core.telemetry.otlp import encode_request, encode_varint
from postroad.core.telemetry.span import Span, SpanEvent, SpanKind, SpanLink
from postroad.testing.otlp_receiver import decode_request, read_fields

SPAN = Span(
    trace_id=b"t" * 16,
    span_id=b"s" * 8,
    parent_id=b"p" * 8,
    name="post Acme/é",
    kind=SpanKind.PRODUCER,
    start_us=1_700_000_000_000_001,
    end_us=1_700_000_000_000_101,
    attributes=(("a", "b"), ("n", 300)),
    events=(SpanEvent(5, "leased", (("q", 1),)),),
    links=(SpanLink(b"l" * 16, b"m" * 8),),
    error="push.timeout",
    state="a=1",
)
# Written again by the general encoder, byte for byte.
GOLDEN = bytes.fromhex(
    "0ae2010a1a0a180a0c736572766963652e6e616d6512080a06706f73742d7812c3010a110a08706f7374726f61641205302e"
    "322e3012ad010a1074747474747474747474747474747474120873737373737373731a03613d31220870707070707070702a"
    "0c706f73742041636d652fc3a9300439e8032a36fe9c971741888a2b36fe9c97174a080a016112030a01624a080a016e1203"
    "18ac025a1a09881300000000000012066c65617365641a070a0171120218016a1c0a106c6c6c6c6c6c6c6c6c6c6c6c6c6c6c"
    "6c12086d6d6d6d6d6d6d6d7a10120c707573682e74696d656f75741802"
)


def test_a_request_has_the_bytes_that_the_general_encoder_writes() -> None:
    assert encode_request([SPAN], (("service.name", "post-x"),), "0.2.0") == GOLDEN


def test_a_collector_reads_every_field() -> None:
    [span] = decode_request(encode_request([SPAN], (), "0.2.0"))
    assert (span.trace_id, span.span_id, span.parent_id) == ("74" * 16, "73" * 8, "70" * 8)
    assert (span.name, span.kind, span.state, span.error) == ("post Acme/é", 4, "a=1", "push.timeout")
    assert (span.start_ns, span.end_ns) == (1_700_000_000_000_001_000, 1_700_000_000_000_101_000)
    assert span.attributes == {"a": "b", "n": 300}
    assert span.events == (("leased", 5_000, (("q", 1),)),)
    assert span.links == (("6c" * 16, "6d" * 8),)


@given(st.integers(0, (1 << 64) - 1))
def test_integers_survive(value: int) -> None:
    [(_, found)] = read_fields(b"\x08" + encode_varint(value))
    assert found == value


TEXTS = st.text(max_size=300)


@given(st.lists(st.tuples(TEXTS, TEXTS | st.integers(0, 1 << 60)), max_size=20, unique_by=lambda one: one[0]), TEXTS)
def test_any_attribute_and_name_survives(attributes: list[tuple[str, str | int]], name: str) -> None:
    def cleaned(text: str) -> str:
        return text.encode("utf-8", "replace").decode()

    [span] = decode_request(encode_request([SPAN._replace(attributes=tuple(attributes), name=name)], (), "1"))
    assert span.name == cleaned(name)
    assert list(span.attributes.values()) == [
        cleaned(value) if isinstance(value, str) else value for _, value in attributes
    ]
