"""Whatever a codec writes it reads back unchanged, and all codecs mean the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.codecs.bulk import bulk_answer_type, decode_bulk, decode_bulk_answer, encode_bulk_answer
from postroad.core.codecs.codec import Codec, refusal_bytes
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Delivered, Message, PostResult
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused
from tests.samples.message_strategies import (
    DELIVERED,
    MESSAGES,
    POLLS,
    RESULTS,
    SETTLEMENT_RESULTS,
    SETTLEMENTS,
    TEXTS,
)

CODECS = [
    pytest.param(JSON_FORM, id="json"),
    pytest.param(SOAP11, id="soap11"),
    pytest.param(SOAP12, id="soap12"),
    pytest.param(ENVELOPE_FORM, id="envelope"),
]
every_codec = pytest.mark.parametrize("codec", CODECS)
REFUSED = st.builds(Refused, st.sampled_from(sorted(REFUSALS)), TEXTS, pointer=TEXTS, session=TEXTS)


def told(refused: Refused) -> tuple[str, str, str, str]:
    return refused.code, refused.detail, refused.pointer, refused.session


@pytest.mark.req("M2", "M3", "M4")
@every_codec
@given(message=MESSAGES)
@settings(max_examples=150, deadline=None)
def test_a_post_comes_back_as_it_went(codec: Codec, message: Message) -> None:
    assert codec.decode_post(codec.encode_post(message)) == message


@pytest.mark.req("M2", "M3", "M4")
@every_codec
@given(messages=st.lists(DELIVERED, max_size=2))
@settings(max_examples=80, deadline=None)
def test_deliveries_come_back_as_they_went(codec: Codec, messages: list[Delivered]) -> None:
    assert codec.decode_delivered(codec.encode_delivered(messages)) == messages


@every_codec
@given(poll=POLLS, settlement=SETTLEMENTS, settled=SETTLEMENT_RESULTS, result=RESULTS)
@settings(max_examples=60, deadline=None)
def test_requests_and_answers_come_back_as_they_went(
    codec: Codec, poll: PollRequest, settlement: Settlement, settled: SettlementResult, result: PostResult
) -> None:
    assert codec.decode_poll(codec.encode_poll(poll)) == poll
    assert codec.decode_settlement(codec.encode_settlement(settlement)) == settlement
    assert codec.decode_settlement_result(codec.encode_settlement_result(settled)) == settled
    assert codec.decode_result(codec.encode_result(result)) == result


@pytest.mark.req("M5")
@every_codec
@given(refused=REFUSED)
@settings(max_examples=60, deadline=None)
def test_a_refusal_reaches_the_client_whole(codec: Codec, refused: Refused) -> None:
    assert told(codec.decode_refusal(refusal_bytes(codec, refused))) == told(refused)


@pytest.mark.req("D1")
@given(messages=st.lists(MESSAGES, max_size=4), results=st.lists(RESULTS | REFUSED, max_size=4))
@settings(max_examples=50, deadline=None)
def test_bulk_bodies_and_their_answers_come_back(messages: list[Message], results: list[PostResult | Refused]) -> None:
    lines = b"\n".join(JSON_FORM.encode_post(message) for message in messages)
    assert decode_bulk("application/x-ndjson", lines) == messages
    assert decode_bulk(ENVELOPE_FORM.media_type, ENVELOPE_FORM.encode_posts(messages)) == messages
    for content_type in ("application/x-ndjson", ENVELOPE_FORM.media_type, "multipart/mixed; boundary=b"):
        answer_type = bulk_answer_type(content_type)
        answers = decode_bulk_answer(answer_type, encode_bulk_answer(answer_type, results))
        shown = [told(a) if isinstance(a, Refused) else a for a in answers]
        assert shown == [told(r) if isinstance(r, Refused) else r for r in results]
